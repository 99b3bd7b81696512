//! The parts of a code object: headers, sections, and in them what belongs to a kernel.

use std::ops::Range;

use hsaco_bytes::Str;
use hsaco_elf::symbol::SymbolSource;
use hsaco_elf::{Elf, SHT_NOBITS};

use crate::msgpack::Reader;
use crate::{CodeMap, CodeObject, CodeRange, Index, Kernel, metadata};

use super::Kind;

const FILE_HEADER: u64 = 64;
const DESCRIPTOR: u64 = 64;

/// Everything that has a place in a code object.
#[derive(Default)]
pub(super) struct Parts<'a> {
    pub(super) sections: Vec<SectionPart>,
    pub(super) named: Vec<NamedPart<'a>>,
}

/// A header, table, section or segment.
pub(super) struct SectionPart {
    pub(super) range: Range<u64>,
    pub(super) kind: Kind,
    /// What the bytes between its named parts are.
    pub(super) gap: Kind,
    pub(super) name: Option<String>,
}

/// What belongs to one kernel or function.
pub(super) struct NamedPart<'a> {
    pub(super) range: Range<u64>,
    pub(super) kind: Kind,
    pub(super) name: Str<'a>,
    /// The section around it, by its place in [`Parts::sections`].
    pub(super) section: Option<usize>,
}

/// The parts of a code object, by offsets from its start.
pub(super) fn parts<'a>(object: &CodeObject<'a>, index: &Index<'a>) -> Parts<'a> {
    let mut sections = sections(object.elf());
    if !names_all_functions(object) {
        sections.iter_mut().for_each(|part| part.gap = part.kind);
    }
    let places = Places::new(&sections);
    let mut named = code(object, index);
    named.extend(index.kernels().iter().filter_map(|kernel| descriptor(object, kernel)));
    let descriptions = index.metadata().kernels().iter();
    named.extend(descriptions.filter_map(|kernel| description(object, kernel)));
    for part in &mut named {
        part.section = places.around(part.range.start).map(|(section, _)| section);
    }
    Parts { sections, named }
}

/// False for a stripped object, where what lies between kernels may be functions without a name.
fn names_all_functions(object: &CodeObject<'_>) -> bool {
    let table = object.symbol_table();
    table.is_ok_and(|table| table.is_some_and(|it| it.source() == SymbolSource::Symtab))
}

fn sections(elf: &Elf<'_>) -> Vec<SectionPart> {
    let mut parts = headers(elf);
    parts.extend(match elf.sections() {
        [] => segments(elf),
        _ => elf_sections(elf),
    });
    parts
}

fn headers(elf: &Elf<'_>) -> Vec<SectionPart> {
    let part = |start: u64, size: u64, kind| SectionPart {
        range: start..start.saturating_add(size),
        kind,
        gap: kind,
        name: None,
    };
    let header = elf.header();
    let segments = elf.segments().len() as u64 * u64::from(header.program_header_size);
    let sections = elf.sections().len() as u64 * u64::from(header.section_header_size);
    vec![
        part(0, FILE_HEADER, Kind::FileHeader),
        part(header.program_headers, segments, Kind::ProgramHeaders),
        part(header.section_headers, sections, Kind::SectionHeaders),
    ]
}

fn elf_sections(elf: &Elf<'_>) -> Vec<SectionPart> {
    let with_bytes = elf.sections().iter().filter(|it| it.file_size() > 0);
    let part = |section: &hsaco_elf::Section<'_>| SectionPart {
        range: section.offset..section.offset.saturating_add(section.size),
        kind: Kind::Section,
        gap: if section.is_executable() { Kind::Padding } else { Kind::Section },
        name: Some(section.name.to_string()),
    };
    with_bytes.map(part).collect()
}

/// Segments in the place of sections, the first one without the headers that it begins with.
fn segments(elf: &Elf<'_>) -> Vec<SectionPart> {
    let header = elf.header();
    let table = elf.segments().len() as u64 * u64::from(header.program_header_size);
    let headers_end = header.program_headers.saturating_add(table);
    let part = |segment: &hsaco_elf::Segment| {
        let end = segment.offset.saturating_add(segment.file_size);
        let start = if segment.offset == 0 { headers_end.min(end) } else { segment.offset };
        SectionPart {
            range: start..end,
            kind: Kind::Segment,
            gap: if segment.is_executable() { Kind::Padding } else { Kind::Segment },
            name: Some(format!("LOAD {}", segment.index)),
        }
    };
    elf.loads().map(part).collect()
}

