//! Making a shared object: what a linker writes at the end of its work.
//!
//! The caller places its sections; the file header and the program headers are at address 0, below
//! them, and the tables for the loader above them, so that neither's size is the caller's concern.

use std::borrow::Cow;

use hsaco_bytes::{Error, ErrorKind, Result, Str};

use crate::relocation::RelocationType;
use crate::symbol::{Binding, STT_NOTYPE, Visibility};
use crate::{
    ET_DYN, HEADER_SIZE, PF_R, PF_W, PF_X, PT_DYNAMIC, PT_GNU_STACK, PT_LOAD, PT_NOTE, PT_PHDR,
    SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE, SHT_DYNAMIC, SHT_DYNSYM, SHT_GNU_HASH, SHT_HASH,
    SHT_NOBITS, SHT_NOTE, SHT_RELA, SHT_STRTAB, SHT_SYMTAB, Segment,
};

use super::hash::{gnu_table, sort_by_bucket, sysv_table};
use super::row::{SEGMENT_SIZE, SectionRow, Tables, header_bytes, relocation_bytes, segment_bytes};
use super::{NewSymbol, PAGE, add, add_string, align_up, note, put_at, unsupported};

const CONTEXT: &str = "new code object";

/// The relocation that adds the load address: loaders want these first, and counted.
const R_AMDGPU_RELATIVE64: RelocationType = RelocationType(13);

/// What the file header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// `EI_OSABI`.
    pub os_abi: u8,
    /// `EI_ABIVERSION`.
    pub abi_version: u8,
    /// `e_flags`.
    pub flags: u32,
}

/// A section to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSection<'a> {
    /// Name.
    pub name: String,
    /// `sh_type`.
    pub kind: u32,
    /// `sh_flags`.
    pub flags: u64,
    /// Address, if it has one by its flags.
    pub address: u64,
    /// `sh_addralign`.
    pub align: u64,
    /// `sh_entsize`.
    pub entry_size: u64,
    /// The bytes in the file; none for a section that takes none.
    pub content: Cow<'a, [u8]>,
    /// How many bytes it takes in memory, where that is more than its content.
    pub memory_size: u64,
}

impl NewSection<'_> {
    fn size(&self) -> u64 {
        match self.kind {
            SHT_NOBITS => self.memory_size,
            _ => self.content.len() as u64,
        }
    }

    fn file_size(&self) -> u64 {
        if self.kind == SHT_NOBITS { 0 } else { self.size() }
    }

    fn is_mapped(&self) -> bool {
        self.flags & SHF_ALLOC != 0
    }

    fn segment_flags(&self) -> u32 {
        let flag = |bit: u64, flag: u32| if self.flags & bit == 0 { 0 } else { flag };
        PF_R | flag(SHF_WRITE, PF_W) | flag(SHF_EXECINSTR, PF_X)
    }
}

/// A dynamic relocation to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewRelocation {
    /// Address of the place.
    pub offset: u64,
    /// The relocation type, such as `R_AMDGPU_ABS64`.
    pub kind: RelocationType,
    /// Which of the symbols that were added, counted from 0; `None` for none.
    pub symbol: Option<usize>,
    /// `r_addend`.
    pub addend: i64,
}

/// A shared object in the making.
///
/// ```
/// use hsaco_elf::{Elf, SHF_ALLOC, SHF_EXECINSTR, SHT_PROGBITS};
/// use hsaco_elf::symbol::{Binding, STT_FUNC, Visibility};
/// use hsaco_elf::write::{Builder, Identity, NewSection, NewSymbol};
/// let mut builder = Builder::new(Identity { os_abi: 64, abi_version: 4, flags: 0x54c });
/// let text = builder.section(NewSection {
///     name: ".text".to_owned(),
///     kind: SHT_PROGBITS,
///     flags: SHF_ALLOC | SHF_EXECINSTR,
///     address: Builder::FIRST_ADDRESS,
///     align: 256,
///     entry_size: 0,
///     content: (&[0x00, 0x00, 0x81, 0xbf]).into(),
///     memory_size: 0,
/// });
/// builder.symbol(NewSymbol {
///     name: b"f".to_vec(),
///     value: Builder::FIRST_ADDRESS,
///     size: 4,
///     kind: STT_FUNC,
///     binding: Binding::Global,
///     visibility: Visibility::Protected,
///     section: text,
/// });
/// let file = builder.finish()?;
/// let elf = Elf::parse_amdgpu(&file)?;
/// assert_eq!(elf.header().flags, 0x54c);
/// assert_eq!(elf.section(text).unwrap().address, Builder::FIRST_ADDRESS);
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder<'a> {
    identity: Identity,
    sections: Vec<NewSection<'a>>,
    symbols: Vec<NewSymbol>,
    relocations: Vec<NewRelocation>,
    notes: Vec<u8>,
}

