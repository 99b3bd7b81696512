//! Notes: records of an owner, a type and content.

use hsaco_bytes::{Result, Str, read_u32, slice};

use crate::{Elf, PT_NOTE, SHT_NOTE};

const RECORD_HEADER: u64 = 12;

/// One note record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note<'a> {
    /// Owner, without its terminating NUL.
    pub owner: Str<'a>,
    /// Type, whose meaning is the owner's.
    pub kind: u32,
    /// Content.
    pub desc: &'a [u8],
    /// Where the record begins in the file.
    pub offset: u64,
    /// Where the content begins in the file.
    pub desc_offset: u64,
}

impl Note<'_> {
    /// True for a note of this owner and type.
    pub fn is(&self, owner: &str, kind: u32) -> bool {
        self.kind == kind && self.owner == owner
    }
}

/// A run of note records: a `PT_NOTE` segment or an `SHT_NOTE` section.
#[derive(Clone, Copy, Debug)]
pub struct NoteTable<'a> {
    /// Name of the section that holds exactly these bytes, if there is one.
    pub section: Option<Str<'a>>,
    /// Where the run begins in the file.
    pub offset: u64,
    /// How many bytes it takes.
    pub size: u64,
    align: u64,
    data: &'a [u8],
}

impl<'a> NoteTable<'a> {
    /// The records, until the end or the first broken one.
    pub fn notes(&self) -> Notes<'a> {
        Notes { data: self.data, pos: 0, base: self.offset, align: self.alignment() }
    }

    /// What names and contents are padded to.
    pub(crate) fn alignment(&self) -> u64 {
        if self.align == 8 { 8 } else { 4 }
    }

    pub(crate) fn data(&self) -> &'a [u8] {
        self.data
    }
}

/// Every run of notes: those of segments, else those of sections.
///
/// # Errors
/// Never fails as a whole: a run that reaches past the end of the file is an error item.
pub fn tables<'a>(elf: &Elf<'a>) -> Vec<Result<NoteTable<'a>>> {
    let segments: Vec<_> = elf.segments().iter().filter(|it| it.kind == PT_NOTE).collect();
    if segments.is_empty() {
        return sections(elf);
    }
    let table = |offset, size, align| {
        let named = |it: &&crate::Section<'a>| it.offset == offset && it.size == size;
        let section = elf.sections().iter().find(named).map(|it| it.name);
        read_table(elf, section, offset, size, align)
    };
    let tables = segments.iter().map(|it| table(it.offset, it.file_size, it.align)).collect();
    without_overlap(elf, tables)
}

/// Every run of notes that a section header names.
pub fn sections<'a>(elf: &Elf<'a>) -> Vec<Result<NoteTable<'a>>> {
    let notes = elf.sections().iter().filter(|it| it.kind == SHT_NOTE);
    let tables =
        notes.map(|it| read_table(elf, Some(it.name), it.offset, it.size, it.align)).collect();
    without_overlap(elf, tables)
}

/// Refuses runs beyond the size of the file: they share bytes, and each would be read again.
fn without_overlap<'a>(
    elf: &Elf<'a>,
    tables: Vec<Result<NoteTable<'a>>>,
) -> Vec<Result<NoteTable<'a>>> {
    let mut left = elf.data().len() as u64;
    let take = |table: Result<NoteTable<'a>>| {
        let table = table?;
        left = hsaco_bytes::spend(left, table.size, "notes", table.offset)?;
        Ok(table)
    };
    tables.into_iter().map(take).collect()
}

fn read_table<'a>(
    elf: &Elf<'a>,
    section: Option<Str<'a>>,
    offset: u64,
    size: u64,
    align: u64,
) -> Result<NoteTable<'a>> {
    let data = slice(elf.data(), offset, size, "notes")?;
    Ok(NoteTable { section, offset, size, align, data })
}

/// Iterator over note records.
#[derive(Clone, Debug)]
pub struct Notes<'a> {
    data: &'a [u8],
    pos: u64,
    base: u64,
    align: u64,
}

