//! Debug information of code that stands elsewhere than it was compiled to.
//!
//! Nothing of what is there changes its place: a unit's line table is written once more behind the
//! others, with the rows of the new code, and the unit refers to that one; so with its list of
//! addresses. Entries of `.debug_info` keep their offsets, so whatever refers to them goes on to.

mod cursor;
mod frame;
mod line;
mod range;
mod unit;

use hsaco_bytes::Result;
use hsaco_elf::write::Edit;

use cursor::put_word;
use line::LineTable;
use unit::Unit;

/// Code that was written for another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovedCode {
    /// Where it is.
    pub address: u64,
    /// How many bytes it takes.
    pub size: u64,
    /// The address of the instruction that it stands for.
    pub original: u64,
}

impl MovedCode {
    fn end(&self) -> u64 {
        self.address.saturating_add(self.size)
    }
}

/// How much of the moved code has debug information now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MovedDebug {
    /// Pieces that have a line.
    pub lines: usize,
    /// Pieces that have a frame description.
    pub frames: usize,
}

/// Gives moved code the lines and frame descriptions of the instructions that it stands for, as
/// far as the object has those. The sections that say so are written anew, plain where they were
/// compressed: every byte of the old ones stays.
///
/// ```
/// use hsaco_dwarf::{MovedCode, add_debug};
/// use hsaco_elf::write::{Access, Edit};
/// # let file = std::fs::read("../../tests/fixtures/lines.dwarf5.co")?;
/// let mut edit = Edit::new(&file)?;
/// let pool = edit.append(".text.hsaco", Access::Code, &[0; 64])?;
/// let moved = MovedCode { address: pool.address, size: 64, original: 0x2000 };
/// let added = add_debug(&mut edit, &[moved])?;
/// assert_eq!((added.lines, added.frames), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When a section cannot be unpacked or written. Debug information that cannot be read is left
/// as it is, and counts as none.
pub fn add_debug(edit: &mut Edit<'_>, moved: &[MovedCode]) -> Result<MovedDebug> {
    let mut moved = moved.to_vec();
    moved.retain(|it| it.size != 0);
    moved.sort_by_key(|it| it.address);
    Ok(MovedDebug { lines: add_lines(edit, &moved)?, frames: frame::add(edit, &moved)? })
}

fn add_lines(edit: &mut Edit<'_>, moved: &[MovedCode]) -> Result<usize> {
    let (Some(mut info), Some(mut lines), Some(mut abbreviations)) = (
        edit.section_content(".debug_info")?,
        edit.section_content(".debug_line")?,
        edit.section_content(".debug_abbrev")?,
    ) else {
        return Ok(0);
    };
    let units: Vec<Unit> = unit::compile_units(&info, &abbreviations).collect();
    let tables: Vec<_> = units.iter().map(|it| LineTable::read(&lines, it.lines()?)).collect();
    let owners = owners(&tables, moved);
    let mut ranges = range::Ranges::read(edit)?;
    for ((unit, table), number) in units.iter().zip(&tables).zip(0..) {
        let own = moved.iter().zip(&owners).filter(|(_, owner)| **owner == Some(number));
        let own: Vec<MovedCode> = own.map(|(it, _)| *it).collect();
        let (Some(table), false) = (table, own.is_empty()) else { continue };
        let offset = lines.len() as u64;
        lines.extend(table.with_rows(&lines, &own));
        if let Some((at, size)) = unit.statements {
            put_word(&mut info, at, size, offset);
        }
        ranges.extend(unit, &mut info, &mut abbreviations, &own);
    }
    let count = owners.iter().flatten().count();
    if count != 0 {
        edit.write_anew(".debug_info", info)?;
        edit.write_anew(".debug_line", lines)?;
        edit.write_anew(".debug_abbrev", abbreviations)?;
        ranges.write(edit)?;
    }
    Ok(count)
}

/// Which table has the line of each piece of code: of those that say they do the one whose run of
/// addresses begins last. What the linker dropped has runs at 0, which may seem to hold anything.
fn owners(tables: &[Option<LineTable>], moved: &[MovedCode]) -> Vec<Option<usize>> {
    let runs = tables.iter().zip(0..).filter_map(|(it, number)| Some((it.as_ref()?, number)));
    let mut runs: Vec<(u64, u64, usize)> = runs
        .flat_map(|(table, number)| table.runs().map(move |(start, end)| (start, end, number)))
        .collect();
    runs.sort_unstable();
    let owner = |code: &MovedCode| {
        let upto = runs.partition_point(|(start, ..)| *start <= code.original);
        let before = runs.get(..upto).unwrap_or_default();
        before.iter().rev().find(|(_, end, _)| code.original < *end).map(|(.., number)| *number)
    };
    moved.iter().map(owner).collect()
}
