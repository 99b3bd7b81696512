//! Lists of addresses: which code a unit is about.

use std::ops::Range;

use hsaco_bytes::Result;
use hsaco_elf::write::Edit;

use super::MovedCode;
use super::cursor::{Cursor, push_uleb, put_word};
use super::unit::{Unit, abbreviations_end, form};

const DW_AT_RANGES: u8 = 0x55;
const DW_RLE_START_LENGTH: u8 = 7;
const DW_RLE_STARTX_LENGTH: u8 = 3;

/// The sections that hold lists of addresses.
pub(super) struct Ranges {
    /// Of units up to version 4.
    old: Section,
    /// Of version 5.
    new: Section,
    /// The index of both, for units that have a part in it.
    index: Section,
    /// Addresses that units refer to by number.
    addresses: Vec<u8>,
}

struct Section {
    name: &'static str,
    bytes: Option<Vec<u8>>,
    is_changed: bool,
}

impl Section {
    fn read(edit: &Edit<'_>, name: &'static str) -> Result<Self> {
        Ok(Self { name, bytes: edit.section_content(name)?, is_changed: false })
    }

    /// Appends bytes, and answers where they begin.
    fn append(&mut self, content: &[u8]) -> u64 {
        self.is_changed = true;
        let bytes = self.bytes.get_or_insert_default();
        let start = bytes.len() as u64;
        bytes.extend_from_slice(content);
        start
    }

    fn write(self, edit: &mut Edit<'_>) -> Result<()> {
        match self.bytes.filter(|_| self.is_changed) {
            Some(bytes) => edit.write_anew(self.name, bytes),
            None => Ok(()),
        }
    }
}

impl Ranges {
    pub(super) fn read(edit: &Edit<'_>) -> Result<Self> {
        Ok(Self {
            old: Section::read(edit, ".debug_ranges")?,
            new: Section::read(edit, ".debug_rnglists")?,
            index: Section::read(edit, ".debug_aranges")?,
            addresses: edit.section_content(".debug_addr")?.unwrap_or_default(),
        })
    }

    pub(super) fn write(self, edit: &mut Edit<'_>) -> Result<()> {
        self.old.write(edit)?;
        self.new.write(edit)?;
        self.index.write(edit)
    }

    /// Makes moved code part of a unit.
    pub(super) fn extend(
        &mut self,
        unit: &Unit,
        info: &mut [u8],
        abbreviations: &mut Vec<u8>,
        moved: &[MovedCode],
    ) {
        let moved = self.beyond(unit, moved);
        let moved = moved.as_slice();
        if moved.is_empty() {
            return;
        }
        let in_list = self.extend_list(unit, info, abbreviations, moved).is_some();
        if self.is_indexed(unit) {
            self.extend_index(unit, moved);
        } else if !in_list && let Some(own) = self.own_range(unit) {
            // Readers believe the index alone about units that it has.
            self.extend_index(unit, &[&[own], moved].concat());
        }
    }

    /// What of moved code the unit does not have yet: code between its functions, where some may go, it often has.
    fn beyond(&self, unit: &Unit, moved: &[MovedCode]) -> Vec<MovedCode> {
        let mut known = self.known(unit);
        known.sort_unstable();
        let mut beyond = Vec::new();
        for code in moved {
            let mut at = code.address;
            let upto = known.partition_point(|(start, _)| *start < code.end());
            let inside = known.iter().take(upto).filter(|(_, end)| *end > code.address);
            for (start, end) in inside.copied().chain([(code.end(), code.end())]) {
                if at < start {
                    beyond.push(MovedCode { address: at, size: start - at, ..*code });
                }
                at = at.max(end);
            }
        }
        beyond
    }

    /// The addresses that a unit has, as far as they can be read.
    fn known(&self, unit: &Unit) -> Vec<(u64, u64)> {
        match unit.ranges {
            None => self.own_range(unit).map(|own| (own.address, own.end())).into_iter().collect(),
            Some((form, value, _)) => {
                let entries = self.list_at(unit, form, value);
                entries.map(|entries| self.entries(unit, entries)).unwrap_or_default()
            }
        }
    }

