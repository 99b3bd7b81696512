//! Host files whose device code grew: the one other kind of ELF that is edited.

use std::collections::BTreeMap;

use hsaco_bytes::{Error, ErrorKind, Result, read_u16, read_u64};

use crate::relocation::{self, Encoding};
use crate::{ET_REL, Elf, PF_R, SHF_ALLOC, SHT_DYNSYM, SHT_RELA, SHT_SYMTAB, Section};

use super::super::row::change_u64;
use super::super::{PAGE, add, align_up, put_at, unsupported};
use super::{CONTEXT, Edit};

/// A section of structures that each hold an address 8 bytes from their beginning.
#[derive(Clone, Copy, Debug)]
pub struct PointerSection {
    /// What it is called.
    pub name: &'static str,
    /// What each structure begins with.
    pub magic: [u8; 4],
    /// How many bytes each takes.
    pub size: usize,
}

/// New content for a section: where it was and how large, the bytes, and where things in it were and
/// are now.
pub type GrownSection = ((u64, u64), Vec<u8>, Vec<(u64, u64)>);

/// Where something in a section is now.
pub fn moved(moves: &[(u64, u64)], old: u64) -> u64 {
    let last = moves.iter().rev().find(|(before, _)| *before <= old);
    last.map_or(old, |(before, now)| now + (old - before))
}

/// A host file with new contents for sections that grew. In a linked file they become segments, and
/// relocations, symbols and the structures of `pointers` that point into them follow.
///
/// # Errors
/// When a section is not there, or what points into it cannot be followed.
pub fn host_sections(
    data: &[u8],
    grown: Vec<GrownSection>,
    pointers: PointerSection,
) -> Result<Vec<u8>> {
    let elf = Elf::parse(data)?;
    check_relocations(&elf)?;
    let mut edit = Edit::of(elf.clone())?;
    for ((offset, size), content, moves) in grown {
        let found = elf.sections().iter().find(|it| (it.offset, it.file_size()) == (offset, size));
        let section = found.ok_or_else(|| {
            Error::new(ErrorKind::NotFound, CONTEXT, "a section of just these bytes").at(offset)
        })?;
        if elf.header().e_type == ET_REL || section.flags & SHF_ALLOC == 0 {
            if moves.iter().any(|(old, new)| old != new) {
                edit.move_within(section, &moves)?;
            }
            edit.contents.insert(section.index, content);
        } else {
            edit.move_mapped(section, &content, &moves, pointers)?;
        }
    }
    edit.finish()
}

/// Pointers must be found to follow what moves: in rows with addends, or in their places.
fn check_relocations(elf: &Elf<'_>) -> Result<()> {
    for section in elf.sections() {
        match Encoding::of_section(section.kind) {
            None | Some(Encoding::Rela | Encoding::Relr | Encoding::AndroidRelr) => {}
            Some(encoding) => {
                let detail = format!("device code that grew in a file with {encoding} relocations");
                return Err(unsupported(CONTEXT, detail).at(section.offset));
            }
        }
    }
    Ok(())
}

