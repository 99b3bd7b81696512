//! Why nothing can be proven.

use std::fmt;

/// Why two objects cannot be compared.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<str>);

/// A result with an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn of(why: impl fmt::Display) -> Self {
        Self(why.to_string().into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
