//! Which source lines the code of kernels comes from.

use std::ops::Range;

use hsaco_bytes::Result;
use hsaco_dwarf::DebugInfo;
use hsaco_dwarf::Frame;
use hsaco_files::{KernelSelection, ObjectItem, Trouble};
use hsaco_object::CodeMap;
use hsaco_object::{CodeObject, Index, Kernel};
use serde::Serialize;

use crate::{Place, PlacePattern};

/// What lines are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Options<'q> {
    /// Of which kernels.
    pub kernels: &'q KernelSelection,
    /// Only code of these places, if there are any.
    pub at: &'q [PlacePattern],
    /// Whether the calls that were inlined are wanted.
    pub inlines: bool,
    /// Largest size that a debug section may unfold to.
    pub max_size: u64,
}

/// The lines of an object's kernels.
#[derive(Debug, Default, Serialize)]
pub struct Lines {
    /// None, where the object has no lines that can be read.
    pub kernels: Vec<KernelLines>,
    /// Whether nothing is wrong with the object: only then no lines means that it was compiled without.
    #[serde(skip)]
    pub is_readable: bool,
}

/// The lines of one kernel.
#[derive(Debug, Serialize)]
pub struct KernelLines {
    /// The mangled name.
    pub name: String,
    /// By address.
    pub lines: Vec<Line>,
}

/// A range of code with one place in the source.
#[derive(Debug, Serialize)]
pub struct Line {
    /// The first address.
    pub start: u64,
    /// The address behind it.
    pub end: u64,
    /// The innermost place.
    #[serde(flatten)]
    pub place: Frames,
}

/// A place and the calls that were inlined there, the innermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Frames {
    /// The function, where inlined calls were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The path.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
    /// Where it was inlined.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inlined_at: Vec<Frames>,
}

impl Frames {
    fn new(frame: Frame<'_>) -> Self {
        let Place { function, file, line, column } = Place::new(frame.function, frame.location);
        Self { function, file, line, column, inlined_at: Vec::new() }
    }

    /// The place and what it was inlined into.
    pub fn iter(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.inlined_at)
    }
}

impl Lines {
    /// Reads all wanted kernels.
    pub fn new(item: &ObjectItem<'_, '_>, options: &Options<'_>, trouble: &mut Trouble) -> Self {
        let mut found = Self::default();
        if let Some(object) = &item.object {
            let index = item.index(object, trouble);
            match kernels(object, &index, options) {
                Ok(kernels) => found.kernels = kernels,
                Err(error) => item.note(error, trouble),
            }
        }
        found.is_readable = trouble.is_empty();
        found
    }

    /// Whether any code has a place.
    #[must_use]
    pub fn has_lines(&self) -> bool {
        self.kernels.iter().any(|it| !it.lines.is_empty())
    }
}

fn kernels(
    object: &CodeObject<'_>,
    index: &Index<'_>,
    options: &Options<'_>,
) -> Result<Vec<KernelLines>> {
    let debug = DebugInfo::open_capped(object, options.max_size)?;
    let code = CodeMap::new(object, index);
    let lines = |kernel: &Kernel<'_>| {
        let start = kernel.entry().unwrap_or_default();
        let size = code.kernel(kernel).map_or(0, |code| code.bytes.len() as u64);
        let base = debug.sections().address_of(kernel.entry_section(), 0);
        let lines = options.lines(&debug, base, start..start.saturating_add(size))?;
        Ok(KernelLines { name: kernel.name().to_string(), lines })
    };
    options.kernels.of(index).into_iter().map(lines).collect()
}

impl Options<'_> {
    fn lines(&self, debug: &DebugInfo<'_>, base: u64, code: Range<u64>) -> Result<Vec<Line>> {
        const WORD: usize = 4;
        let mut found: Vec<Line> = Vec::new();
        for address in code.clone().step_by(WORD) {
            let Some(place) = self.frames(debug, address.wrapping_add(base))? else { continue };
            let end = address.saturating_add(WORD as u64).min(code.end);
            match found.last_mut() {
                Some(last) if last.end == address && last.place == place => last.end = end,
                _ => found.push(Line { start: address, end, place }),
            }
        }
        Ok(found)
    }

    /// The places of an instruction, if it has any and they are asked for.
    fn frames(&self, debug: &DebugInfo<'_>, address: u64) -> Result<Option<Frames>> {
        let frames = if self.inlines {
            debug.frames(address)?
        } else {
            let location = debug.location(address)?;
            location.map(|it| Frame { function: None, location: Some(it) }).into_iter().collect()
        };
        let is_wanted = |frame: &Frame<'_>| {
            frame.location.is_some_and(|place| self.at.iter().any(|it| it.matches(place)))
        };
        if !self.at.is_empty() && !frames.iter().any(is_wanted) {
            return Ok(None);
        }
        let mut frames = frames.into_iter().map(Frames::new);
        let Some(mut place) = frames.next() else { return Ok(None) };
        place.inlined_at = frames.collect();
        Ok(Some(place))
    }
}
