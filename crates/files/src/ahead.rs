//! The entries of a file, whose compressed bundles are unpacked on every core before the walk comes to them.

use std::cmp::Reverse;

use hsaco_bytes::Result;
use hsaco_container::{Entries, Entry, PackedBundle, WalkOptions, WantedTargets};
use hsaco_db::ContentView;

use crate::mapping::WORTH_RELEASING;
use crate::parallel::{self, cores};

/// How many bytes compressed bundles may unfold to that are unpacked together; one may be larger.
const TOGETHER: u64 = 64 << 20;
/// Unpacking a bundle is worth a thread of its own.
const WEIGHT: usize = 512;

/// The iterator of a file's entries.
pub struct UnpackedEntries<'a> {
    file: &'a dyn ContentView,
    entries: Entries<'a>,
    /// Up to where the pages of bundles that were unpacked are given back.
    released: u64,
}

impl<'a> UnpackedEntries<'a> {
    /// Begins with a file, whose compressed bundles are unpacked as far as targets are wanted.
    #[must_use]
    pub fn new(
        file: &'a dyn ContentView,
        options: &WalkOptions,
        wanted: Option<&'a dyn WantedTargets>,
    ) -> Self {
        let entries = hsaco_container::entries(file.as_ref(), options);
        let entries = match wanted {
            Some(wanted) => entries.only(wanted),
            None => entries,
        };
        Self { file, entries, released: 0 }
    }

    /// True while what comes next is in memory already: in the payload of the last entry, or in one that was unpacked with it.
    pub(crate) fn in_payload(&mut self) -> bool {
        self.entries.in_payload() || self.entries.is_supplied_next()
    }

    /// Unpacks the bundles that come next, if there are several.
    fn unpack(&mut self) {
        let mut size = 0_u64;
        let fits = |it: &PackedBundle<'_>| {
            size = size.saturating_add(it.size());
            size <= TOGETHER
        };
        let mut upcoming = self.entries.upcoming().peekable();
        if let Some(offset) = upcoming.peek().and_then(PackedBundle::offset) {
            self.release_before(offset);
        }
        let mut bundles: Vec<_> = upcoming.take_while(fits).collect();
        if bundles.len() < 2 {
            return;
        }
        // Those of one size take turns, and the largest begin.
        bundles.sort_by_key(|it| Reverse(it.size()));
        let at_once = if bundles.len() > cores() { 2 } else { 1 };
        let shares: Vec<_> = bundles.chunks(at_once).collect();
        let unpacked = parallel::map(&shares, WEIGHT, |share| PackedBundle::unpack(share));
        self.entries.supply(unpacked.into_iter().flatten());
    }

    /// Gives back what the walk has passed, if it is much.
    fn release_before(&mut self, offset: u64) {
        let passed = offset.saturating_sub(self.released);
        if passed >= WORTH_RELEASING {
            let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
            self.file.release(at(self.released)..at(offset));
            self.released = offset;
        }
    }
}

impl<'a> Iterator for UnpackedEntries<'a> {
    type Item = Result<Entry<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.unpack();
        self.entries.next()
    }
}
