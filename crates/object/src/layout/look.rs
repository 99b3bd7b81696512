//! Which objects to look into, when a hostile file may say that each of thousands is all of it.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use hsaco_bytes::{Error, ErrorKind};
use hsaco_container::{Entry, EntryPlace, Region};

/// How often the bytes of a region may be looked into.
pub(super) const MAX_OVERLAP: u64 = 4;

/// What has been looked into.
#[derive(Default)]
pub(super) struct Looked {
    /// For each region how many bytes more.
    left: Vec<u64>,
    /// The number of the first object at a place.
    objects: HashMap<(usize, u64, usize), usize, RandomState>,
}

/// Whether to look into an object.
pub(super) enum Look {
    /// It is the first there.
    New,
    /// The object of this number is the same bytes.
    Same(usize),
    /// It overlaps with too many others.
    TooMuch,
}

impl Looked {
    pub(super) fn region(&mut self, region: &Region<'_>) {
        self.left.push((region.data.len() as u64).saturating_mul(MAX_OVERLAP));
    }

    pub(super) fn look(&mut self, place: EntryPlace, entry: &Entry<'_>, number: usize) -> Look {
        let size = entry.data.len();
        let first = *self.objects.entry((place.region, place.base, size)).or_insert(number);
        if first != number {
            return Look::Same(first);
        }
        let left = self.left.get_mut(place.region);
        match left.and_then(|left| Some((left.checked_sub(size as u64)?, left))) {
            Some((rest, left)) => {
                *left = rest;
                Look::New
            }
            None => Look::TooMuch,
        }
    }
}

pub(super) fn too_much() -> Error {
    let detail = "it overlaps with so many others that it was not looked into";
    Error::new(ErrorKind::LimitExceeded, "entry", detail).at(0)
}
