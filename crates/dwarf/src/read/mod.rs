//! Where code comes from: source lines and inlined calls, as an object's DWARF tells them.
//!
//! [`DebugSections`] are the bytes, [`SourceMap`] is what was read of them so far: the units at first, the lines
//! and functions of a unit when an address of it is asked for. A [`Signature`] is what a function takes, with
//! the [`Types`] of it.

mod debug_info;
mod entry;
mod function;
mod line;
mod parameter;
mod path;
pub(crate) mod program;
mod relocate;
mod scope;
mod types;

pub use debug_info::DebugInfo;
pub use parameter::{Parameter, Signature};
pub use types::{
    BitField, Encoding, Enumerator, Keyword, Member, Pointer, PointerKind, Qualifier, Spelling,
    Type, TypeId, TypeKind, Types,
};

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::ops::Range;
use std::sync::OnceLock;

use gimli::{
    Dwarf, EndianSlice, LittleEndian, Reader as _, Section as _, SectionId, UnitHeader, UnitType,
};
use hsaco_bytes::{Error, ErrorKind};
use hsaco_elf::{CodeAddresses, ET_REL, Elf};

use function::Functions;
use line::Lines;
use scope::Scopes;

pub(crate) type Reader<'s> = EndianSlice<'s, LittleEndian>;

/// The debug sections of a code object, unpacked where they are compressed.
///
/// ```
/// use hsaco_dwarf::DebugSections;
/// use hsaco_elf::Elf;
/// # let file = std::fs::read("../../tests/fixtures/lines.dwarf5.co")?;
/// let elf = Elf::parse(&file)?;
/// assert!(!DebugSections::new(&elf, 1 << 30)?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DebugSections<'a> {
    sections: Vec<(SectionId, Cow<'a, [u8]>)>,
    /// Where those of them are in the file that are what the file has there.
    starts: Vec<(SectionId, u64)>,
    /// Where the sections of code begin that the lines are of.
    code: CodeAddresses,
}

/// The sections that are read. Where variables live is not: nothing in it can hide a line.
const SECTIONS: [SectionId; 10] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugInfo,
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
    SectionId::DebugTypes,
];

impl<'a> DebugSections<'a> {
    /// Finds them; each may unpack to `cap` bytes. Those of an object that is not linked are linked.
    pub fn new(object: &impl AsRef<Elf<'a>>, cap: u64) -> Result<Self, Error> {
        let elf = object.as_ref();
        if elf.header().e_type == ET_REL {
            return relocate::sections(elf, cap);
        }
        let (mut found, mut starts) = (Vec::new(), Vec::new());
        for id in SECTIONS {
            if let Some(section) = elf.section_named(id.name()) {
                let content = elf.section_content(section, cap)?;
                if matches!(content, Cow::Borrowed(_)) {
                    starts.push((id, section.offset));
                }
                found.push((id, content));
            }
        }
        Ok(DebugSections { sections: found, starts, code: CodeAddresses::default() })
    }

    /// What to add to addresses in a section of code before asking for their source. Nothing, unless the object is
    /// not linked and has several such sections: they all begin at zero, and are told apart by this.
    #[must_use]
    pub fn base_of(&self, section: u32) -> u64 {
        self.code.of(section, 0)
    }

    /// What to ask about for an address in a section of code; see [`base_of`](Self::base_of).
    #[must_use]
    pub fn address_of(&self, section: Option<u32>, address: u64) -> u64 {
        address.wrapping_add(section.map_or(0, |it| self.base_of(it)))
    }

    /// Whether there is nothing in them that maps code to its source.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.section(SectionId::DebugLine).is_empty()
    }

    /// Whether they are all parts of the object: none was compressed.
    #[must_use]
    pub fn is_borrowed(&self) -> bool {
        self.sections.iter().all(|(_, content)| matches!(content, Cow::Borrowed(_)))
    }

    /// The same, without the object.
    #[must_use]
    pub fn into_owned(self) -> DebugSections<'static> {
        let owned = |(id, content): (_, Cow<'_, [u8]>)| (id, Cow::Owned(content.into_owned()));
        let sections = self.sections.into_iter().map(owned).collect();
        DebugSections { sections, starts: self.starts, code: self.code }
    }

    /// What a section holds; nothing, if there is none.
    fn section(&self, id: SectionId) -> &[u8] {
        let found = self.sections.iter().find(|(other, _)| *other == id);
        found.map_or(&[], |(_, content)| content)
    }

    fn dwarf(&self) -> Dwarf<Reader<'_>> {
        let section = |id| Ok::<_, Infallible>(EndianSlice::new(self.section(id), LittleEndian));
        let Ok(dwarf) = Dwarf::load(section);
        dwarf
    }

    /// An error of what begins there in a section.
    fn malformed(&self, id: SectionId, offset: usize, error: gimli::Error) -> Error {
        let what = self.dwarf().format_error(error);
        let detail = format!("{what}, after {offset:#x} of {}", id.name());
        let error = Error::new(ErrorKind::Malformed, "DWARF", detail);
        match self.starts.iter().find(|(other, _)| *other == id) {
            Some((_, start)) => error.at(start.saturating_add(offset as u64)),
            None => error,
        }
    }
}

