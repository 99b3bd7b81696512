//! Windows objects (COFF): sections of device code that stay, or move to the end of the file.

use hsaco_bytes::{Error, ErrorKind, Result, memory, slice};
use hsaco_elf::write::moved;

use crate::host_coff::is_big_object;

use super::{
    CONTEXT, Change, get_u16, get_u32, get_u64, in_place, overwrite, put_u32, unsupported,
};

const SECTION_SIZE: u64 = 40;
const RELOCATION_SIZE: u64 = 10;
/// More relocations than a section header can count.
const MANY_RELOCATIONS: u32 = 0x0100_0000;
const CLASS_STATIC: u8 = 3;
/// What the content of a moved section is aligned to in the file.
const ALIGN: u64 = 16;

const AMD64: u16 = 0x8664;
const ARM64: u16 = 0xaa64;

/// An object. What fits stays in its section; a section that grew goes behind the end of the file, and symbols and
/// relocations that point at what moved in it are told.
pub(super) fn object(data: &[u8], changes: Vec<Change>) -> Result<Vec<u8>> {
    let (fitting, growing): (Vec<_>, Vec<_>) = changes.into_iter().partition(Change::fits);
    let mut file = in_place(data, &fitting, "coff")?;
    let form = Form::of(data)?;
    for change in growing {
        form.grow(&mut file, &change)?;
    }
    Ok(file)
}

/// Where the tables of an object are; the larger form of it has wider fields.
struct Form {
    machine: u16,
    is_big: bool,
    sections: u64,
    section_count: u64,
    symbols: u64,
    symbol_count: u64,
}

/// A symbol: what matters of it here.
struct Symbol {
    /// Its number in the table, and where it is.
    number: u64,
    offset: u64,
    value: u32,
    section: u64,
    is_static: bool,
    aux_count: u64,
}

impl Form {
    fn of(data: &[u8]) -> Result<Form> {
        let is_big = is_big_object(data);
        Ok(if is_big {
            Form {
                machine: get_u16(data, 6)?,
                is_big,
                sections: 56,
                section_count: get_u32(data, 44)?.into(),
                symbols: get_u32(data, 48)?.into(),
                symbol_count: get_u32(data, 52)?.into(),
            }
        } else {
            Form {
                machine: get_u16(data, 0)?,
                is_big,
                sections: 20 + u64::from(get_u16(data, 16)?),
                section_count: get_u16(data, 2)?.into(),
                symbols: get_u32(data, 8)?.into(),
                symbol_count: get_u32(data, 12)?.into(),
            }
        })
    }

    /// The headers of sections, each with its number.
    fn sections(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let first = self.sections;
        (1..=self.section_count).map(move |number| (number, first + (number - 1) * SECTION_SIZE))
    }

    fn symbol_size(&self) -> u64 {
        if self.is_big { 20 } else { 18 }
    }

    fn symbols(&self, file: &[u8]) -> Result<Vec<Symbol>> {
        let mut symbols = Vec::new();
        let mut number = 0;
        while number < self.symbol_count {
            let offset = self.symbols + number * self.symbol_size();
            let bytes = slice(file, offset, self.symbol_size(), CONTEXT)?;
            let (section, last) = match self.is_big {
                true => (get_u32(bytes, 12)?.into(), 18),
                false => (get_u16(bytes, 12)?.into(), 16),
            };
            let aux_count = bytes.get(last + 1).copied().unwrap_or(0).into();
            symbols.push(Symbol {
                number,
                offset,
                value: get_u32(bytes, 8)?,
                section,
                is_static: bytes.get(last) == Some(&CLASS_STATIC),
                aux_count,
            });
            number += 1 + aux_count;
        }
        Ok(symbols)
    }