    /// What the entries of a list say.
    fn entries(&self, unit: &Unit, list: Range<usize>) -> Vec<(u64, u64)> {
        let bytes = self.lists(unit).and_then(|it| it.get(..list.end)).unwrap_or_default();
        let numbered = |number: u64| self.numbered(unit, number);
        let mut base = match unit.low_pc {
            Some((form, number)) if form::ADDRX.contains(&form) => numbered(number).unwrap_or(0),
            Some((_, address)) => address,
            None => 0,
        };
        let mut found = Vec::new();
        let mut cursor = Cursor { data: bytes, at: list.start };
        let mut next = || {
            if cursor.is_at_end() {
                return None;
            }
            let size = unit.address_size;
            if unit.version < 5 {
                let (start, end) = (cursor.word(size)?, cursor.word(size)?);
                if start == u64::MAX {
                    base = end;
                    return Some(None);
                }
                return Some(Some((base.wrapping_add(start), base.wrapping_add(end))));
            }
            Some(match cursor.u8()? {
                1 => {
                    base = numbered(cursor.uleb()?)?;
                    None
                }
                2 => Some((numbered(cursor.uleb()?)?, numbered(cursor.uleb()?)?)),
                DW_RLE_STARTX_LENGTH => {
                    let start = numbered(cursor.uleb()?)?;
                    Some((start, start.wrapping_add(cursor.uleb()?)))
                }
                4 => {
                    let (start, end) = (cursor.uleb()?, cursor.uleb()?);
                    Some((base.wrapping_add(start), base.wrapping_add(end)))
                }
                5 => {
                    base = cursor.word(size)?;
                    None
                }
                6 => Some((cursor.word(size)?, cursor.word(size)?)),
                DW_RLE_START_LENGTH => {
                    let start = cursor.word(size)?;
                    Some((start, start.wrapping_add(cursor.uleb()?)))
                }
                _ => return None,
            })
        };
        while let Some(entry) = next() {
            found.extend(entry);
        }
        found
    }

    /// The code of a unit of one range.
    fn own_range(&self, unit: &Unit) -> Option<MovedCode> {
        let (low_form, low) = unit.low_pc?;
        let (high_form, high, _) = unit.high_pc?;
        let address = if form::ADDRX.contains(&low_form) { self.numbered(unit, low)? } else { low };
        let size = if high_form == form::ADDR { high.checked_sub(address)? } else { high };
        Some(MovedCode { address, size, original: address })
    }

    /// The address of a number.
    fn numbered(&self, unit: &Unit, number: u64) -> Option<u64> {
        let at = unit.addresses_base?.checked_add(number.checked_mul(8)?)?;
        Cursor::new(&self.addresses, at)?.word(8)
    }

    fn extend_list(
        &mut self,
        unit: &Unit,
        info: &mut [u8],
        abbreviations: &mut Vec<u8>,
        moved: &[MovedCode],
    ) -> Option<()> {
        let (form, value, place) = match unit.ranges {
            Some(ranges) => ranges,
            None => return self.replace_high_pc(unit, info, abbreviations, moved),
        };
        let list = self.list_at(unit, form, value)?;
        let mut content = self.lists(unit)?.get(list)?.to_vec();
        push_entries(&mut content, unit, moved);
        let new = self.append_list(unit, &content);
        match form {
            form::RNGLISTX => {
                let base = unit.ranges_base?;
                let at = base.checked_add(value.checked_mul(unit.offset_size)?)?;
                put_word(self.new.bytes.as_mut()?, at, unit.offset_size, new.checked_sub(base)?);
            }
            _ => put_word(info, place.0, place.1, new),
        }
        Some(())
    }

    /// A unit of one range gets a list instead: its abbreviation says so in a copy of its own.
    fn replace_high_pc(
        &mut self,
        unit: &Unit,
        info: &mut [u8],
        abbreviations: &mut Vec<u8>,
        moved: &[MovedCode],
    ) -> Option<()> {
        let (low_form, low) = unit.low_pc?;
        let (high_form, length, place) = unit.high_pc?;
        let fits = (high_form, unit.offset_size) == (form::DATA4, 4)
            || (high_form, unit.offset_size) == (form::DATA8, 8);
        let start = usize::try_from(unit.abbreviations.1).ok()?;
        let end = usize::try_from(abbreviations_end(abbreviations, unit.abbreviations.1)?).ok()?;
        let mut copy = abbreviations.get(start..end)?.to_vec();
        let described = usize::try_from(unit.high_pc_abbreviation()?).ok()?;
        let pair = copy.get_mut(described..)?.get_mut(..2)?;
        if !fits || unit.version < 4 || u64::from(*pair.last()?) != high_form {
            return None;
        }
        pair.copy_from_slice(&[DW_AT_RANGES, u8::try_from(form::SEC_OFFSET).ok()?]);
        let mut content = Vec::new();
        if form::ADDRX.contains(&low_form) {
            content.push(DW_RLE_STARTX_LENGTH);
            push_uleb(&mut content, low);
            push_uleb(&mut content, length);
        } else {
            let own = MovedCode { address: low, size: length, original: low };
            push_entries(&mut content, unit, &[own]);
        }
        push_entries(&mut content, unit, moved);
        let new = self.append_list(unit, &content);
        put_word(info, place.0, place.1, new);
        put_word(info, unit.abbreviations.0, unit.offset_size, abbreviations.len() as u64);
        abbreviations.extend(copy);
        Some(())
    }

