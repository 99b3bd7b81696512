//! Entries by their place in the debug information, and what they refer to in whichever unit.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use gimli::{
    AttributeValue, DW_AT_abstract_origin, DW_AT_specification, DebuggingInformationEntry, DwAt,
    DwTag, Dwarf, Section as _, UnitHeader, UnitOffset, UnitType,
};
use hsaco_bytes::{Error, ErrorKind};

use super::scope::Scopes;
use super::{DebugSections, Reader, SourceMap, malformed, unit_at_offset};

/// How many entries may refer to one another before what is looked for is reached.
const MAX_REFERENCES: usize = 16;

/// How often each byte of the sections may be looked at: a few times in what compilers write, again and again
/// where names overlap or entries hold one another without end.
const MAX_LOOKS: u64 = 16;

/// Looks that even the smallest sections are worth.
const LEAST_LOOKS: u64 = 1 << 16;

/// Where an entry is in `.debug_info`; in `.debug_types`, counted on from the end of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Position(pub(super) usize);

/// One entry, with what it takes to read it.
#[derive(Clone)]
pub(super) struct Entry<'s> {
    unit: Rc<OpenUnit<'s>>,
    die: DebuggingInformationEntry<Reader<'s>>,
}

struct OpenUnit<'s> {
    number: usize,
    offset: usize,
    unit: gimli::Unit<Reader<'s>>,
}

/// The entries of all units, and the work that was done on them.
pub(super) struct Entries<'m, 's> {
    map: &'m SourceMap,
    sections: &'s DebugSections<'s>,
    dwarf: Dwarf<Reader<'s>>,
    units: HashMap<usize, Rc<OpenUnit<'s>>>,
    /// Where each type with a signature is.
    signatures: Option<HashMap<u64, Position>>,
    /// Names by the place and length of their bytes, so that each is held once.
    names: HashMap<(usize, usize), Arc<str>>,
    looks_left: u64,
}

impl<'m, 's> Entries<'m, 's> {
    pub(super) fn new(map: &'m SourceMap, sections: &'s DebugSections<'s>) -> Self {
        let dwarf = sections.dwarf();
        let sizes = [
            dwarf.debug_info.reader().len(),
            dwarf.debug_types.reader().len(),
            dwarf.debug_str.reader().len(),
            dwarf.debug_line_str.reader().len(),
        ];
        let size: u64 = sizes.iter().map(|size| *size as u64).sum();
        Entries {
            map,
            sections,
            dwarf,
            units: HashMap::new(),
            signatures: None,
            names: HashMap::new(),
            looks_left: size.saturating_mul(MAX_LOOKS).saturating_add(LEAST_LOOKS),
        }
    }

