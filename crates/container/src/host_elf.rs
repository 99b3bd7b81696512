//! The sections of a host ELF file, of either class and byte order, every field checked.

use hsaco_bytes::{Error, Result, slice};

use crate::host::{Section, device_section, section_part, short_name};
use crate::region::{Part, PartKind};

const CONTEXT: &str = "ELF section table";
const SHT_NULL: u64 = 0;
const SHT_NOBITS: u64 = 8;
const SHN_XINDEX: u64 = 0xffff;

/// Where a field is, and how many bytes it has.
type Field = (usize, usize);

/// The fields of the file header and of a section header that the walk needs.
struct Layout {
    header_size: u64,
    section_header_size: u64,
    phoff: Field,
    phentsize: Field,
    phnum: Field,
    shoff: Field,
    shentsize: Field,
    shnum: Field,
    shstrndx: Field,
    sh_name: Field,
    sh_type: Field,
    sh_offset: Field,
    sh_size: Field,
    sh_link: Field,
}

const ELF32: Layout = Layout {
    header_size: 52,
    section_header_size: 40,
    phoff: (0x1c, 4),
    phentsize: (0x2a, 2),
    phnum: (0x2c, 2),
    shoff: (0x20, 4),
    shentsize: (0x2e, 2),
    shnum: (0x30, 2),
    shstrndx: (0x32, 2),
    sh_name: (0, 4),
    sh_type: (4, 4),
    sh_offset: (0x10, 4),
    sh_size: (0x14, 4),
    sh_link: (0x18, 4),
};

const ELF64: Layout = Layout {
    header_size: 64,
    section_header_size: 64,
    phoff: (0x20, 8),
    phentsize: (0x36, 2),
    phnum: (0x38, 2),
    shoff: (0x28, 8),
    shentsize: (0x3a, 2),
    shnum: (0x3c, 2),
    shstrndx: (0x3e, 2),
    sh_name: (0, 4),
    sh_type: (4, 4),
    sh_offset: (0x18, 8),
    sh_size: (0x20, 8),
    sh_link: (0x28, 4),
};

struct Reader {
    layout: &'static Layout,
    big_endian: bool,
}

impl Reader {
    fn new(data: &[u8]) -> Result<Self> {
        let ident = slice(data, 0, 16, "ELF header")?;
        let (class, order) = (ident.get(4).copied(), ident.get(5).copied());
        let layout = match class {
            Some(1) => &ELF32,
            Some(2) => &ELF64,
            _ => return Err(unknown_ident(4, "class", class)),
        };
        let big_endian = match order {
            Some(1) => false,
            Some(2) => true,
            _ => return Err(unknown_ident(5, "byte order", order)),
        };
        slice(data, 0, layout.header_size, "ELF header")?;
        Ok(Self { layout, big_endian })
    }

    /// A field of a structure that is known to be whole.
    fn field(&self, structure: &[u8], (offset, size): Field) -> u64 {
        let bytes = structure.get(offset..).and_then(|rest| rest.get(..size)).unwrap_or_default();
        let join = |value, &byte: &u8| value << 8 | u64::from(byte);
        if self.big_endian { bytes.iter().fold(0, join) } else { bytes.iter().rev().fold(0, join) }
    }
}

fn unknown_ident(offset: u64, what: &str, value: Option<u8>) -> Error {
    let detail = format!("{what} {}; 1 and 2 are known", value.unwrap_or(0));
    Error::malformed("ELF header", offset, detail)
}

/// The sections that may hold device code; `None` when the file has no section table at all.
pub(crate) fn device_sections(data: &[u8]) -> Result<Option<Vec<Section>>> {
    let reader = Reader::new(data)?;
    let Some(table) = reader.table(data)? else { return Ok(None) };
    let sections = table.headers().filter_map(|header| reader.section(header, table.names));
    Ok(Some(sections.collect()))
}

