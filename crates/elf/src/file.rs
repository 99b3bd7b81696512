//! ELF64 little-endian files, read with every bound checked and every offset known.
//!
//! Only a broken file header is an error. A section or segment that reaches past the end, or a
//! table that does, is kept as a problem while the rest is read.

use std::borrow::Cow;

use hsaco_bytes::{
    Error, ErrorKind, Problems, Result, Str, c_str, names_budget, read_u16, read_u32, read_u64,
    slice, spend,
};
use hsaco_compress::{Method, decompress};

use crate::abi::{
    EM_AMDGPU, HEADER_SIZE, MAGIC, PF_X, PROGRAM_HEADER_SIZE, PT_LOAD, SECTION_HEADER_SIZE,
    SHF_COMPRESSED, SHF_EXECINSTR, SHT_NOBITS, SHT_NULL,
};

/// Marks a section count, string table index or segment count that stands in section 0.
const EXTENDED: u16 = 0xffff;

/// The file header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// `EI_OSABI`.
    pub os_abi: u8,
    /// `EI_ABIVERSION`.
    pub abi_version: u8,
    /// `e_type`.
    pub e_type: u16,
    /// `e_machine`.
    pub machine: u16,
    /// `e_entry`.
    pub entry: u64,
    /// `e_phoff`.
    pub program_headers: u64,
    /// `e_shoff`.
    pub section_headers: u64,
    /// `e_flags`.
    pub flags: u32,
    /// `e_phentsize`.
    pub program_header_size: u16,
    /// `e_phnum`, as it stands in the header.
    pub program_header_count: u16,
    /// `e_shentsize`.
    pub section_header_size: u16,
    /// `e_shnum`, as it stands in the header.
    pub section_header_count: u16,
    /// `e_shstrndx`, as it stands in the header.
    pub section_name_index: u16,
}

/// One section header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section<'a> {
    /// Position in the section header table.
    pub index: u32,
    /// Name, empty when it cannot be read.
    pub name: Str<'a>,
    /// `sh_type`.
    pub kind: u32,
    /// `sh_flags`.
    pub flags: u64,
    /// `sh_addr`.
    pub address: u64,
    /// `sh_offset`.
    pub offset: u64,
    /// `sh_size`.
    pub size: u64,
    /// `sh_link`.
    pub link: u32,
    /// `sh_info`.
    pub info: u32,
    /// `sh_addralign`.
    pub align: u64,
    /// `sh_entsize`.
    pub entry_size: u64,
}

impl Section<'_> {
    /// True when the section holds instructions.
    pub fn is_executable(&self) -> bool {
        self.flags & SHF_EXECINSTR != 0
    }

    /// Bytes of the file that the section takes.
    pub fn file_size(&self) -> u64 {
        match self.kind {
            SHT_NOBITS | SHT_NULL => 0,
            _ => self.size,
        }
    }
}

/// One program header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Position in the program header table.
    pub index: u32,
    /// `p_type`.
    pub kind: u32,
    /// `p_flags`.
    pub flags: u32,
    /// `p_offset`.
    pub offset: u64,
    /// `p_vaddr`.
    pub address: u64,
    /// `p_filesz`.
    pub file_size: u64,
    /// `p_memsz`.
    pub memory_size: u64,
    /// `p_align`.
    pub align: u64,
}

/// An ELF64 little-endian file.
#[derive(Clone, Debug)]
pub struct Elf<'a> {
    data: &'a [u8],
    header: Header,
    sections: Vec<Section<'a>>,
    segments: Vec<Segment>,
    problems: Problems,
}

