//! Bytes that the library makes.

use std::ptr;

use crate::border::Out;
use crate::error::{Status, border};
use crate::handle::{self, Handle};

/// Bytes or text that the library made; hsaco_buffer_free takes it back.
#[derive(Debug)]
pub struct Buffer {
    /// With a NUL behind them, so that text is a string for C.
    bytes: Box<[u8]>,
}

impl Handle for Buffer {
    const NAME: &'static str = "buffer";
}

impl Buffer {
    /// A handle of bytes.
    pub(crate) fn handle(mut bytes: Vec<u8>) -> *mut Buffer {
        bytes.push(0);
        handle::new(Buffer { bytes: bytes.into_boxed_slice() })
    }
}

/// The bytes of a buffer and how many; one NUL that does not count stands behind them. They live as long as the buffer.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_buffer_data(
    buffer: *const Buffer,
    data: *mut *const u8,
    size: *mut usize,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (data, size) =
            unsafe { (Out::new(data, "data", ptr::null())?, Out::optional(size, 0)) };
        let buffer = handle::get(buffer)?;
        data.set(buffer.bytes.as_ptr());
        size.set(buffer.bytes.len().saturating_sub(1));
        Ok(())
    })
}

/// Takes a buffer back; null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn hsaco_buffer_free(buffer: *mut Buffer) -> Status {
    handle::free(buffer)
}
