//! Note records, and runs of them in which some contents are replaced.

use hsaco_bytes::{Error, ErrorKind, Result};

use crate::note::NoteTable;

const CONTEXT: &str = "new note";

/// A note whose content is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NoteChange {
    /// Where the record begins in the file.
    pub(super) offset: u64,
    pub(super) desc: Vec<u8>,
}

/// One record, padded to four bytes.
pub(super) fn record(owner: &str, kind: u32, desc: &[u8]) -> Result<Vec<u8>> {
    let name = [owner.as_bytes(), b"\0"].concat();
    let mut bytes = [size_of(&name)?, size_of(desc)?, kind.to_le_bytes()].concat();
    for part in [&name, desc] {
        bytes.extend_from_slice(part);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    Ok(bytes)
}

fn size_of(part: &[u8]) -> Result<[u8; 4]> {
    let size = u32::try_from(part.len()).map_err(|_| {
        Error::new(ErrorKind::LimitExceeded, CONTEXT, format!("{} bytes", part.len()))
    })?;
    Ok(size.to_le_bytes())
}

/// A run of notes with new contents.
pub(super) struct Run {
    pub(super) bytes: Vec<u8>,
    pub(super) old_offset: u64,
    pub(super) old_size: u64,
    /// Ends of changed records: the old offset in the file, the new one in `bytes`.
    ends: Vec<(u64, u64)>,
}

impl Run {
    /// The run with the changes that fall into it; `None` when none does.
    pub(super) fn rewrite(table: &NoteTable<'_>, changes: &[NoteChange]) -> Result<Option<Self>> {
        let (old, base, align) = (table.data(), table.offset, table.alignment());
        let mut run =
            Self { bytes: Vec::new(), old_offset: base, old_size: table.size, ends: Vec::new() };
        let piece = |from: u64, to: u64| {
            hsaco_bytes::slice(old, from - base, to.saturating_sub(from), "notes")
        };
        let mut copied = base;
        for note in table.notes() {
            let note = note?;
            let Some(change) = changes.iter().rev().find(|it| it.offset == note.offset) else {
                continue;
            };
            run.bytes.extend_from_slice(piece(copied, note.offset + 4)?);
            run.bytes.extend_from_slice(&size_of(&change.desc)?);
            run.bytes.extend_from_slice(piece(note.offset + 8, note.desc_offset)?);
            run.bytes.extend_from_slice(&change.desc);
            pad(&mut run.bytes, align);
            let ends = (note.desc_offset - base + note.desc.len() as u64).next_multiple_of(align);
            copied = base + ends.min(table.size);
            run.ends.push((copied, run.bytes.len() as u64));
        }
        if run.ends.is_empty() {
            return Ok(None);
        }
        run.bytes.extend_from_slice(piece(copied, base + table.size)?);
        Ok(Some(run))
    }

    /// Where a place of the old run is in the new bytes.
    pub(super) fn moved(&self, old: u64) -> u64 {
        match self.ends.iter().rev().find(|(end, _)| *end <= old) {
            Some((end, new)) => new + (old - end),
            None => old.saturating_sub(self.old_offset),
        }
    }

    /// True when a range of the file lies in the old run.
    pub(super) fn holds(&self, offset: u64, size: u64) -> bool {
        let ends = self.old_offset.saturating_add(self.old_size);
        offset >= self.old_offset && offset.checked_add(size).is_some_and(|end| end <= ends)
    }
}

fn pad(bytes: &mut Vec<u8>, align: u64) {
    let align = usize::try_from(align).unwrap_or(4);
    bytes.resize(bytes.len().next_multiple_of(align), 0);
}