impl<'a> Elf<'a> {
    /// Reads the headers. Costs the size of the header tables, whatever the file holds.
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        let header = Header::parse(data)?;
        let mut problems = Problems::default();
        let sections = problems.or_empty(header.read_sections(data));
        let segments = problems.or_empty(header.read_segments(data, &sections));
        let mut elf = Self { data, header, sections, segments, problems };
        elf.name_sections();
        elf.check_ranges();
        Ok(elf)
    }

    /// Reads the headers of a file for AMD GPUs.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and when the file is for another machine.
    pub fn parse_amdgpu(data: &'a [u8]) -> Result<Self> {
        let elf = Self::parse(data)?;
        let machine = elf.header.machine;
        if machine != EM_AMDGPU {
            let detail = format!("machine {machine}, not {EM_AMDGPU} (AMD GPU)");
            return Err(Error::new(ErrorKind::NotRecognised, "code object", detail).at(18));
        }
        Ok(elf)
    }

    /// The whole file.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// The file header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The sections, the null section included.
    pub fn sections(&self) -> &[Section<'a>] {
        &self.sections
    }

    /// The program headers.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// What was wrong with the header tables.
    pub fn problems(&self) -> &[Error] {
        self.problems.as_slice()
    }

    /// The section at an index of the table.
    pub fn section(&self, index: u32) -> Option<&Section<'a>> {
        self.sections.get(index as usize)
    }

    /// The first section of a name.
    pub fn section_named(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The bytes of a section; none for a section that takes no bytes of the file.
    pub fn section_data(&self, section: &Section<'_>) -> Result<&'a [u8]> {
        slice(self.data, section.offset_in_file(), section.file_size(), "section content")
    }

    /// What a section holds: its bytes, unpacked where it is compressed, to `cap` bytes at most.
    ///
    /// ```
    /// # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
    /// let elf = hsaco_elf::Elf::parse(&file)?;
    /// let text = elf.section_named(".text").unwrap();
    /// assert_eq!(elf.section_content(text, 0)?, elf.section_data(text)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn section_content(&self, section: &Section<'_>, cap: u64) -> Result<Cow<'a, [u8]>> {
        let data = self.section_data(section)?;
        if section.flags & SHF_COMPRESSED == 0 {
            return Ok(Cow::Borrowed(data));
        }
        let at = |error: Error| error.rebased(section.offset);
        let header = slice(data, 0, COMPRESSION_HEADER_SIZE, COMPRESSED).map_err(at)?;
        let method = match read_u32(header, 0) {
            Some(ELFCOMPRESS_ZLIB) => Method::Zlib,
            Some(ELFCOMPRESS_ZSTD) => Method::Zstd,
            other => {
                let detail = format!("compression method {}", other.unwrap_or_default());
                return Err(
                    Error::new(ErrorKind::Unsupported, COMPRESSED, detail).at(section.offset)
                );
            }
        };
        let size = read_u64(header, 8).unwrap_or_default();
        let packed = data.get(header.len()..).unwrap_or_default();
        decompress(method, packed, size, cap)
            .map(Cow::Owned)
            .map_err(|error| error.at(section.offset))
    }

    /// The bytes of a segment that are in the file.
    pub fn segment_data(&self, segment: &Segment) -> Result<&'a [u8]> {
        slice(self.data, segment.offset, segment.file_size, "segment content")
    }

    /// The sections that hold code.
    pub fn code_sections(&self) -> impl Iterator<Item = &Section<'a>> {
        self.sections().iter().filter(|section| section.is_executable() && section.size > 0)
    }

    /// The segments that hold code, of a file without sections.
    pub fn code_segments(&self) -> impl Iterator<Item = &Segment> {
        self.loads().filter(|segment| segment.is_executable() && self.sections().is_empty())
    }

    /// The code of a section: its bytes if they are in the file and executable, else none.
    ///
    /// ```
    /// # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
    /// let elf = hsaco_elf::Elf::parse(&file)?;
    /// let text = elf.section_named(".text").unwrap();
    /// assert_eq!(elf.code_of(text), elf.section_data(text)?);
    /// assert!(elf.code_of(elf.section_named(".rodata").unwrap()).is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn code_of(&self, section: &Section<'_>) -> &'a [u8] {
        match section.is_executable() {
            true => self.section_data(section).unwrap_or_default(),
            false => &[],
        }
    }

    /// Segments that are mapped.
    pub fn loads(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter().filter(|segment| segment.kind == PT_LOAD)
    }

    /// Where the byte at a virtual address stands in the file, if a mapped segment holds it.
    pub fn file_offset(&self, address: u64) -> Option<u64> {
        let segment = self.loads().find(|segment| {
            address.checked_sub(segment.address).is_some_and(|into| into < segment.file_size)
        })?;
        segment.offset.checked_add(address - segment.address)
    }

    /// `size` bytes of the file at a virtual address.
    pub fn at_address(&self, address: u64, size: u64) -> Option<&'a [u8]> {
        let segment = self.loads().find(|segment| {
            address.checked_sub(segment.address).is_some_and(|into| into < segment.file_size)
        })?;
        let into = address - segment.address;
        let end = into.checked_add(size).filter(|&end| end <= segment.file_size)?;
        let content = self.segment_data(segment).ok()?;
        content.get(usize::try_from(into).ok()?..usize::try_from(end).ok()?)
    }

    fn name_sections(&mut self) {
        let index = match self.header.section_name_index {
            EXTENDED => self.sections.first().map_or(0, |first| first.link),
            index => u32::from(index),
        };
        if index == 0 || self.sections.is_empty() {
            return;
        }
        let Some(table) = self.section(index).copied() else {
            let detail = format!("index {index} of {} sections", self.sections.len());
            self.problems.note(Error::malformed("section name table", 62, detail));
            return;
        };
        let names = match self.section_data(&table) {
            Ok(names) => names,
            Err(error) => return self.problems.note(error),
        };
        let mut budget = names_budget(names, self.sections.len());
        for section in &mut self.sections {
            let header = header_offset(&self.header, section.index);
            let start = header.and_then(|at| read_u32(self.data, at)).unwrap_or(0) as usize;
            let name = c_str(names, start);
            let size = name.map_or(0, |it| it.as_bytes().len() as u64);
            match spend(budget, size, "section names", header.unwrap_or(0) as u64) {
                Ok(left) => budget = left,
                Err(error) => return self.problems.note(error),
            }
            match name {
                Some(name) => section.name = name,
                None => self.problems.note(Error::malformed(
                    "section name",
                    header.unwrap_or(0) as u64,
                    format!("starts at {start} of {} bytes and has no end", names.len()),
                )),
            }
        }
    }

    fn check_ranges(&mut self) {
        for index in 0..self.sections.len() {
            if let Some(Err(error)) = self.sections.get(index).map(|it| self.section_data(it)) {
                self.problems.note(error);
            }
        }
        for index in 0..self.segments.len() {
            if let Some(Err(error)) = self.segments.get(index).map(|it| self.segment_data(it)) {
                self.problems.note(error);
            }
        }
    }
}

