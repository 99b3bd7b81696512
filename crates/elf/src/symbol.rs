//! Symbol tables: `.symtab`, else `.dynsym`, else what the dynamic segment names.

use hsaco_bytes::{
    Error, Result, Str, c_str, names_budget, read_u16, read_u32, read_u64, slice, spend,
};

use crate::{Elf, PT_DYNAMIC, SHT_DYNSYM, SHT_SYMTAB, SHT_SYMTAB_SHNDX, Section};

/// Symbol without a type.
pub const STT_NOTYPE: u8 = 0;
/// Data.
pub const STT_OBJECT: u8 = 1;
/// Code.
pub const STT_FUNC: u8 = 2;
/// A section.
pub const STT_SECTION: u8 = 3;
/// A source file's name.
pub const STT_FILE: u8 = 4;
/// Data without a place yet.
pub const STT_COMMON: u8 = 5;
/// A kernel of code object V2; an indirect function in later versions.
pub const STT_AMDGPU_HSA_KERNEL: u8 = 10;

/// Section index of an undefined symbol.
pub const SHN_UNDEF: u32 = 0;
/// Section index of an LDS variable, whose value is its alignment.
pub const SHN_AMDGPU_LDS: u32 = 0xff00;
/// Section index of a symbol whose value is a number, not a place.
pub const SHN_ABS: u32 = 0xfff1;
/// Section index of a symbol without a place yet.
pub const SHN_COMMON: u32 = 0xfff2;
const SHN_XINDEX: u16 = 0xffff;

const ENTRY_SIZE: u64 = 24;

/// One entry of a symbol table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// Position in its table.
    pub index: u32,
    /// Name.
    pub name: Str<'a>,
    /// `st_value`.
    pub value: u64,
    /// `st_size`.
    pub size: u64,
    /// Type: the low half of `st_info`.
    pub kind: u8,
    /// Binding: the high half of `st_info`.
    pub binding: Binding,
    /// Visibility.
    pub visibility: Visibility,
    /// Section index, extended ones resolved.
    pub section: u32,
}

/// Who can see a symbol at link time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binding {
    /// `STB_LOCAL`.
    Local,
    /// `STB_GLOBAL`.
    Global,
    /// `STB_WEAK`.
    Weak,
    /// Any other value.
    Other(u8),
}

impl Binding {
    /// The name `readelf` prints.
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "LOCAL",
            Self::Global => "GLOBAL",
            Self::Weak => "WEAK",
            Self::Other(_) => "OTHER",
        }
    }

    /// The number that a file holds.
    pub(crate) fn value(self) -> u8 {
        match self {
            Self::Local => 0,
            Self::Global => 1,
            Self::Weak => 2,
            Self::Other(value) => value & 0xf,
        }
    }
}

/// Who can see a symbol at load time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Visibility {
    /// `STV_DEFAULT`.
    Default,
    /// `STV_INTERNAL`.
    Internal,
    /// `STV_HIDDEN`.
    Hidden,
    /// `STV_PROTECTED`.
    Protected,
}

impl Visibility {
    /// The name `readelf` prints.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "DEFAULT",
            Self::Internal => "INTERNAL",
            Self::Hidden => "HIDDEN",
            Self::Protected => "PROTECTED",
        }
    }

    /// The number that a file holds.
    pub(crate) fn value(self) -> u8 {
        match self {
            Self::Default => 0,
            Self::Internal => 1,
            Self::Hidden => 2,
            Self::Protected => 3,
        }
    }
}

impl Symbol<'_> {
    /// True when the symbol has a place in this file.
    pub fn is_defined(&self) -> bool {
        self.section != SHN_UNDEF
    }
}

/// Where a symbol table was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolSource {
    /// The `.symtab` section.
    Symtab,
    /// The `.dynsym` section: the file is stripped.
    Dynsym,
    /// The dynamic segment: the file has no section headers.
    DynamicSegment,
}

impl SymbolSource {
    /// The name to show.
    pub fn name(self) -> &'static str {
        match self {
            Self::Symtab => ".symtab",
            Self::Dynsym => ".dynsym",
            Self::DynamicSegment => "PT_DYNAMIC",
        }
    }
}

/// A symbol table and its strings.
#[derive(Clone, Copy, Debug)]
pub struct SymbolTable<'a> {
    source: SymbolSource,
    entries: &'a [u8],
    entry_size: usize,
    strings: &'a [u8],
    extended: &'a [u8],
    offset: u64,
}