impl Edit<'_> {
    /// Tells symbols and relocations of an object that is not linked where things in a section are.
    fn move_within(&mut self, section: &Section<'_>, moves: &[(u64, u64)]) -> Result<()> {
        let index = u16::try_from(section.index).ok();
        // Symbols of the section by number, with what they were.
        let (mut number, mut own) = (0, BTreeMap::new());
        self.change_entries(SHT_SYMTAB, 24, |entry| {
            if read_u16(entry, 6) == index
                && let Some(value) = read_u64(entry, 8)
            {
                own.insert(number, value);
                change_u64(entry, 8, |old| moved(moves, old));
            }
            number += 1;
        })?;
        self.change_entries(SHT_RELA, 24, |entry| {
            let symbol = read_u64(entry, 8).map(|info| info >> 32);
            if let Some(value) = symbol.and_then(|it| own.get(&it)) {
                let new = |addend: u64| moved(moves, value.wrapping_add(addend));
                change_u64(entry, 16, |addend| new(addend).wrapping_sub(moved(moves, *value)));
            }
        })
    }

    /// Appends a segment with a section's new content, and points everything at it.
    fn move_mapped(
        &mut self,
        section: &Section<'_>,
        content: &[u8],
        moves: &[(u64, u64)],
        structures: PointerSection,
    ) -> Result<()> {
        let (address, offset) = self.append_host(content)?;
        if let Some(row) = self.sections.get_mut(section.index as usize) {
            (row.address, row.offset, row.size) = (address, offset, content.len() as u64);
        }
        let moved = |old: u64| {
            let into = old.checked_sub(section.address).filter(|&into| into < section.size)?;
            address.checked_add(moved(moves, into))
        };
        let mut pointers = self.change_in_place(moved);
        self.change_entries(SHT_RELA, 24, |entry| {
            let has_symbol = read_u64(entry, 8).is_none_or(|info| info >> 32 != 0);
            if let Some(new) = read_u64(entry, 16).filter(|_| !has_symbol).and_then(moved) {
                change_u64(entry, 16, |_| new);
                pointers += 1;
            }
        })?;
        self.change_structures(structures, |entry| {
            if let Some(new) = read_u64(entry, 8).and_then(moved) {
                change_u64(entry, 8, |_| new);
                pointers += 1;
            }
        })?;
        if pointers == 0 {
            let detail = format!("{} grew, and nothing that points at it was found", section.name);
            return Err(unsupported(CONTEXT, detail).at(section.offset));
        }
        let index = u16::try_from(section.index).ok();
        for kind in [SHT_SYMTAB, SHT_DYNSYM] {
            self.change_entries(kind, 24, |entry| {
                if read_u16(entry, 6) == index
                    && let Some(new) = read_u64(entry, 8).and_then(moved)
                {
                    change_u64(entry, 8, |_| new);
                }
            })?;
        }
        Ok(())
    }

    /// Changes pointers whose relocations are bitmaps: they stand in their places. Says how many there were.
    fn change_in_place(&mut self, moved: impl Fn(u64) -> Option<u64>) -> usize {
        let (relocations, _) = relocation::read(&self.elf);
        let mut count = 0;
        for it in relocations.iter().filter(|it| it.encoding.is_bitmap()) {
            let place = self.elf.file_offset(it.offset).and_then(|at| usize::try_from(at).ok());
            if let Some((new, place)) = moved(it.addend.cast_unsigned()).zip(place) {
                change_u64(&mut self.bytes, place, |_| new);
                count += 1;
            }
        }
        count
    }

    /// Appends a read-only segment at the distance from its address that the first one has: what
    /// kernels before 5.18 want of the one that the program headers are in.
    fn append_host(&mut self, content: &[u8]) -> Result<(u64, u64)> {
        let loads: Vec<_> = self.elf.loads().copied().collect();
        let first = loads.first().ok_or_else(|| unsupported(CONTEXT, "no segment"))?;
        let bias = first.address.checked_sub(first.offset);
        let bias = bias.ok_or_else(|| unsupported(CONTEXT, "a segment below its offset"))?;
        let aligns = loads.iter().map(|it| it.align).filter(|it| it.is_power_of_two());
        self.page = aligns.fold(PAGE, u64::max).min(1 << 21);
        let least = self.end_address.saturating_sub(bias).max(self.bytes.len() as u64);
        let offset = align_up(least, self.page, CONTEXT)?;
        let (address, size) = (add(offset, bias, CONTEXT)?, content.len() as u64);
        put_at(&mut self.bytes, offset, content, CONTEXT)?;
        self.push_load(PF_R, offset, address, size);
        // The program headers follow on a page of their own, at the same distance.
        let end = align_up(self.bytes.len() as u64, self.page, CONTEXT)?;
        put_at(&mut self.bytes, end, &[], CONTEXT)?;
        self.end_address = add(end, bias, CONTEXT)?;
        Ok((address, offset))
    }

    /// Shows the entries of every table of a kind.
    fn change_entries(
        &mut self,
        kind: u32,
        size: u64,
        change: impl FnMut(&mut [u8]),
    ) -> Result<()> {
        let tables = self.elf.sections().iter();
        let tables = tables.filter(|it| it.kind == kind && it.entry_size == size);
        let ranges: Vec<_> = tables.map(|it| (it.offset, it.size)).collect();
        self.change_ranges(&ranges, usize::try_from(size).unwrap_or(usize::MAX), change)
    }

    fn change_structures(
        &mut self,
        structures: PointerSection,
        mut change: impl FnMut(&mut [u8]),
    ) -> Result<()> {
        let sections = self.elf.sections().iter().filter(|it| it.name == structures.name);
        let ranges: Vec<_> = sections.map(|it| (it.offset, it.file_size())).collect();
        self.change_ranges(&ranges, structures.size, |entry| {
            if entry.starts_with(&structures.magic) {
                change(entry);
            }
        })
    }

    fn change_ranges(
        &mut self,
        ranges: &[(u64, u64)],
        step: usize,
        mut change: impl FnMut(&mut [u8]),
    ) -> Result<()> {
        for &(start, size) in ranges {
            hsaco_bytes::slice(&self.bytes, start, size, CONTEXT)?;
            let start = usize::try_from(start).unwrap_or(usize::MAX);
            let end = start.saturating_add(usize::try_from(size).unwrap_or(usize::MAX));
            let bytes = self.bytes.get_mut(start..end).unwrap_or_default();
            bytes.chunks_exact_mut(step).for_each(&mut change);
        }
        Ok(())
    }
}