    /// Reads an entry.
    pub(super) fn entry(&mut self, at: Position) -> Result<Entry<'s>, Error> {
        let unit = self.unit_around(at)?;
        let offset = UnitOffset(at.0.saturating_sub(unit.offset));
        let die = self.well_formed(unit.unit.entry(offset))?;
        self.look(1)?;
        Ok(Entry { unit, die })
    }

    /// The entries right below one that have a tag of these.
    pub(super) fn children(
        &mut self,
        entry: &Entry<'s>,
        tags: &[DwTag],
    ) -> Result<Vec<Entry<'s>>, Error> {
        let mut found = Vec::new();
        let cursor = entry.unit.unit.entries_at_offset(entry.die.offset());
        let mut cursor = self.well_formed(cursor)?;
        let has_entry = cursor.next_entry();
        self.well_formed(has_entry)?;
        loop {
            let next = cursor.next_dfs();
            let Some(die) = self.well_formed(next)?.filter(|die| die.depth() > 0) else {
                return Ok(found);
            };
            self.look(1)?;
            if die.depth() == 1 && tags.contains(&die.tag()) {
                found.push(Entry { unit: Rc::clone(&entry.unit), die: die.clone() });
            }
        }
    }

    /// The text of an attribute.
    pub(super) fn text(
        &mut self,
        entry: &Entry<'s>,
        name: DwAt,
    ) -> Result<Option<Arc<str>>, Error> {
        let Some(value) = entry.die.attr_value(name) else { return Ok(None) };
        let text = self.dwarf.attr_string(&entry.unit.unit, value);
        let bytes = self.well_formed(text)?.slice();
        self.look(bytes.len() as u64)?;
        let key = (bytes.as_ptr() as usize, bytes.len());
        let held = self.names.entry(key).or_insert_with(|| String::from_utf8_lossy(bytes).into());
        Ok(Some(Arc::clone(held)))
    }

    /// The entry that an attribute refers to.
    pub(super) fn reference(
        &mut self,
        entry: &Entry<'s>,
        name: DwAt,
    ) -> Result<Option<Position>, Error> {
        Ok(match entry.die.attr_value(name) {
            Some(AttributeValue::UnitRef(offset)) => {
                entry.unit.offset.checked_add(offset.0).map(Position)
            }
            Some(AttributeValue::DebugInfoRef(offset)) => Some(Position(offset.0)),
            Some(AttributeValue::DebugTypesRef(signature)) => Some(self.signed(signature.0)?),
            _ => None,
        })
    }

    /// The entries that one is a copy or the definition of, itself first.
    pub(super) fn origins(&mut self, at: Position) -> Result<Vec<Entry<'s>>, Error> {
        let mut found = vec![self.entry(at)?];
        while let Some(last) = found.last().filter(|_| found.len() < MAX_REFERENCES) {
            let last = last.clone();
            let next = match self.reference(&last, DW_AT_abstract_origin)? {
                Some(next) => Some(next),
                None => self.reference(&last, DW_AT_specification)?,
            };
            let Some(next) = next else { break };
            found.push(self.entry(next)?);
        }
        Ok(found)
    }

    /// The namespaces and types that an entry stands in, from the inside out.
    pub(super) fn scopes_around(&mut self, entry: &Entry<'s>) -> Result<Vec<Entry<'s>>, Error> {
        let Some(unit) = self.map.units.get(entry.unit.number) else { return Ok(Vec::new()) };
        let scopes: &Scopes = unit.scopes(self.sections)?;
        let around = scopes.around(entry.die.offset().0);
        around.map(|it| self.entry(Position(entry.unit.offset.saturating_add(it)))).collect()
    }

    fn unit_around(&mut self, at: Position) -> Result<Rc<OpenUnit<'s>>, Error> {
        let after = self.map.units.partition_point(|unit| unit.offset <= at.0);
        let found = after.checked_sub(1).and_then(|it| Some((it, self.map.units.get(it)?.offset)));
        let Some((number, offset)) = found else {
            let detail = format!("{:#x} is in no unit", at.0);
            return Err(Error::new(ErrorKind::Malformed, "DWARF", detail));
        };
        if let Some(unit) = self.units.get(&offset) {
            return Ok(Rc::clone(unit));
        }
        let unit = self.well_formed(unit_at_offset(&self.dwarf, offset))?;
        let unit = Rc::new(OpenUnit { number, offset, unit });
        self.units.insert(offset, Rc::clone(&unit));
        Ok(unit)
    }

    /// The type of a signature, in a unit of its own.
    fn signed(&mut self, signature: u64) -> Result<Position, Error> {
        if self.signatures.is_none() {
            self.signatures = Some(self.well_formed(signatures(&self.dwarf))?);
        }
        let found = self.signatures.as_ref().and_then(|all| all.get(&signature).copied());
        found.ok_or_else(|| {
            let detail = format!("type {signature:#018x} is in none of the units");
            Error::new(ErrorKind::Malformed, "DWARF", detail)
        })
    }

    /// Counts work, so that input of any shape comes to an end.
    fn look(&mut self, count: u64) -> Result<(), Error> {
        let left = self.looks_left.checked_sub(count);
        self.looks_left = left.ok_or_else(|| {
            let detail = "types take more work to read than sections of this size are worth";
            Error::new(ErrorKind::LimitExceeded, "DWARF", detail)
        })?;
        Ok(())
    }

    fn well_formed<T>(&self, result: gimli::Result<T>) -> Result<T, Error> {
        result.map_err(|error| malformed(&self.dwarf, error))
    }
}

/// The types that have units of their own: in version 5 among all units, in version 4 in a section of theirs.
fn signatures(dwarf: &Dwarf<Reader<'_>>) -> gimli::Result<HashMap<u64, Position>> {
    let mut found = HashMap::new();
    let mut note = |header: &UnitHeader<Reader<'_>>, offset: usize| {
        if let UnitType::Type { type_signature, type_offset } = header.type_() {
            found.insert(type_signature.0, Position(offset.saturating_add(type_offset.0)));
        }
    };
    let mut headers = dwarf.units();
    while let Some(header) = headers.next()? {
        note(&header, header.debug_info_offset().map_or(0, |offset| offset.0));
    }
    let info = dwarf.debug_info.reader().len();
    let mut headers = dwarf.type_units();
    while let Some(header) = headers.next()? {
        let offset = header.debug_types_offset().map_or(0, |offset| offset.0);
        note(&header, info.saturating_add(offset));
    }
    Ok(found)
}

