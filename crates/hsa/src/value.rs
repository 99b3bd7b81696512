//! Values of attributes, as C takes them.

use std::ffi::c_void;

use crate::abi::{Answer, Status};

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    Bytes(Vec<u8>),
}

impl Value {
    /// A text in so many bytes, filled up with zeros.
    pub(crate) fn text(text: &str, size: usize) -> Self {
        let mut bytes: Vec<u8> = text.bytes().take(size.saturating_sub(1)).collect();
        bytes.resize(size, 0);
        Self::Bytes(bytes)
    }

    pub(crate) fn u16s(values: [u16; 3]) -> Self {
        Self::Bytes(values.iter().flat_map(|it| it.to_le_bytes()).collect())
    }

    pub(crate) fn u32s(values: &[u32]) -> Self {
        Self::Bytes(values.iter().flat_map(|it| it.to_le_bytes()).collect())
    }

    pub(crate) fn u64s(values: &[u64]) -> Self {
        Self::Bytes(values.iter().flat_map(|it| it.to_le_bytes()).collect())
    }

    /// So many bytes with some bits set.
    pub(crate) fn bits(size: usize, set: &[u32]) -> Self {
        let mut bytes = vec![0_u8; size];
        for bit in set {
            if let Some(byte) = bytes.get_mut((bit / 8) as usize) {
                *byte |= 1 << (bit % 8);
            }
        }
        Self::Bytes(bytes)
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::U8(it) => vec![it],
            Self::U16(it) => it.to_le_bytes().to_vec(),
            Self::U32(it) => it.to_le_bytes().to_vec(),
            Self::U64(it) => it.to_le_bytes().to_vec(),
            Self::Bytes(it) => it,
        }
    }

    /// Puts it where a caller wants it.
    ///
    /// # Safety
    /// There is room for it, unless the pointer is null.
    pub(crate) unsafe fn write(self, to: *mut c_void) -> Answer {
        if to.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let bytes = self.into_bytes();
        // SAFETY: the caller's promise; the bytes are our own.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len()) };
        Ok(())
    }
}

/// Puts an answer where a caller wants it.
///
/// # Safety
/// There is room for it, unless the pointer is null.
pub(crate) unsafe fn put<T>(to: *mut T, value: T) -> Answer {
    if to.is_null() {
        return Err(Status::INVALID_ARGUMENT);
    }
    // SAFETY: the caller's promise.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// The elements of an array of C.
///
/// # Safety
/// There are so many, and they live as long as the result is used, unless the pointer is null.
pub(crate) unsafe fn slice<'a, T>(from: *const T, count: usize) -> Answer<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if from.is_null() || !from.is_aligned() {
        return Err(Status::INVALID_ARGUMENT);
    }
    // SAFETY: the caller's promise; it is neither null nor unaligned.
    Ok(unsafe { std::slice::from_raw_parts(from, count) })
}