/// A place in a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location<'m> {
    /// The path, as absolute as the compiler wrote it down.
    pub file: &'m str,
    /// The line, from 1; none for code that the compiler made up.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
}

/// A place in a source file, as a number of the map that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceId {
    unit: usize,
    place: line::Place,
}

/// A function that an instruction is in, and the place there: its own, or that of the call that was inlined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<'m> {
    /// The function's name, as the linker knows it if it does.
    pub function: Option<String>,
    /// The place.
    pub location: Option<Location<'m>>,
}

/// What maps the code of one object to its source, read as far as it was asked for.
///
/// Methods take the sections that the map was made from; those of another object give nonsense.
///
/// ```
/// use hsaco_dwarf::{DebugSections, SourceMap};
/// use hsaco_elf::Elf;
/// # let file = std::fs::read("../../tests/fixtures/lines.dwarf5.co")?;
/// let elf = Elf::parse(&file)?;
/// let sections = DebugSections::new(&elf, 1 << 30)?;
/// let map = SourceMap::new(&sections)?;
/// let location = map.location(&sections, 0x2100)?.unwrap();
/// assert!(location.file.ends_with("lines.hip"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SourceMap {
    /// Those of `.debug_info`, then those of `.debug_types`.
    units: Vec<Unit>,
    /// Stretches of code and the number of their unit, by address.
    ranges: Vec<(Range<u64>, usize)>,
    /// The code that may be asked about.
    window: Range<u64>,
}

#[derive(Debug)]
struct Unit {
    /// Where its header is; in `.debug_types`, counted on from the end of `.debug_info`. Of a line table without
    /// a unit, where the table is.
    offset: usize,
    kind: UnitKind,
    lines: OnceLock<Result<Lines, Error>>,
    functions: OnceLock<Result<Functions, Error>>,
    scopes: OnceLock<Result<Scopes, Error>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnitKind {
    /// It has code, although the rest of it may be in another file.
    Code,
    /// A type's: it has no code, and shares the line table of one that has.
    Type,
    /// A line table that is all there is: the object has lost its `.debug_info`.
    Table,
}

impl Location<'_> {
    /// Whether it is that place: its path is `file` or ends in it after a separator. Without a column any will do.
    ///
    /// ```
    /// use hsaco_dwarf::Location;
    /// let place = Location { file: "/src/kernel.hip", line: Some(7), column: Some(3) };
    /// assert!(place.is_at("kernel.hip", 7, None) && place.is_at("/src/kernel.hip", 7, Some(3)));
    /// assert!(!place.is_at("nel.hip", 7, None) && !place.is_at("kernel.hip", 7, Some(4)));
    /// ```
    #[must_use]
    pub fn is_at(&self, file: &str, line: u32, column: Option<u32>) -> bool {
        let rest = self.file.strip_suffix(file);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with(['/', '\\']))
            && self.line == Some(line)
            && column.is_none_or(|column| self.column == Some(column))
    }
}

impl SourceMap {
    /// Finds the units and what code each is of.
    pub fn new(sections: &DebugSections<'_>) -> Result<Self, Error> {
        Self::for_code(sections, 0..u64::MAX)
    }

