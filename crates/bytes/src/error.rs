//! The one error type: what, where, why, in one word of memory.

use std::fmt;

/// Result of everything that reads or writes bytes of a file.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something could not be done: `K` is what programs decide on. Without it: why a file, or a part of it, could not be read.
///
/// ```
/// let error = hsaco_bytes::slice(b"\x7fELF", 0, 64, "ELF header").unwrap_err();
/// assert_eq!(error.kind(), hsaco_bytes::ErrorKind::Truncated);
/// assert_eq!(error.to_string(), "truncated: ELF header: 4 bytes of 64 (at offset 0x0)");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error<K = ErrorKind>(Box<Inner<K>>);

#[derive(Clone, PartialEq, Eq)]
struct Inner<K> {
    kind: K,
    offset: Option<u64>,
    context: &'static str,
    detail: String,
    object: Option<Box<str>>,
    help: Option<Box<str>>,
}

/// The kinds of an [`Error`].
pub trait Kind: Copy {
    /// The words that open an error's text.
    fn name(self) -> &'static str;
}

/// The class of an [`Error`], for programs to decide on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The content is no format we know.
    NotRecognised,
    /// A structure reaches past the end of the bytes that hold it.
    Truncated,
    /// A structure is all there and breaks a rule of its format.
    Malformed,
    /// A structure is well formed and not handled here.
    Unsupported,
    /// A structure is larger or deeper than the caller allowed.
    LimitExceeded,
    /// Two statements of a file disagree: a size, a hash.
    Mismatch,
    /// What was asked for is not there.
    NotFound,
    /// What was asked for is there more than once.
    Ambiguous,
    /// A file is not as it was when it was indexed.
    Changed,
}

impl ErrorKind {
    /// The words that open an error's text.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotRecognised => "not recognised",
            Self::Truncated => "truncated",
            Self::Malformed => "malformed",
            Self::Unsupported => "unsupported",
            Self::LimitExceeded => "limit exceeded",
            Self::Mismatch => "mismatch",
            Self::NotFound => "not found",
            Self::Ambiguous => "ambiguous",
            Self::Changed => "changed",
        }
    }
}

impl Kind for ErrorKind {
    fn name(self) -> &'static str {
        Self::name(self)
    }
}

impl Error {
    /// `needed` bytes were wanted at `offset`, and only `available` are there.
    #[cold]
    pub fn truncated(context: &'static str, offset: u64, needed: u64, available: u64) -> Self {
        let detail = format!("{available} bytes of {needed}");
        Self::new(ErrorKind::Truncated, context, detail).at(offset)
    }

    /// A rule of the format is broken at `offset`.
    #[cold]
    pub fn malformed(context: &'static str, offset: u64, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Malformed, context, detail).at(offset)
    }
}

impl<K: Kind> Error<K> {
    /// An error of a kind, in the structure that `context` names, with the particulars. Where the kind says all, `context` is
    /// empty.
    #[cold]
    pub fn new(kind: K, context: &'static str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self(Box::new(Inner { kind, offset: None, context, detail, object: None, help: None }))
    }

    /// The same error, in the object of this name.
    #[must_use]
    pub fn in_object(mut self, object: &str) -> Self {
        self.0.object = Some(object.into());
        self
    }

    /// The same error, with what to do about it.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<Box<str>>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// The same error, placed at a byte offset.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.0.offset = Some(offset);
        self
    }

    /// The same error seen from an enclosing file in which these bytes begin at `base`.
    #[must_use]
    pub fn rebased(mut self, base: u64) -> Self {
        self.0.offset = self.0.offset.map(|offset| offset.saturating_add(base));
        self
    }

    /// What class of error this is.
    pub fn kind(&self) -> K {
        self.0.kind
    }

    /// The object it is in, by the name under which that was loaded.
    pub fn object(&self) -> Option<&str> {
        self.0.object.as_deref()
    }

    /// What to do about it, where there is something to say.
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// Where it is: a byte offset in the bytes that were parsed.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The structure that is wrong.
    pub fn context(&self) -> &'static str {
        self.0.context
    }

    /// The particulars: both sides of the disagreement.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }
}

impl<K: Kind> fmt::Display for Error<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, offset, context, detail, object, help } = &*self.0;
        if let Some(object) = object {
            write!(f, "{object}: ")?;
        }
        f.write_str(kind.name())?;
        for part in [*context, detail].into_iter().filter(|it| !it.is_empty()) {
            write!(f, ": {part}")?;
        }
        if let Some(offset) = offset {
            write!(f, " (at offset {offset:#x})")?;
        }
        match help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl<K: Kind> fmt::Debug for Error<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({self})")
    }
}

impl<K: Kind> std::error::Error for Error<K> {}

/// Why a text, such as a manifest or a value, cannot be read: in words.
///
/// ```
/// use hsaco_bytes::TextError;
/// let error = TextError::new("no number").within("argument 2");
/// assert_eq!(error.to_string(), "argument 2: no number");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError(String);

impl TextError {
    /// An error in these words.
    #[cold]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The same, of a part of the text.
    #[must_use]
    pub fn within(self, part: &str) -> Self {
        Self(format!("{part}: {}", self.0))
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TextError {}

impl From<Error> for TextError {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}

/// What was wrong with a file that could still be read in part. Keeps the first few: a broken table
/// repeats itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(Vec<Error>);

impl Problems {
    const KEPT: usize = 32;

    /// Keeps an error, unless it is kept already or there are many.
    pub fn note(&mut self, error: Error) {
        if self.0.len() < Self::KEPT && !self.0.contains(&error) {
            self.0.push(error);
        }
    }

    /// Keeps each of these.
    pub fn extend(&mut self, errors: &[Error]) {
        errors.iter().for_each(|error| self.note(error.clone()));
    }

    /// The value, or its default with the error kept.
    pub fn or_empty<T: Default>(&mut self, result: Result<T>) -> T {
        result.unwrap_or_else(|error| {
            self.note(error);
            T::default()
        })
    }

    /// The errors that were kept, in the order in which they came.
    pub fn as_slice(&self) -> &[Error] {
        &self.0
    }
}
