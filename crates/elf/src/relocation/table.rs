//! Where a file keeps its relocations: sections, and what the dynamic segment names beside them.

use hsaco_bytes::{Error, ErrorKind, Problems, Result, slice, spend};

use crate::symbol::{SymbolSource, SymbolTable, dynamic_entries};
use crate::{ET_REL, Elf, SHF_ALLOC, SHT_SYMTAB, Section, section_type_name};

use super::{CONTEXT, Encoding};

/// One table of relocations.
pub(super) struct Table<'a> {
    pub(super) encoding: Encoding,
    pub(super) data: &'a [u8],
    /// Where it is in the file.
    pub(super) offset: u64,
    pub(super) symbols: Option<SymbolTable<'a>>,
    /// The section that it is about; `None` for what a loader applies.
    pub(super) section: Option<u32>,
}

impl Table<'_> {
    fn end(&self) -> u64 {
        self.offset.saturating_add(self.data.len() as u64)
    }
}

/// Every table of a file, each once.
pub(super) fn find<'a>(elf: &Elf<'a>, problems: &mut Problems) -> Vec<Table<'a>> {
    let mut tables = Vec::new();
    let mut left = elf.data().len() as u64;
    for section in elf.sections() {
        let found = of_section(elf, section, &mut left);
        let is_over = matches!(&found, Err(error) if error.kind() == ErrorKind::LimitExceeded);
        tables.extend(problems.or_empty(found));
        if is_over {
            return tables;
        }
    }
    if elf.header().e_type != ET_REL {
        let named = problems.or_empty(dynamic_entries(elf));
        for tags in TAGS {
            let found = of_dynamic_segment(elf, &named, tags, &tables, &mut left);
            tables.extend(problems.or_empty(found));
        }
    }
    tables
}

fn of_section<'a>(
    elf: &Elf<'a>,
    section: &Section<'a>,
    left: &mut u64,
) -> Result<Option<Table<'a>>> {
    let Some(encoding) = Encoding::of_section(section.kind) else {
        return check_is_other(section).map(|()| None);
    };
    *left = spend(*left, section.size, CONTEXT, section.offset)?;
    check_rows(encoding, section.entry_size, section.size, section.offset)?;
    let linked = elf.section(section.link).filter(|it| it.index != 0);
    let symbols = linked
        .map(|it| {
            let is_static = it.kind == SHT_SYMTAB;
            let source = if is_static { SymbolSource::Symtab } else { SymbolSource::Dynsym };
            SymbolTable::of_section(elf, it, source)
        })
        .transpose()?;
    let section_of = Some(section.info).filter(|&index| index != 0 && !section.is_dynamic(elf));
    Ok(Some(Table {
        encoding,
        data: elf.section_data(section)?,
        offset: section.offset,
        symbols,
        section: section_of,
    }))
}

impl Section<'_> {
    /// Whether a loader applies the relocations of this section; else a linker has left them.
    pub fn is_dynamic(&self, elf: &Elf<'_>) -> bool {
        self.info == 0 || self.flags & SHF_ALLOC != 0 && elf.header().e_type != ET_REL
    }
}

/// A section that is called after relocations and is of a type that no one knows must not be passed over.
fn check_is_other(section: &Section<'_>) -> Result<()> {
    const PREFIXES: [&[u8]; 4] = [b".rel.", b".rela.", b".relr.", b".crel."];
    let name = section.name.as_bytes();
    if section_type_name(section.kind).is_none() && PREFIXES.iter().any(|it| name.starts_with(it)) {
        let detail = format!("section `{}` of type {:#x}", section.name, section.kind);
        return Err(Error::new(ErrorKind::Unsupported, CONTEXT, detail).at(section.offset));
    }
    Ok(())
}

/// A table of rows must consist of whole ones. Some writers leave the size of rows at 0.
fn check_rows(encoding: Encoding, said: u64, size: u64, offset: u64) -> Result<()> {
    let Some(row) = encoding.row_size() else { return Ok(()) };
    if said != 0 && said != row {
        let detail = format!("{encoding} rows of {said} bytes, not {row}");
        return Err(Error::malformed(CONTEXT, offset, detail));
    }
    if !size.is_multiple_of(row) {
        let detail = format!("{size} bytes are no whole number of {encoding} rows of {row}");
        return Err(Error::malformed(CONTEXT, offset, detail));
    }
    Ok(())
}