impl<'a> Builder<'a> {
    /// The lowest address that a section may have in any object of up to 70 segments.
    pub const FIRST_ADDRESS: u64 = PAGE;

    /// An object without anything in it.
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            sections: Vec::new(),
            symbols: Vec::new(),
            relocations: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Adds a section, and answers its index, by which symbols refer to it.
    pub fn section(&mut self, section: NewSection<'a>) -> u32 {
        self.sections.push(section);
        u32::try_from(self.sections.len()).unwrap_or(u32::MAX)
    }

    /// Adds a symbol, and answers its number, by which relocations refer to it. Symbols that are
    /// not local, hidden or internal are for the loader too.
    pub fn symbol(&mut self, symbol: NewSymbol) -> usize {
        self.symbols.push(symbol);
        self.symbols.len() - 1
    }

    /// Adds a dynamic relocation.
    pub fn relocation(&mut self, relocation: NewRelocation) {
        self.relocations.push(relocation);
    }

    /// Adds a note.
    ///
    /// # Errors
    /// When it is larger than 4 GiB.
    pub fn note(&mut self, owner: &str, kind: u32, content: &[u8]) -> Result<()> {
        self.notes.extend(note::record(owner, kind, content)?);
        Ok(())
    }

    /// Writes the object.
    ///
    /// # Errors
    /// When sections overlap or lie below the headers, when a relocation refers to a symbol that
    /// the loader does not see, or when there is more than ELF can count.
    pub fn finish(self) -> Result<Vec<u8>> {
        Layout::new(self)?.write()
    }
}

/// The object while it is laid out.
struct Layout<'a> {
    builder: Builder<'a>,
    rows: Vec<SectionRow>,
    names: Vec<u8>,
    segments: Vec<Segment>,
    bytes: Vec<u8>,
    /// The end of all that has an address.
    end_address: u64,
    /// Symbols for the loader in the order of `.dynsym`, without the null one.
    dynamic: Vec<usize>,
    /// How many of them are only referred to; those are in no hash table.
    undefined: usize,
}

impl<'a> Layout<'a> {
    fn new(builder: Builder<'a>) -> Result<Self> {
        let mut names = vec![0];
        let mut rows = vec![SectionRow::default()];
        for section in &builder.sections {
            rows.push(SectionRow {
                name: add_string(&mut names, section.name.as_bytes(), CONTEXT)?,
                kind: section.kind,
                flags: section.flags,
                address: if section.is_mapped() { section.address } else { 0 },
                size: section.size(),
                align: section.align,
                entry_size: section.entry_size,
                ..SectionRow::default()
            });
        }
        let visible = |it: &NewSymbol| {
            !it.is_local() && matches!(it.visibility, Visibility::Default | Visibility::Protected)
        };
        let symbols = builder.symbols.iter().enumerate().filter(|(_, it)| visible(it));
        let (mut dynamic, mut defined): (Vec<_>, Vec<_>) =
            symbols.partition(|(_, it)| it.section == 0);
        let undefined = dynamic.len();
        sort_by_bucket(&mut defined, |(_, it)| it.name.as_slice());
        dynamic.append(&mut defined);
        let dynamic = dynamic.into_iter().map(|(index, _)| index).collect();
        Ok(Self {
            builder,
            rows,
            names,
            segments: Vec::new(),
            bytes: Vec::new(),
            end_address: 0,
            dynamic,
            undefined,
        })
    }

