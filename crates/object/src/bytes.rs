//! Reading little-endian values and strings out of bytes that promise nothing.

use std::borrow::Cow;
use std::fmt;

use crate::{Error, ErrorKind, Result};

/// A string as a file holds it: bytes that are nearly always UTF-8, and need not be.
///
/// ```
/// use hsaco_object::Str;
/// assert_eq!(Str::new(b"vector_add.kd").to_str_lossy(), "vector_add.kd");
/// assert_eq!(Str::new(b"caf\xe9").to_string(), "caf\u{fffd}");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Str<'a>(&'a [u8]);

impl<'a> Str<'a> {
    /// Wraps bytes.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The bytes, as they stand in the file.
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// True when there is not one byte.
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The text, with U+FFFD for what is not UTF-8.
    pub fn to_str_lossy(self) -> Cow<'a, str> {
        // Checking is faster than mending, and there is next to never anything to mend.
        std::str::from_utf8(self.0).map_or_else(|_| String::from_utf8_lossy(self.0), Cow::Borrowed)
    }

    /// The string without `suffix`, if it ends in it.
    pub fn strip_suffix(self, suffix: &str) -> Option<Self> {
        self.0.strip_suffix(suffix.as_bytes()).map(Self)
    }
}

impl<'a> From<&'a str> for Str<'a> {
    fn from(text: &'a str) -> Self {
        Self(text.as_bytes())
    }
}

impl PartialEq<str> for Str<'_> {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<&str> for Str<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl fmt::Display for Str<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_str_lossy())
    }
}

impl fmt::Debug for Str<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_str_lossy(), f)
    }
}

/// `size` bytes of `data` at `offset`, or a [`Truncated`](crate::ErrorKind::Truncated) error that
/// names `context`.
pub(crate) fn slice<'a>(
    data: &'a [u8],
    offset: u64,
    size: u64,
    context: &'static str,
) -> Result<&'a [u8]> {
    let range = usize::try_from(offset)
        .ok()
        .zip(usize::try_from(size).ok())
        .and_then(|(start, size)| Some(start..start.checked_add(size)?));
    range.and_then(|range| data.get(range)).ok_or_else(|| {
        let available = (data.len() as u64).saturating_sub(offset);
        Error::truncated(context, offset, size, available)
    })
}

/// What is left of a file's size after `size` bytes of a table at `offset`. Tables that do not
/// overlap never run out of it.
pub(crate) fn spend(left: u64, size: u64, context: &'static str, offset: u64) -> Result<u64> {
    left.checked_sub(size).ok_or_else(|| {
        let detail = "together they are larger than the file";
        Error::new(ErrorKind::LimitExceeded, context, detail).at(offset)
    })
}

macro_rules! reader {
    ($name:ident, $int:ty) => {
        /// Reads one little-endian integer, or `None` past the end.
        pub(crate) fn $name(data: &[u8], offset: usize) -> Option<$int> {
            let bytes = data.get(offset..)?.first_chunk()?;
            Some(<$int>::from_le_bytes(*bytes))
        }
    };
}

reader!(read_u16, u16);
reader!(read_u32, u32);
reader!(read_u64, u64);

/// The NUL-terminated string at `offset`, or `None` when the NUL or the start is missing.
pub(crate) fn c_str(data: &[u8], offset: usize) -> Option<Str<'_>> {
    let tail = data.get(offset..)?;
    let end = memchr::memchr(0, tail)?;
    tail.get(..end).map(Str::new)
}

/// How many bytes the names of `count` things may have in all, names that share their bytes counted
/// each time: a file must not be able to make a gigabyte of names out of a kilobyte.
pub(crate) fn names_budget(strings: &[u8], count: usize) -> u64 {
    const USUAL: u64 = 1024;
    (strings.len() as u64).saturating_add((count as u64).saturating_mul(USUAL))
}