impl<'a> SymbolTable<'a> {
    /// The best table of a file: `.symtab`, else `.dynsym`, else the dynamic segment's. `None` when
    /// the file has none; an error when no table that it names can be read.
    pub fn find(elf: &Elf<'a>) -> Result<Option<Self>> {
        match Self::find_readable(elf) {
            (None, Some(error)) => Err(error),
            (table, _) => Ok(table),
        }
    }

    /// The best table that can be read, and what was wrong with a better one.
    pub fn find_readable(elf: &Elf<'a>) -> (Option<Self>, Option<Error>) {
        let mut wrong = None;
        for (kind, source) in
            [(SHT_SYMTAB, SymbolSource::Symtab), (SHT_DYNSYM, SymbolSource::Dynsym)]
        {
            let section = elf.sections().iter().find(|it| it.kind == kind);
            match section.map(|it| Self::of_section(elf, it, source)) {
                Some(Ok(table)) => return (Some(table), wrong),
                Some(Err(error)) => wrong = wrong.or(Some(error)),
                None => {}
            }
        }
        match dynamic_table(elf) {
            Ok(table) => (table, wrong),
            Err(error) => (None, wrong.or(Some(error))),
        }
    }

    /// The dynamic symbol table, which relocations of a linked object refer to.
    pub fn find_dynamic(elf: &Elf<'a>) -> Result<Option<Self>> {
        match elf.sections().iter().find(|it| it.kind == SHT_DYNSYM) {
            Some(section) => Self::of_section(elf, section, SymbolSource::Dynsym).map(Some),
            None => dynamic_table(elf),
        }
    }

    /// The table in a section.
    pub fn of_section(elf: &Elf<'a>, section: &Section<'a>, source: SymbolSource) -> Result<Self> {
        const CONTEXT: &str = "symbol table";
        let malformed = |detail: String| Error::malformed(CONTEXT, section.offset, detail);
        if section.entry_size < ENTRY_SIZE {
            let size = section.entry_size;
            return Err(malformed(format!(
                "entries of {size} bytes, at least {ENTRY_SIZE} needed"
            )));
        }
        let strings = elf.section(section.link).ok_or_else(|| {
            let (link, count) = (section.link, elf.sections().len());
            malformed(format!("strings in section {link} of {count}"))
        })?;
        let extended = elf
            .sections()
            .iter()
            .find(|it| it.kind == SHT_SYMTAB_SHNDX && it.link == section.index);
        Ok(Self {
            source,
            entries: elf.section_data(section)?,
            entry_size: usize::try_from(section.entry_size).unwrap_or(usize::MAX),
            strings: elf.section_data(strings)?,
            extended: extended.map_or(Ok(&[][..]), |it| elf.section_data(it))?,
            offset: section.offset,
        })
    }

    /// Where the table was found.
    pub fn source(&self) -> SymbolSource {
        self.source
    }

    /// How many entries there are, the null symbol included.
    pub fn len(&self) -> usize {
        self.entries.len() / self.entry_size
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The symbol at an index.
    pub fn symbol(&self, index: u32) -> Result<Symbol<'a>> {
        let start = (index as usize).checked_mul(self.entry_size);
        let row = start.and_then(|start| self.entries.get(start..)?.first_chunk::<24>());
        let row = row.ok_or_else(|| {
            let detail = format!("symbol {index} of {}", self.len());
            Error::malformed("symbol table", self.offset, detail)
        })?;
        let (name, symbol) = self.read(row, index);
        self.named(name, symbol)
    }

    /// Every symbol but the null one. A symbol whose name cannot be read is an error item, and the
    /// next one follows.
    pub fn iter(&self) -> impl Iterator<Item = Result<Symbol<'a>>> + use<'a> {
        self.read_rows(|_| true)
    }

    /// Every symbol but the null one that stands in a section at an address or above it, without its name: all that
    /// is needed to find those that are worth reading.
    pub fn places(&self, section: u32, from: u64) -> impl Iterator<Item = Symbol<'a>> + use<'a> {
        let table = *self;
        let rows = self.entries.chunks_exact(self.entry_size).zip(0..).skip(1);
        rows.filter_map(move |(row, index)| {
            let is_above = |row: &&[u8; 24]| read_u64(*row, 8).is_some_and(|it| it >= from);
            let row = row.first_chunk().filter(is_above)?;
            Some(table.read(row, index).1).filter(|symbol| symbol.section == section)
        })
    }

