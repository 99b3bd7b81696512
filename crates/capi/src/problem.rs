//! What could not be read of a file.

use std::ffi::c_char;

use hsaco::bytes::Error;

use crate::border::Row;
use crate::error::{Failure, Status};

/// Something that could not be read of a file; the rest of it was.
#[repr(C)]
#[derive(Debug)]
pub struct Problem {
    /// The file, by the name under which it was added.
    pub file: *const c_char,
    /// What is wrong, in words.
    pub message: *const c_char,
    /// Where, in the file; HSACO_UNKNOWN if it has no place.
    pub offset: u64,
    /// Its kind: a hsaco_status.
    pub status: u32,
}

impl Problem {
    pub(crate) fn row(file: &str, message: &str, offset: Option<u64>, status: Status) -> Row<Self> {
        Row::new(|texts| Problem {
            file: texts.keep(file),
            message: texts.keep(message),
            offset: offset.unwrap_or(u64::MAX),
            status: status as u32,
        })
    }

    /// Of an error of the library.
    pub(crate) fn of(file: &str, error: &Error) -> Row<Self> {
        let failure = Failure::from(error.clone());
        Self::row(file, &failure.reason, error.offset(), failure.status)
    }
}
