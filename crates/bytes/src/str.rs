//! Strings as files hold them.

use std::borrow::Cow;
use std::fmt;

/// A string as a file holds it: bytes that are nearly always UTF-8, and need not be.
///
/// ```
/// use hsaco_bytes::Str;
/// assert_eq!(Str::new(b"vector_add.kd").to_str_lossy(), "vector_add.kd");
/// assert_eq!(Str::new(b"caf\xe9").to_string(), "caf\u{fffd}");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Str<'a>(&'a [u8]);

impl<'a> Str<'a> {
    /// Wraps bytes.
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The bytes, as they stand in the file.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// True when there is not one byte.
    #[inline]
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
    #[inline]
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<&str> for Str<'_> {
    #[inline]
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
