//! Reading little-endian values and strings out of bytes that promise nothing.

use crate::{Error, ErrorKind, Result, Str};

/// `size` bytes of `data` at `offset`.
///
/// # Errors
/// [`Truncated`](ErrorKind::Truncated), which names `context`, when they are not all there.
#[inline]
pub fn slice<'a>(
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
///
/// # Errors
/// [`LimitExceeded`](ErrorKind::LimitExceeded) when there is less left.
pub fn spend(left: u64, size: u64, context: &'static str, offset: u64) -> Result<u64> {
    left.checked_sub(size).ok_or_else(|| {
        let detail = "together they are larger than the file";
        Error::new(ErrorKind::LimitExceeded, context, detail).at(offset)
    })
}

macro_rules! reader {
    ($name:ident, $int:ty) => {
        /// Reads one little-endian integer, or `None` past the end.
        #[inline]
        pub fn $name(data: &[u8], offset: usize) -> Option<$int> {
            let bytes = data.get(offset..)?.first_chunk()?;
            Some(<$int>::from_le_bytes(*bytes))
        }
    };
}

reader!(read_u16, u16);
reader!(read_u32, u32);
reader!(read_u64, u64);

/// The NUL-terminated string at `offset`, or `None` when the NUL or the start is missing.
#[inline]
pub fn c_str(data: &[u8], offset: usize) -> Option<Str<'_>> {
    let tail = data.get(offset..)?;
    let end = memchr::memchr(0, tail)?;
    tail.get(..end).map(Str::new)
}

/// How many bytes the names of `count` things may have in all, names that share their bytes counted
/// each time: a file must not be able to make a gigabyte of names out of a kilobyte.
pub fn names_budget(strings: &[u8], count: usize) -> u64 {
    const USUAL: u64 = 1024;
    (strings.len() as u64).saturating_add((count as u64).saturating_mul(USUAL))
}
