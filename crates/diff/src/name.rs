//! What objects and functions are called.

use hsaco_demangle::demangle;

/// Which object it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ObjectName {
    /// Its number in its file.
    pub index: usize,
    /// The id of its entry in the bundle.
    pub entry_id: Option<String>,
    /// Its target.
    pub target: Option<String>,
}

/// A name as its author wrote it.
pub(crate) fn source_name(name: &str) -> String {
    demangle(name.as_bytes()).unwrap_or_else(|| name.to_owned())
}
