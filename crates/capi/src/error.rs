//! How functions say that something is wrong: a status, and words for this thread.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hsaco::bytes::{Error, ErrorKind};
use hsaco::isa::target::ParseTargetError;

/// How a call ended. From HSACO_STATUS_NOT_RECOGNISED on it is the kind of what is wrong with the input.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// As it should.
    Ok = 0,
    /// The call did its work, and something is wrong with what it was given.
    Findings = 1,
    /// An argument is not what the function takes: a null pointer, a handle that was freed or is of another kind, a
    /// structure of an unknown size, text that is no UTF-8, an unknown name.
    InvalidArgument = 2,
    /// Well formed, and not handled here.
    Unsupported = 3,
    /// What was asked for is not there.
    NotFound = 4,
    /// What was asked for is there more than once.
    Ambiguous = 5,
    /// The system refused to open or read a file.
    Io = 6,
    /// A callback of the caller ended it.
    Stopped = 7,
    /// A fault of this library, which it survived. Its text is worth a report.
    Internal = 8,
    /// The content is of no known format.
    NotRecognised = 9,
    /// Something reaches past the end of what holds it.
    Truncated = 10,
    /// Something is all there and breaks a rule.
    Malformed = 11,
    /// Something is larger or deeper than allowed.
    LimitExceeded = 12,
    /// Two statements disagree: a count, a size, a hash.
    Mismatch = 13,
    /// A file is not as it was when it was added.
    Changed = 14,
}

impl Status {
    /// Every status with its name.
    const ALL: [(Status, &'static std::ffi::CStr); 15] = [
        (Status::Ok, c"ok"),
        (Status::Findings, c"findings"),
        (Status::InvalidArgument, c"invalid argument"),
        (Status::Unsupported, c"unsupported"),
        (Status::NotFound, c"not found"),
        (Status::Ambiguous, c"ambiguous"),
        (Status::Io, c"input or output"),
        (Status::Stopped, c"stopped"),
        (Status::Internal, c"internal fault"),
        (Status::NotRecognised, c"not recognised"),
        (Status::Truncated, c"truncated"),
        (Status::Malformed, c"malformed"),
        (Status::LimitExceeded, c"limit exceeded"),
        (Status::Mismatch, c"mismatch"),
        (Status::Changed, c"changed"),
    ];

    fn of_kind(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::NotRecognised => Self::NotRecognised,
            ErrorKind::Truncated => Self::Truncated,
            ErrorKind::Malformed => Self::Malformed,
            ErrorKind::LimitExceeded => Self::LimitExceeded,
            ErrorKind::Mismatch => Self::Mismatch,
            ErrorKind::NotFound => Self::NotFound,
            ErrorKind::Ambiguous => Self::Ambiguous,
            ErrorKind::Changed => Self::Changed,
            _ => Self::Unsupported,
        }
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::new(CString::default());
}

/// Why the last call on this thread did not give HSACO_STATUS_OK, in one line for each reason; empty when it did, unless
/// the function says otherwise. Functions that take handles back leave it as it is unless they fail. The text lives until
/// the next call of this library on this thread. Never null.
#[unsafe(no_mangle)]
pub extern "C" fn hsaco_last_error() -> *const c_char {
    // A thread that is ending has no text any more.
    LAST.try_with(|last| last.try_borrow().map_or(c"".as_ptr(), |it| it.as_ptr()))
        .unwrap_or(c"".as_ptr())
}

/// The name of a status, such as "not found"; "unknown" for a number that is none. It lives for ever.
#[unsafe(no_mangle)]
pub extern "C" fn hsaco_status_name(status: u32) -> *const c_char {
    let found = Status::ALL.iter().find(|(it, _)| *it as u32 == status);
    found.map_or(c"unknown", |(_, name)| name).as_ptr()
}

/// The version of the library, such as "0.1.0". It lives for ever.
#[unsafe(no_mangle)]
pub extern "C" fn hsaco_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Why a call cannot do what it is asked for.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) reason: String,
}

