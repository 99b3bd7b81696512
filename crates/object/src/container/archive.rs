//! The members of `ar` archives, in the GNU, BSD and COFF spellings.

use object::read::archive::ArchiveFile;

use crate::bytes::slice;
use crate::{Error, ErrorKind, Result};

const CONTEXT: &str = "archive";
pub(super) const MAGIC: &[u8; 8] = b"!<arch>\n";
pub(super) const THIN_MAGIC: &[u8; 8] = b"!<thin>\n";

/// A member whose content lies within the archive.
pub(super) struct Member {
    pub(super) name: String,
    pub(super) offset: u64,
    pub(super) size: u64,
}

/// The members in order; what cannot be read is an error in its place.
pub(super) fn members(data: &[u8]) -> Result<impl Iterator<Item = Result<Member>>> {
    if data.starts_with(THIN_MAGIC) {
        let detail = "a thin archive only names its members; give the member files themselves";
        return Err(Error::new(ErrorKind::Unsupported, CONTEXT, detail).at(0));
    }
    let archive = ArchiveFile::parse(data).map_err(broken)?;
    Ok(archive.members().map(|member| {
        let member = member.map_err(broken)?;
        let (offset, size) = member.file_range();
        slice(data, offset, size, "archive member")?;
        let name = String::from_utf8_lossy(member.name()).into_owned();
        Ok(Member { name, offset, size })
    }))
}

fn broken(error: object::read::Error) -> Error {
    Error::new(ErrorKind::Malformed, CONTEXT, error.to_string()).at(0)
}
