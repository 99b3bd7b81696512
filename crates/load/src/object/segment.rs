//! The segments of an object: what of it is mapped, and where.

use std::ops::Range;

use hsaco_elf::Segment;
use hsaco_object::CodeObject;

use crate::error::{ErrorKind, Result, refusal};

/// What memory is handed out in.
pub(crate) const PAGE: u64 = 4096;

const PT_GNU_RELRO: u32 = 0x6474_e552;
/// No segment asks for more; what does would have to leave gaps as large as the address space.
const MOST_ALIGN: u64 = 1 << 30;

pub(super) fn read(code: &CodeObject<'_>) -> Result<Vec<Segment>> {
    let elf = code.elf();
    let loads: Vec<Segment> = elf.loads().copied().collect();
    let header = |segment: &Segment| {
        let (first, size) = (elf.header().program_headers, elf.header().program_header_size);
        first.saturating_add(u64::from(segment.index) * u64::from(size))
    };
    let wrong = |segment: &Segment, detail: String| {
        let detail = format!("segment {}: {detail}", segment.index);
        Err(refusal(ErrorKind::BadSegment, detail).at(header(segment)))
    };
    if loads.is_empty() {
        let error = refusal(ErrorKind::BadSegment, "no segment is to be loaded");
        return Err(error.at(elf.header().program_headers));
    }
    for segment in &loads {
        let (address, size) = (segment.address, segment.memory_size);
        if address.checked_add(size).is_none() {
            return wrong(
                segment,
                format!("{size:#x} bytes at {address:#x} are past all addresses"),
            );
        }
        if segment.file_size > size {
            let file = segment.file_size;
            return wrong(segment, format!("{file:#x} bytes in the file, {size:#x} in memory"));
        }
        if let Err(error) = elf.segment_data(segment) {
            return wrong(segment, format!("reaches past the file: {}", error.detail()));
        }
        if segment.align > 1 && !segment.align.is_power_of_two() || segment.align > MOST_ALIGN {
            return wrong(segment, format!("aligned to {:#x}", segment.align));
        }
    }
    for (before, after) in loads.iter().zip(loads.iter().skip(1)) {
        let (first, second) = (range(before), range(after));
        if second.start < first.start {
            let detail = format!("at {:#x}, after one at {:#x}", second.start, first.start);
            return wrong(after, format!("out of order: {detail}"));
        }
        if second.start < first.end {
            let detail =
                format!("{:#x} is inside {:#x}..{:#x}", second.start, first.start, first.end);
            return wrong(after, format!("overlaps segment {}: {detail}", before.index));
        }
    }
    Ok(loads)
}

pub(super) fn relro(code: &CodeObject<'_>) -> Vec<Range<u64>> {
    let segments = code.elf().segments().iter();
    segments.filter(|it| it.kind == PT_GNU_RELRO).map(range).collect()
}

fn range(segment: &Segment) -> Range<u64> {
    segment.address..segment.address.saturating_add(segment.memory_size)
}

/// The segment that holds `size` bytes at an address.
pub(crate) fn mapped(segments: &[Segment], address: u64, size: u64) -> Option<&Segment> {
    let after = segments.partition_point(|it| it.address <= address);
    let segment = segments.get(after.checked_sub(1)?)?;
    let end = address.checked_add(size)?;
    (end <= range(segment).end).then_some(segment)
}

/// The number of the segment that holds `size` bytes of the file at an address, and how far into it.
pub(crate) fn file_backed(segments: &[Segment], address: u64, size: u64) -> Option<(usize, usize)> {
    let number = segments.partition_point(|it| it.address <= address).checked_sub(1)?;
    let segment = segments.get(number)?;
    let into = address - segment.address;
    let fits = into.checked_add(size)? <= segment.file_size;
    fits.then_some((number, usize::try_from(into).ok()?))
}