impl Failure {
    pub(crate) fn new(status: Status, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into() }
    }

    /// An argument that is not what the function takes.
    pub(crate) fn argument(reason: impl Into<String>) -> Self {
        Self::new(Status::InvalidArgument, reason)
    }

    /// An index that there is not.
    pub(crate) fn index(what: &str, index: usize, count: usize) -> Self {
        Self::new(Status::NotFound, format!("there is no {what} {index}: there are {count}"))
    }

    /// The same, with what it is about.
    pub(crate) fn within(self, what: &str) -> Self {
        match what {
            "" => self,
            what => Self { reason: format!("{what}: {}", self.reason), ..self },
        }
    }

    /// A target or a device that is none.
    pub(crate) fn target(what: &str, text: &str, error: &ParseTargetError) -> Self {
        Self::argument(format!("{what} '{text}': {error}"))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(Status::of_kind(error.kind()), error.to_string())
    }
}

impl From<hsaco::bytes::TextError> for Failure {
    fn from(error: hsaco::bytes::TextError) -> Self {
        Self::new(Status::Malformed, error.to_string())
    }
}

impl From<hsaco_files::input::Unopened> for Failure {
    fn from(unopened: hsaco_files::input::Unopened) -> Self {
        Self::new(Status::Io, unopened.to_string())
    }
}

pub(crate) type Result<T = (), E = Failure> = std::result::Result<T, E>;

/// What a call that ends well has to say nevertheless.
pub(crate) struct Said(pub(crate) String);

impl From<()> for Said {
    fn from((): ()) -> Self {
        Self(String::new())
    }
}

/// Does the work of a function that C calls: nothing that goes wrong gets any further.
pub(crate) fn border<T: Into<Said>>(work: impl FnOnce() -> Result<T>) -> Status {
    // What a panic leaves half done is behind locks that say so, or belongs to the call alone.
    let (status, reason) = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(said)) => (Status::Ok, said.into().0),
        Ok(Err(Failure { status, reason })) => (status, reason),
        Err(panic) => (Status::Internal, format!("a fault of hsaco: {}", words(&*panic))),
    };
    // Dropping what is too large for the end of a thread is not worth a status.
    let _: std::result::Result<(), _> = LAST.try_with(|last| {
        if let Ok(mut last) = last.try_borrow_mut() {
            *last = c_string(&reason);
        }
    });
    status
}

/// What a panic says.
fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no words")
}

/// Text for C: what follows a NUL is left out, since C would not see it.
pub(crate) fn c_string(text: &str) -> CString {
    let shown = text.split('\0').next().unwrap_or_default();
    CString::new(shown).unwrap_or_default()
}

/// Several reasons, a line each.
pub(crate) fn lines<T: Display>(reasons: impl IntoIterator<Item = T>) -> String {
    reasons.into_iter().map(|it| it.to_string()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    fn last_error() -> String {
        // SAFETY: it is never null, and nothing is called meanwhile.
        unsafe { CStr::from_ptr(hsaco_last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_does_not_cross_the_border() {
        let panics = || -> Result { panic!("index {}", 7) };
        assert_eq!(border(panics), Status::Internal);
        assert_eq!(last_error(), "a fault of hsaco: index 7");
        assert_eq!(border(|| Ok(())), Status::Ok);
        assert_eq!(last_error(), "");
    }

    #[test]
    fn every_status_has_a_name_and_its_number() {
        for (number, (status, name)) in (0..).zip(Status::ALL) {
            assert_eq!(status as u32, number);
            // SAFETY: names live for ever.
            assert_eq!(unsafe { CStr::from_ptr(hsaco_status_name(number)) }, name);
        }
        // SAFETY: as above.
        assert_eq!(unsafe { CStr::from_ptr(hsaco_status_name(99)) }, c"unknown");
    }
}
