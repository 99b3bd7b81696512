//! Names as their authors wrote them.

use std::fmt;

use cpp_demangle::{BorrowedSymbol, DemangleOptions};

use crate::Str;

/// Longest demangled name that is shown: substitutions can make a short name explode.
const MAX_LENGTH: usize = 1 << 16;

/// Prefix that Omniprobe puts before the mangled name of an instrumented kernel.
const INSTRUMENTED: &[u8] = b"__amd_crk_";

/// The source spelling of a C++ or Rust symbol; `None` when the name is not mangled.
///
/// ```
/// use hsaco_object::demangle;
/// assert_eq!(demangle("_Z3addPfi".into()).as_deref(), Some("add(float*, int)"));
/// assert_eq!(demangle("_RNvCskwGfYPst2Cb_3foo16example_function".into()).as_deref(),
///            Some("foo::example_function"));
/// assert_eq!(demangle("vector_add".into()), None);
/// ```
pub fn demangle(name: Str<'_>) -> Option<String> {
    match name.as_bytes() {
        [b'_', b'Z', ..] => rust(name, true).or_else(|| cpp(name.as_bytes())),
        [b'_', b'R', ..] => rust(name, false),
        bytes => {
            let mangled = bytes.strip_prefix(INSTRUMENTED)?;
            let demangled = cpp(mangled)?;
            Some(format!("{}{demangled}", String::from_utf8_lossy(INSTRUMENTED)))
        }
    }
}

/// Rust's older scheme borrows C++'s and ends in a hash; without the hash the name is C++.
fn rust(name: Str<'_>, needs_hash: bool) -> Option<String> {
    let text = std::str::from_utf8(name.as_bytes()).ok()?;
    if needs_hash && !text.contains("17h") {
        return None;
    }
    let demangled = rustc_demangle::try_demangle(text).ok()?;
    render(|out| fmt::Write::write_fmt(out, format_args!("{demangled:#}")).ok())
}

fn cpp(mangled: &[u8]) -> Option<String> {
    if !mangled.starts_with(b"_Z") {
        return None;
    }
    let symbol = BorrowedSymbol::new(mangled).ok()?;
    let options = DemangleOptions::new().recursion_limit(512);
    render(|out| symbol.structured_demangle(out, &options).ok())
}

fn render(write: impl FnOnce(&mut Bounded) -> Option<()>) -> Option<String> {
    let mut out = Bounded(String::new());
    write(&mut out)?;
    Some(out.0)
}

/// A string that refuses to grow past [`MAX_LENGTH`].
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MAX_LENGTH {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}
