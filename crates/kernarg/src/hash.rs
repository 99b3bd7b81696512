//! A number for a layout, the same on every machine and in every run.

use std::fmt;
use std::str::FromStr;

use hsaco_bytes::{Error, ErrorKind, Result, number};
use hsaco_container::md5;

/// The hash of a layout, for caches and for replay: MD5 over offsets, sizes and kinds.
///
/// ```
/// use hsaco_kernarg::{Declaration, Declared, LayoutHash, NativeLayout};
/// use hsaco_object::metadata::ValueKind;
/// let layout = |offset| NativeLayout::new(&Declaration::new(16, vec![Declared::new(offset, 4, ValueKind::ByValue)]));
/// assert_eq!(layout(0)?.hash(), layout(0)?.hash());
/// assert_ne!(layout(0)?.hash(), layout(4)?.hash());
/// let text = layout(0)?.hash().to_string();
/// assert_eq!(text.parse::<LayoutHash>()?, layout(0)?.hash());
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LayoutHash([u8; 16]);

impl LayoutHash {
    /// Its bytes.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// The hash of these bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for LayoutHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for LayoutHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LayoutHash({self})")
    }
}

impl FromStr for LayoutHash {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = number::digits(text, 16).filter(|_| text.len() == 32);
        number.map(|it| Self(it.to_be_bytes())).ok_or_else(|| {
            Error::new(ErrorKind::Malformed, "layout hash", "not 32 hexadecimal digits")
        })
    }
}

/// What a layout is made of, one thing after the other.
pub(crate) struct Hasher(Vec<u8>);

impl Hasher {
    /// Begins; layouts of different projections never have the same hash.
    pub(crate) fn new(projection: &str) -> Self {
        let mut hasher = Self(Vec::with_capacity(256));
        hasher.text(projection);
        hasher
    }

    pub(crate) fn number(&mut self, number: u32) {
        self.0.extend(number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(u32::try_from(text.len()).unwrap_or(u32::MAX));
        self.0.extend(text.as_bytes());
    }

    pub(crate) fn argument(&mut self, offset: u32, size: u32, kind: &str) {
        self.number(offset);
        self.number(size);
        self.text(kind);
    }

    pub(crate) fn finish(self) -> LayoutHash {
        LayoutHash(md5::digest(&self.0))
    }
}
