//! Debug information, opened: the one place that finds its sections and units.

use std::ops::Range;

use hsaco_bytes::Error;
use hsaco_elf::Elf;

use super::{DebugSections, Frame, Location, SourceMap};

/// The debug information of an object: its sections, and what was read of them so far.
///
/// ```
/// use hsaco_dwarf::DebugInfo;
/// use hsaco_elf::Elf;
/// # let file = std::fs::read("../../tests/fixtures/lines.dwarf5.co")?;
/// let debug = DebugInfo::open(&Elf::parse(&file)?)?;
/// let location = debug.location(0x2100)?.unwrap();
/// assert!(location.file.ends_with("lines.hip"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DebugInfo<'a> {
    sections: DebugSections<'a>,
    map: SourceMap,
}

impl<'a> DebugInfo<'a> {
    /// The most that a compressed debug section may unpack to, where callers set no limit of their own.
    pub const MAX_SECTION: u64 = 4 << 30;

    /// Finds the sections, and the units in them.
    pub fn open(object: &impl AsRef<Elf<'a>>) -> Result<Self, Error> {
        Self::open_capped(object, Self::MAX_SECTION)
    }

    /// The same, where each section may unpack to `cap` bytes.
    pub fn open_capped(object: &impl AsRef<Elf<'a>>, cap: u64) -> Result<Self, Error> {
        Self::of_sections(DebugSections::new(object, cap)?, 0..u64::MAX)
    }

    /// The same for code in that window only: about other code it says nothing, and keeps nothing.
    pub fn for_code(object: &impl AsRef<Elf<'a>>, window: Range<u64>) -> Result<Self, Error> {
        Self::of_sections(DebugSections::new(object, Self::MAX_SECTION)?, window)
    }

    fn of_sections(sections: DebugSections<'a>, window: Range<u64>) -> Result<Self, Error> {
        let map = SourceMap::for_code(&sections, window)?;
        Ok(DebugInfo { sections, map })
    }

    /// The sections.
    #[must_use]
    pub fn sections(&self) -> &DebugSections<'a> {
        &self.sections
    }

    /// What was read of them.
    #[must_use]
    pub fn map(&self) -> &SourceMap {
        &self.map
    }

    /// Both, for callers that keep one of them.
    #[must_use]
    pub fn into_parts(self) -> (DebugSections<'a>, SourceMap) {
        (self.sections, self.map)
    }

    /// Whether there is nothing in it that maps code to its source.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sections.is_empty()
    }

    /// The place that an instruction comes from; none where the object does not say.
    pub fn location(&self, address: u64) -> Result<Option<Location<'_>>, Error> {
        self.map.location(&self.sections, address)
    }

    /// The place and the functions that an instruction is in; see [`SourceMap::frames`].
    pub fn frames(&self, address: u64) -> Result<Vec<Frame<'_>>, Error> {
        self.map.frames(&self.sections, address)
    }
}
