//! zip files: members that are compressed again, and tables of where they are.

use std::collections::BTreeMap;

use hsaco_bytes::{Error, ErrorKind, Result, slice};

use crate::zip::{Storage, members};
use crate::zip_write::{Fate, Prepared, rewrite};

use super::{CONTEXT, Change, splice};

/// A zip file with new contents for members. A change to a compressed one is all of its content.
pub(super) fn zip(data: &[u8], changes: Vec<Change>) -> Result<Vec<u8>> {
    let all: Vec<_> = members(data).into_iter().collect::<Result<_>>()?;
    let mut of_member: BTreeMap<usize, Vec<Change>> = BTreeMap::new();
    for mut change in changes {
        let holds =
            |range: &std::ops::Range<u64>| range.start <= change.start && change.end() <= range.end;
        let found = all.iter().enumerate().find(|(_, it)| holds(&it.data));
        let (index, member) = found.ok_or_else(|| {
            Error::new(ErrorKind::NotFound, CONTEXT, "the member").at(change.start)
        })?;
        change.start -= member.data.start;
        of_member.entry(index).or_default().push(change);
    }
    let mut fates = BTreeMap::new();
    for (index, mut list) in of_member {
        let Some(member) = all.get(index) else { continue };
        let new = match member.storage {
            Storage::Packed(_) => list.pop().map(|it| it.new).unwrap_or_default(),
            Storage::Stored => {
                let size = member.data.end - member.data.start;
                splice(slice(data, member.data.start, size, CONTEXT)?, list)?.0
            }
        };
        fates.insert(index, Fate::Changed(Prepared::new(member, new)?));
    }
    rewrite(data, fates, u64::MAX)
}
