//! Changing a code object in which nothing may move.
//!
//! The new file is the old one, byte for byte at the same offsets but for what was replaced, and
//! behind it whatever grew: segments, notes, string and symbol tables, header tables. ELF reads its
//! header tables wherever `e_phoff` and `e_shoff` say they are: so do LLVM's tools, libelf and, on
//! top of that, ROCr, which maps each `PT_LOAD` into one allocation up to the end of the last one.
//! Appended segments therefore have the highest addresses and stand last in the table. Where a
//! `PT_PHDR` says that the program headers are in memory, a moved table is in an appended read-only
//! segment, so that this stays true; moved notes share that segment. The tables that were there
//! before stay as bytes that nothing refers to.

mod host;
mod section;
mod segment;
mod symbol;

pub use host::{GrownSection, PointerSection, host_sections, moved};

use std::borrow::Cow;
use std::collections::BTreeMap;

use hsaco_bytes::{Error, ErrorKind, Result, memory};

use crate::{
    ET_REL, Elf, PF_R, PF_W, PF_X, SHF_ALLOC, SHF_COMPRESSED, SHF_EXECINSTR, SHF_WRITE,
    SHT_PROGBITS, Segment,
};

use super::note::NoteChange;
use super::row::SectionRow;
use super::{NewSymbol, PAGE, add, align_up, put_at, unsupported};

const CONTEXT: &str = "edit of a code object";

/// What the program may do with an appended segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Read and execute.
    Code,
    /// Read.
    ReadOnly,
    /// Read and write.
    Writable,
}

impl Access {
    fn segment_flags(self) -> u32 {
        match self {
            Self::Code => PF_R | PF_X,
            Self::ReadOnly => PF_R,
            Self::Writable => PF_R | PF_W,
        }
    }

    fn section_flags(self) -> u64 {
        match self {
            Self::Code => SHF_ALLOC | SHF_EXECINSTR,
            Self::ReadOnly => SHF_ALLOC,
            Self::Writable => SHF_ALLOC | SHF_WRITE,
        }
    }
}

/// Where appended bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Virtual address.
    pub address: u64,
    /// Offset in the file.
    pub offset: u64,
    /// Index of the new section; `None` in an object without section headers.
    pub section: Option<u32>,
}

/// Changes to one code object, kept until [`finish`](Self::finish) writes them.
///
/// See [`write`](crate::write) for an example.
#[derive(Clone, Debug)]
pub struct Edit<'a> {
    elf: Elf<'a>,
    /// The new file as far as it is written.
    bytes: Vec<u8>,
    sections: Vec<SectionRow>,
    segments: Vec<Segment>,
    /// New contents of sections that have no address, by index.
    contents: BTreeMap<u32, Vec<u8>>,
    notes: Vec<NoteChange>,
    symbols: Vec<NewSymbol>,
    /// Names of new sections, each with its index.
    added: Vec<(String, u32)>,
    /// The end of all that has an address.
    end_address: u64,
    /// What segments are aligned to.
    page: u64,
}

impl<'a> Edit<'a> {
    /// Begins to change a code object.
    ///
    /// # Errors
    /// When the headers cannot be read, or say things that a new file cannot repeat.
    pub fn new(data: &'a [u8]) -> Result<Self> {
        Self::of(Elf::parse_amdgpu(data)?)
    }

    /// As [`new`](Self::new), on a copy of the object that the caller has made, perhaps with room for what will be
    /// appended.
    ///
    /// # Errors
    /// As there, and when the copy has another size.
    pub fn on_copy(data: &'a [u8], copy: Vec<u8>) -> Result<Self> {
        if copy.len() != data.len() {
            let detail = format!("a copy of {} bytes of {}", copy.len(), data.len());
            return Err(Error::new(ErrorKind::Mismatch, CONTEXT, detail));
        }
        Self::of_copy(Elf::parse_amdgpu(data)?, copy)
    }

    /// As [`new`](Self::new), for any ELF file that can be read.
    fn of(elf: Elf<'a>) -> Result<Self> {
        // What is appended is seldom more than this; a large file should not be copied again for it.
        let mut bytes = Vec::new();
        memory::reserve(&mut bytes, elf.data().len() + elf.data().len() / 4, CONTEXT)?;
        bytes.extend_from_slice(elf.data());
        Self::of_copy(elf, bytes)
    }

    fn of_copy(elf: Elf<'a>, bytes: Vec<u8>) -> Result<Self> {
        if let Some(error) = elf.problems().first() {
            return Err(error.clone());
        }
        Ok(Self {
            bytes,
            sections: SectionRow::read_all(&elf),
            segments: elf.segments().to_vec(),
            contents: BTreeMap::new(),
            notes: Vec::new(),
            symbols: Vec::new(),
            added: Vec::new(),
            end_address: end_address(&elf)?,
            page: PAGE,
            elf,
        })
    }

