//! What the command line asks for and may be nowhere in the input.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::report::{self, Status};

/// Something that is looked for in every object, on every core.
#[derive(Debug, Default)]
pub(crate) struct Sought(AtomicBool);

impl Sought {
    /// Notes whether it is in an object.
    pub(crate) fn note(&self, is_here: bool) {
        if is_here {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// The status of a run: `failure`, with this message, if it was nowhere. Input that could not be read may have
    /// held it, and has been complained about.
    pub(crate) fn conclude(&self, status: Status, failure: Status, message: &str) -> Status {
        if self.0.load(Ordering::Relaxed) || status >= Status::Unsupported {
            return status;
        }
        report::error(message);
        status.max(failure)
    }
}
