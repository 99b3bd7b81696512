//! Places in code as people name them.

use std::str::FromStr;

use hsaco_bytes::number;
use hsaco_dwarf::DebugInfo;
use hsaco_object::CodeObject;

use crate::edit::Points;

/// A place in code: an address, or a line of a source file.
///
/// ```
/// use hsaco_patch::EditLocation;
/// assert_eq!("0x1600".parse(), Ok(EditLocation::Address(0x1600)));
/// assert_eq!("scale.hip:12".parse(), Ok(EditLocation::Line("scale.hip".to_owned(), 12)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditLocation {
    /// An address.
    Address(u64),
    /// The first instruction of each stretch of code that a source line has.
    Line(String, u32),
}

impl FromStr for EditLocation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((file, line)) = text.rsplit_once(':')
            && let Ok(line) = line.parse()
        {
            return Ok(EditLocation::Line(file.to_owned(), line));
        }
        let wrong = || format!("`{text}` is neither an address nor FILE:LINE");
        number::parse(text).map(EditLocation::Address).ok_or_else(wrong)
    }
}

impl EditLocation {
    /// The addresses of its instructions; none where no code is of the source line.
    ///
    /// # Errors
    /// When the debug information cannot be read.
    pub fn addresses(&self, object: &CodeObject<'_>) -> hsaco_bytes::Result<Vec<u64>> {
        let (name, line) = match self {
            EditLocation::Address(address) => return Ok(vec![*address]),
            EditLocation::Line(name, line) => (name, *line),
        };
        let debug = DebugInfo::open(object)?;
        let stretches = debug.map().stretches(debug.sections())?;
        let ranges = stretches.iter().filter(|(_, location)| location.is_at(name, line, None));
        let ranges = ranges.map(|(range, _)| (range.start, range.end));
        let mut ranges: Vec<(u64, u64)> = ranges.filter(|(start, end)| start < end).collect();
        ranges.sort_unstable();
        // Rows of one line that follow one another are one stretch.
        let mut addresses = Vec::new();
        let mut end = None;
        for (start, stop) in ranges {
            if end.is_none_or(|end| start > end) {
                addresses.push(start);
            }
            end = end.max(Some(stop));
        }
        Ok(addresses)
    }
}

/// Where to count or call, as people name it.
///
/// ```
/// use hsaco_patch::{EditLocation, Points, Where};
/// assert_eq!("entries".parse(), Ok(Where::Points(Points::Entries)));
/// assert_eq!("64".parse(), Ok(Where::Location(EditLocation::Address(64))));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Where {
    /// Places of every kernel.
    Points(Points),
    /// A place.
    Location(EditLocation),
}

impl FromStr for Where {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "entries" => Ok(Where::Points(Points::Entries)),
            "blocks" => Ok(Where::Points(Points::Blocks)),
            place => place.parse().map(Where::Location),
        }
    }
}