impl<'a> Iterator for Notes<'a> {
    type Item = Result<Note<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let start = usize::try_from(self.pos).ok()?;
            let rest = self.data.get(start..).filter(|rest| !rest.is_empty())?;
            if (rest.len() as u64) < RECORD_HEADER && rest.iter().all(|&byte| byte == 0) {
                return None;
            }
            match self.record() {
                // Zeroed notes, as a removed section leaves them, are padding and not records.
                Ok(note) if note.is_blank() => {}
                Ok(note) => return Some(Ok(note)),
                Err(error) => {
                    self.pos = u64::MAX;
                    return Some(Err(error.rebased(self.base)));
                }
            }
        }
    }
}

impl<'a> Notes<'a> {
    fn record(&mut self) -> Result<Note<'a>> {
        let start = self.pos;
        let header = slice(self.data, start, RECORD_HEADER, "note header")?;
        let word = |at| u64::from(read_u32(header, at).unwrap_or(0));
        let name = slice(self.data, start + RECORD_HEADER, word(0), "note owner")?;
        let desc_start = align_up(start + RECORD_HEADER + word(0), self.align);
        let desc = slice(self.data, desc_start, word(4), "note content")?;
        self.pos = align_up(desc_start + word(4), self.align);
        Ok(Note {
            owner: Str::new(name.strip_suffix(b"\0").unwrap_or(name)),
            kind: read_u32(header, 8).unwrap_or(0),
            desc,
            offset: self.base.saturating_add(start),
            desc_offset: self.base.saturating_add(desc_start),
        })
    }
}

impl Note<'_> {
    fn is_blank(&self) -> bool {
        self.owner.is_empty() && self.kind == 0 && self.desc.is_empty()
    }
}

fn align_up(value: u64, align: u64) -> u64 {
    value.saturating_add(align - 1) & !(align - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(owner: &[u8], kind: u32, desc: &[u8]) -> Vec<u8> {
        let size = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap().to_le_bytes();
        let pad = |bytes: &[u8]| vec![0; bytes.len().next_multiple_of(4) - bytes.len()];
        [&size(owner), &size(desc), &kind.to_le_bytes(), owner, &pad(owner), desc, &pad(desc)]
            .concat()
    }

    fn notes(data: &[u8]) -> Vec<Result<Note<'_>>> {
        let table =
            NoteTable { section: None, offset: 0x100, size: data.len() as u64, align: 4, data };
        table.notes().collect()
    }

    #[test]
    fn records_follow_each_other_and_zeroes_are_none() {
        let first = record(b"AMD\0", 1, b"abcde");
        let data = [first.clone(), vec![0; 24], record(b"AMDGPU\0", 32, b"\x80")].concat();
        let found = notes(&data);
        let found: Vec<_> = found.iter().map(|it| it.as_ref().unwrap()).collect();
        assert_eq!(found.len(), 2);
        assert!(found[0].is("AMD", 1) && found[0].desc == b"abcde" && found[0].offset == 0x100);
        assert!(found[1].is("AMDGPU", 32) && found[1].desc == b"\x80");
        assert_eq!(found[1].desc_offset, 0x100 + first.len() as u64 + 24 + 20);
        assert!(notes(&[0; 100]).is_empty());
    }

    #[test]
    fn the_last_padding_may_be_missing_and_nothing_else() {
        let data = record(b"AMD\0", 1, b"abcde");
        assert_eq!(notes(&data[..data.len() - 3])[0].as_ref().unwrap().desc, b"abcde");
        let cut = notes(&data[..data.len() - 4]);
        let error = cut[0].as_ref().unwrap_err();
        assert_eq!(error.to_string(), "truncated: note content: 4 bytes of 5 (at offset 0x110)");
        assert_eq!(cut.len(), 1);
        let huge = [[0xff; 4], [0; 4], [0; 4]].concat();
        assert_eq!(notes(&huge)[0].as_ref().unwrap_err().kind(), hsaco_bytes::ErrorKind::Truncated);
    }
}