    fn write(mut self) -> Result<Vec<u8>> {
        self.place_sections()?;
        self.place_tables()?;
        self.place_unmapped()?;
        self.write_headers()
    }

    fn end(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Headers first, then the caller's sections: runs of the same permissions are one segment.
    fn place_sections(&mut self) -> Result<()> {
        let mut order: Vec<usize> = (0..self.builder.sections.len()).collect();
        order.retain(|&at| self.builder.sections.get(at).is_some_and(NewSection::is_mapped));
        order.sort_by_key(|&at| self.builder.sections.get(at).map(|it| (it.address, it.size())));
        let headers = HEADER_SIZE + self.segment_count(&order) * SEGMENT_SIZE;
        self.bytes = vec![0; usize::try_from(headers).unwrap_or(0)];
        self.load(PF_R, 0, 0, headers, headers);
        let headers = self.end_address;
        for at in order {
            self.place_section(at, headers)?;
        }
        Ok(())
    }

    fn place_section(&mut self, at: usize, headers: u64) -> Result<()> {
        let Some(section) = self.builder.sections.get(at) else { return Ok(()) };
        let (address, size, flags) = (section.address, section.size(), section.segment_flags());
        if address < self.end_address.max(headers) {
            let detail = format!(
                "{} at {address:#x}, and what is below it ends at {:#x}",
                section.name, self.end_address
            );
            return Err(Error::new(ErrorKind::Malformed, CONTEXT, detail));
        }
        let joined = self.segments.last().filter(|it| joins(it, section));
        let offset = match joined {
            Some(segment) => add(segment.offset, address - segment.address, CONTEXT)?,
            None => congruent(self.end(), address)?,
        };
        let file_size = section.file_size();
        if file_size != 0 {
            put_at(&mut self.bytes, offset, &section.content, CONTEXT)?;
        }
        let is_joined = joined.is_some();
        let end = add(address, size, CONTEXT)?;
        match self.segments.last_mut().filter(|_| is_joined) {
            Some(segment) => {
                segment.memory_size = end - segment.address;
                if file_size != 0 {
                    segment.file_size = segment.memory_size;
                }
            }
            None => self.load(flags, offset, address, file_size, size),
        }
        self.end_address = end;
        if let Some(row) = self.rows.get_mut(at + 1) {
            row.offset = offset;
        }
        Ok(())
    }

    /// How many program headers there will be: those of sections in this order, and ours.
    fn segment_count(&self, order: &[usize]) -> u64 {
        let mut last: Option<Segment> = None;
        let mut count = 0;
        for section in order.iter().filter_map(|&at| self.builder.sections.get(at)) {
            let mut run = match last.filter(|it| joins(it, section)) {
                Some(run) => run,
                None => {
                    count += 1;
                    segment(section.segment_flags(), 0, section.address, 0, 0)
                }
            };
            run.memory_size = (section.address - run.address).saturating_add(section.size());
            run.file_size = if section.file_size() == 0 { run.file_size } else { run.memory_size };
            last = Some(run);
        }
        let notes = u64::from(!self.builder.notes.is_empty());
        // The headers, the loader's tables and the dynamic table, each mapped; PT_PHDR, PT_DYNAMIC
        // and PT_GNU_STACK.
        count + 6 + notes
    }

    /// What the loader reads, in one read-only segment, and the dynamic table in a writable one.
    fn place_tables(&mut self) -> Result<()> {
        let offset = congruent(self.end(), 0)?;
        let start = Start { offset, address: align_up(self.end_address, PAGE, CONTEXT)? };
        let notes = std::mem::take(&mut self.builder.notes);
        let tables = self.tables()?;
        self.bytes.resize(usize::try_from(offset).unwrap_or(0), 0);
        if !notes.is_empty() {
            self.place_notes(start, &notes)?;
        }
        let symbol_index = u32::try_from(self.rows.len()).unwrap_or(0);
        let strings_index = symbol_index + 3;
        let row = table_row(SHT_DYNSYM, 8, 24, strings_index, 1);
        let symtab = self.place(start, ".dynsym", row, &tables.symbols)?;
        let row = table_row(SHT_GNU_HASH, 8, 0, symbol_index, 0);
        let gnu = self.place(start, ".gnu.hash", row, &tables.gnu)?;
        let row = table_row(SHT_HASH, 4, 4, symbol_index, 0);
        let hash = self.place(start, ".hash", row, &tables.sysv)?;
        let row = table_row(SHT_STRTAB, 1, 0, 0, 0);
        let strtab = self.place(start, ".dynstr", row, &tables.strings)?;
        let mut entries = Vec::new();
        let (relocations, relative) = tables.relocations;
        if !relocations.is_empty() {
            let row = table_row(SHT_RELA, 8, 24, symbol_index, 0);
            let at = self.place(start, ".rela.dyn", row, &relocations)?;
            entries.extend([(7, at), (8, relocations.len() as u64), (9, 24)]);
            entries.extend((relative != 0).then_some((0x6fff_fff9, relative)));
        }
        let size = self.end() - start.offset;
        self.load(PF_R, start.offset, start.address, size, size);
        entries.extend([(6, symtab), (11, 24), (5, strtab), (10, tables.strings.len() as u64)]);
        entries.extend([(0x6fff_fef5, gnu), (4, hash), (0, 0)]);
        self.place_dynamic(&entries, strings_index)
    }

    fn tables(&mut self) -> Result<LoaderTables> {
        let mut strings = vec![0];
        let symbols = self.dynamic_symbols(&mut strings)?;
        let dynamic = self.dynamic.iter().filter_map(|&it| self.builder.symbols.get(it));
        let names = std::iter::once(&b""[..]).chain(dynamic.map(|it| it.name.as_slice()));
        let names: Vec<&[u8]> = names.collect();
        let hashed = names.get(self.undefined + 1..).unwrap_or_default();
        let first_hashed = u32::try_from(self.undefined + 1).unwrap_or(u32::MAX);
        let (gnu, sysv) = (gnu_table(hashed, first_hashed), sysv_table(&names));
        let relocations = self.relocation_table()?;
        Ok(LoaderTables { strings, symbols, gnu, sysv, relocations })
    }

    fn place_notes(&mut self, start: Start, notes: &[u8]) -> Result<()> {
        let address = self.place(start, ".note", table_row(SHT_NOTE, 4, 0, 0, 0), notes)?;
        let (offset, size) = (address - start.address + start.offset, notes.len() as u64);
        let notes = segment(PF_R, offset, address, size, size);
        self.segments.push(Segment { align: 4, kind: PT_NOTE, ..notes });
        Ok(())
    }

    /// Puts a table at the end of the segment that starts there, and says its address.
    fn place(&mut self, start: Start, name: &str, row: SectionRow, content: &[u8]) -> Result<u64> {
        let offset = align_up(self.end(), row.align, CONTEXT)?;
        let address = add(start.address, offset - start.offset, CONTEXT)?;
        self.push_row(name, SectionRow { address, offset, ..row }, content)?;
        Ok(address)
    }

    fn place_dynamic(&mut self, entries: &[(u64, u64)], strings: u32) -> Result<()> {
        let offset = align_up(self.end(), 8, CONTEXT)?;
        let address = add(align_up(self.end_address, PAGE, CONTEXT)?, offset % PAGE, CONTEXT)?;
        let table: Vec<u8> = entries
            .iter()
            .flat_map(|&(tag, value)| [tag, value])
            .flat_map(u64::to_le_bytes)
            .collect();
        let row = SectionRow {
            kind: SHT_DYNAMIC,
            flags: SHF_ALLOC | SHF_WRITE,
            address,
            offset,
            link: strings,
            align: 8,
            entry_size: 16,
            ..SectionRow::default()
        };
        let section = u32::try_from(self.rows.len()).unwrap_or(0);
        self.push_row(".dynamic", row, &table)?;
        let size = table.len() as u64;
        self.load(PF_R | PF_W, offset, address, size, size);
        let dynamic = segment(PF_R | PF_W, offset, address, size, size);
        self.segments.push(Segment { align: 8, kind: PT_DYNAMIC, ..dynamic });
        let stack = segment(PF_R | PF_W, 0, 0, 0, 0);
        self.segments.push(Segment { align: 0, kind: PT_GNU_STACK, ..stack });
        self.builder.symbols.push(NewSymbol {
            name: b"_DYNAMIC".to_vec(),
            value: address,
            size: 0,
            kind: STT_NOTYPE,
            binding: Binding::Local,
            visibility: Visibility::Hidden,
            section,
        });
        Ok(())
    }

    fn dynamic_symbols(&self, strings: &mut Vec<u8>) -> Result<Vec<u8>> {
        let mut table = vec![0; 24];
        for symbol in self.dynamic.iter().filter_map(|&it| self.builder.symbols.get(it)) {
            let name = add_string(strings, &symbol.name, CONTEXT)?;
            table.extend(symbol.bytes(name, self.rows.len())?);
        }
        Ok(table)
    }

    /// The relocations, those without a symbol first, and how many of those are relative.
    fn relocation_table(&self) -> Result<(Vec<u8>, u64)> {
        let count = self.builder.symbols.len();
        let mut numbers: Vec<Option<u32>> = vec![None; count];
        for (&symbol, number) in self.dynamic.iter().zip(1..) {
            if let Some(place) = numbers.get_mut(symbol) {
                *place = Some(number);
            }
        }
        let mut sorted = self.builder.relocations.clone();
        sorted.sort_by_key(|it| (it.kind != R_AMDGPU_RELATIVE64, it.symbol, it.offset));
        let relative = sorted.iter().filter(|it| it.kind == R_AMDGPU_RELATIVE64).count() as u64;
        let mut table = Vec::with_capacity(sorted.len() * 24);
        for it in sorted {
            let number = match it.symbol {
                None => 0,
                Some(symbol) => numbers.get(symbol).copied().flatten().ok_or_else(|| {
                    let name = self.builder.symbols.get(symbol).map_or(&b""[..], |it| &it.name);
                    let detail = format!(
                        "the relocation at {:#x} refers to {:?}, which the loader does not see",
                        it.offset,
                        Str::new(name)
                    );
                    Error::new(ErrorKind::Malformed, CONTEXT, detail)
                })?,
            };
            table.extend(relocation_bytes(it.offset, it.kind, number, it.addend));
        }
        Ok((table, relative))
    }

    /// Sections without an address, the symbol table, and the strings of both.
    fn place_unmapped(&mut self) -> Result<()> {
        for at in 0..self.builder.sections.len() {
            let section = self.builder.sections.get(at).filter(|it| !it.is_mapped());
            let (Some(section), Some(row)) = (section, self.rows.get_mut(at + 1)) else { continue };
            let align = if section.align.is_power_of_two() { section.align } else { 1 };
            row.offset = align_up(self.bytes.len() as u64, align, CONTEXT)?;
            put_at(&mut self.bytes, row.offset, &section.content, CONTEXT)?;
        }
        let symbols = std::mem::take(&mut self.builder.symbols);
        let sections = self.rows.len();
        let (mut table, mut strings) = (vec![0; 24], vec![0]);
        let (local, global): (Vec<_>, Vec<_>) = symbols.iter().partition(|it| it.is_local());
        for symbol in local.iter().chain(&global) {
            let name = add_string(&mut strings, &symbol.name, CONTEXT)?;
            table.extend(symbol.bytes(name, sections)?);
        }
        let plain = SectionRow { align: 1, kind: SHT_STRTAB, ..SectionRow::default() };
        let row = SectionRow {
            kind: SHT_SYMTAB,
            align: 8,
            entry_size: NewSymbol::SIZE,
            link: u32::try_from(sections + 1).unwrap_or(0),
            info: u32::try_from(local.len() + 1).unwrap_or(u32::MAX),
            ..SectionRow::default()
        };
        let offset = align_up(self.end(), 8, CONTEXT)?;
        self.push_row(".symtab", SectionRow { offset, ..row }, &table)?;
        self.push_row(".strtab", SectionRow { offset: self.end(), ..plain }, &strings)?;
        let name = add_string(&mut self.names, b".shstrtab", CONTEXT)?;
        let names = std::mem::take(&mut self.names);
        let size = names.len() as u64;
        self.rows.push(SectionRow { name, offset: self.end(), size, ..plain });
        self.bytes.extend(names);
        Ok(())
    }

    fn write_headers(mut self) -> Result<Vec<u8>> {
        let count = u16::try_from(self.rows.len()).ok().filter(|&it| it < 0xff00);
        let segments = u16::try_from(self.segments.len() + 1).ok().filter(|&it| it < 0xffff);
        let Some((count, segments)) = count.zip(segments) else {
            return Err(unsupported(CONTEXT, "more sections than the file header can count"));
        };
        let offset = align_up(self.end(), 8, CONTEXT)?;
        let table: Vec<u8> = self.rows.iter().flat_map(SectionRow::bytes).collect();
        put_at(&mut self.bytes, offset, &table, CONTEXT)?;
        let tables = Tables {
            program_headers: HEADER_SIZE,
            program_header_count: segments,
            section_headers: offset,
            section_header_count: count,
            section_name_index: count - 1,
        };
        let Identity { os_abi, abi_version, flags } = self.builder.identity;
        let header = header_bytes(os_abi, abi_version, ET_DYN, flags, &tables);
        put_at(&mut self.bytes, 0, &header, CONTEXT)?;
        let size = u64::from(segments) * SEGMENT_SIZE;
        let own = segment(PF_R, HEADER_SIZE, HEADER_SIZE, size, size);
        // Mapped segments by address, as ELF wants them; then the others.
        self.segments.sort_by_key(|it| (it.kind != PT_LOAD, it.address));
        let all = std::iter::once(Segment { align: 8, kind: PT_PHDR, ..own }).chain(self.segments);
        let table: Vec<u8> = all.flat_map(|it| segment_bytes(&it)).collect();
        put_at(&mut self.bytes, HEADER_SIZE, &table, CONTEXT)?;
        Ok(self.bytes)
    }

    /// Adds a section of ours at its offset.
    fn push_row(&mut self, name: &str, row: SectionRow, content: &[u8]) -> Result<()> {
        let name = add_string(&mut self.names, name.as_bytes(), CONTEXT)?;
        put_at(&mut self.bytes, row.offset, content, CONTEXT)?;
        self.rows.push(SectionRow { name, size: content.len() as u64, ..row });
        Ok(())
    }

    fn load(&mut self, flags: u32, offset: u64, address: u64, file_size: u64, memory_size: u64) {
        self.segments.push(segment(flags, offset, address, file_size, memory_size));
        self.end_address = self.end_address.max(address.saturating_add(memory_size));
    }
}

/// Whether a section continues a segment: the same permissions, in the next page at the latest, and
/// no content after bytes that the file does not hold.
fn joins(segment: &Segment, section: &NewSection<'_>) -> bool {
    let end = segment.address.saturating_add(segment.memory_size);
    segment.kind == PT_LOAD
        && segment.address != 0
        && segment.flags == section.segment_flags()
        && section.address >= end
        && section.address - end < PAGE
        && (segment.file_size == segment.memory_size || section.file_size() == 0)
}

fn segment(flags: u32, offset: u64, address: u64, file_size: u64, memory_size: u64) -> Segment {
    Segment { index: 0, kind: PT_LOAD, flags, offset, address, file_size, memory_size, align: PAGE }
}

/// What the loader reads.
struct LoaderTables {
    strings: Vec<u8>,
    symbols: Vec<u8>,
    gnu: Vec<u8>,
    sysv: Vec<u8>,
    /// Relocations, and how many of them are relative.
    relocations: (Vec<u8>, u64),
}

/// Where a segment begins.
#[derive(Clone, Copy)]
struct Start {
    offset: u64,
    address: u64,
}

/// The section of a table that is loaded.
fn table_row(kind: u32, align: u64, entry_size: u64, link: u32, info: u32) -> SectionRow {
    SectionRow { kind, flags: SHF_ALLOC, align, entry_size, link, info, ..SectionRow::default() }
}

/// The next offset that is in its page where an address is in its own.
fn congruent(offset: u64, address: u64) -> Result<u64> {
    let page = align_up(offset, PAGE, CONTEXT)?;
    let same = (offset & !(PAGE - 1)).checked_add(address % PAGE).filter(|&it| it >= offset);
    same.map_or_else(|| add(page, address % PAGE, CONTEXT), Ok)
}
