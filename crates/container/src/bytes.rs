//! Bytes that are either part of the caller's file or part of a payload that was decompressed.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Bytes found in a container: borrowed from the file, or a share in a decompressed payload.
///
/// Cloning and slicing copy nothing.
///
/// ```
/// use hsaco_container::Bytes;
/// let payload = Bytes::from(b"0123456789".to_vec());
/// let part = payload.slice(2..5).unwrap();
/// drop(payload);
/// assert_eq!(&*part, b"234");
/// assert!(part.slice(2..4).is_none());
/// ```
#[derive(Clone)]
pub struct Bytes<'a>(Repr<'a>);

#[derive(Clone)]
enum Repr<'a> {
    Borrowed(&'a [u8]),
    Shared { owner: Arc<Vec<u8>>, range: Range<usize> },
}

impl<'a> Bytes<'a> {
    /// The part in `range`, or `None` when it reaches past the end.
    pub fn slice(&self, range: Range<usize>) -> Option<Self> {
        match &self.0 {
            Repr::Borrowed(data) => data.get(range).map(|part| Self(Repr::Borrowed(part))),
            Repr::Shared { owner, range: outer } => {
                self.get(range.clone())?;
                let range = outer.start + range.start..outer.start + range.end;
                Some(Self(Repr::Shared { owner: Arc::clone(owner), range }))
            }
        }
    }

    /// The bytes for as long as the file lives, if they are part of it.
    ///
    /// ```
    /// use hsaco_container::Bytes;
    /// assert_eq!(Bytes::from(b"file".as_slice()).borrowed(), Some(b"file".as_slice()));
    /// assert_eq!(Bytes::from(b"payload".to_vec()).borrowed(), None);
    /// ```
    pub fn borrowed(&self) -> Option<&'a [u8]> {
        match self.0 {
            Repr::Borrowed(data) => Some(data),
            Repr::Shared { .. } => None,
        }
    }

    /// The bytes for as long as they are held, if they are a share in a payload.
    ///
    /// ```
    /// use hsaco_container::Bytes;
    /// assert!(Bytes::from(b"file".as_slice()).shared().is_none());
    /// assert!(Bytes::from(b"payload".to_vec()).shared().is_some());
    /// ```
    pub fn shared(&self) -> Option<Bytes<'static>> {
        match &self.0 {
            Repr::Borrowed(_) => None,
            Repr::Shared { owner, range } => {
                Some(Bytes(Repr::Shared { owner: Arc::clone(owner), range: range.clone() }))
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn shares(&self) -> usize {
        match &self.0 {
            Repr::Borrowed(_) => 0,
            Repr::Shared { owner, .. } => Arc::strong_count(owner),
        }
    }
}

impl Deref for Bytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Repr::Borrowed(data) => data,
            Repr::Shared { owner, range } => owner.get(range.clone()).unwrap_or_default(),
        }
    }
}

impl AsRef<[u8]> for Bytes<'_> {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl<'a> From<&'a [u8]> for Bytes<'a> {
    fn from(data: &'a [u8]) -> Self {
        Self(Repr::Borrowed(data))
    }
}

impl From<Vec<u8>> for Bytes<'_> {
    fn from(data: Vec<u8>) -> Self {
        let range = 0..data.len();
        Self(Repr::Shared { owner: Arc::new(data), range })
    }
}

impl PartialEq for Bytes<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Bytes<'_> {}

impl fmt::Debug for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = if self.borrowed().is_some() { "borrowed" } else { "shared" };
        write!(f, "Bytes({} {origin})", self.len())
    }
}