    /// The same for code in that window only: about other code it says nothing, and keeps nothing.
    pub fn for_code(sections: &DebugSections<'_>, window: Range<u64>) -> Result<Self, Error> {
        let dwarf = sections.dwarf();
        let (mut units, mut ranges) = (Vec::new(), Vec::new());
        let mut tables = BTreeSet::new();
        let wrong = |id, offset| move |error| sections.malformed(id, offset, error);
        let mut headers = dwarf.units();
        let mut offset = 0;
        while let Some(header) = headers.next().map_err(wrong(SectionId::DebugInfo, offset))? {
            offset = header.debug_info_offset().map_or(0, |offset| offset.0);
            let found = unit_ranges(&dwarf, header, &mut tables);
            let found = found.map_err(wrong(SectionId::DebugInfo, offset))?;
            ranges.extend(found.into_iter().map(|range| (range, units.len())));
            let is_type = matches!(header.type_(), UnitType::Type { .. });
            units.push(Unit::new(offset, if is_type { UnitKind::Type } else { UnitKind::Code }));
        }
        let info = dwarf.debug_info.reader().len();
        let mut headers = dwarf.type_units();
        while let Some(header) = headers.next().map_err(wrong(SectionId::DebugTypes, 0))? {
            let offset = header.debug_types_offset().map_or(0, |offset| offset.0);
            units.push(Unit::new(info.saturating_add(offset), UnitKind::Type));
        }
        if units.is_empty() {
            let tables = line::tables(&dwarf).map_err(wrong(SectionId::DebugLine, 0))?;
            for (offset, code) in tables {
                ranges.extend(code.into_iter().map(|range| (range, units.len())));
                units.push(Unit::new(offset, UnitKind::Table));
            }
        }
        ranges.sort_by_key(|(range, unit)| (range.start, *unit));
        Ok(SourceMap { units, ranges, window })
    }

    /// The place that an instruction comes from; none where the object does not say.
    pub fn location(
        &self,
        sections: &DebugSections<'_>,
        address: u64,
    ) -> Result<Option<Location<'_>>, Error> {
        Ok(self.place(sections, address)?.and_then(|place| self.location_of(place)))
    }

    /// The same as a number, to keep many of them.
    pub fn place(
        &self,
        sections: &DebugSections<'_>,
        address: u64,
    ) -> Result<Option<PlaceId>, Error> {
        let Some(number) = self.unit_at(address) else { return Ok(None) };
        let Some(unit) = self.units.get(number) else { return Ok(None) };
        let place = self.lines(unit, sections)?.at(address);
        Ok(place.map(|place| PlaceId { unit: number, place }))
    }

    /// The place of a number that this map gave.
    #[must_use]
    pub fn location_of(&self, id: PlaceId) -> Option<Location<'_>> {
        let lines = self.units.get(id.unit)?.lines.get()?.as_ref().ok()?;
        lines.location(id.place)
    }

    /// The place and the functions that an instruction is in: the innermost inlined one first, the one that it
    /// really is in last.
    pub fn frames(
        &self,
        sections: &DebugSections<'_>,
        address: u64,
    ) -> Result<Vec<Frame<'_>>, Error> {
        let unit = self.unit_at(address).and_then(|number| self.units.get(number));
        let Some(unit) = unit else { return Ok(Vec::new()) };
        let lines = self.lines(unit, sections)?;
        let dwarf = sections.dwarf();
        let mut location = lines.at(address).and_then(|place| lines.location(place));
        let mut frames = Vec::new();
        for scope in unit.functions(sections)?.around(address) {
            let function = scope.name(&dwarf, unit.offset);
            frames.push(Frame { function, location });
            location = scope.call.and_then(|call| lines.location(call));
        }
        if frames.is_empty() && location.is_some() {
            frames.push(Frame { function: None, location });
        }
        Ok(frames)
    }

    /// Every stretch of code that has a place, with it, in the order of the object's units.
    pub fn stretches(
        &self,
        sections: &DebugSections<'_>,
    ) -> Result<Vec<(Range<u64>, Location<'_>)>, Error> {
        let mut all = Vec::new();
        for unit in self.units.iter().filter(|unit| unit.kind != UnitKind::Type) {
            all.extend(self.lines(unit, sections)?.stretches());
        }
        Ok(all)
    }

    /// What could not be read of all that was asked for until now.
    pub fn errors(&self) -> impl Iterator<Item = &Error> {
        self.units.iter().flat_map(|unit| {
            let lines = unit.lines.get().and_then(|it| it.as_ref().err());
            let functions = unit.functions.get().and_then(|it| it.as_ref().err());
            lines.into_iter().chain(functions)
        })
    }

    fn unit_at(&self, address: u64) -> Option<usize> {
        let after = self.ranges.partition_point(|(range, _)| range.start <= address);
        let (range, unit) = self.ranges.get(after.checked_sub(1)?)?;
        Some(*unit).filter(|_| range.contains(&address))
    }

    fn lines<'m>(&self, unit: &'m Unit, sections: &DebugSections<'_>) -> Result<&'m Lines, Error> {
        let read = |dwarf: &Dwarf<Reader<'_>>| match unit.kind {
            UnitKind::Table => Lines::read_table(dwarf, unit.offset, &self.window),
            _ => Lines::read(dwarf, &unit_at_offset(dwarf, unit.offset)?, &self.window),
        };
        unit.read_once(&unit.lines, sections, read)
    }
}