/// Sections by where they begin.
struct Places(Vec<(Range<u64>, usize)>);

impl Places {
    fn new(sections: &[SectionPart]) -> Self {
        let mut places: Vec<_> = sections
            .iter()
            .enumerate()
            .filter(|(_, it)| it.name.is_some())
            .map(|(at, it)| (it.range.clone(), at))
            .collect();
        places.sort_by_key(|(range, _)| range.start);
        Self(places)
    }

    /// The section around a byte, and where it ends.
    fn around(&self, offset: u64) -> Option<(usize, u64)> {
        let after = self.0.partition_point(|(range, _)| range.start <= offset);
        let (range, at) = self.0.get(after.checked_sub(1)?)?;
        range.contains(&offset).then_some((*at, range.end))
    }
}

/// The code of kernels and functions.
fn code<'a>(object: &CodeObject<'a>, index: &Index<'a>) -> Vec<NamedPart<'a>> {
    let map = CodeMap::new(object, index);
    let kernels = index.kernels().iter().filter_map(|kernel| {
        let code = map.kernel(kernel)?;
        let start = v2_header(object, kernel).unwrap_or(code.offset).min(code.offset);
        Some(part(start, code.file_end() - start, Kind::Code, kernel.name()))
    });
    let functions = index.functions().iter().filter_map(|function| {
        let code = map.function(function)?;
        Some(part(code.offset, code.bytes.len() as u64, Kind::Function, function.name))
    });
    kernels.chain(functions).collect()
}

/// Where a kernel's header is that stands before its code.
fn v2_header(object: &CodeObject<'_>, kernel: &Kernel<'_>) -> Option<u64> {
    let header = kernel.descriptor_symbol().filter(|_| object.is_v2())?;
    file_offset(object, header.section, header.value)
}

fn descriptor<'a>(object: &CodeObject<'a>, kernel: &Kernel<'a>) -> Option<NamedPart<'a>> {
    let symbol = kernel.descriptor_symbol().filter(|_| !object.is_v2())?;
    let start = file_offset(object, symbol.section, symbol.value)?;
    Some(part(start, DESCRIPTOR, Kind::Descriptor, kernel.name()))
}

fn description<'a>(
    object: &CodeObject<'a>,
    kernel: &metadata::Kernel<'a>,
) -> Option<NamedPart<'a>> {
    let start = kernel.offset();
    let rest = object.data().get(usize::try_from(start).ok()?..)?;
    let mut reader = Reader::new(rest, start);
    reader.skip().ok()?;
    Some(part(start, reader.offset() - start, Kind::Metadata, kernel.base_name()))
}

fn part(start: u64, size: u64, kind: Kind, name: Str<'_>) -> NamedPart<'_> {
    NamedPart { range: start..start.saturating_add(size), kind, name, section: None }
}

/// Where a symbol is in the file: by its section, else by the segment that is mapped there.
fn file_offset(object: &CodeObject<'_>, section: u32, value: u64) -> Option<u64> {
    let elf = object.elf();
    match elf.section(section) {
        Some(section) if section.kind != SHT_NOBITS => {
            value.checked_sub(section.address)?.checked_add(section.offset)
        }
        Some(_) => None,
        None => elf.file_offset(value),
    }
}

/// The name, place and bytes of the code of each kernel that has some, in the order of the file.
pub(super) fn kernel_codes<'a>(
    object: &CodeObject<'a>,
    index: &Index<'a>,
) -> Vec<(Str<'a>, CodeRange<'a>)> {
    let map = CodeMap::new(object, index);
    let kernels = index.kernels().iter();
    let codes = kernels.filter_map(|kernel| Some((kernel.name(), map.kernel(kernel)?)));
    let mut codes: Vec<_> = codes.filter(|(_, code)| !code.bytes.is_empty()).collect();
    codes.sort_by_key(|(_, code)| code.offset);
    codes
}