impl<'a> AsRef<Elf<'a>> for Elf<'a> {
    fn as_ref(&self) -> &Elf<'a> {
        self
    }
}

impl Section<'_> {
    /// `sh_offset`, or 0 for a section without bytes, whose offset may point anywhere.
    fn offset_in_file(&self) -> u64 {
        if self.file_size() == 0 { 0 } else { self.offset }
    }
}

fn header_offset(header: &Header, index: u32) -> Option<usize> {
    let into = u64::from(index).checked_mul(u64::from(header.section_header_size))?;
    usize::try_from(header.section_headers.checked_add(into)?).ok()
}

impl Header {
    fn parse(data: &[u8]) -> Result<Self> {
        if !data.starts_with(&MAGIC) {
            let detail = "the file does not begin with \\x7fELF";
            return Err(Error::new(ErrorKind::NotRecognised, "ELF header", detail).at(0));
        }
        let bytes = slice(data, 0, HEADER_SIZE, "ELF header")?;
        check_identity(bytes)?;
        let short = || Error::truncated("ELF header", 0, HEADER_SIZE, bytes.len() as u64);
        (|| {
            Some(Self {
                os_abi: *bytes.get(7)?,
                abi_version: *bytes.get(8)?,
                e_type: read_u16(bytes, 16)?,
                machine: read_u16(bytes, 18)?,
                entry: read_u64(bytes, 24)?,
                program_headers: read_u64(bytes, 32)?,
                section_headers: read_u64(bytes, 40)?,
                flags: read_u32(bytes, 48)?,
                program_header_size: read_u16(bytes, 54)?,
                program_header_count: read_u16(bytes, 56)?,
                section_header_size: read_u16(bytes, 58)?,
                section_header_count: read_u16(bytes, 60)?,
                section_name_index: read_u16(bytes, 62)?,
            })
        })()
        .ok_or_else(short)
    }

