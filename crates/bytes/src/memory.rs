//! Memory whose size input decides: there may not be enough of it, and that is an error like any other.

use crate::{Error, ErrorKind, Result};

/// Makes room for as many more.
///
/// ```
/// let mut bytes = vec![1_u8];
/// hsaco_bytes::memory::reserve(&mut bytes, 100, "payload")?;
/// assert!(bytes.capacity() >= 101);
/// assert!(hsaco_bytes::memory::reserve(&mut bytes, 1 << 60, "payload").is_err());
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
///
/// # Errors
/// When there is not that much memory.
pub fn reserve<T>(list: &mut Vec<T>, more: usize, context: &'static str) -> Result<()> {
    list.try_reserve(more).map_err(|_| {
        let size = more.saturating_mul(size_of::<T>());
        let detail = format!("{size} bytes more than there is memory for");
        Error::new(ErrorKind::LimitExceeded, context, detail)
    })
}

/// As many zeros.
///
/// ```
/// assert_eq!(hsaco_bytes::memory::zeros(2, "payload")?, [0, 0]);
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
///
/// # Errors
/// When there is not that much memory.
pub fn zeros(size: usize, context: &'static str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    resize(&mut bytes, size, context)?;
    Ok(bytes)
}

/// A copy of bytes.
///
/// ```
/// assert_eq!(hsaco_bytes::memory::copy(b"abc", "payload")?, b"abc");
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
///
/// # Errors
/// When there is not that much memory.
pub fn copy(data: &[u8], context: &'static str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    append(&mut bytes, data, context)?;
    Ok(bytes)
}

/// Adds bytes.
///
/// ```
/// let mut bytes = b"ab".to_vec();
/// hsaco_bytes::memory::append(&mut bytes, b"c", "payload")?;
/// assert_eq!(bytes, b"abc");
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
///
/// # Errors
/// When there is not that much memory.
pub fn append(bytes: &mut Vec<u8>, data: &[u8], context: &'static str) -> Result<()> {
    reserve(bytes, data.len(), context)?;
    bytes.extend_from_slice(data);
    Ok(())
}

/// Cuts bytes off, or adds zeros.
///
/// ```
/// let mut bytes = b"ab".to_vec();
/// hsaco_bytes::memory::resize(&mut bytes, 3, "payload")?;
/// assert_eq!(bytes, b"ab\0");
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
///
/// # Errors
/// When there is not that much memory.
pub fn resize(bytes: &mut Vec<u8>, size: usize, context: &'static str) -> Result<()> {
    reserve(bytes, size.saturating_sub(bytes.len()), context)?;
    bytes.resize(size, 0);
    Ok(())
}
