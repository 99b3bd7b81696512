//! Headers, segments, sections and symbols: what was there is there as it was, and nothing else is but what the manifest
//! has appended.

use std::ops::Range;

use hsaco_elf::symbol::{Symbol, SymbolTable};
use hsaco_elf::{
    Elf, PF_R, PF_W, PF_X, PT_LOAD, PT_NOTE, PT_PHDR, SHF_ALLOC, SHF_COMPRESSED, SHT_NOTE,
    SHT_STRTAB, SHT_SYMTAB, SHT_SYMTAB_SHNDX, Section, Segment,
};

use super::VerifyFinding;
use crate::manifest::Manifest;
use crate::write::{COUNTERS, POOL};

/// Fields of the file header that say where tables are and how many rows they have: `e_phoff` and `e_shoff`, then
/// `e_phentsize` to `e_shnum`.
const TABLES: [Range<u64>; 2] = [32..48, 54..62];

/// The bytes that name appended segments and sections, and those in which segments and sections say where they are.
pub(super) fn changed_ranges(old: &Elf<'_>, new: &Elf<'_>) -> Vec<Range<u64>> {
    let (before, after) = (old.header(), new.header());
    let table = |at: u64, size: u16, count: usize| {
        at..at.saturating_add(u64::from(size).saturating_mul(count as u64))
    };
    // The program headers may have grown where they are.
    let segments = match before.program_headers == after.program_headers {
        true => new.segments().len(),
        false => old.segments().len(),
    };
    let mut changed = TABLES.to_vec();
    changed.push(table(before.program_headers, before.program_header_size, segments));
    changed.push(table(before.section_headers, before.section_header_size, old.sections().len()));
    changed
}

pub(super) fn check(old: &Elf<'_>, new: &Elf<'_>, manifest: &Manifest) -> Vec<VerifyFinding> {
    let mut found = segments(old, new, manifest);
    found.extend(sections(old, new));
    found.extend(symbols(old, new, manifest));
    found
}

/// What was mapped is mapped as it was, and the pool and counters besides.
fn segments(old: &Elf<'_>, new: &Elf<'_>, manifest: &Manifest) -> Vec<VerifyFinding> {
    let mut found = Vec::new();
    let mut say = |address: Option<u64>, detail: String| {
        found.push(VerifyFinding::new("elf", address, detail));
    };
    let (known, added) = new.segments().split_at(old.segments().len().min(new.segments().len()));
    if known.len() < old.segments().len() {
        say(None, "segments are missing".to_owned());
    }
    for (before, after) in old.segments().iter().zip(known) {
        if !is_same_segment(before, after) {
            say(Some(before.address), format!("segment {} is not as it was", before.index));
        }
    }
    let mut ranges: Vec<(u64, u64)> =
        new.loads().map(|it| (it.address, it.address.saturating_add(it.memory_size))).collect();
    ranges.sort_unstable();
    if let Some(pair) = ranges.windows(2).find(|pair| matches!(pair, [a, b] if a.1 > b.0)) {
        say(pair.last().map(|it| it.0), "two segments overlap".to_owned());
    }
    let pool = manifest.pool;
    let is_pool = |it: &Segment| {
        let place = (it.address, it.offset, it.file_size);
        it.flags == PF_R | PF_X
            && pool.is_some_and(|pool| place == (pool.address, pool.offset, pool.size))
    };
    let is_counters = |it: &Segment| {
        it.flags == PF_R | PF_W && it.file_size == manifest.counter_space && it.file_size != 0
    };
    if let Some(pool) = pool
        && !added.iter().any(is_pool)
    {
        say(Some(pool.address), "the pool is no executable segment".to_owned());
    }
    if manifest.counter_space != 0 && !added.iter().any(is_counters) {
        say(None, "the counters are no writable segment".to_owned());
    }
    let is_known = |it: &Segment| is_pool(it) || is_counters(it) || it.flags == PF_R;
    let is_stray =
        |it: &&Segment| it.kind != PT_LOAD || it.file_size != it.memory_size || !is_known(it);
    if let Some(stray) = added.iter().find(is_stray) {
        say(Some(stray.address), format!("segment {} is not in the manifest", stray.index));
    }
    found
}

