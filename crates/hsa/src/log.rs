//! What users are told: on standard error, each line once where it would repeat.

use std::collections::HashSet;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// Writes a line.
pub(crate) fn line(text: &str) {
    // That standard error is closed cannot be told anywhere.
    let _ = writeln!(std::io::stderr(), "hsaco: {text}");
}

static TOLD: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// Writes a line, unless it was written before.
pub(crate) fn once(text: &str) {
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if told.get_or_insert_default().insert(text.to_owned()) {
        line(text);
    }
}