/// Headers and sections, as far as they can be read.
pub(crate) fn parts(data: &[u8]) -> Vec<Part> {
    let Ok(reader) = Reader::new(data) else { return Vec::new() };
    let layout = reader.layout;
    let [offset, size, count] =
        [layout.phoff, layout.phentsize, layout.phnum].map(|field| reader.field(data, field));
    let mut parts = vec![
        Part::new(0..layout.header_size, PartKind::FileHeader),
        Part::new(offset..offset.saturating_add(size * count), PartKind::ProgramHeaders),
    ];
    if let Ok(Some(table)) = reader.table(data) {
        let end = table.offset.saturating_add(table.headers.len() as u64);
        parts.push(Part::new(table.offset..end, PartKind::SectionHeaders));
        parts.extend(table.headers().filter_map(|header| reader.part(header, table.names)));
    }
    parts
}

/// The section headers and the names of the sections.
struct Table<'a> {
    offset: u64,
    headers: &'a [u8],
    entry_size: usize,
    names: &'a [u8],
}

impl<'a> Table<'a> {
    fn headers(&self) -> std::slice::ChunksExact<'a, u8> {
        self.headers.chunks_exact(self.entry_size)
    }
}

impl Reader {
    fn table<'a>(&self, data: &'a [u8]) -> Result<Option<Table<'a>>> {
        let layout = self.layout;
        let table_offset = self.field(data, layout.shoff);
        if table_offset == 0 {
            return Ok(None);
        }
        let entry_size = self.field(data, layout.shentsize);
        if entry_size < layout.section_header_size {
            let least = layout.section_header_size;
            let detail = format!("entries of {entry_size} bytes, {least} at least");
            return Err(Error::malformed(CONTEXT, layout.shentsize.0 as u64, detail));
        }
        // Counts that do not fit their field in the file header are in the first section header.
        let first = slice(data, table_offset, entry_size, CONTEXT)?;
        let count = match self.field(data, layout.shnum) {
            0 => self.field(first, layout.sh_size),
            count => count,
        };
        let names_index = match self.field(data, layout.shstrndx) {
            SHN_XINDEX => self.field(first, layout.sh_link),
            index => index,
        };
        let table = slice(data, table_offset, count.saturating_mul(entry_size), CONTEXT)?;
        let entry_size = usize::try_from(entry_size).unwrap_or(usize::MAX);
        let headers = table.chunks_exact(entry_size);
        let names = headers.clone().nth(usize::try_from(names_index).unwrap_or(usize::MAX));
        let names = names.ok_or_else(|| {
            let detail = format!("names in section {names_index}, there are {count} sections");
            Error::malformed(CONTEXT, layout.shstrndx.0 as u64, detail)
        })?;
        let [names_offset, names_size] =
            [layout.sh_offset, layout.sh_size].map(|field| self.field(names, field));
        let names = slice(data, names_offset, names_size, "ELF section names")?;
        Ok(Some(Table { offset: table_offset, headers: table, entry_size, names }))
    }

    /// A section that takes bytes of the file.
    fn part(&self, header: &[u8], names: &[u8]) -> Option<Part> {
        let layout = self.layout;
        if matches!(self.field(header, layout.sh_type), SHT_NULL | SHT_NOBITS) {
            return None;
        }
        let name_at = usize::try_from(self.field(header, layout.sh_name)).ok();
        let name = name_at.and_then(|at| short_name(names.get(at..)?));
        let [offset, size] =
            [layout.sh_offset, layout.sh_size].map(|field| self.field(header, field));
        Some(section_part(name, offset, size))
    }

    fn section(&self, header: &[u8], names: &[u8]) -> Option<Section> {
        let layout = self.layout;
        if self.field(header, layout.sh_type) == SHT_NOBITS {
            return None;
        }
        let name_at = usize::try_from(self.field(header, layout.sh_name)).ok()?;
        let name = short_name(names.get(name_at..)?)?;
        let offset = self.field(header, layout.sh_offset);
        device_section(name, offset, self.field(header, layout.sh_size))
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation)]
pub(crate) mod tests {
    use super::*;
    use hsaco_bytes::ErrorKind;

