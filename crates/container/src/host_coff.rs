//! The sections of Windows images (PE) and objects (COFF).

use hsaco_bytes::{Error, ErrorKind, Result};
use object::read::coff::{CoffHeader, SectionTable};
use object::read::pe::{ImageNtHeaders, optional_header_magic};
use object::{LittleEndian as LE, pe};

use crate::host::{Section, device_section, section_part, short_name};
use crate::region::{Part, PartKind};

const SECTION_HEADER_SIZE: u64 = 40;
const SYMBOL_SIZE: u64 = 18;
const BIG_SYMBOL_SIZE: u64 = 20;

/// The sections of an image that may hold device code.
pub(crate) fn image_sections(data: &[u8]) -> Result<Vec<Section>> {
    let wide =
        optional_header_magic(data).map_err(broken_image)? == pe::IMAGE_NT_OPTIONAL_HDR64_MAGIC;
    if wide {
        sections_of_image::<pe::ImageNtHeaders64>(data)
    } else {
        sections_of_image::<pe::ImageNtHeaders32>(data)
    }
}

fn sections_of_image<Nt: ImageNtHeaders>(data: &[u8]) -> Result<Vec<Section>> {
    let dos = pe::ImageDosHeader::parse(data).map_err(broken_image)?;
    let mut offset = u64::from(dos.nt_headers_offset());
    let (headers, _) = Nt::parse(data, &mut offset).map_err(broken_image)?;
    let table = headers.sections(data, offset).map_err(broken_image)?;
    let strings = string_table(headers.file_header(), data);
    Ok(select(&table, strings, image_range))
}

fn image_range(header: &pe::ImageSectionHeader) -> (u32, u32) {
    let (offset, size) = header.pe_file_range();
    // Linkers leave the virtual size out of sections that are not loaded.
    let raw_size = header.size_of_raw_data.get(LE);
    (offset, if header.virtual_size.get(LE) == 0 { raw_size } else { size })
}

fn object_range(header: &pe::ImageSectionHeader) -> (u32, u32) {
    header.coff_file_range().unwrap_or_default()
}

/// The sections of an object that may hold device code.
pub(crate) fn object_sections(data: &[u8]) -> Result<Vec<Section>> {
    if is_big_object(data) {
        sections_of_object::<pe::AnonObjectHeaderBigobj>(data)
    } else {
        sections_of_object::<pe::ImageFileHeader>(data)
    }
}

fn sections_of_object<Header: CoffHeader>(data: &[u8]) -> Result<Vec<Section>> {
    let mut offset = 0;
    let header = Header::parse(data, &mut offset).map_err(broken_object)?;
    let table = header.sections(data, offset).map_err(broken_object)?;
    let strings = string_table(header, data);
    check_names(&table, strings, data)?;
    Ok(select(&table, strings, object_range))
}

/// Fails when a section's name is past the end: device code might be in it.
fn check_names(table: &SectionTable<'_>, strings: &[u8], data: &[u8]) -> Result<()> {
    let is_lost = |header: &pe::ImageSectionHeader| match header.name_offset() {
        Ok(Some(offset)) => {
            let name = usize::try_from(offset).ok().and_then(|offset| strings.get(offset..));
            !name.is_some_and(|name| name.contains(&0))
        }
        Ok(None) | Err(_) => false,
    };
    match table.iter().any(is_lost) {
        true => {
            let detail = "the name of a section is missing";
            Err(Error::new(ErrorKind::Truncated, "COFF string table", detail).at(data.len() as u64))
        }
        false => Ok(()),
    }
}

fn select(
    table: &SectionTable<'_>,
    strings: &[u8],
    range: impl Fn(&pe::ImageSectionHeader) -> (u32, u32),
) -> Vec<Section> {
    let select_one = |header: &pe::ImageSectionHeader| {
        let (offset, size) = range(header);
        device_section(section_name(header, strings)?, u64::from(offset), u64::from(size))
    };
    table.iter().filter_map(select_one).collect()
}

fn section_name<'a>(header: &'a pe::ImageSectionHeader, strings: &'a [u8]) -> Option<&'a [u8]> {
    match header.name_offset().ok()? {
        Some(offset) => short_name(strings.get(usize::try_from(offset).ok()?..)?),
        None => Some(header.raw_name()),
    }
}

