//! Answers for programs that look for AMD's driver before they ask the HSA runtime, such as `rocminfo`.
//!
//! `hsaco exec` preloads it (`LD_PRELOAD`) on machines without a driver. Three questions are answered, each only where the
//! machine has no answer of its own; all other calls go to the C library.
//!
//! | question | answer |
//! |---|---|
//! | can `/dev/kfd` be opened (`open`) | `/dev/null` |
//! | does `lsmod` list amdgpu (`popen`) | `amdgpu` |
//! | what is in `/sys/module/amdgpu/initstate` (`fopen`) | `live` |
#![cfg(target_os = "linux")]
#![allow(
    unsafe_code,
    reason = "stands in front of functions of the C library; each block says why it is sound"
)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use libc::FILE;

const DRIVER: &CStr = c"/dev/kfd";
const MODULE_STATE: &CStr = c"/sys/module/amdgpu/initstate";

/// A function of the C library that one of ours stands in front of.
struct Next {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Next {
    const fn new(name: &'static CStr) -> Self {
        Self { name, found: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Its address, or `None` in a process without it, whose caller then sees an error.
    fn get(&self) -> Option<*mut c_void> {
        let mut found = self.found.load(Ordering::Relaxed);
        if found.is_null() {
            // SAFETY: the name is a string that ends; the answer does not change in the life of a process.
            found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
            self.found.store(found, Ordering::Relaxed);
        }
        if found.is_null() {
            set_errno(libc::ENOSYS);
            return None;
        }
        Some(found)
    }
}

fn errno() -> c_int {
    // SAFETY: it is the address of this thread's `errno`.
    unsafe { *libc::__errno_location() }
}

fn set_errno(value: c_int) {
    // SAFETY: it is the address of this thread's `errno`.
    unsafe { *libc::__errno_location() = value }
}

/// Whether a C string is this one.
///
/// # Safety
/// `text` is null or ends with a zero.
unsafe fn is(text: *const c_char, expected: &CStr) -> bool {
    // SAFETY: the caller vouches for the string.
    !text.is_null() && unsafe { CStr::from_ptr(text) } == expected
}

// Variable arguments are passed as others are on Linux's x86-64 and AArch64, so the mode may be named.
type Open = unsafe extern "C" fn(*const c_char, c_int, c_uint) -> c_int;

unsafe fn open_with(next: &Next, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    let Some(next) = next.get() else { return -1 };
    // SAFETY: it is the C library's `open` or `open64`, which have this type.
    let next: Open = unsafe { mem::transmute(next) };
    // SAFETY: these are the caller's arguments.
    let file = unsafe { next(path, flags, mode) };
    // SAFETY: `open` has read the path as a string.
    if file < 0 && errno() == libc::ENOENT && unsafe { is(path, DRIVER) } {
        // SAFETY: the path is a string that ends.
        return unsafe { next(c"/dev/null".as_ptr(), flags, mode) };
    }
    file
}

/// The C library's, and `/dev/null` for a driver that is not there.
///
/// # Safety
/// As `open` of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    static NEXT: Next = Next::new(c"open");
    // SAFETY: as the caller vouches for.
    unsafe { open_with(&NEXT, path, flags, mode) }
}

/// The C library's, and `/dev/null` for a driver that is not there.
///
/// # Safety
/// As `open64` of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    static NEXT: Next = Next::new(c"open64");
    // SAFETY: as the caller vouches for.
    unsafe { open_with(&NEXT, path, flags, mode) }
}

type OpenStream = unsafe extern "C" fn(*const c_char, *const c_char) -> *mut FILE;

unsafe fn fopen_with(next: &Next, path: *const c_char, mode: *const c_char) -> *mut FILE {
    let Some(next) = next.get() else { return ptr::null_mut() };
    // SAFETY: it is the C library's `fopen` or `fopen64`, which have this type.
    let next: OpenStream = unsafe { mem::transmute(next) };
    // SAFETY: these are the caller's arguments.
    let stream = unsafe { next(path, mode) };
    // SAFETY: `fopen` has read the path as a string.
    if stream.is_null() && errno() == libc::ENOENT && unsafe { is(path, MODULE_STATE) } {
        return stream_of(c"live\n");
    }
    stream
}

/// A file that holds a text, as callers that ask for its descriptor need one.
fn stream_of(text: &CStr) -> *mut FILE {
    // SAFETY: the stream is used where there is one, and the text is a string that ends.
    unsafe {
        let stream = libc::tmpfile();
        if !stream.is_null() {
            libc::fputs(text.as_ptr(), stream);
            libc::rewind(stream);
        }
        stream
    }
}

/// The C library's, and the state of a module that is not there.
///
/// # Safety
/// As `fopen` of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fopen(path: *const c_char, mode: *const c_char) -> *mut FILE {
    static NEXT: Next = Next::new(c"fopen");
    // SAFETY: as the caller vouches for.
    unsafe { fopen_with(&NEXT, path, mode) }
}

/// The C library's, and the state of a module that is not there.
///
/// # Safety
/// As `fopen64` of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fopen64(path: *const c_char, mode: *const c_char) -> *mut FILE {
    static NEXT: Next = Next::new(c"fopen64");
    // SAFETY: as the caller vouches for.
    unsafe { fopen_with(&NEXT, path, mode) }
}

/// The C library's, where the command does not ask `lsmod` for amdgpu.
///
/// # Safety
/// As `popen` of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn popen(command: *const c_char, kind: *const c_char) -> *mut FILE {
    static NEXT: Next = Next::new(c"popen");
    let Some(next) = NEXT.get() else { return ptr::null_mut() };
    // SAFETY: it is the C library's `popen`, which has this type.
    let next: OpenStream = unsafe { mem::transmute(next) };
    // SAFETY: the caller gives a string, as `popen` asks for.
    let asks = !command.is_null() && asks_for_module(unsafe { CStr::from_ptr(command) });
    let command = if asks { c"echo amdgpu".as_ptr() } else { command };
    // SAFETY: these are the caller's arguments, or a string that ends.
    unsafe { next(command, kind) }
}

fn asks_for_module(command: &CStr) -> bool {
    let has = |word: &[u8]| command.to_bytes().windows(word.len()).any(|it| it == word);
    has(b"lsmod") && has(b"amdgpu")
}