    /// The section of a unit's list.
    fn lists(&self, unit: &Unit) -> Option<&[u8]> {
        if unit.version >= 5 { self.new.bytes.as_deref() } else { self.old.bytes.as_deref() }
    }

    /// Where a list's entries are, without what ends it.
    fn list_at(&self, unit: &Unit, form: u64, value: u64) -> Option<Range<usize>> {
        let section = self.lists(unit)?;
        let at = match form {
            form::RNGLISTX => {
                let base = unit.ranges_base?;
                let row = base.checked_add(value.checked_mul(unit.offset_size)?)?;
                base.checked_add(Cursor::new(section, row)?.word(unit.offset_size)?)?
            }
            _ => value,
        };
        let mut cursor = Cursor::new(section, at)?;
        let start = cursor.at;
        loop {
            let end = cursor.at;
            if unit.version < 5 {
                let pair = (cursor.word(unit.address_size)?, cursor.word(unit.address_size)?);
                if pair == (0, 0) {
                    return Some(start..end);
                }
                continue;
            }
            match cursor.u8()? {
                0 => return Some(start..end),
                1 => drop(cursor.uleb()?),
                2..=4 => drop((cursor.uleb()?, cursor.uleb()?)),
                5 => cursor.skip(unit.address_size)?,
                6 => cursor.skip(2 * unit.address_size)?,
                DW_RLE_START_LENGTH => {
                    cursor.skip(unit.address_size)?;
                    cursor.uleb()?;
                }
                _ => return None,
            }
        }
    }

    /// Appends a list; in version 5 with a header of its own, as every part of that section has.
    fn append_list(&mut self, unit: &Unit, entries: &[u8]) -> u64 {
        if unit.version < 5 {
            let list = [entries, &[0; 16]].concat();
            return self.old.append(&list);
        }
        let size = u32::try_from(entries.len() + 1 + 8).unwrap_or(u32::MAX);
        let header = [&size.to_le_bytes()[..], &[5, 0, 8, 0, 0, 0, 0, 0]].concat();
        self.new.append(&header);
        self.new.append(&[entries, &[0]].concat())
    }

    /// True when the index has a part about a unit.
    fn is_indexed(&self, unit: &Unit) -> bool {
        let Some(bytes) = &self.index.bytes else { return false };
        let mut at = 0;
        while let Some((next, about)) = index_part(bytes, at) {
            if about == unit.offset {
                return true;
            }
            at = next;
        }
        false
    }

    fn extend_index(&mut self, unit: &Unit, moved: &[MovedCode]) {
        let mut part = vec![2, 0];
        part.extend(u32::try_from(unit.offset).unwrap_or(u32::MAX).to_le_bytes());
        part.extend([8, 0, 0, 0, 0, 0]);
        for code in moved {
            part.extend([code.address, code.size].map(u64::to_le_bytes).concat());
        }
        part.extend([0; 16]);
        let size = u32::try_from(part.len()).unwrap_or(u32::MAX);
        self.index.append(&[&size.to_le_bytes()[..], &part].concat());
    }
}

/// Where the next part of the index begins, and the unit that this one is about.
fn index_part(bytes: &[u8], at: u64) -> Option<(u64, u64)> {
    let mut cursor = Cursor::new(bytes, at)?;
    let (length, offset_size) = cursor.length()?;
    let next = (cursor.at as u64).checked_add(length)?;
    cursor.word(2)?;
    Some((next, cursor.word(offset_size)?))
}

/// Entries that say their addresses in full.
fn push_entries(out: &mut Vec<u8>, unit: &Unit, moved: &[MovedCode]) {
    if unit.version < 5 {
        out.extend([u64::MAX, 0].map(u64::to_le_bytes).concat());
    }
    for code in moved {
        if unit.version < 5 {
            let end = code.address.saturating_add(code.size);
            out.extend([code.address, end].map(u64::to_le_bytes).concat());
        } else {
            out.push(DW_RLE_START_LENGTH);
            out.extend(code.address.to_le_bytes());
            push_uleb(out, code.size);
        }
    }
}