/// The dynamic tags of one table: where it is, its size, its rows' size, and how it is written.
#[derive(Clone, Copy)]
struct Tags {
    address: u64,
    size: u64,
    row: u64,
    encoding: Written,
}

#[derive(Clone, Copy)]
enum Written {
    As(Encoding),
    /// As another tag says.
    Said(u64),
    /// With no size that would end it.
    Unknown,
}

const DT_RELA: u64 = 7;
const DT_REL: u64 = 17;

const TAGS: [Tags; 8] = [
    tags(DT_RELA, 8, 9, Written::As(Encoding::Rela)),
    tags(DT_REL, 18, 19, Written::As(Encoding::Rel)),
    tags(0x24, 0x23, 0x25, Written::As(Encoding::Relr)),
    tags(0x6000_0011, 0x6000_0012, 0, Written::As(Encoding::AndroidRela)),
    tags(0x6000_000f, 0x6000_0010, 0, Written::As(Encoding::AndroidRel)),
    tags(0x6fff_e000, 0x6fff_e001, 0x6fff_e003, Written::As(Encoding::AndroidRelr)),
    // DT_JMPREL and DT_PLTRELSZ; DT_PLTREL says which rows.
    tags(23, 2, 0, Written::Said(20)),
    // DT_CREL.
    tags(0x4000_0026, 0, 0, Written::Unknown),
];

const fn tags(address: u64, size: u64, row: u64, encoding: Written) -> Tags {
    Tags { address, size, row, encoding }
}

/// The table that these tags name, unless it is one of the sections' already.
fn of_dynamic_segment<'a>(
    elf: &Elf<'a>,
    named: &[(u64, u64)],
    tags: Tags,
    known: &[Table<'a>],
    left: &mut u64,
) -> Result<Option<Table<'a>>> {
    let value = |tag| named.iter().find(|&&(it, _)| it == tag && tag != 0).map(|&(_, value)| value);
    let Some(address) = value(tags.address) else { return Ok(None) };
    let malformed = |detail: String| Error::malformed(DYNAMIC, 0, detail);
    let encoding = match tags.encoding {
        Written::As(encoding) => encoding,
        Written::Said(by) => match value(by) {
            Some(DT_RELA) => Encoding::Rela,
            Some(DT_REL) => Encoding::Rel,
            other => return Err(malformed(format!("DT_PLTREL is {}", other.unwrap_or(0)))),
        },
        Written::Unknown => {
            let detail = format!("dynamic tag {:#x}", tags.address);
            return Err(Error::new(ErrorKind::Unsupported, DYNAMIC, detail));
        }
    };
    let size = value(tags.size)
        .ok_or_else(|| malformed(format!("{encoding} at {address:#x} has no size")))?;
    if size == 0 {
        return Ok(None);
    }
    let offset = elf
        .file_offset(address)
        .ok_or_else(|| malformed(format!("{address:#x} is in no segment")))?;
    check_rows(encoding, value(tags.row).unwrap_or(0), size, offset)?;
    if is_covered(known, encoding, offset, offset.saturating_add(size)) {
        return Ok(None);
    }
    *left = spend(*left, size, DYNAMIC, offset)?;
    Ok(Some(Table {
        encoding,
        data: slice(elf.data(), offset, size, DYNAMIC)?,
        offset,
        symbols: SymbolTable::find_dynamic(elf)?,
        section: None,
    }))
}

const DYNAMIC: &str = "dynamic relocations";

/// Whether tables that are known already, one after the other, hold all of these bytes.
fn is_covered(known: &[Table<'_>], encoding: Encoding, mut start: u64, end: u64) -> bool {
    let ours = |it: &&Table<'_>| it.encoding == encoding && it.section.is_none();
    while start < end {
        let next = known.iter().filter(ours).find(|it| it.offset <= start && start < it.end());
        match next {
            Some(table) => start = table.end(),
            None => return false,
        }
    }
    true
}
