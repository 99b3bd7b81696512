//! Places in source files, as rows and as patterns.

use std::fmt;
use std::str::FromStr;

use crate::source_name;
use hsaco_bytes::Error;
use hsaco_dwarf::{DebugInfo, Frame, Location};
use serde::Serialize;

/// A place in a source file, and the function that it is in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The function, where inlined calls were asked for.
    pub function: Option<String>,
    /// The path.
    pub file: Option<String>,
    /// The line, from 1; null for code that the compiler made up.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
}

impl Place {
    pub(crate) fn new(function: Option<String>, location: Option<Location<'_>>) -> Self {
        Self {
            function,
            file: location.map(|it| it.file.to_owned()),
            line: location.and_then(|it| it.line),
            column: location.and_then(|it| it.column),
        }
    }

    /// Where the code at an address of debug information comes from, and the calls that were inlined to bring it
    /// there, the innermost first.
    ///
    /// # Errors
    /// When the debug information cannot be read.
    pub fn frames(debug: &DebugInfo<'_>, address: u64) -> Result<Vec<Self>, Error> {
        Ok(debug.frames(address)?.into_iter().map(Self::readable).collect())
    }

    /// With the function's name as in the source.
    pub(crate) fn readable(frame: Frame<'_>) -> Self {
        let readable = |name: String| source_name(name.as_str().into()).into_owned();
        Self::new(frame.function.map(readable), frame.location)
    }
}

/// A place that is asked for: `FILE:LINE` or `FILE:LINE:COLUMN`.
///
/// ```
/// use hsaco_describe::PlacePattern;
/// let pattern: PlacePattern = "kernel.hip:17:9".parse()?;
/// assert_eq!(pattern.to_string(), "kernel.hip:17:9");
/// assert!("kernel.hip".parse::<PlacePattern>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug)]
pub struct PlacePattern {
    file: String,
    line: u32,
    column: Option<u32>,
}

impl FromStr for PlacePattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("'{text}' is not FILE:LINE or FILE:LINE:COLUMN");
        let (rest, last) = text.rsplit_once(':').ok_or_else(wanted)?;
        let last: u32 = last.parse().map_err(|_| wanted())?;
        let with_column =
            rest.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
        let (file, line, column) = match with_column {
            Some((file, line)) => (file, line, Some(last)),
            None => (rest, last, None),
        };
        if file.is_empty() {
            return Err(wanted());
        }
        Ok(Self { file: file.to_owned(), line, column })
    }
}

impl fmt::Display for PlacePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        self.column.map_or(Ok(()), |column| write!(f, ":{column}"))
    }
}

impl PlacePattern {
    /// Whether a place is the one: its path is the same or ends in it.
    #[must_use]
    pub fn matches(&self, place: Location<'_>) -> bool {
        place.is_at(&self.file, self.line, self.column)
    }
}
