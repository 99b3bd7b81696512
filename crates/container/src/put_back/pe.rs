//! Windows images (PE): sections of device code that stay, or become sections of their own behind all others.
//!
//! Sections of an image are mapped one behind the other, so none can grow between two others. What grew becomes a new section with
//! the old one's name; the old one keeps its place in memory, empty and with another name. The runtime finds device code by
//! pointers, in the structures that clang calls wrappers: these follow. So does every other pointer that the
//! image has relocated when it is loaded.

use std::collections::BTreeSet;
use std::ops::Range;

use hsaco_bytes::{Error, ErrorKind, Result, memory, slice};
use hsaco_elf::write::moved;

use super::host::WRAPPERS;
use super::{
    CONTEXT, Change, get_u16, get_u32, get_u64, in_place, overwrite, put_u32, unsupported,
};

const SECTION_SIZE: u64 = 40;
/// The name of a section whose content is elsewhere now.
const ABANDONED: &[u8; 8] = b".hip_was";
/// What the names of sections with wrappers begin with; images cut names to eight characters.
const WRAPPER_SECTION: &[u8; 8] = b".hipFatB";
/// A pointer of 64 bits in the table of what is relocated when the image is loaded.
const DIR64: u16 = 10;
const PE32_PLUS: u16 = 0x20b;

const EXPORTS: u64 = 0;
const CERTIFICATES: u64 = 4;
const BASE_RELOCATIONS: u64 = 5;

/// No image is larger.
const MAX_IMAGE: u64 = 1 << 31;

/// An image. What fits stays in its section.
pub(super) fn image(data: &[u8], changes: Vec<Change>) -> Result<Vec<u8>> {
    let (fitting, growing): (Vec<_>, Vec<_>) = changes.into_iter().partition(Change::fits);
    let mut file = in_place(data, &fitting, "pe")?;
    if growing.is_empty() {
        return Ok(file);
    }
    for change in growing {
        Image::of(&file)?.grow(&mut file, &change)?;
    }
    let sum = Image::of(&file)?.optional + 64;
    if get_u32(&file, sum)? != 0 {
        let new = checksum(&file, sum);
        put_u32(&mut file, sum, new)?;
    }
    Ok(file)
}

/// Where the headers of an image are, and what they say.
struct Image {
    headers: u64,
    optional: u64,
    base: u64,
    section_align: u64,
    file_align: u64,
    sections: Vec<Section>,
    /// The ends of the section headers and of all headers.
    table_end: u64,
    headers_end: u64,
}

struct Section {
    header: u64,
    name: Vec<u8>,
    memory: Range<u64>,
    file: Range<u64>,
}

impl Image {
    fn of(file: &[u8]) -> Result<Image> {
        let headers = u64::from(get_u32(file, 0x3c)?);
        let optional = headers + 24;
        if get_u16(file, optional)? != PE32_PLUS {
            return Err(unsupported("an object grew in an image of 32 bits").at(optional));
        }
        let table = optional + u64::from(get_u16(file, headers + 20)?);
        let count = u64::from(get_u16(file, headers + 6)?);
        let sections = (0..count).map(|number| Section::of(file, table + number * SECTION_SIZE));
        Ok(Image {
            headers,
            optional,
            base: get_u64(file, optional + 24)?,
            section_align: u64::from(get_u32(file, optional + 32)?).max(1),
            file_align: u64::from(get_u32(file, optional + 36)?).max(1),
            sections: sections.collect::<Result<_>>()?,
            table_end: table + count * SECTION_SIZE,
            headers_end: get_u32(file, optional + 60)?.into(),
        })
    }

