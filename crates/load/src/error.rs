//! What can go wrong: one error for one object, and a list for all of them together.

use std::fmt;

/// Result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an object could not be loaded, or objects not be put together.
///
/// ```
/// use hsaco_load::{ErrorKind, Executable};
/// let error = Executable::new(None).load("a.co", &b"nothing"[..]).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Unreadable);
/// assert_eq!(error.object(), Some("a.co"));
/// ```
pub type Error = hsaco_bytes::Error<ErrorKind>;

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident $name:literal $status:literal,)+) => {
        /// The class of an [`Error`], for programs to decide on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[doc = $doc])+ $kind,)+
        }

        impl ErrorKind {
            /// Every kind.
            pub const ALL: &[ErrorKind] = &[$(ErrorKind::$kind),+];

            /// Its name, which explains itself and never changes.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(ErrorKind::$kind => $name,)+
                }
            }

            /// The `hsa_status_t` that ROCm's loader has for it.
            #[must_use]
            pub const fn hsa_status(self) -> u32 {
                match self {
                    $(ErrorKind::$kind => $status,)+
                }
            }
        }
    };
}

kinds! {
    /// Loading, defining or freezing after the executable was frozen.
    Frozen "frozen" 0x1012,
    /// Asking for what only a frozen executable has.
    NotFrozen "not-frozen" 0x1011,
    /// The bytes are no code object, or a table of it cannot be read.
    Unreadable "unreadable" 0x1010,
    /// What the compiler writes, before any linker has seen it.
    NotLinked "not-linked" 0x1010,
    /// A code object of another runtime than HSA's.
    NotHsa "not-hsa" 0x1010,
    /// An unknown processor.
    UnknownTarget "unknown-target" 0x1017,
    /// Code that does not run on the executable's device.
    WrongDevice "wrong-device" 0x100d,
    /// Objects for targets that do not go together.
    TargetMismatch "target-mismatch" 0x100d,
    /// Segments that overlap, are out of order, or reach past the file or the address space.
    BadSegment "bad-segment" 0x1010,
    /// A symbol that is nowhere in the object's memory, or in a section that cannot be.
    BadSymbol "bad-symbol" 0x1010,
    /// A descriptor outside of the object's memory.
    BadDescriptor "bad-descriptor" 0x1010,
    /// A kernel that starts outside of the object's code.
    BadEntry "bad-entry" 0x1010,
    /// A relocation of a place or of a symbol that is not there.
    BadRelocation "bad-relocation" 0x1010,
    /// A relocation that no loader knows how to apply.
    UnsupportedRelocation "unsupported-relocation" 0x1010,
    /// An address that an object cannot have, or that another one has.
    BadPlacement "bad-placement" 0x1008,
    /// A name that no object defines.
    UndefinedSymbol "undefined-symbol" 0x1015,
    /// A name that is defined, and kept from other objects.
    HiddenSymbol "hidden-symbol" 0x1015,
    /// A name that is defined more than once.
    DuplicateSymbol "duplicate-symbol" 0x1014,
    /// A name that is a function for one and a variable for another.
    TypeMismatch "type-mismatch" 0x1010,
    /// A value that does not fit into the place it belongs.
    Overflow "relocation-overflow" 0x1010,
    /// A kernel that needs more with all that it calls than any kernel can have.
    Resources "resource-limit" 0x1010,
    /// A kernel and a function of another object that were compiled for waves of different sizes.
    WaveSize "wave-size" 0x1010,
    /// Objects whose metadata cannot become one.
    MetadataConflict "metadata-conflict" 0x1010,
    /// Metadata of a version that cannot be written.
    UnsupportedMetadata "unsupported-metadata" 0x1010,
    /// What was asked for is not there.
    NotFound "not-found" 0x1013,
}

impl hsaco_bytes::Kind for ErrorKind {
    fn name(self) -> &'static str {
        Self::name(self)
    }
}

/// An error of a kind, with the particulars.
#[cold]
pub(crate) fn refusal(kind: ErrorKind, detail: impl Into<String>) -> Error {
    Error::new(kind, "", detail)
}

/// What the reader of an object found wrong with it.
#[cold]
pub(crate) fn unreadable(error: &hsaco_bytes::Error) -> Error {
    let parts = [error.context(), error.detail()].into_iter().filter(|it| !it.is_empty());
    let found = refusal(ErrorKind::Unreadable, parts.collect::<Vec<_>>().join(": "));
    match error.offset() {
        Some(offset) => found.at(offset),
        None => found,
    }
}

/// Everything that keeps an executable from being frozen, sorted by kind and name.
///
/// ```
/// use hsaco_load::{Executable, ErrorKind, Freeze};
/// let file = std::fs::read("../../tests/fixtures/external.co")?;
/// let mut executable = Executable::new(None);
/// executable.load("external.co", file)?;
/// let errors = executable.freeze(Freeze::default()).unwrap_err();
/// assert!(errors.iter().all(|it| it.kind() == ErrorKind::UndefinedSymbol));
/// assert_eq!(errors.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errors(Vec<Error>);

impl Errors {
    /// The errors as a failure, or nothing where there is none.
    pub(crate) fn check(mut errors: Vec<Error>) -> std::result::Result<(), Self> {
        let text = |it: Option<&str>| it.map(str::to_owned);
        errors.sort_by_cached_key(|it| (it.kind(), it.detail().to_owned(), text(it.object())));
        if errors.is_empty() { Ok(()) } else { Err(Self(errors)) }
    }
}

impl From<Error> for Errors {
    fn from(error: Error) -> Self {
        Self(vec![error])
    }
}

impl From<&hsaco_bytes::Error> for Errors {
    fn from(error: &hsaco_bytes::Error) -> Self {
        unreadable(error).into()
    }
}

impl std::ops::Deref for Errors {
    type Target = [Error];

    fn deref(&self) -> &[Error] {
        &self.0
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, error) in self.0.iter().enumerate() {
            let separator = if number == 0 { "" } else { "\n" };
            write!(f, "{separator}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Errors {}