/// Headers, sections and symbols of an image or an object, as far as they can be read.
pub(crate) fn parts(data: &[u8], is_image: bool) -> Vec<Part> {
    let wide = || optional_header_magic(data).ok() == Some(pe::IMAGE_NT_OPTIONAL_HDR64_MAGIC);
    let parts = match is_image {
        true if wide() => parts_of_image::<pe::ImageNtHeaders64>(data),
        true => parts_of_image::<pe::ImageNtHeaders32>(data),
        false if is_big_object(data) => parts_of_object::<pe::AnonObjectHeaderBigobj>(data),
        false => parts_of_object::<pe::ImageFileHeader>(data),
    };
    parts.unwrap_or_default()
}

fn parts_of_image<Nt: ImageNtHeaders>(data: &[u8]) -> Option<Vec<Part>> {
    let mut offset = u64::from(pe::ImageDosHeader::parse(data).ok()?.nt_headers_offset());
    let (headers, _) = Nt::parse(data, &mut offset).ok()?;
    let table = headers.sections(data, offset).ok()?;
    Some(parts_of(headers.file_header(), &table, data, offset, image_range))
}

fn parts_of_object<Header: CoffHeader>(data: &[u8]) -> Option<Vec<Part>> {
    let mut offset = 0;
    let header = Header::parse(data, &mut offset).ok()?;
    let table = header.sections(data, offset).ok()?;
    Some(parts_of(header, &table, data, offset, object_range))
}

fn parts_of<Header: CoffHeader>(
    header: &Header,
    table: &SectionTable<'_>,
    data: &[u8],
    table_offset: u64,
    range: fn(&pe::ImageSectionHeader) -> (u32, u32),
) -> Vec<Part> {
    let table_end = table_offset + table.len() as u64 * SECTION_HEADER_SIZE;
    let strings = string_table(header, data);
    let symbols = u64::from(header.pointer_to_symbol_table());
    let symbols_end = (data.len() - strings.len()) as u64;
    let strings_size = u64::from(hsaco_bytes::read_u32(strings, 0).unwrap_or(0));
    let mut parts = vec![
        Part::new(0..table_offset, PartKind::FileHeader),
        Part::new(table_offset..table_end, PartKind::SectionHeaders),
    ];
    if symbols != 0 {
        let end = symbols_end.saturating_add(strings_size);
        parts.push(Part::new(symbols..end, PartKind::Symbols));
    }
    parts.extend(table.iter().map(|header| {
        let (offset, size) = range(header);
        section_part(section_name(header, strings), u64::from(offset), u64::from(size))
    }));
    parts
}

/// The names that do not fit a section header, which follow the symbols.
fn string_table<'a, Header: CoffHeader>(header: &Header, data: &'a [u8]) -> &'a [u8] {
    let symbol_size = if Header::is_type_bigobj() { BIG_SYMBOL_SIZE } else { SYMBOL_SIZE };
    let symbols = u64::from(header.pointer_to_symbol_table());
    let start = symbols + u64::from(header.number_of_symbols()) * symbol_size;
    usize::try_from(start).ok().and_then(|start| data.get(start..)).unwrap_or_default()
}

/// True for bytes that can only be a COFF object: a known machine, no optional header, and room
/// for the sections that the header announces.
pub(crate) fn is_object(data: &[u8]) -> bool {
    if is_big_object(data) {
        return true;
    }
    let mut offset = 0;
    let Some(header) = object_header(data, &mut offset) else { return false };
    header.sections(data, offset).is_ok()
}

/// Whether bytes that are only the first ones of a file may be those of an object.
pub(crate) fn may_be_object(prefix: &[u8]) -> bool {
    object_header(prefix, &mut 0).is_some()
}

fn object_header<'d>(data: &'d [u8], offset: &mut u64) -> Option<&'d pe::ImageFileHeader> {
    let header = pe::ImageFileHeader::parse(data, offset).ok()?;
    let known = [
        pe::IMAGE_FILE_MACHINE_AMD64,
        pe::IMAGE_FILE_MACHINE_I386,
        pe::IMAGE_FILE_MACHINE_ARM64,
        pe::IMAGE_FILE_MACHINE_ARM64EC,
        pe::IMAGE_FILE_MACHINE_ARMNT,
    ];
    let is_object = known.contains(&header.machine.get(LE))
        && header.size_of_optional_header.get(LE) == 0
        && header.number_of_sections.get(LE) > 0;
    is_object.then_some(header)
}

pub(crate) fn is_big_object(data: &[u8]) -> bool {
    pe::AnonObjectHeaderBigobj::parse(data, &mut 0).is_ok()
}

fn broken_image(error: object::read::Error) -> Error {
    Error::new(ErrorKind::Malformed, "PE image", error.to_string()).at(0)
}

fn broken_object(error: object::read::Error) -> Error {
    Error::new(ErrorKind::Malformed, "COFF object", error.to_string()).at(0)
}
