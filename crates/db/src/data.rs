//! Bytes that the database keeps.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use hsaco_object::container::Bytes;

/// What keeps a file's bytes.
pub trait Owner: AsRef<[u8]> + Send + Sync {
    /// These bytes were read and are not needed for now. Who can have them again at any time, such as a mapped file, may
    /// let go of the memory behind them.
    fn release(&self, range: Range<usize>) {
        let _ = range;
    }
}

/// Bytes in memory, which stay there.
struct InMemory<O>(O);

impl<O: AsRef<[u8]>> AsRef<[u8]> for InMemory<O> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref()
    }
}

impl<O: AsRef<[u8]> + Send + Sync> Owner for InMemory<O> {}

/// A file's bytes, or a part of them, in whatever keeps them: a vector, a mapped file.
///
/// Cloning copies nothing.
///
/// ```
/// let data = hsaco_db::Data::new(vec![1, 2, 3]);
/// assert_eq!(data.as_ref(), [1, 2, 3]);
/// ```
#[derive(Clone)]
pub struct Data(Arc<dyn Owner>, Range<usize>);

impl Data {
    /// Keeps what holds bytes.
    pub fn new(owner: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        Data::owned_by(InMemory(owner))
    }

    /// Keeps what holds bytes and is told which are not needed for now.
    pub fn owned_by(owner: impl Owner + 'static) -> Self {
        let size = owner.as_ref().len();
        Data(Arc::new(owner), 0..size)
    }

    /// Says that a part is not needed for now.
    pub(crate) fn release(&self, range: Range<usize>) {
        let part = self.range(range);
        self.0.release(part.1);
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