    /// The file as it was.
    pub fn original(&self) -> &Elf<'a> {
        &self.elf
    }

    /// Replaces bytes at an offset of the file.
    ///
    /// # Errors
    /// When they are not all in the file.
    pub fn replace(&mut self, offset: u64, new: &[u8]) -> Result<()> {
        hsaco_bytes::slice(&self.bytes, offset, new.len() as u64, CONTEXT)?;
        put_at(&mut self.bytes, offset, new, CONTEXT)
    }

    /// Replaces bytes at a virtual address.
    ///
    /// # Errors
    /// When they are not all in one mapped segment of the original file.
    pub fn replace_at(&mut self, address: u64, new: &[u8]) -> Result<()> {
        let elf = &self.elf;
        let offset = elf.at_address(address, new.len() as u64).and(elf.file_offset(address));
        let offset = offset.ok_or_else(|| {
            let detail = format!("{} bytes at address {address:#x}", new.len());
            Error::new(ErrorKind::NotFound, CONTEXT, detail)
        })?;
        self.replace(offset, new)
    }

    /// The address that the next [`append`](Self::append) will place its bytes at.
    ///
    /// # Errors
    /// When there is no address left.
    pub fn next_address(&self) -> Result<u64> {
        align_up(self.end_address, self.page, CONTEXT)
    }

    /// Appends a segment of its own, page aligned, above all that has an address, and a section
    /// with this name for it.
    ///
    /// # Errors
    /// When the object has no segments (it is not linked), or there is no address left.
    pub fn append(&mut self, name: &str, access: Access, content: &[u8]) -> Result<Placed> {
        if self.elf.header().e_type == ET_REL || self.elf.loads().next().is_none() {
            return Err(unsupported(CONTEXT, "segments of an object that is not linked"));
        }
        let (address, size) = (self.next_address()?, content.len() as u64);
        let offset = align_up(self.bytes.len() as u64, self.page, CONTEXT)?;
        self.end_address = add(address, size, CONTEXT)?;
        put_at(&mut self.bytes, offset, content, CONTEXT)?;
        self.push_load(access.segment_flags(), offset, address, size);
        let section = SectionRow {
            kind: SHT_PROGBITS,
            flags: access.section_flags(),
            address,
            offset,
            size,
            align: 256,
            ..SectionRow::default()
        };
        Ok(Placed { address, offset, section: self.push_section(name, section)? })
    }

    /// Replaces the content of the note whose record begins at an offset of the file.
    pub fn set_note(&mut self, offset: u64, desc: Vec<u8>) {
        self.notes.push(NoteChange { offset, desc });
    }

    /// Adds a symbol to `.symtab`; an object without one gets it, with the symbols of `.dynsym`.
    pub fn add_symbol(&mut self, symbol: NewSymbol) {
        self.symbols.push(symbol);
    }

    /// Gives the section of a name new content, or adds a section that has no address. A compressed
    /// section is no longer one.
    ///
    /// # Errors
    /// When the section has an address and another size, or the object has no section headers.
    pub fn set_section(&mut self, name: &str, content: Vec<u8>) -> Result<()> {
        if self.sections.is_empty() {
            let detail = format!("{name} in an object without section headers");
            return Err(unsupported(CONTEXT, detail));
        }
        if let Some(&(_, index)) = self.added.iter().find(|(it, _)| it == name) {
            self.refuse_mapped(index)?;
            self.contents.insert(index, content);
            return Ok(());
        }
        let Some(old) = self.elf.section_named(name).copied() else {
            let row = SectionRow { kind: SHT_PROGBITS, align: 1, ..SectionRow::default() };
            let index = self.push_section(name, row)?.unwrap_or(0);
            self.contents.insert(index, content);
            return Ok(());
        };
        if old.file_size() == content.len() as u64 && old.flags & SHF_COMPRESSED == 0 {
            self.contents.remove(&old.index);
            return self.replace(old.offset, &content);
        }
        self.write_anew(name, content)
    }

    /// Writes a section that has no address anew behind the end of the file, though it might fit.
    ///
    /// # Errors
    /// As [`set_section`](Self::set_section).
    pub fn write_anew(&mut self, name: &str, content: Vec<u8>) -> Result<()> {
        let Some(index) = self.elf.section_named(name).map(|it| it.index) else {
            return self.set_section(name, content);
        };
        self.refuse_mapped(index)?;
        if let Some(row) = self.sections.get_mut(index as usize)
            && row.flags & SHF_COMPRESSED != 0
        {
            // The alignment of a compressed section is that of its compression header.
            row.align = 1;
            row.flags &= !SHF_COMPRESSED;
        }
        self.contents.insert(index, content);
        Ok(())
    }

    /// What a section holds now, unpacked; `None` where there is none of this name.
    ///
    /// # Errors
    /// When its bytes are not all in the file, or cannot be unpacked.
    pub fn section_content(&self, name: &str) -> Result<Option<Vec<u8>>> {
        const MOST: u64 = 4 << 30;
        let added = self.added.iter().find(|(it, _)| it == name).map(|(_, index)| *index);
        let section = self.elf.section_named(name);
        let index = added.or(section.map(|it| it.index));
        if let Some(content) = index.and_then(|it| self.contents.get(&it)) {
            return Ok(Some(content.clone()));
        }
        let is_packed = |flags: u64| flags & SHF_COMPRESSED != 0;
        match section {
            // Bytes that were replaced are in the new file alone.
            Some(section) if !is_packed(section.flags) => {
                self.section_bytes(section.index).and_then(|it| memory::copy(it, CONTEXT).map(Some))
            }
            Some(section) => self.elf.section_content(section, MOST).map(Cow::into_owned).map(Some),
            None => Ok(None),
        }
    }

    /// Writes the new file. Without changes it is the old one.
    ///
    /// # Errors
    /// When a change cannot be written; nothing has been written then.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        self.write_symbols()?;
        let runs = self.rewrite_notes()?;
        self.write_segments(&runs)?;
        self.write_contents()?;
        self.write_section_headers()?;
        Ok(self.bytes)
    }
}

/// The end of the last thing that has an address.
fn end_address(elf: &Elf<'_>) -> Result<u64> {
    let sections = elf.sections().iter().filter(|it| it.flags & SHF_ALLOC != 0);
    let ends = sections
        .map(|it| (it.address, it.size))
        .chain(elf.loads().map(|it| (it.address, it.memory_size)));
    ends.map(|(start, size)| add(start, size, CONTEXT)).try_fold(0, |max, end| Ok(max.max(end?)))
}
