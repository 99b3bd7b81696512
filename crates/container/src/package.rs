//! What packages share: members by name, most of which are of no interest, and bytes that are read from their start on.

use hsaco_bytes::Result;
use hsaco_compress::{Codec, Unpacker};

use crate::{Container, EntryKind, host_coff};

/// How much of a member is unpacked to find out whether it may hold device code.
pub(crate) const PREFIX: u64 = 1024;

/// Names are kept no further than this.
pub(crate) const MAX_NAME: usize = 4096;

/// Whether bytes that begin like this, `size` in all, may hold device code.
pub(crate) fn is_worthwhile(prefix: &[u8], size: u64) -> bool {
    let is_cut = (prefix.len() as u64) < size;
    !matches!(EntryKind::detect(prefix), EntryKind::Unknown | EntryKind::Empty)
        || Container::detect(prefix).is_some()
        || (is_cut && host_coff::may_be_object(prefix))
}

/// Bytes that are read from their start on.
pub(crate) trait Source {
    /// The next bytes, fewer at the end.
    fn take(&mut self, size: u64) -> Result<Vec<u8>>;
    /// Passes over bytes; how many there were.
    fn skip(&mut self, size: u64) -> Result<u64>;
    /// How many bytes have been taken or passed over.
    fn position(&self) -> u64;
}

/// Bytes in memory.
pub(crate) struct Slice<'d> {
    data: &'d [u8],
    position: usize,
}

impl<'d> Slice<'d> {
    pub(crate) fn new(data: &'d [u8]) -> Self {
        Self { data, position: 0 }
    }

    fn next(&mut self, size: u64) -> &'d [u8] {
        let rest = self.data.get(self.position..).unwrap_or_default();
        let size = usize::try_from(size).unwrap_or(usize::MAX).min(rest.len());
        self.position += size;
        rest.get(..size).unwrap_or_default()
    }
}

impl Source for Slice<'_> {
    fn take(&mut self, size: u64) -> Result<Vec<u8>> {
        Ok(self.next(size).to_vec())
    }

    fn skip(&mut self, size: u64) -> Result<u64> {
        Ok(self.next(size).len() as u64)
    }

    fn position(&self) -> u64 {
        self.position as u64
    }
}

/// A compressed stream, of which some bytes were looked at before.
pub(crate) struct Stream<'a> {
    looked_at: Vec<u8>,
    rest: Unpacker<'a>,
}

impl<'a> Stream<'a> {
    /// Begins with a stream, and looks at its first bytes.
    pub(crate) fn new(codec: Codec, data: impl AsRef<[u8]> + Send + 'a) -> Result<Self> {
        let mut stream = Self { looked_at: Vec::new(), rest: Unpacker::new(codec, data)? };
        stream.rest.take(&mut stream.looked_at, PREFIX)?;
        Ok(stream)
    }

    /// The first bytes, as long as none was taken.
    pub(crate) fn prefix(&self) -> &[u8] {
        &self.looked_at
    }

    /// How many bytes were unpacked.
    pub(crate) fn unpacked(&self) -> u64 {
        self.rest.position()
    }

    /// Everything that is left, up to so many bytes and one more.
    pub(crate) fn all(mut self, cap: u64) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        self.append(&mut content, cap.saturating_add(1))?;
        Ok(content)
    }

    /// Adds the next bytes to those that are there, fewer at the end.
    pub(crate) fn append(&mut self, out: &mut Vec<u8>, size: u64) -> Result<()> {
        let known = usize::try_from(size).unwrap_or(usize::MAX).min(self.looked_at.len());
        out.extend(self.looked_at.drain(..known));
        self.rest.take(out, size - known as u64)
    }
}

impl Source for Stream<'_> {
    fn take(&mut self, size: u64) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        self.append(&mut content, size)?;
        Ok(content)
    }

    fn skip(&mut self, size: u64) -> Result<u64> {
        let known = usize::try_from(size).unwrap_or(usize::MAX).min(self.looked_at.len());
        self.looked_at.drain(..known);
        Ok(known as u64 + self.rest.skip(size - known as u64)?)
    }

    fn position(&self) -> u64 {
        self.rest.position() - self.looked_at.len() as u64
    }
}

/// A member of a sequence whose content comes next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) name: String,
    pub(crate) size: u64,
    /// Bytes behind the content.
    pub(crate) padding: u64,
}

/// A name that may be of any bytes and length.
pub(crate) fn name_of(bytes: &[u8]) -> String {
    let bytes = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    let bytes = bytes.get(..bytes.len().min(MAX_NAME)).unwrap_or_default();
    let name = String::from_utf8_lossy(bytes);
    name.strip_prefix("./").unwrap_or(&name).to_owned()
}
