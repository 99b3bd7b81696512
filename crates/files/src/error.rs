//! Why something could not be opened, read or written.

use std::path::Path;
use std::{fmt, io};

/// Why something could not be opened, read or written, in words, and what the system said.
#[derive(Debug)]
pub struct FileError {
    text: String,
    system: Option<io::Error>,
}

pub(crate) type Result<T, E = FileError> = std::result::Result<T, E>;

impl FileError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), system: None }
    }

    /// The same, with the name of the file that it is about.
    pub(crate) fn in_file(self, path: &Path) -> Self {
        self.named(&path.display().to_string())
    }

    /// The same, with the name of what it is about.
    pub(crate) fn named(self, name: &str) -> Self {
        Self { text: format!("{name}: {}", self.text), ..self }
    }

    /// What the system said, if it is the one that refused.
    #[must_use]
    pub fn system(&self) -> Option<&io::Error> {
        self.system.as_ref()
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for FileError {}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        Self { text: error.to_string(), system: Some(error) }
    }
}

impl From<hsaco_bytes::Error> for FileError {
    fn from(error: hsaco_bytes::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl From<hsaco_bytes::TextError> for FileError {
    fn from(error: hsaco_bytes::TextError) -> Self {
        Self::new(error.to_string())
    }
}
