//! The debug sections of an object that is not linked: what they refer to is filled in, as a linker would.

use std::borrow::Cow;

use gimli::SectionId;
use hsaco_bytes::{Error, ErrorKind, memory};
use hsaco_elf::relocation::{self, Relocation, RelocationType};
use hsaco_elf::symbol::SymbolTable;
use hsaco_elf::{CodeAddresses, Elf};

use super::{DebugSections, SECTIONS};

/// Where each section is taken to be, by its number.
struct Bases(Vec<u64>);

impl Bases {
    fn of(&self, section: u32) -> u64 {
        self.0.get(section as usize).copied().unwrap_or(0)
    }
}

/// Finds the sections and links them. Several of a name, of which units of types make some, follow one another.
pub(super) fn sections<'a>(elf: &Elf<'a>, cap: u64) -> Result<DebugSections<'a>, Error> {
    let code = CodeAddresses::new(elf);
    let mut bases = Bases(elf.sections().iter().map(|it| it.address).collect());
    for &(section, start) in code.starts() {
        bases.0.get_mut(section as usize).into_iter().for_each(|it| *it = start);
    }
    let mut all = Vec::new();
    let mut left_to_copy = elf.data().len();
    for id in SECTIONS {
        let mut content = Vec::new();
        let mut pieces = Vec::new();
        for section in elf.sections().iter().filter(|it| it.name == id.name()) {
            let left = cap.saturating_sub(content.len() as u64);
            let piece = elf.section_content(section, left)?;
            if let Cow::Borrowed(piece) = piece {
                left_to_copy = left_to_copy.checked_sub(piece.len()).ok_or_else(overlap)?;
            }
            pieces.push((section.index, content.len()));
            bases.0.get_mut(section.index as usize).into_iter().for_each(|it| {
                *it = content.len() as u64;
            });
            memory::append(&mut content, &piece, "debug sections")?;
        }
        all.push(Linked { id, content, pieces });
    }
    fill_in(elf, &bases, &mut all)?;
    let sections = all.into_iter().filter(|it| !it.pieces.is_empty());
    let sections = sections.map(|it| (it.id, Cow::Owned(it.content))).collect();
    Ok(DebugSections { sections, starts: Vec::new(), code })
}

fn overlap() -> Error {
    Error::new(ErrorKind::LimitExceeded, "debug sections", "they have more bytes than the file")
}

/// The sections of one name, put together.
struct Linked {
    id: SectionId,
    content: Vec<u8>,
    /// The number of each section, and where it begins.
    pieces: Vec<(u32, usize)>,
}

/// Writes what relocations ask for; a type that means nothing here is left alone.
fn fill_in(elf: &Elf<'_>, bases: &Bases, all: &mut [Linked]) -> Result<(), Error> {
    let Ok(Some(symbols)) = SymbolTable::find(elf) else { return Ok(()) };
    let (relocations, problems) = relocation::read(elf);
    if let Some(problem) = problems.into_iter().next() {
        return Err(problem);
    }
    let mut places = vec![None; elf.sections().len()];
    for (number, linked) in all.iter().enumerate() {
        for &(section, start) in &linked.pieces {
            places.get_mut(section as usize).into_iter().for_each(|it| *it = Some((number, start)));
        }
    }
    for relocation in relocations {
        let place = relocation.section.and_then(|it| places.get(it as usize).copied().flatten());
        let Some((number, start)) = place else { continue };
        let symbol = symbols.symbol(relocation.symbol).ok().filter(|_| relocation.symbol != 0);
        let symbol = symbol.map_or(0, |it| bases.of(it.section).wrapping_add(it.value));
        let value = symbol.wrapping_add_signed(relocation.addend).to_le_bytes();
        let target = all.get_mut(number).and_then(|it| it.content.get_mut(start..));
        if let Some(field) = target.and_then(|content| field(content, &relocation)) {
            field.iter_mut().zip(value).for_each(|(to, from)| *to = from);
        }
    }
    Ok(())
}

/// The bytes that a relocation is about, if it stores a sum.
fn field<'c>(content: &'c mut [u8], relocation: &Relocation<'_>) -> Option<&'c mut [u8]> {
    const ABS32_LO: RelocationType = RelocationType(1);
    const ABS64: RelocationType = RelocationType(3);
    const ABS32: RelocationType = RelocationType(6);
    let size = match relocation.kind {
        ABS64 => 8,
        ABS32 | ABS32_LO => 4,
        _ => return None,
    };
    let start = usize::try_from(relocation.offset).ok()?;
    content.get_mut(start..start.checked_add(size)?)
}
