//! Relocations: which places of a code object wait for which address.

use crate::bytes::{read_u32, read_u64, slice};
use crate::elf::{Elf, SHT_RELA, SHT_SYMTAB, Section};
use crate::error::Problems;
use crate::symbol::{SymbolSource, SymbolTable, dynamic_entries};
use crate::{Error, Result, Str};

const ENTRY_SIZE: u64 = 24;
const DT_RELA: u64 = 7;
const DT_RELASZ: u64 = 8;

/// What a relocation computes and stores.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RelocationType(pub u32);

/// Types by number; a gap is a number nobody uses.
const NAMES: [&str; 15] = [
    "R_AMDGPU_NONE",
    "R_AMDGPU_ABS32_LO",
    "R_AMDGPU_ABS32_HI",
    "R_AMDGPU_ABS64",
    "R_AMDGPU_REL32",
    "R_AMDGPU_REL64",
    "R_AMDGPU_ABS32",
    "R_AMDGPU_GOTPCREL",
    "R_AMDGPU_GOTPCREL32_LO",
    "R_AMDGPU_GOTPCREL32_HI",
    "R_AMDGPU_REL32_LO",
    "R_AMDGPU_REL32_HI",
    "",
    "R_AMDGPU_RELATIVE64",
    "R_AMDGPU_REL16",
];

impl RelocationType {
    /// AMD's name of the type, if it has one.
    pub fn name(self) -> Option<&'static str> {
        NAMES.get(self.0 as usize).copied().filter(|name| !name.is_empty())
    }
}

impl std::fmt::Display for RelocationType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "R_AMDGPU_{}", self.0),
        }
    }
}

impl std::fmt::Debug for RelocationType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// One relocation with an addend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation<'a> {
    /// `r_offset`: an address in a linked object, an offset into the section in a relocatable one.
    pub offset: u64,
    /// Its type.
    pub kind: RelocationType,
    /// Symbol index, 0 for none.
    pub symbol: u32,
    /// The symbol's name, empty for a section's or for none.
    pub symbol_name: Str<'a>,
    /// `r_addend`.
    pub addend: i64,
    /// The section the relocation applies to; `None` for dynamic ones.
    pub section: Option<u32>,
}

/// Every relocation of a file, and what was wrong with the tables.
pub(crate) fn read<'a>(elf: &Elf<'a>) -> (Vec<Relocation<'a>>, Vec<Error>) {
    let mut problems = Problems::default();
    let sections: Vec<_> = elf.sections().iter().filter(|it| it.kind == SHT_RELA).collect();
    let mut all = Vec::new();
    let mut left = elf.data().len() as u64;
    for section in &sections {
        match crate::bytes::spend(left, section.size, "relocations", section.offset) {
            Ok(rest) => left = rest,
            Err(error) => {
                problems.note(error);
                break;
            }
        }
        all.extend(problems.or_empty(of_section(elf, section)));
    }
    if elf.sections().is_empty() {
        all.extend(problems.or_empty(of_dynamic_segment(elf)));
    }
    (all, problems.as_slice().to_vec())
}

fn of_section<'a>(elf: &Elf<'a>, section: &Section<'a>) -> Result<Vec<Relocation<'a>>> {
    let linked = elf.section(section.link).filter(|it| it.index != 0);
    let symbols = linked
        .map(|it| {
            let is_static = it.kind == SHT_SYMTAB;
            let source = if is_static { SymbolSource::Symtab } else { SymbolSource::Dynsym };
            SymbolTable::of_section(elf, it, source)
        })
        .transpose()?;
    let target = Some(section.info).filter(|&index| index != 0);
    Ok(rows(elf.section_data(section)?, symbols.as_ref(), target))
}

fn of_dynamic_segment<'a>(elf: &Elf<'a>) -> Result<Vec<Relocation<'a>>> {
    let entries = dynamic_entries(elf)?;
    let value = |tag| entries.iter().find(|&&(it, _)| it == tag).map(|&(_, value)| value);
    let (Some(address), Some(size)) = (value(DT_RELA), value(DT_RELASZ)) else {
        return Ok(Vec::new());
    };
    let offset = elf.file_offset(address).ok_or_else(|| {
        Error::malformed("dynamic relocations", 0, format!("{address:#x} is in no segment"))
    })?;
    let data = slice(elf.data(), offset, size, "dynamic relocations")?;
    Ok(rows(data, SymbolTable::find_dynamic(elf)?.as_ref(), None))
}

fn rows<'a>(
    data: &[u8],
    symbols: Option<&SymbolTable<'a>>,
    section: Option<u32>,
) -> Vec<Relocation<'a>> {
    let size = usize::try_from(ENTRY_SIZE).unwrap_or(usize::MAX);
    let mut budget = symbols.map_or(0, |table| table.names_budget(data.len() / size));
    let read = |row| {
        let mut relocation = relocation(row, symbols, section)?;
        let name = relocation.symbol_name.as_bytes().len() as u64;
        match budget.checked_sub(name) {
            Some(left) => budget = left,
            None => relocation.symbol_name = Str::default(),
        }
        Some(relocation)
    };
    data.chunks_exact(size).filter_map(read).collect()
}

fn relocation<'a>(
    row: &[u8],
    symbols: Option<&SymbolTable<'a>>,
    section: Option<u32>,
) -> Option<Relocation<'a>> {
    let symbol = read_u32(row, 12)?;
    let named = symbols.filter(|_| symbol != 0).and_then(|table| table.symbol(symbol).ok());
    Some(Relocation {
        offset: read_u64(row, 0)?,
        kind: RelocationType(read_u32(row, 8)?),
        symbol,
        symbol_name: named.map(|it| it.name).unwrap_or_default(),
        addend: read_u64(row, 16)?.cast_signed(),
        section,
    })
}
