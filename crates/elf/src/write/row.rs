//! Rows of ELF's tables, as bytes.

use hsaco_bytes::{read_u32, read_u64};

use crate::relocation::RelocationType;
use crate::{Elf, HEADER_SIZE, PROGRAM_HEADER_SIZE, SECTION_HEADER_SIZE, Segment};

/// A section header as it stands in the file, its name an offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SectionRow {
    pub(super) name: u32,
    pub(super) kind: u32,
    pub(super) flags: u64,
    pub(super) address: u64,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) link: u32,
    pub(super) info: u32,
    pub(super) align: u64,
    pub(super) entry_size: u64,
}

impl SectionRow {
    pub(super) const SIZE: u64 = SECTION_HEADER_SIZE as u64;

    /// Every section header of a file.
    pub(super) fn read_all(elf: &Elf<'_>) -> Vec<Self> {
        let header = elf.header();
        let row = |(section, index): (&crate::Section<'_>, u64)| {
            let at = header.section_headers + index * u64::from(header.section_header_size);
            let name = usize::try_from(at).ok().and_then(|at| read_u32(elf.data(), at));
            Self {
                name: name.unwrap_or(0),
                kind: section.kind,
                flags: section.flags,
                address: section.address,
                offset: section.offset,
                size: section.size,
                link: section.link,
                info: section.info,
                align: section.align,
                entry_size: section.entry_size,
            }
        };
        elf.sections().iter().zip(0..).map(row).collect()
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        [
            &self.name.to_le_bytes()[..],
            &self.kind.to_le_bytes(),
            &self.flags.to_le_bytes(),
            &self.address.to_le_bytes(),
            &self.offset.to_le_bytes(),
            &self.size.to_le_bytes(),
            &self.link.to_le_bytes(),
            &self.info.to_le_bytes(),
            &self.align.to_le_bytes(),
            &self.entry_size.to_le_bytes(),
        ]
        .concat()
    }
}

/// A program header. Code objects have no physical addresses: that field repeats the virtual one.
pub(super) fn segment_bytes(segment: &Segment) -> Vec<u8> {
    [
        &segment.kind.to_le_bytes()[..],
        &segment.flags.to_le_bytes(),
        &segment.offset.to_le_bytes(),
        &segment.address.to_le_bytes(),
        &segment.address.to_le_bytes(),
        &segment.file_size.to_le_bytes(),
        &segment.memory_size.to_le_bytes(),
        &segment.align.to_le_bytes(),
    ]
    .concat()
}

pub(super) const SEGMENT_SIZE: u64 = PROGRAM_HEADER_SIZE as u64;

pub(super) fn relocation_bytes(
    offset: u64,
    kind: RelocationType,
    symbol: u32,
    addend: i64,
) -> Vec<u8> {
    let info = u64::from(symbol) << 32 | u64::from(kind.0);
    [offset.to_le_bytes(), info.to_le_bytes(), addend.to_le_bytes()].concat()
}

/// The fields of the file header that say where the header tables are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tables {
    pub(super) program_headers: u64,
    pub(super) program_header_count: u16,
    pub(super) section_headers: u64,
    pub(super) section_header_count: u16,
    pub(super) section_name_index: u16,
}

/// Where the file header holds them.
pub(super) mod place {
    pub(in crate::write) const PROGRAM_HEADERS: u64 = 32;
    pub(in crate::write) const SECTION_HEADERS: u64 = 40;
    pub(in crate::write) const PROGRAM_HEADER_SIZE: u64 = 54;
    pub(in crate::write) const PROGRAM_HEADER_COUNT: u64 = 56;
    pub(in crate::write) const SECTION_HEADER_SIZE: u64 = 58;
    pub(in crate::write) const SECTION_HEADER_COUNT: u64 = 60;
}

/// The header of a new ELF64 little-endian file.
pub(super) fn header_bytes(
    os_abi: u8,
    abi_version: u8,
    e_type: u16,
    flags: u32,
    tables: &Tables,
) -> Vec<u8> {
    let identity = [0x7f, b'E', b'L', b'F', 2, 1, 1, os_abi, abi_version, 0, 0, 0, 0, 0, 0, 0];
    let header_size = u16::try_from(HEADER_SIZE).unwrap_or(u16::MAX);
    [
        &identity[..],
        &e_type.to_le_bytes(),
        &crate::EM_AMDGPU.to_le_bytes(),
        &1_u32.to_le_bytes(),
        &0_u64.to_le_bytes(),
        &tables.program_headers.to_le_bytes(),
        &tables.section_headers.to_le_bytes(),
        &flags.to_le_bytes(),
        &header_size.to_le_bytes(),
        &PROGRAM_HEADER_SIZE.to_le_bytes(),
        &tables.program_header_count.to_le_bytes(),
        &SECTION_HEADER_SIZE.to_le_bytes(),
        &tables.section_header_count.to_le_bytes(),
        &tables.section_name_index.to_le_bytes(),
    ]
    .concat()
}

/// A word of a table of 64-bit words, changed in place.
pub(super) fn change_u64(bytes: &mut [u8], at: usize, change: impl Fn(u64) -> u64) {
    if let Some(value) = read_u64(bytes, at)
        && let Some(place) = bytes.get_mut(at..at + 8)
    {
        place.copy_from_slice(&change(value).to_le_bytes());
    }
}