    /// The only symbol of a name that stands in a section. Looks at no more of other names than tells them apart; nothing
    /// if there are several, or if a name cannot be read, as [`iter`](Self::iter) would complain.
    ///
    /// ```
    /// # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
    /// let elf = hsaco_elf::Elf::parse(&file)?;
    /// let symbols = hsaco_elf::symbol::SymbolTable::find(&elf)?.unwrap();
    /// assert_eq!(symbols.find_named(b"helper").unwrap().name.to_string(), "helper");
    /// assert!(symbols.find_named(b"help").is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn find_named(&self, name: &[u8]) -> Option<Symbol<'a>> {
        // Every name that begins in the strings ends in them.
        self.strings.last().filter(|last| **last == 0 && !name.is_empty())?;
        let mut found = None;
        for (row, index) in self.entries.chunks_exact(self.entry_size).zip(0..).skip(1) {
            let start = read_u32(row, 0)? as usize;
            if start >= self.strings.len() {
                return None;
            }
            // Of all symbols most are numbers, which a compiler leaves for every kernel.
            if read_u16(row, 6).is_some_and(|section| u32::from(section) == SHN_ABS) {
                continue;
            }
            let text = self.strings.get(start..)?;
            // Many begin alike; where it would end, nearly all differ.
            if text.get(name.len()) == Some(&0) && text.starts_with(name) {
                if found.is_some() {
                    return None;
                }
                found = Some(index);
            }
        }
        self.symbol(found?).ok()
    }

    /// As [`iter`](Self::iter), without labels, sections, files and numbers: of the symbols that a
    /// compiler writes, nearly all.
    pub fn named_things(&self) -> impl Iterator<Item = Result<Symbol<'a>>> + use<'a> {
        self.read_rows(is_named_thing)
    }

    /// As [`iter`](Self::iter), data alone: descriptors of kernels are that.
    pub fn objects(&self) -> impl Iterator<Item = Result<Symbol<'a>>> + use<'a> {
        self.read_rows(|[_, _, _, _, info, ..]| info & 0xf == STT_OBJECT)
    }

    /// How many bytes the names of `count` references to symbols may have.
    pub(crate) fn names_budget(&self, count: usize) -> u64 {
        names_budget(self.strings, count)
    }

    fn read_rows<W: Fn(&[u8; 24]) -> bool>(
        &self,
        wanted: W,
    ) -> impl Iterator<Item = Result<Symbol<'a>>> + use<'a, W> {
        let table = *self;
        let rows = self.entries.chunks_exact(self.entry_size).zip(0..).skip(1);
        let mut wanted = rows.filter_map(move |(row, index)| {
            Some((row.first_chunk().filter(|row| wanted(row))?, index))
        });
        let mut budget = Some(names_budget(self.strings, self.len()));
        std::iter::from_fn(move || {
            let left = budget?;
            let (row, index) = wanted.next()?;
            let (name, symbol) = table.read(row, index);
            let named = table.named(name, symbol);
            let size = named.as_ref().map_or(0, |it| it.name.as_bytes().len() as u64);
            match spend(left, size, "symbol names", table.offset) {
                Ok(rest) => {
                    budget = Some(rest);
                    Some(named)
                }
                Err(error) => {
                    budget = None;
                    Some(Err(error))
                }
            }
        })
    }

    /// Gives a symbol the name at a place of the strings.
    fn named(&self, name: u32, symbol: Symbol<'a>) -> Result<Symbol<'a>> {
        let text = c_str(self.strings, name as usize).ok_or_else(|| {
            let at = self.offset + u64::from(symbol.index) * self.entry_size as u64;
            let size = self.strings.len();
            let detail = format!("starts at {name} of {size} bytes and has no end");
            Error::malformed("symbol name", at, detail)
        })?;
        Ok(Symbol { name: text, ..symbol })
    }

    fn read(&self, row: &[u8; 24], index: u32) -> (u32, Symbol<'a>) {
        let word = |at| read_u32(row, at).unwrap_or(0);
        let long = |at| read_u64(row, at).unwrap_or(0);
        let [_, _, _, _, info, other, ..] = *row;
        let symbol = Symbol {
            index,
            name: Str::default(),
            value: long(8),
            size: long(16),
            kind: info & 0xf,
            binding: binding(info >> 4),
            visibility: visibility(other),
            section: self.section_index(read_u16(row, 6).unwrap_or(0), index),
        };
        (word(0), symbol)
    }

    fn section_index(&self, own: u16, index: u32) -> u32 {
        match own {
            SHN_XINDEX => read_u32(self.extended, index as usize * 4).unwrap_or(u32::from(own)),
            own => u32::from(own),
        }
    }
}

/// False for a label, a section, a file or a number: told from the row, before it is read.
fn is_named_thing(row: &[u8; 24]) -> bool {
    let [_, _, _, _, info, _, low, high, ..] = *row;
    let section = u32::from(u16::from_le_bytes([low, high]));
    match info & 0xf {
        STT_SECTION | STT_FILE => false,
        STT_NOTYPE => matches!(section, SHN_UNDEF | SHN_AMDGPU_LDS),
        _ => true,
    }
}