    /// Appends the new content of a section as a section, and points everything at it.
    fn grow(&self, file: &mut Vec<u8>, change: &Change) -> Result<()> {
        let range = change.start..change.end();
        let old = self.sections.iter().find(|it| it.file == range).ok_or_else(|| {
            Error::new(ErrorKind::NotFound, CONTEXT, "a section of just these bytes")
                .at(change.start)
        })?;
        self.check(file, old)?;
        let size = change.new.len() as u64;
        let ends = self.sections.iter().map(|it| it.memory.end);
        let end = ends.fold(u64::from(get_u32(file, self.optional + 56)?), u64::max);
        let address = end.next_multiple_of(self.section_align);
        let memory_end = (address + size).next_multiple_of(self.section_align);
        if memory_end > MAX_IMAGE {
            let detail = format!("the image would take {memory_end} bytes of memory");
            return Err(Error::new(ErrorKind::LimitExceeded, CONTEXT, detail));
        }
        self.move_pointers(file, old, |into| address + moved(&change.moves, into))?;
        let offset = (file.len() as u64).next_multiple_of(self.file_align);
        let raw_size = size.next_multiple_of(self.file_align);
        let header = slice(file, old.header, SECTION_SIZE, CONTEXT)?.to_vec();
        overwrite(file, self.table_end, SECTION_SIZE, &header)?;
        for (field, value) in [(8, size), (12, address), (16, raw_size), (20, offset)] {
            put_u32(file, self.table_end + field, value)?;
        }
        overwrite(file, old.header, 8, ABANDONED)?;
        put_u32(file, old.header + 16, 0)?;
        put_u32(file, old.header + 20, 0)?;
        overwrite(file, change.start, change.old, &[])?;
        let count = get_u16(file, self.headers + 6)?.saturating_add(1);
        overwrite(file, self.headers + 6, 2, &count.to_le_bytes())?;
        let data = u64::from(get_u32(file, self.optional + 8)?);
        put_u32(file, self.optional + 8, data + raw_size)?;
        put_u32(file, self.optional + 56, memory_end)?;
        memory::resize(file, super::index(offset)?, CONTEXT)?;
        memory::append(file, &change.new, CONTEXT)?;
        memory::resize(file, super::index(offset + raw_size)?, CONTEXT)?;
        Ok(())
    }

    /// That there is room for a header, and that nothing is lost with the old section.
    fn check(&self, file: &[u8], old: &Section) -> Result<()> {
        let next = self.table_end + SECTION_SIZE;
        let room = slice(file, self.table_end, SECTION_SIZE, CONTEXT)?;
        let starts = self.sections.iter().filter(|it| !it.file.is_empty()).map(|it| it.file.start);
        let end = starts.fold(self.headers_end, u64::min);
        if next > end || room.iter().any(|byte| *byte != 0) {
            return Err(unsupported("an image without room for a section header").at(next));
        }
        if self.directory(file, CERTIFICATES)?.is_some() {
            return Err(unsupported("a signed image: its signature would not hold any more"));
        }
        for number in (0..self.directory_count(file)?).filter(|it| *it != CERTIFICATES) {
            let directory = self.directory(file, number)?;
            if directory.is_some_and(|(address, _)| old.memory.contains(&address)) {
                let detail = format!("data directory {number} is in the section that grew");
                return Err(unsupported(detail));
            }
        }
        let Some((exports, _)) = self.directory(file, EXPORTS)? else { return Ok(()) };
        let exports = self.offset(exports)?;
        let count = u64::from(get_u32(file, exports + 20)?);
        let table = self.offset(get_u32(file, exports + 28)?.into())?;
        for number in 0..count {
            let address = u64::from(get_u32(file, table + number * 4)?);
            if old.memory.contains(&address) {
                return Err(unsupported("the section that grew is exported").at(table));
            }
        }
        Ok(())
    }

    fn directory_count(&self, file: &[u8]) -> Result<u64> {
        Ok(u64::from(get_u32(file, self.optional + 108)?).min(16))
    }

    /// A data directory: its address and its size.
    fn directory(&self, file: &[u8], number: u64) -> Result<Option<(u64, u64)>> {
        if number >= self.directory_count(file)? {
            return Ok(None);
        }
        let row = self.optional + 112 + number * 8;
        let (address, size) = (get_u32(file, row)?, get_u32(file, row + 4)?);
        Ok((address != 0 && size != 0).then_some((address.into(), size.into())))
    }

    /// Where an address of the image is in the file.
    fn offset(&self, address: u64) -> Result<u64> {
        let mut places = self.sections.iter().filter_map(|it| {
            let into = address.checked_sub(it.memory.start)?;
            (into < it.file.end - it.file.start).then_some(it.file.start + into)
        });
        places.next_back().ok_or_else(|| {
            let detail = format!("address {address:#x} of the image");
            Error::new(ErrorKind::NotFound, CONTEXT, detail)
        })
    }