impl Unit {
    fn new(offset: usize, kind: UnitKind) -> Self {
        let (lines, functions, scopes) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Unit { offset, kind, lines, functions, scopes }
    }

    fn functions(&self, sections: &DebugSections<'_>) -> Result<&Functions, Error> {
        self.read_entries(&self.functions, sections, Functions::read)
    }

    fn scopes(&self, sections: &DebugSections<'_>) -> Result<&Scopes, Error> {
        self.read_entries(&self.scopes, sections, Scopes::read)
    }

    /// What its entries hold of something; a line table by itself has none.
    fn read_entries<'c, T: Default>(
        &self,
        cell: &'c OnceLock<Result<T, Error>>,
        sections: &DebugSections<'_>,
        read: impl Fn(&Dwarf<Reader<'_>>, &gimli::Unit<Reader<'_>>) -> gimli::Result<T>,
    ) -> Result<&'c T, Error> {
        self.read_once(cell, sections, |dwarf| match self.kind {
            UnitKind::Table => Ok(T::default()),
            _ => read(dwarf, &unit_at_offset(dwarf, self.offset)?),
        })
    }

    /// What it holds of something, read when it is first asked for; a failure is remembered.
    fn read_once<'c, T>(
        &self,
        cell: &'c OnceLock<Result<T, Error>>,
        sections: &DebugSections<'_>,
        read: impl Fn(&Dwarf<Reader<'_>>) -> gimli::Result<T>,
    ) -> Result<&'c T, Error> {
        let section = match self.kind {
            UnitKind::Table => SectionId::DebugLine,
            _ => SectionId::DebugInfo,
        };
        let result = cell.get_or_init(|| {
            read(&sections.dwarf()).map_err(|error| sections.malformed(section, self.offset, error))
        });
        result.as_ref().map_err(Clone::clone)
    }
}

fn unit_at_offset<'s>(
    dwarf: &Dwarf<Reader<'s>>,
    offset: usize,
) -> gimli::Result<gimli::Unit<Reader<'s>>> {
    dwarf.unit(header_at_offset(dwarf, offset)?)
}

/// The header of a unit, of whichever section.
fn header_at_offset<'s>(
    dwarf: &Dwarf<Reader<'s>>,
    offset: usize,
) -> gimli::Result<UnitHeader<Reader<'s>>> {
    let Some(into_types) = offset.checked_sub(dwarf.debug_info.reader().len()) else {
        return dwarf.unit_header(gimli::DebugInfoOffset(offset));
    };
    let mut types = *dwarf.debug_types.reader();
    types.skip(into_types)?;
    let header = gimli::DebugTypes::from(types).units().next()?;
    header.ok_or(gimli::Error::UnexpectedEof(types.offset_id()))
}

/// The code of a unit, which a skeleton has too: the line table stays when the rest goes to a file of its own. A
/// unit that does not say has the code of its line table, unless another had it: `tables` are those that were
/// read. Types have none.
fn unit_ranges(
    dwarf: &Dwarf<Reader<'_>>,
    header: UnitHeader<Reader<'_>>,
    tables: &mut BTreeSet<usize>,
) -> gimli::Result<Vec<Range<u64>>> {
    if !matches!(header.type_(), UnitType::Compilation | UnitType::Skeleton(_)) {
        return Ok(Vec::new());
    }
    let unit = dwarf.unit(header)?;
    let mut found = Vec::new();
    let mut ranges = dwarf.unit_ranges(&unit)?;
    while let Some(range) = ranges.next()? {
        if range.begin < range.end {
            found.push(range.begin..range.end);
        }
    }
    let table = unit.line_program.as_ref().map(|program| program.header().offset().0);
    if found.is_empty() && table.is_some_and(|table| tables.insert(table)) {
        found.extend(Lines::read(dwarf, &unit, &(0..u64::MAX))?.code());
    }
    Ok(found)
}

fn malformed(dwarf: &Dwarf<Reader<'_>>, error: gimli::Error) -> Error {
    Error::new(ErrorKind::Malformed, "DWARF", dwarf.format_error(error))
}
