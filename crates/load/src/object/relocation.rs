//! The relocations of an object, with what they refer to looked up and their places checked.

use hsaco_elf::relocation::{Encoding, Relocation as Row, RelocationType};
use hsaco_elf::{SHT_DYNSYM, SHT_SYMTAB, Segment};
use hsaco_object::CodeObject;

use super::segment::{file_backed, mapped};
use super::symbol::{Slot, Tables};
use crate::error::{Error, ErrorKind, Result, refusal, unreadable};
use crate::relocate::Rule;

/// What a relocation refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Its own object.
    Nothing,
    /// A symbol, by its number among the object's.
    Symbol(u32),
    /// An address of its own object.
    Address(u64),
}

/// A relocation that can be applied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relocation {
    pub(crate) place: u64,
    pub(crate) kind: RelocationType,
    pub(crate) rule: Rule,
    pub(crate) target: Target,
    pub(crate) addend: i64,
    /// Whether the linker has applied it already and kept it.
    pub(crate) is_static: bool,
}

const SHF_ALLOC: u64 = 2;

pub(super) fn read(
    code: &CodeObject<'_>,
    segments: &[Segment],
    tables: &Tables<'_>,
) -> Result<Vec<Relocation>> {
    check_links(code)?;
    let (rows, problems) = code.relocations();
    if let Some(problem) = problems.first() {
        return Err(unreadable(problem));
    }
    let mut relocations = Vec::with_capacity(rows.len());
    for row in &rows {
        if is_in_memory(code, row)? {
            relocations.extend(one(row, segments, tables)?);
        }
    }
    Ok(relocations)
}

/// Every relocation section must name a symbol table of its own kind.
fn check_links(code: &CodeObject<'_>) -> Result<()> {
    let elf = code.elf();
    let tables = elf.sections().iter().filter(|it| Encoding::of_section(it.kind).is_some());
    for section in tables {
        let wanted = if section.is_dynamic(elf) { SHT_DYNSYM } else { SHT_SYMTAB };
        let linked = elf.section(section.link);
        let fits = linked.is_some_and(|it| it.index == 0 || it.kind == wanted);
        if !fits {
            let (link, count) = (section.link, elf.sections().len());
            let detail = format!("`{}`: symbols in section {link} of {count}", section.name);
            return Err(refusal(ErrorKind::BadRelocation, detail).at(section.offset));
        }
    }
    Ok(())
}

/// Relocations of debug information are nothing to a loader.
fn is_in_memory(code: &CodeObject<'_>, row: &Row<'_>) -> Result<bool> {
    let Some(number) = row.section else { return Ok(true) };
    match code.elf().section(number) {
        Some(section) => Ok(section.flags & SHF_ALLOC != 0),
        None => {
            let count = code.elf().sections().len();
            let detail = format!("{}: of section {number} of {count}", describe(row));
            Err(refusal(ErrorKind::BadRelocation, detail))
        }
    }
}

fn one(row: &Row<'_>, segments: &[Segment], tables: &Tables<'_>) -> Result<Option<Relocation>> {
    let is_static = row.section.is_some();
    let rule = match Rule::of(row.kind, is_static) {
        Some(Rule::Nothing) => return Ok(None),
        Some(rule) => rule,
        None => return Err(unsupported(row, is_static)),
    };
    check_place(row, rule, segments)?;
    let slots = if is_static { &tables.fixed } else { &tables.dynamic };
    let target = match slots.get(row.symbol as usize) {
        _ if row.symbol == 0 => Target::Nothing,
        Some(Slot::Entry(number)) => Target::Symbol(*number),
        Some(Slot::Address(address)) => Target::Address(*address),
        Some(Slot::Nothing) => {
            let detail = format!("{}: symbol {} is no place", describe(row), row.symbol);
            return Err(refusal(ErrorKind::BadRelocation, detail));
        }
        None => {
            let detail = format!("{}: symbol {} of {}", describe(row), row.symbol, slots.len());
            return Err(refusal(ErrorKind::BadRelocation, detail));
        }
    };
    let (place, kind, addend) = (row.offset, row.kind, row.addend);
    Ok(Some(Relocation { place, kind, rule, target, addend, is_static }))
}

fn unsupported(row: &Row<'_>, is_static: bool) -> Error {
    let whose = if is_static { "a linker keeps" } else { "a loader applies" };
    let detail = format!("{} is no relocation that {whose}", describe(row));
    refusal(ErrorKind::UnsupportedRelocation, detail)
}

fn check_place(row: &Row<'_>, rule: Rule, segments: &[Segment]) -> Result<()> {
    let size = rule.size();
    if file_backed(segments, row.offset, size).is_some() {
        return Ok(());
    }
    let why = if mapped(segments, row.offset, size).is_some() {
        "is in memory that the file has no bytes for"
    } else if mapped(segments, row.offset, 1).is_some() {
        "reaches past the end of its segment"
    } else {
        "is in no segment"
    };
    Err(refusal(ErrorKind::BadRelocation, format!("{} {why}", describe(row))))
}

fn describe(row: &Row<'_>) -> String {
    format!("{} at {:#x}", row.kind, row.offset)
}
