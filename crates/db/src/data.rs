//! Bytes that the database keeps.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use hsaco_object::container::Bytes;

/// A file's bytes, or a part of them, in whatever keeps them: a vector, a mapped file.
///
/// Cloning copies nothing.
///
/// ```
/// let data = hsaco_db::Data::new(vec![1, 2, 3]);
/// assert_eq!(data.as_ref(), [1, 2, 3]);
/// ```
#[derive(Clone)]
pub struct Data(Arc<dyn AsRef<[u8]> + Send + Sync>, Range<usize>);

impl Data {
    /// Keeps what holds bytes.
    pub fn new(owner: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        let size = owner.as_ref().len();
        Data(Arc::new(owner), 0..size)
    }

    /// What an entry of the file holds: a part of it, or what was unpacked.
    pub(crate) fn part(&self, bytes: &Bytes<'_>) -> Self {
        if let Some(shared) = bytes.shared() {
            return Data::new(shared);
        }
        let start = bytes.as_ptr().addr().saturating_sub(self.as_ref().as_ptr().addr());
        self.range(start..start.saturating_add(bytes.len()))
    }

    /// A part of them, counted from their start.
    pub(crate) fn range(&self, range: Range<usize>) -> Self {
        let at = |offset: usize| self.1.start.saturating_add(offset).min(self.1.end);
        Data(Arc::clone(&self.0), at(range.start)..at(range.end))
    }
}

impl AsRef<[u8]> for Data {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref().get(self.1.clone()).unwrap_or_default()
    }
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Data({} bytes)", self.1.len())
    }
}

impl From<Vec<u8>> for Data {
    fn from(bytes: Vec<u8>) -> Self {
        Data::new(bytes)
    }
}
