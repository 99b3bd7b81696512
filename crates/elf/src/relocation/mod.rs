//! Relocations: which places of a code object wait for which address.

mod decode;
mod table;

use hsaco_bytes::{Error, ErrorKind, Problems, Result, Str, memory, read_u32, read_u64, slice};

use crate::{ET_REL, Elf, SHT_REL, SHT_RELA, SHT_RELR};

use decode::Row;
use table::Table;

/// How a table writes its relocations down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Rows with addends: what AMD's loader reads.
    Rela,
    /// Rows without addends, which stand in the relocated places.
    Rel,
    /// Bitmaps of the places of `R_AMDGPU_RELATIVE64`; addends stand in the places.
    Relr,
    /// Android's packed form of [`Rela`](Self::Rela).
    AndroidRela,
    /// Android's packed form of [`Rel`](Self::Rel).
    AndroidRel,
    /// [`Relr`](Self::Relr) under the numbers that Android used before it was standard.
    AndroidRelr,
    /// LLVM's compact form, with or without addends.
    Crel,
}

/// Encodings with the section type that says so, and `readelf`'s name of it.
const ENCODINGS: [(Encoding, u32, &str); 7] = [
    (Encoding::Rela, SHT_RELA, "RELA"),
    (Encoding::Rel, SHT_REL, "REL"),
    (Encoding::Relr, SHT_RELR, "RELR"),
    (Encoding::AndroidRela, 0x6000_0002, "ANDROID_RELA"),
    (Encoding::AndroidRel, 0x6000_0001, "ANDROID_REL"),
    (Encoding::AndroidRelr, 0x6fff_ff00, "ANDROID_RELR"),
    (Encoding::Crel, 0x4000_0014, "CREL"),
];

impl Encoding {
    /// The encoding of a section of this type, if it holds relocations.
    pub fn of_section(kind: u32) -> Option<Self> {
        ENCODINGS.iter().find(|(_, number, _)| *number == kind).map(|(encoding, ..)| *encoding)
    }

    /// Whether the table is a bitmap of places, which hold the addends.
    pub fn is_bitmap(self) -> bool {
        matches!(self, Self::Relr | Self::AndroidRelr)
    }

    /// The name of its section type, as `readelf` spells it.
    pub fn name(self) -> &'static str {
        let row = ENCODINGS.iter().find(|(encoding, ..)| *encoding == self);
        row.map_or("", |(_, _, name)| name)
    }
}

impl std::fmt::Display for Encoding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// What a relocation computes and stores.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RelocationType(pub u32);

/// Types by number; a gap is an unused number.
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

const NONE: RelocationType = RelocationType(0);
const RELATIVE64: RelocationType = RelocationType(13);

/// One relocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation<'a> {
    /// `r_offset`: an address in a linked object, an offset into the section in a relocatable one.
    pub offset: u64,
    /// The relocation type, such as `R_AMDGPU_ABS64`.
    pub kind: RelocationType,
    /// Symbol index, 0 for none.
    pub symbol: u32,
    /// The symbol's name, empty for a section's or for none.
    pub symbol_name: Str<'a>,
    /// `r_addend`, or what stands in the place where the table has no addends.
    pub addend: i64,
    /// The section the relocation applies to; `None` for dynamic ones.
    pub section: Option<u32>,
    /// How its table is written.
    pub encoding: Encoding,
}

/// Every relocation of a file, and what was wrong with the tables.
pub fn read<'a>(elf: &Elf<'a>) -> (Vec<Relocation<'a>>, Vec<Error>) {
    let mut problems = Problems::default();
    let tables = table::find(elf, &mut problems);
    let mut all = Vec::new();
    for table in &tables {
        if let Err(error) = append(elf, table, &mut all) {
            problems.note(error);
        }
    }
    (all, problems.as_slice().to_vec())
}

/// Adds the relocations of a table, up to one that cannot be read.
fn append<'a>(elf: &Elf<'a>, table: &Table<'a>, all: &mut Vec<Relocation<'a>>) -> Result<()> {
    // Every relocation has four bytes of its own to change. A packed table could name billions.
    let most = elf.data().len() / 4;
    let rows = table.data.len() as u64 / table.encoding.row_size().unwrap_or(1);
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    let mut names = table.symbols.as_ref().map_or(0, |it| it.names_budget(rows));
    decode::rows(table.encoding, table.data, &mut |row| {
        if all.len() >= most {
            let detail = "more than the file has places for";
            return Err(Error::new(ErrorKind::LimitExceeded, CONTEXT, detail));
        }
        let mut relocation = relocation(elf, table, &row)?;
        match names.checked_sub(relocation.symbol_name.as_bytes().len() as u64) {
            Some(left) => names = left,
            None => relocation.symbol_name = Str::default(),
        }
        if all.len() == all.capacity() {
            memory::reserve(all, all.len().max(64), CONTEXT)?;
        }
        all.push(relocation);
        Ok(())
    })
    .map_err(|error| error.at(table.offset))
}

const CONTEXT: &str = "relocations";

fn relocation<'a>(elf: &Elf<'a>, table: &Table<'a>, row: &Row) -> Result<Relocation<'a>> {
    let symbols = table.symbols.as_ref().filter(|_| row.symbol != 0);
    let named = symbols.and_then(|symbols| symbols.symbol(row.symbol).ok());
    let addend = match row.addend {
        Some(addend) => addend,
        None => implicit_addend(elf, table, row)?,
    };
    Ok(Relocation {
        offset: row.offset,
        kind: row.kind,
        symbol: row.symbol,
        symbol_name: named.map(|it| it.name).unwrap_or_default(),
        addend,
        section: table.section,
        encoding: table.encoding,
    })
}

/// The addend that stands in the place itself.
fn implicit_addend(elf: &Elf<'_>, table: &Table<'_>, row: &Row) -> Result<i64> {
    let refused = |why: &str| {
        let detail =
            format!("{} at {:#x} of a {} table: {why}", row.kind, row.offset, table.encoding);
        Error::new(ErrorKind::Unsupported, CONTEXT, detail)
    };
    if row.kind == NONE {
        return Ok(0);
    }
    let size = match row.kind.0 {
        3 | 5 | 13 => 8,
        4 | 6 | 7 => 4,
        _ => return Err(refused("its place cannot hold an addend")),
    };
    let place = match table.section {
        None => elf.at_address(row.offset, size),
        Some(section) if elf.header().e_type == ET_REL => elf
            .section(section)
            .and_then(|it| elf.section_data(it).ok())
            .and_then(|content| slice(content, row.offset, size, CONTEXT).ok()),
        Some(_) => return Err(refused("the linker has written over its addend")),
    };
    let place = place.ok_or_else(|| refused("the file has no bytes for its place"))?;
    let value = match size {
        8 => read_u64(place, 0).map(u64::cast_signed),
        _ => read_u32(place, 0).map(|it| it.cast_signed().into()),
    };
    value.ok_or_else(|| refused("the file has no bytes for its place"))
}
