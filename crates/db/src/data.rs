//! Bytes in memory that the database keeps.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Bytes in memory, or a part of them, in whatever keeps them: a vector, a Python object.
///
/// Cloning copies nothing.
///
/// ```
/// let data = hsaco_db::Data::new(vec![1, 2, 3]);
/// assert_eq!(*data, [1, 2, 3]);
/// ```
#[derive(Clone)]
pub struct Data(Arc<dyn AsRef<[u8]> + Send + Sync>, Range<usize>);

impl Data {
    /// Keeps what holds bytes.
    pub fn new(owner: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        let size = owner.as_ref().len();
        Data(Arc::new(owner), 0..size)
    }

    /// A part of them, counted from their start.
    pub(crate) fn range(&self, range: Range<usize>) -> Self {
        let at = |offset: usize| self.1.start.saturating_add(offset).min(self.1.end);
        Data(Arc::clone(&self.0), at(range.start)..at(range.end))
    }
}

impl Deref for Data {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        (*self.0).as_ref().get(self.1.clone()).unwrap_or_default()
    }
}

impl AsRef<[u8]> for Data {
    fn as_ref(&self) -> &[u8] {
        self
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
