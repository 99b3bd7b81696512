//! What a sanitizer finds, once for each place.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::FaultKind;
use crate::error::StopLocation;

/// Places that are kept; what else is found is counted.
const MOST: usize = 256;

/// Something that a program must not do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// Which sanitizer found it.
    pub kind: FaultKind,
    /// Whether it is wrong on every device; if not, it may be meant.
    pub is_certain: bool,
    /// Where it first happened.
    pub at: StopLocation,
    /// What is wrong.
    pub message: String,
    /// What happened before that it does not agree with.
    pub before: Option<Event>,
    /// What to do.
    pub help: String,
    /// How often it happened at this place.
    pub times: u64,
}

/// What a wave did earlier.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// What it was, to be put before its place: "written by", "outstanding since".
    pub what: &'static str,
    /// Where: its address, text, wave and lanes.
    pub at: StopLocation,
}

/// All that was found.
#[derive(Debug, Default)]
pub(super) struct Faults(Mutex<Kept>);

/// What makes two findings the same: kind, instruction, and the instruction before that it concerns.
pub(super) type Key = (FaultKind, u64, u64);

#[derive(Debug, Default)]
struct Kept {
    list: Vec<Fault>,
    known: HashMap<Key, usize>,
    left_out: u64,
}

impl Faults {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts what is known of a place; `make` says what is new.
    pub(super) fn add(&self, key: Key, make: impl FnOnce() -> Fault) {
        let mut kept = self.lock();
        if let Some(at) = kept.known.get(&key).copied() {
            if let Some(fault) = kept.list.get_mut(at) {
                fault.times += 1;
            }
            return;
        }
        if kept.list.len() >= MOST {
            kept.left_out += 1;
            return;
        }
        let at = kept.list.len();
        kept.known.insert(key, at);
        kept.list.push(make());
    }

    pub(super) fn list(&self) -> Vec<Fault> {
        self.lock().list.clone()
    }

    pub(super) fn left_out(&self) -> u64 {
        self.lock().left_out
    }
}
