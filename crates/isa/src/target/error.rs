//! Why a text is not a target.

use std::fmt;

use super::{Feature, Processor};

/// Why a text is not a target, and where in it.
///
/// ```
/// use hsaco_isa::target::ErrorKind;
/// use hsaco_isa::TargetId;
/// let error = "gfx943:xnack+".parse::<TargetId>().unwrap_err();
/// assert_eq!(error.to_string(), "unknown processor `gfx943`; did you mean `gfx942`? (at offset 0)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseTargetError(Box<(usize, ErrorKind)>);

impl ParseTargetError {
    pub(super) fn new(offset: usize, kind: ErrorKind) -> Self {
        Self(Box::new((offset, kind)))
    }

    pub(super) fn after(mut self, prefix: usize) -> Self {
        self.0.0 += prefix;
        self
    }

    /// The byte offset of the offending part in the text.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.0.0
    }

    /// What is wrong there.
    #[must_use]
    pub const fn kind(&self) -> &ErrorKind {
        &self.0.1
    }
}

impl fmt::Display for ParseTargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at offset {})", self.kind(), self.offset())
    }
}

impl std::error::Error for ParseTargetError {}

/// What is wrong with a target's text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no processor name.
    Empty,
    /// No processor has that name.
    UnknownProcessor {
        /// The name given.
        name: String,
        /// The processor that was probably meant.
        nearest: Option<Processor>,
    },
    /// Neither `sramecc` nor `xnack`.
    UnknownFeature {
        /// The name given.
        name: String,
    },
    /// A feature is named twice.
    DuplicateFeature {
        /// The feature.
        feature: Feature,
    },
    /// The processor cannot have that feature pinned.
    UnsupportedFeature {
        /// The processor.
        processor: Processor,
        /// The feature.
        feature: Feature,
    },
    /// Neither `+` nor `-` behind a feature.
    MissingSign {
        /// The feature.
        feature: Feature,
    },
    /// No V2 code object had that ISA version.
    UnknownIsaVersion {
        /// The version given.
        version: String,
    },
}

impl ErrorKind {
    pub(super) fn at(self, offset: usize) -> ParseTargetError {
        ParseTargetError::new(offset, self)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorKind::Empty => f.write_str("expected a processor such as `gfx942`"),
            ErrorKind::UnknownProcessor { name, nearest: Some(nearest) } => {
                write!(f, "unknown processor `{name}`; did you mean `{nearest}`?")
            }
            ErrorKind::UnknownProcessor { name, nearest: None } => {
                write!(f, "unknown processor `{name}`; expected one such as `gfx942`")
            }
            ErrorKind::UnknownFeature { name } => {
                write!(f, "unknown feature `{name}`; expected `sramecc` or `xnack`")
            }
            ErrorKind::DuplicateFeature { feature } => write!(f, "`{feature}` is named twice"),
            ErrorKind::UnsupportedFeature { processor, feature } => {
                write!(f, "`{processor}` has no `{feature}` setting")
            }
            ErrorKind::MissingSign { feature } => {
                write!(f, "expected `{feature}+` or `{feature}-`")
            }
            ErrorKind::UnknownIsaVersion { version } => {
                write!(f, "unknown ISA version `{version}`; expected one such as `9:0:6`")
            }
        }
    }
}