    /// A host ELF with these sections, of the given class and byte order.
    pub(crate) fn build(class: u8, big_endian: bool, sections: &[(&str, &[u8])]) -> Vec<u8> {
        let layout = if class == 1 { &ELF32 } else { &ELF64 };
        let put = |out: &mut [u8], (offset, size): Field, value: u64| {
            let bytes = value.to_be_bytes();
            let field = &mut out[offset..offset + size];
            field.copy_from_slice(&bytes[8 - size..]);
            if !big_endian {
                field.reverse();
            }
        };
        let mut out = vec![0; layout.header_size as usize];
        out[..4].copy_from_slice(b"\x7fELF");
        (out[4], out[5], out[6]) = (class, if big_endian { 2 } else { 1 }, 1);
        put(&mut out, (0x12, 2), 62);
        let mut names = vec![0u8];
        let mut headers = vec![vec![0u8; layout.section_header_size as usize]];
        let mut add = |out: &mut Vec<u8>, name: &str, data: Option<&[u8]>| {
            let mut header = vec![0; layout.section_header_size as usize];
            put(&mut header, layout.sh_name, names.len() as u64);
            names.extend_from_slice(name.as_bytes());
            names.push(0);
            let data = data.map_or_else(|| names.clone(), <[u8]>::to_vec);
            put(&mut header, layout.sh_type, 1);
            put(&mut header, layout.sh_offset, out.len() as u64);
            put(&mut header, layout.sh_size, data.len() as u64);
            out.extend_from_slice(&data);
            headers.push(header);
        };
        for (name, data) in sections {
            add(&mut out, name, Some(data));
        }
        add(&mut out, ".shstrtab", None);
        let table = out.len() as u64;
        put(&mut out, layout.shoff, table);
        put(&mut out, layout.shentsize, layout.section_header_size);
        put(&mut out, layout.shnum, headers.len() as u64);
        put(&mut out, layout.shstrndx, headers.len() as u64 - 1);
        out.extend(headers.concat());
        out
    }

    #[test]
    fn either_class_and_byte_order() {
        for (class, big_endian) in [(1, false), (1, true), (2, false), (2, true)] {
            let file = build(class, big_endian, &[(".text", b"code"), (".hip_fatbin", b"bundle")]);
            let sections = device_sections(&file).unwrap().unwrap();
            assert_eq!(sections.len(), 1);
            let Section { name, offset, size } = &sections[0];
            assert_eq!((name.as_str(), *size), (".hip_fatbin", 6));
            assert_eq!(&file[*offset as usize..][..6], b"bundle");
        }
    }

    #[test]
    fn counts_in_the_first_section_header() {
        let mut file = build(2, false, &[(".hip_fatbin", b"bundle")]);
        let table = u64::from_le_bytes(file[0x28..0x30].try_into().unwrap()) as usize;
        let (count, names) = (file[0x3c], file[0x3e]);
        file[0x3c..0x3e].fill(0);
        file[0x3e..0x40].fill(0xff);
        file[table + 0x20] = count;
        file[table + 0x28] = names;
        assert_eq!(device_sections(&file).unwrap().unwrap().len(), 1);
        // Only the low half of the index is right: it must not be cut to sixteen bits.
        file[table + 0x2a] = 1;
        assert_eq!(device_sections(&file).unwrap_err().kind(), ErrorKind::Malformed);
    }

    #[test]
    fn every_strict_prefix_is_an_error() {
        let file = build(2, false, &[(".hip_fatbin", b"bundle")]);
        for length in 0..file.len() {
            assert!(device_sections(&file[..length]).is_err(), "{length}");
        }
    }
}