    /// Puts the new content of a section behind the end of the file.
    fn grow(&self, file: &mut Vec<u8>, change: &Change) -> Result<()> {
        let mut found = None;
        for (number, header) in self.sections() {
            let range = (get_u32(file, header + 20)?.into(), get_u32(file, header + 16)?.into());
            if range == (change.start, change.old) {
                found = Some((number, header));
            }
        }
        let (number, header) = found.ok_or_else(|| {
            Error::new(ErrorKind::NotFound, CONTEXT, "a section of just these bytes")
                .at(change.start)
        })?;
        let symbols = self.symbols(file)?;
        let own: Vec<&Symbol> = symbols.iter().filter(|it| it.section == number).collect();
        if change.moves.iter().any(|(old, new)| old != new) {
            self.move_relocations(file, &own, change)?;
            for symbol in &own {
                let new = moved(&change.moves, symbol.value.into());
                put_u32(file, symbol.offset + 8, new)?;
            }
        }
        let old = slice(file, change.start, change.old, CONTEXT)?;
        let (old_sum, new_sum) = (checksum(old), checksum(&change.new));
        for symbol in own.iter().filter(|it| it.is_static && it.value == 0 && it.aux_count != 0) {
            let definition = symbol.offset + self.symbol_size();
            // What is no definition of the section has another length there.
            if u64::from(get_u32(file, definition)?) == change.old {
                put_u32(file, definition, change.new.len() as u64)?;
                if get_u32(file, definition + 8)? == old_sum {
                    put_u32(file, definition + 8, new_sum.into())?;
                }
            }
        }
        overwrite(file, change.start, change.old, &[])?;
        let offset = (file.len() as u64).next_multiple_of(ALIGN);
        put_u32(file, header + 16, change.new.len() as u64)?;
        put_u32(file, header + 20, offset)?;
        memory::resize(file, super::index(offset)?, CONTEXT)?;
        memory::append(file, &change.new, CONTEXT)?;
        Ok(())
    }

    /// Tells relocations where things in a section are: what they add stands where they apply.
    fn move_relocations(&self, file: &mut [u8], own: &[&Symbol], change: &Change) -> Result<()> {
        for (_, header) in self.sections() {
            let content = u64::from(get_u32(file, header + 20)?);
            let table = u64::from(get_u32(file, header + 24)?);
            let mut count = u64::from(get_u16(file, header + 32)?);
            if count == 0xffff && get_u32(file, header + 36)? & MANY_RELOCATIONS != 0 {
                count = get_u32(file, table)?.into();
            }
            for row in (0..count).map(|row| table + row * RELOCATION_SIZE) {
                let symbol = u64::from(get_u32(file, row + 4)?);
                let Some(symbol) = own.iter().find(|it| it.number == symbol) else { continue };
                let place = content + u64::from(get_u32(file, row)?);
                let kind = get_u16(file, row + 8)?;
                self.move_addend(file, place, kind, symbol.value, change)?;
            }
        }
        Ok(())
    }

    fn move_addend(
        &self,
        file: &mut [u8],
        place: u64,
        kind: u16,
        value: u32,
        change: &Change,
    ) -> Result<()> {
        let width = match (self.machine, kind) {
            (AMD64, 1) | (ARM64, 0xe) => 8,
            (AMD64, 2..=9 | 0xb) => 4,
            // The number of a section.
            (AMD64, 0xa) | (ARM64, 0xd) => return Ok(()),
            _ => {
                let detail = format!("a relocation of type {kind} to what moved in a section");
                return Err(unsupported(detail).at(place));
            }
        };
        let addend = match width {
            8 => get_u64(file, place)?.cast_signed(),
            _ => get_u32(file, place)?.cast_signed().into(),
        };
        let value = u64::from(value);
        let target = value.wrapping_add_signed(addend);
        let new = moved(&change.moves, target).wrapping_sub(moved(&change.moves, value));
        let bytes = new.to_le_bytes();
        overwrite(file, place, width as u64, bytes.get(..width).unwrap_or_default())
    }
}

/// The sum of a section's content in the definition of the section: CRC-32 without the first and the last inversion.
fn checksum(content: &[u8]) -> u32 {
    content.iter().fold(0, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            sum >> 1 ^ if sum & 1 == 0 { 0 } else { 0xedb8_8320 }
        })
    })
}
