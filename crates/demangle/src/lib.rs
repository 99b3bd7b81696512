//! Names as their authors wrote them, to the letter as LLVM's tools write them.
//!
//! ```
//! use hsaco_demangle::demangle;
//! assert_eq!(demangle(b"_Z4axpyIfLj16EEvPT_").as_deref(), Some("void axpy<float, 16u>(float*)"));
//! assert_eq!(demangle(b"vector_add"), None);
//! ```
//!
//! Written from the Itanium C++ ABI and by measuring LLVM 22. Where we differ, and why:
//! - LLVM follows any depth and writes any length; we refuse past a bound, as a name is input.
//! - LLVM copies bytes that are not UTF-8; our output is a `String`, so such names are refused.
//! - LLVM reads names of the D language; no compiler for AMD GPUs writes them.
//! - Of broken Rust names, `rustc-demangle` reads a few that LLVM refuses.
//!
//! Why not `cpp_demangle`? Of the 32,021 mangled names in the code objects of our corpus (rocSPARSE, rocRAND, bitsandbytes,
//! Triton, the fixtures) cpp_demangle 0.5.1 spells 30,024 unlike llvm-cxxfilt 22: `(unsigned int)128` for `128u`, `> >` for
//! `>>`, `__vector(4)` for `vector[4]`. This crate spells all of them alike, in a ninth of the time (1.9 µs a name for 17.4).
#![forbid(unsafe_code)]

mod expr;
mod float;
mod name;
mod node;
mod parser;
mod print;
mod print_expr;
mod tables;
mod template;
mod types;

use std::cell::RefCell;
use std::fmt::{self, Write};

use parser::{Buffers, Parser};
use print::Printer;

/// Prefix that Omniprobe puts before the mangled name of an instrumented kernel.
const INSTRUMENTED: &str = "__amd_crk_";

/// Longest name that is read; longer ones are never what a compiler wrote.
const MAX_MANGLED: usize = 1 << 16;

/// Longest Rust name that is written.
const MAX_LENGTH: usize = 1 << 16;

thread_local! {
    /// One name needs a few small vectors, and a listing has thousands of names.
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

/// The source spelling of a C++ or Rust symbol; `None` when the name is not mangled.
///
/// ```
/// use hsaco_demangle::demangle;
/// assert_eq!(demangle(b"_Z3addPfi").as_deref(), Some("add(float*, int)"));
/// assert_eq!(demangle(b"_Z3addPfi.kd").as_deref(), Some("add(float*, int) (.kd)"));
/// assert_eq!(demangle(b"_RNvCskwGfYPst2Cb_3foo16example_function").as_deref(),
///            Some("foo::example_function"));
/// assert_eq!(demangle(b"vector_add"), None);
/// ```
pub fn demangle(name: &[u8]) -> Option<String> {
    if !name.starts_with(b"_") && !name.starts_with(b".") {
        return None;
    }
    let mut out = String::with_capacity(2 * name.len());
    demangle_into(name, &mut out).then_some(out)
}

/// Appends the source spelling of a C++ or Rust symbol; `false`, and nothing appended, when the
/// name is not mangled.
///
/// ```
/// use hsaco_demangle::demangle_into;
/// let mut out = String::from("kernel ");
/// assert!(demangle_into(b"_Z4axpyIfLj16EEvPT_", &mut out));
/// assert_eq!(out, "kernel void axpy<float, 16u>(float*)");
/// assert!(!demangle_into(b"axpy", &mut out));
/// ```
pub fn demangle_into(name: &[u8], out: &mut String) -> bool {
    let Ok(name) = std::str::from_utf8(name) else { return false };
    if name.len() > MAX_MANGLED {
        return false;
    }
    let start = out.len();
    let mangled = match name.strip_prefix('.').or_else(|| name.strip_prefix(INSTRUMENTED)) {
        Some(mangled) => {
            out.push_str(name.strip_suffix(mangled).unwrap_or_default());
            mangled
        }
        None => name,
    };
    let done = if mangled.starts_with("_R") { rust(mangled, out) } else { cpp(mangled, out) };
    if !done {
        out.truncate(start);
    }
    done
}

fn cpp(mangled: &str, out: &mut String) -> bool {
    if !mangled.trim_start_matches('_').starts_with('Z') {
        return false;
    }
    let mut write = |buffers: &mut Buffers| {
        let Some(id) = Parser::new(mangled, buffers).symbol() else { return false };
        Printer::new(mangled, &buffers.arena, &mut buffers.written, out).write(id)
    };
    let done = BUFFERS.try_with(|buffers| Some(write(&mut *buffers.try_borrow_mut().ok()?)));
    match done {
        Ok(Some(done)) => done,
        // The thread is ending, and its buffers are gone.
        _ => write(&mut Buffers::default()),
    }
}

fn rust(mangled: &str, out: &mut String) -> bool {
    let (name, suffix) = match mangled.split_once('.') {
        Some((name, _)) => (name, mangled.strip_prefix(name).unwrap_or_default()),
        None => (mangled, ""),
    };
    let Ok(demangled) = rustc_demangle::try_demangle(name) else { return false };
    let start = out.len();
    let written = write!(Bounded { start, out }, "{demangled:#}").is_ok();
    // The crate shows where it gave up, and LLVM refuses such a name.
    let text = out.get(start..).unwrap_or_default();
    if ["?", "{invalid", "{recursion", "{size"].iter().any(|mark| text.contains(mark)) {
        return false;
    }
    if written && !suffix.is_empty() {
        out.push_str(" (");
        out.push_str(suffix);
        out.push(')');
    }
    written
}

/// A string that refuses to grow past [`MAX_LENGTH`].
struct Bounded<'a> {
    start: usize,
    out: &'a mut String,
}

impl Write for Bounded<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.out.len() - self.start + text.len() > MAX_LENGTH {
            return Err(fmt::Error);
        }
        self.out.push_str(text);
        Ok(())
    }
}