    /// Points whatever points into a section at its new place.
    fn move_pointers(
        &self,
        file: &mut [u8],
        old: &Section,
        new_address: impl Fn(u64) -> u64,
    ) -> Result<()> {
        let mut places = self.relocated(file)?;
        places.extend(self.wrappers(file)?);
        let mut pointers = 0;
        for place in places {
            let address = get_u64(file, place)?.wrapping_sub(self.base);
            if old.memory.contains(&address) {
                let new = self.base.wrapping_add(new_address(address - old.memory.start));
                overwrite(file, place, 8, &new.to_le_bytes())?;
                pointers += 1;
            }
        }
        if pointers == 0 {
            let name = String::from_utf8_lossy(&old.name).into_owned();
            let detail = format!("{name} grew, and nothing that points at it was found");
            return Err(unsupported(detail).at(old.file.start));
        }
        Ok(())
    }

    /// Where the pointers are that are relocated when the image is loaded.
    fn relocated(&self, file: &[u8]) -> Result<BTreeSet<u64>> {
        let mut places = BTreeSet::new();
        let Some((table, size)) = self.directory(file, BASE_RELOCATIONS)? else {
            return Ok(places);
        };
        let mut block = self.offset(table)?;
        let end = block + size;
        while block + 8 <= end {
            let page = u64::from(get_u32(file, block)?);
            let size = u64::from(get_u32(file, block + 4)?);
            if size < 8 {
                return Err(Error::new(ErrorKind::Malformed, CONTEXT, "base relocations").at(block));
            }
            for entry in (block + 8..(block + size).min(end)).step_by(2) {
                let entry = get_u16(file, entry)?;
                if entry >> 12 == DIR64 {
                    places.insert(self.offset(page + u64::from(entry & 0xfff))?);
                }
            }
            block += size;
        }
        Ok(places)
    }

    /// Where the pointers of wrappers are.
    fn wrappers(&self, file: &[u8]) -> Result<BTreeSet<u64>> {
        let mut places = BTreeSet::new();
        for section in self.sections.iter().filter(|it| it.name == WRAPPER_SECTION) {
            let size = section.file.end - section.file.start;
            let content = slice(file, section.file.start, size, CONTEXT)?;
            let wrappers = (section.file.start..).step_by(WRAPPERS.size);
            for (wrapper, start) in content.chunks_exact(WRAPPERS.size).zip(wrappers) {
                if wrapper.starts_with(&WRAPPERS.magic) {
                    places.insert(start + 8);
                }
            }
        }
        Ok(places)
    }
}

impl Section {
    fn of(file: &[u8], header: u64) -> Result<Section> {
        let field = |at: u64| get_u32(file, header + at).map(u64::from);
        let (memory_size, address, raw_size, offset) =
            (field(8)?, field(12)?, field(16)?, field(20)?);
        // Linkers leave the size in memory out of sections that are not loaded.
        let size = if memory_size == 0 { raw_size } else { raw_size.min(memory_size) };
        let extent = if memory_size == 0 { raw_size } else { memory_size };
        Ok(Section {
            header,
            name: slice(file, header, 8, CONTEXT)?.to_vec(),
            memory: address..address + extent,
            file: offset..offset + size,
        })
    }
}

/// The sum of an image, which is at an offset of it: of its words with the carries added, and of its size.
fn checksum(file: &[u8], at: u64) -> u64 {
    let at = usize::try_from(at).unwrap_or(usize::MAX);
    let words = file.chunks(2).zip((0..).step_by(2));
    let words = words.filter(|(_, offset)| *offset != at && *offset != at.saturating_add(2));
    let sum = words.fold(0_u64, |sum, (word, _)| {
        let sum = sum
            + u64::from(word.first().copied().unwrap_or(0))
            + (u64::from(word.get(1).copied().unwrap_or(0)) << 8);
        (sum & 0xffff) + (sum >> 16)
    });
    (sum + file.len() as u64) & 0xffff_ffff
}
