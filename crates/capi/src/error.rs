//! How functions say that something is wrong: a status, and words for this thread.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};

/// How a call ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// As it should.
    Ok = 0,
    /// The call did its work, and something is wrong with what it was given.
    Findings = 1,
    /// An argument is not what the function takes: a null pointer, text that is no UTF-8, an unknown name.
    InvalidArgument = 2,
    /// The input is of a kind that hsaco does not handle.
    Unsupported = 3,
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::new(CString::default());
}

/// Why the last call on this thread did not give HSACO_STATUS_OK, in one line for each reason; empty when it did, unless
/// the function says otherwise. The text lives until the next call of this library on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn hsaco_last_error() -> *const c_char {
    LAST.with_borrow(|last| last.as_ptr())
}

/// The version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn hsaco_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Ends a call with a status and the reason for it.
pub(crate) fn end(status: Status, reason: &str) -> Status {
    LAST.with_borrow_mut(|last| *last = c_string(reason));
    status
}

/// Text for C: what follows a NUL is left out, since C would not see it.
pub(crate) fn c_string(text: &str) -> CString {
    let shown = text.split('\0').next().unwrap_or_default();
    CString::new(shown).unwrap_or_default()
}

/// Text of the caller.
///
/// # Safety
/// `text` is null, or points to bytes that end in NUL and do not change for as long as the result is used.
pub(crate) unsafe fn text<'t>(text: *const c_char, what: &str) -> Result<&'t str, String> {
    if text.is_null() {
        return Err(format!("{what} is null"));
    }
    // SAFETY: not null, and the caller promises the rest.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|error| format!("{what} is no UTF-8: {error}"))
}

/// Bytes of the caller; a null pointer is no bytes if the size says so too.
///
/// # Safety
/// `bytes` points to `size` bytes that do not change for as long as the result is used, or is null.
pub(crate) unsafe fn bytes<'b>(bytes: *const u8, size: usize) -> Result<&'b [u8], String> {
    match (bytes.is_null(), size) {
        (true, 0) => Ok(&[]),
        (true, _) => Err(format!("bytes is null, and size is {size}")),
        (false, size) if isize::try_from(size).is_err() => {
            Err(format!("size is {size}: more than there can be"))
        }
        // SAFETY: not null, no larger than any object can be, and the caller promises the rest.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(bytes, size) }),
    }
}