impl Entry<'_> {
    pub(super) fn tag(&self) -> DwTag {
        self.die.tag()
    }

    pub(super) fn position(&self) -> Position {
        Position(self.unit.offset.saturating_add(self.die.offset().0))
    }

    /// Bytes of a pointer.
    pub(super) fn address_size(&self) -> u64 {
        u64::from(self.unit.unit.header.address_size())
    }

    pub(super) fn has(&self, name: DwAt) -> bool {
        self.die.has_attr(name)
    }

    /// Whether a flag is there and set.
    pub(super) fn is(&self, name: DwAt) -> bool {
        self.die.attr_value(name) == Some(AttributeValue::Flag(true))
    }

    /// A number that cannot be negative.
    pub(super) fn number(&self, name: DwAt) -> Option<u64> {
        match self.die.attr_value(name)? {
            AttributeValue::Encoding(encoding) => Some(u64::from(encoding.0)),
            AttributeValue::AddressClass(class) => Some(class.0),
            other => other.udata_value(),
        }
    }

    /// A number of either sign.
    pub(super) fn signed_number(&self, name: DwAt) -> Option<i128> {
        match self.die.attr_value(name)? {
            AttributeValue::Sdata(value) => Some(i128::from(value)),
            other => other.udata_value().map(i128::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use gimli::SectionId;
    use hsaco_bytes::ErrorKind;

    use crate::read::{DebugSections, Signature, SourceMap};

    /// A unit, a function with one parameter, that parameter, structures and their members.
    const ABBREVIATIONS: &[u8] = &[
        1, 0x11, 1, 0x11, 0x01, 0x12, 0x06, 0, 0, // low_pc, high_pc
        2, 0x2e, 1, 0x11, 0x01, 0x12, 0x06, 0, 0, // low_pc, high_pc
        3, 0x05, 0, 0x49, 0x13, 0, 0, // type
        4, 0x13, 1, 0, 0, // nothing
        5, 0x0d, 0, 0x03, 0x0e, 0x49, 0x13, 0, 0, // name, type
        0,
    ];

    /// Where the parameter's type is in the unit.
    const TYPE: u32 = 43;

    /// What a function takes whose parameter is the structure that `types` begins with.
    fn signature(types: &[u8], names: &[u8]) -> Result<Option<Signature>, ErrorKind> {
        let mut unit = vec![4, 0, 0, 0, 0, 0, 8];
        for abbreviation in [1, 2] {
            unit.push(abbreviation);
            unit.extend(0_u64.to_le_bytes());
            unit.extend(4_u32.to_le_bytes());
        }
        unit.push(3);
        unit.extend(TYPE.to_le_bytes());
        unit.push(0);
        assert_eq!(unit.len() + 4, TYPE as usize);
        unit.extend(types);
        unit.push(0);
        let mut info = (unit.len() as u32).to_le_bytes().to_vec();
        info.extend(unit);
        let sections = vec![
            (SectionId::DebugAbbrev, Cow::Borrowed(ABBREVIATIONS)),
            (SectionId::DebugInfo, Cow::Owned(info)),
            (SectionId::DebugStr, Cow::Borrowed(names)),
        ];
        let sections = DebugSections {
            sections,
            starts: Vec::new(),
            code: hsaco_elf::CodeAddresses::default(),
        };
        let map = SourceMap::new(&sections).unwrap();
        map.signature_at(&sections, 0).map_err(|error| error.kind())
    }

    fn member(name: u32, ty: u32) -> Vec<u8> {
        let mut bytes = vec![5];
        bytes.extend(name.to_le_bytes());
        bytes.extend(ty.to_le_bytes());
        bytes
    }

    /// Structures each in the one before, with a member of the next one's type.
    fn nested(count: u32) -> Vec<u8> {
        let size = 10;
        let mut types = Vec::new();
        for number in 1..=count {
            types.push(4);
            types.extend(member(0, TYPE + size * number));
        }
        types.push(4);
        types.resize(types.len() + count as usize + 1, 0);
        types
    }

    #[test]
    fn structures_in_structures_are_read() {
        let found = signature(&nested(30), b"m\0").unwrap().unwrap();
        assert_eq!(found.types.len(), 31);
    }

    #[test]
    fn structures_in_structures_without_end_are_refused() {
        assert_eq!(signature(&nested(30_000), b"m\0").unwrap_err(), ErrorKind::LimitExceeded);
    }

    #[test]
    fn names_within_names_are_refused() {
        let names = vec![b'a'; 1 << 20];
        let members = (0..10_000).flat_map(|name| member(name, TYPE));
        let types: Vec<u8> = [4].into_iter().chain(members).chain([0]).collect();
        let names = [names, vec![0]].concat();
        assert_eq!(signature(&types, &names).unwrap_err(), ErrorKind::LimitExceeded);
    }
}