fn binding(value: u8) -> Binding {
    match value {
        0 => Binding::Local,
        1 => Binding::Global,
        2 => Binding::Weak,
        other => Binding::Other(other),
    }
}

fn visibility(other: u8) -> Visibility {
    match other & 3 {
        0 => Visibility::Default,
        1 => Visibility::Internal,
        2 => Visibility::Hidden,
        _ => Visibility::Protected,
    }
}

/// The entries of the dynamic segment, as (tag, value).
pub(crate) fn dynamic_entries<'a>(elf: &Elf<'a>) -> Result<Vec<(u64, u64)>> {
    let Some(segment) = elf.segments().iter().find(|it| it.kind == PT_DYNAMIC) else {
        return Ok(Vec::new());
    };
    let rows = elf.segment_data(segment)?.chunks_exact(16);
    let entries = rows.filter_map(|row| read_u64(row, 0).zip(read_u64(row, 8)));
    Ok(entries.take_while(|&(tag, _)| tag != 0).collect())
}

const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_STRSZ: u64 = 10;
const DT_SYMENT: u64 = 11;
const DT_GNU_HASH: u64 = 0x6fff_fef5;

fn dynamic_table<'a>(elf: &Elf<'a>) -> Result<Option<SymbolTable<'a>>> {
    const CONTEXT: &str = "dynamic symbol table";
    let entries = dynamic_entries(elf)?;
    let value = |tag| entries.iter().find(|&&(it, _)| it == tag).map(|&(_, value)| value);
    let (Some(symbols), Some(strings)) = (value(DT_SYMTAB), value(DT_STRTAB)) else {
        return Ok(None);
    };
    let entry_size = value(DT_SYMENT).unwrap_or(ENTRY_SIZE).max(ENTRY_SIZE);
    let count = match (value(DT_HASH), value(DT_GNU_HASH)) {
        (Some(hash), _) => hash_count(elf, hash),
        (None, Some(hash)) => gnu_hash_count(elf, hash),
        (None, None) => None,
    };
    let unmapped = |what: &str, address: u64| {
        Error::malformed(CONTEXT, 0, format!("{what} at {address:#x} is in no segment"))
    };
    let count = count.ok_or_else(|| {
        Error::malformed(CONTEXT, 0, "no hash table that says how many symbols there are")
    })?;
    let offset = elf.file_offset(symbols).ok_or_else(|| unmapped("table", symbols))?;
    let strings_at = elf.file_offset(strings).ok_or_else(|| unmapped("strings", strings))?;
    let size = u64::from(count).saturating_mul(entry_size);
    let strings_size = value(DT_STRSZ).unwrap_or(0);
    Ok(Some(SymbolTable {
        source: SymbolSource::DynamicSegment,
        entries: slice(elf.data(), offset, size, CONTEXT)?,
        entry_size: usize::try_from(entry_size).unwrap_or(usize::MAX),
        strings: slice(elf.data(), strings_at, strings_size, "dynamic string table")?,
        extended: &[],
        offset,
    }))
}

/// The System V hash table has one chain entry for each symbol.
fn hash_count(elf: &Elf<'_>, address: u64) -> Option<u32> {
    read_u32(elf.at_address(address, 8)?, 4)
}

/// The GNU hash table ends each chain with a set low bit: the count is one more than the last
/// symbol of the last chain.
fn gnu_hash_count(elf: &Elf<'_>, address: u64) -> Option<u32> {
    let start = usize::try_from(elf.file_offset(address)?).ok()?;
    let table = elf.data().get(start..)?;
    let [buckets, first, blooms] = [read_u32(table, 0)?, read_u32(table, 4)?, read_u32(table, 8)?];
    let buckets_at = 16 + (blooms as usize).checked_mul(8)?;
    let chains_at = buckets_at.checked_add((buckets as usize).checked_mul(4)?)?;
    let bucket_words = table.get(buckets_at..chains_at)?.chunks_exact(4);
    let last = bucket_words.filter_map(|word| read_u32(word, 0)).max().unwrap_or(0);
    if last < first {
        return Some(first);
    }
    let chain = table.get(chains_at.checked_add(((last - first) as usize).checked_mul(4)?)?..)?;
    let words = chain.chunks_exact(4).filter_map(|word| read_u32(word, 0));
    let ends_at = words.zip(0_u32..).find(|(word, _)| word & 1 != 0)?.1;
    last.checked_add(ends_at)?.checked_add(1)
}