fn is_same_segment(old: &Segment, new: &Segment) -> bool {
    let (old, mut new) = (*old, *new);
    // Notes and the program headers may stand elsewhere, and may have grown.
    if matches!(old.kind, PT_NOTE | PT_PHDR) {
        new = Segment {
            offset: old.offset,
            address: old.address,
            file_size: old.file_size,
            memory_size: old.memory_size,
            ..new
        };
    }
    old == new
}

/// The sections that were there are there, under their names.
fn sections(old: &Elf<'_>, new: &Elf<'_>) -> Vec<VerifyFinding> {
    let mut found = Vec::new();
    if new.sections().len() < old.sections().len() {
        found.push(VerifyFinding::new("elf", None, "sections are missing"));
    }
    for (before, after) in old.sections().iter().zip(new.sections()) {
        if !is_same_section(before, after) {
            let detail = format!("section {} ({}) is not as it was", before.index, before.name);
            found.push(VerifyFinding::new("elf", None, detail));
        }
    }
    let added = new.sections().get(old.sections().len()..).unwrap_or_default();
    let is_ours = |it: &Section<'_>| {
        let is_made = [POOL, COUNTERS].iter().any(|name| it.name == *name);
        is_made || it.flags & SHF_ALLOC == 0 && may_grow(it)
    };
    if let Some(stray) = added.iter().find(|it| !is_ours(it)) {
        let detail = format!("section {} ({}) is not in the manifest", stray.index, stray.name);
        found.push(VerifyFinding::new("elf", None, detail));
    }
    found
}

/// Whether a section is written anew where code was added: symbols, their names, debug information.
fn may_grow(section: &Section<'_>) -> bool {
    matches!(section.kind, SHT_SYMTAB | SHT_STRTAB | SHT_SYMTAB_SHNDX)
        || section.name.to_string().starts_with(".debug_")
}

fn is_same_section(old: &Section<'_>, new: &Section<'_>) -> bool {
    let (old, mut new) = (*old, *new);
    let is_mapped = old.flags & SHF_ALLOC != 0;
    if old.kind == SHT_NOTE {
        new = Section { offset: old.offset, address: old.address, size: old.size, ..new };
    } else if !is_mapped && may_grow(&old) {
        new = Section { offset: old.offset, size: old.size, ..new };
        if old.kind == SHT_SYMTAB {
            new.info = old.info;
        }
        if old.flags & SHF_COMPRESSED != 0 && new.flags & SHF_COMPRESSED == 0 {
            new = Section { flags: old.flags, align: old.align, ..new };
        }
    }
    old == new
}

/// The symbols that were there are there, in their order; new ones name what is in the pool.
fn symbols(old: &Elf<'_>, new: &Elf<'_>, manifest: &Manifest) -> Option<VerifyFinding> {
    let table = |elf| SymbolTable::find(elf).ok().flatten();
    let old = table(old)?;
    let Some(new) = table(new) else {
        return Some(VerifyFinding::new("elf", None, "the symbol table is missing"));
    };
    let is_same = |old: &Symbol<'_>, new: &Symbol<'_>| *old == Symbol { index: old.index, ..*new };
    let mut fresh = new.iter();
    for before in old.iter() {
        // A name that cannot be read is as it was: the bytes are.
        let Ok(before) = before else { continue };
        loop {
            match fresh.next() {
                Some(Ok(after)) if is_same(&before, &after) => break,
                Some(Ok(after)) if is_of_pool(&after, manifest) => {}
                Some(Err(_)) => {}
                Some(Ok(_)) | None => {
                    let detail = format!("symbol {} is not as it was", before.name);
                    return Some(VerifyFinding::new("elf", before.value, detail));
                }
            }
        }
    }
    let stray = fresh.flatten().find(|it| !is_of_pool(it, manifest))?;
    Some(VerifyFinding::new("elf", stray.value, format!("symbol {} is new", stray.name)))
}

fn is_of_pool(symbol: &Symbol<'_>, manifest: &Manifest) -> bool {
    let pool = manifest.pool;
    pool.is_some_and(|it| (it.address..it.address.saturating_add(it.size)).contains(&symbol.value))
}
