//! What memory holds: segments at their addresses, with relocations applied.

use std::ops::Range;

use hsaco_bytes::memory;
use hsaco_elf::relocation::RelocationType;

use crate::error::{ErrorKind, Result, refusal, unreadable};
use crate::id::Deltas;
use crate::object::Object;
use crate::resolve::Bound;

/// A segment in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemorySegment {
    /// Where it is.
    pub address: u64,
    /// What it begins with; the rest is zeros.
    pub bytes: Vec<u8>,
    /// How much memory it takes.
    pub size: u64,
    /// Who may do what with it: 4 read, 2 write, 1 execute.
    pub flags: u32,
}

impl MemorySegment {
    /// The addresses it takes.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.size)
    }

    /// Permissions as `readelf` prints them, such as `R E`.
    #[must_use]
    pub fn permissions(&self) -> String {
        let letter = |bit, letter| if self.flags & bit != 0 { letter } else { ' ' };
        [letter(4, 'R'), letter(2, 'W'), letter(1, 'E')].iter().collect()
    }
}

/// One object in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// How far the object was moved: the address of its address 0.
    pub delta: u64,
    /// Its segments, in the order of their addresses.
    pub segments: Vec<MemorySegment>,
}

impl Image {
    pub(crate) fn new(object: &Object<'_>, delta: u64) -> Result<Self> {
        let segment = |segment: &hsaco_elf::Segment| {
            let start = usize::try_from(segment.offset).unwrap_or(usize::MAX);
            let size = usize::try_from(segment.file_size).unwrap_or(0);
            let bytes = object.bytes.get(start..).and_then(|tail| tail.get(..size));
            Ok(MemorySegment {
                address: segment.address.wrapping_add(delta),
                bytes: memory::copy(bytes.unwrap_or_default(), "segment")?,
                size: segment.memory_size,
                flags: segment.flags,
            })
        };
        let segments: hsaco_bytes::Result<_> = object.segments.iter().map(segment).collect();
        let segments = segments.map_err(|it| unreadable(&it).in_object(&object.name))?;
        Ok(Self { delta, segments })
    }

    /// The addresses it takes, from the first to the last.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        let start = self.segments.first().map_or(0, |it| it.address);
        start..self.segments.last().map_or(start, |it| it.range().end)
    }

    /// `size` bytes at an address, where they are in one segment and not all zeros.
    #[must_use]
    pub fn bytes_at(&self, address: u64, size: usize) -> Option<&[u8]> {
        let number = self.segments.partition_point(|it| it.address <= address).checked_sub(1)?;
        let segment = self.segments.get(number)?;
        let start = usize::try_from(address - segment.address).ok()?;
        segment.bytes.get(start..start.checked_add(size)?)
    }
}

/// A relocation that was applied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Applied {
    pub(crate) object: u32,
    pub(crate) place: u64,
    pub(crate) kind: RelocationType,
    /// The symbol that the object names.
    pub(crate) symbol: Option<u32>,
    pub(crate) bound: Option<Bound>,
    pub(crate) addend: i64,
    pub(crate) value: u64,
    /// Whether the value depends on where objects are.
    pub(crate) is_moved: bool,
    pub(crate) is_static: bool,
}

/// How far each object is moved: where it was told to be, else one after the other from `base` on.
pub(crate) fn place(
    objects: &[Object<'_>],
    base: u64,
    told: impl Fn(&Object<'_>) -> Option<u64>,
) -> Result<Deltas> {
    let mut next = base;
    let mut deltas = Deltas::with_capacity(objects.len());
    let mut taken = Vec::with_capacity(objects.len());
    for object in objects {
        let span = object.span();
        let past = || {
            let detail = format!("{:#x} bytes do not fit behind {next:#x}", span.end - span.start);
            refusal(ErrorKind::BadPlacement, detail).in_object(&object.name)
        };
        let start = match told(object) {
            Some(start) if start % object.align == 0 => start,
            Some(start) => {
                let detail = format!("{start:#x} is no multiple of {:#x}", object.align);
                return Err(refusal(ErrorKind::BadPlacement, detail).in_object(&object.name));
            }
            None => next.checked_next_multiple_of(object.align).ok_or_else(past)?,
        };
        let end = start.checked_add(span.end - span.start).ok_or_else(past)?;
        if told(object).is_none() {
            next = end;
        }
        deltas.push(start.wrapping_sub(span.start));
        taken.push((start..end, &object.name));
    }
    check_overlaps(taken)?;
    Ok(deltas)
}

fn check_overlaps(mut taken: Vec<(Range<u64>, &String)>) -> Result<()> {
    taken.sort_by_key(|(range, _)| range.start);
    for ((first, one), (second, other)) in taken.iter().zip(taken.iter().skip(1)) {
        if second.start < first.end {
            let detail = format!(
                "{:#x}..{:#x} overlaps {:#x}..{:#x} of {one}",
                second.start, second.end, first.start, first.end
            );
            return Err(refusal(ErrorKind::BadPlacement, detail).in_object(other));
        }
    }
    Ok(())
}