    fn read_sections<'a>(&self, data: &'a [u8]) -> Result<Vec<Section<'a>>> {
        if self.section_headers == 0 {
            return Ok(Vec::new());
        }
        let entry = check_entry_size(self.section_header_size, SECTION_HEADER_SIZE, SECTIONS, 58)?;
        let count = match self.section_header_count {
            0 => self.first_section(data)?.size,
            count => u64::from(count),
        };
        let table = table(data, self.section_headers, count, entry, SECTIONS)?;
        let rows = table.chunks_exact(entry).zip(0..);
        Ok(rows.filter_map(|(row, index)| Section::parse(row, index)).collect())
    }

    fn first_section<'a>(&self, data: &'a [u8]) -> Result<Section<'a>> {
        let row = slice(data, self.section_headers, u64::from(SECTION_HEADER_SIZE), SECTIONS)?;
        let short = || Error::truncated(SECTIONS, self.section_headers, 64, row.len() as u64);
        Section::parse(row, 0).ok_or_else(short)
    }

    fn read_segments(&self, data: &[u8], sections: &[Section<'_>]) -> Result<Vec<Segment>> {
        if self.program_headers == 0 || self.program_header_count == 0 {
            return Ok(Vec::new());
        }
        let entry = check_entry_size(self.program_header_size, PROGRAM_HEADER_SIZE, SEGMENTS, 54)?;
        let count = match (self.program_header_count, sections.first()) {
            (EXTENDED, Some(first)) => u64::from(first.info),
            (count, _) => u64::from(count),
        };
        let table = table(data, self.program_headers, count, entry, SEGMENTS)?;
        let rows = table.chunks_exact(entry).zip(0..);
        Ok(rows.filter_map(|(row, index)| Segment::parse(row, index)).collect())
    }
}

const ELFCOMPRESS_ZLIB: u32 = 1;
const ELFCOMPRESS_ZSTD: u32 = 2;
const COMPRESSION_HEADER_SIZE: u64 = 24;
const COMPRESSED: &str = "compressed section";
const SECTIONS: &str = "section header table";
const SEGMENTS: &str = "program header table";

fn check_identity(bytes: &[u8]) -> Result<()> {
    let unsupported =
        |what: &str| Err(Error::new(ErrorKind::Unsupported, "ELF header", what).at(4));
    match (bytes.get(4), bytes.get(5)) {
        (Some(2), Some(1)) => Ok(()),
        (Some(1), _) => unsupported("a 32-bit file; AMD GPU code objects are 64-bit"),
        (Some(2), Some(2)) => unsupported("a big-endian file; AMD GPU code is little-endian"),
        _ => Err(Error::malformed("ELF header", 4, "unknown class or byte order")),
    }
}

fn check_entry_size(size: u16, least: u16, context: &'static str, at: u64) -> Result<usize> {
    if size < least {
        let detail = format!("entries of {size} bytes, at least {least} needed");
        return Err(Error::malformed(context, at, detail));
    }
    Ok(usize::from(size))
}

/// `count` entries at `offset`, refused as a whole when they do not fit.
fn table<'a>(
    data: &'a [u8],
    offset: u64,
    count: u64,
    entry: usize,
    context: &'static str,
) -> Result<&'a [u8]> {
    let size = count.saturating_mul(entry as u64);
    slice(data, offset, size, context)
}

impl<'a> Section<'a> {
    fn parse(row: &'a [u8], index: u32) -> Option<Self> {
        Some(Self {
            index,
            name: Str::default(),
            kind: read_u32(row, 4)?,
            flags: read_u64(row, 8)?,
            address: read_u64(row, 16)?,
            offset: read_u64(row, 24)?,
            size: read_u64(row, 32)?,
            link: read_u32(row, 40)?,
            info: read_u32(row, 44)?,
            align: read_u64(row, 48)?,
            entry_size: read_u64(row, 56)?,
        })
    }
}

impl Segment {
    fn parse(row: &[u8], index: u32) -> Option<Self> {
        Some(Self {
            index,
            kind: read_u32(row, 0)?,
            flags: read_u32(row, 4)?,
            offset: read_u64(row, 8)?,
            address: read_u64(row, 16)?,
            file_size: read_u64(row, 32)?,
            memory_size: read_u64(row, 40)?,
            align: read_u64(row, 48)?,
        })
    }

    /// True when the segment may be executed.
    pub fn is_executable(&self) -> bool {
        self.flags & PF_X != 0
    }
}
