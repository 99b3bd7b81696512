//! Names as people read them.

use std::ffi::c_char;

use crate::border::{Out, text};
use crate::buffer::Buffer;
use crate::error::{Status, border};

/// The readable spelling of a mangled name; any other name stays as it is.
pub(crate) fn demangled(name: &str) -> String {
    hsaco::demangle::demangle(name.as_bytes()).unwrap_or_else(|| name.to_owned())
}

/// The readable spelling of a mangled C++ or Rust name, as llvm-cxxfilt has it; any other name as it is.
/// hsaco_buffer_free takes it back.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_demangle(name: *const c_char, readable: *mut *mut Buffer) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (out, name) = unsafe { (Out::handle(readable, "readable")?, text(name, "name")?) };
        out.set(Buffer::handle(demangled(name).into_bytes()));
        Ok(())
    })
}
