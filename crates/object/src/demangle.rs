//! Names of symbols, which need not be text, as their authors wrote them.

use hsaco_bytes::Str;

/// The source spelling of a C++ or Rust symbol; `None` when the name is not mangled.
///
/// ```
/// use hsaco_object::demangle;
/// assert_eq!(demangle("_Z3addPfi.kd".into()).as_deref(), Some("add(float*, int) (.kd)"));
/// assert_eq!(demangle("vector_add".into()), None);
/// ```
pub fn demangle(name: Str<'_>) -> Option<String> {
    hsaco_demangle::demangle(name.as_bytes())
}
