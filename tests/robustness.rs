//! Broken input: every prefix, many mutations, and the mistakes that files are known to have.
//!
//! Whatever the bytes, the library answers or names an error, and the program ends by itself.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod calls;
mod cli;
mod elf;
mod exercise;
mod exit_codes;
#[cfg(unix)]
mod guide;
mod json_page;
#[cfg(unix)]
mod memory;
mod metadata;
mod mutation;
mod names;
mod outputs;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use exercise::exercise;
use hsaco_tests::fixtures_dir;
use hsaco_tests::random::Random;

/// Every committed binary with its name, sorted.
fn fixtures() -> Vec<(String, Vec<u8>)> {
    let mut fixtures = Vec::new();
    for entry in fs::read_dir(fixtures_dir()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_file() && name != "manifest.txt" {
            fixtures.push((name, fs::read(path).unwrap()));
        }
    }
    fixtures.sort();
    assert!(fixtures.len() >= 28, "{} fixtures", fixtures.len());
    fixtures
}

/// Does `count` pieces of work on every core; a failure says which piece.
fn each(count: usize, work: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    let run = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return;
            }
            let done = catch_unwind(AssertUnwindSafe(|| work(at)));
            assert!(done.is_ok(), "piece {at} of {count}");
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(run))));
}

/// All lengths below a file's own; of a long file all near its ends, and some between.
fn prefixes(length: usize) -> Vec<usize> {
    const WHOLE: usize = 20 << 10;
    const ENDS: usize = 4 << 10;
    let is_wanted =
        |at: &usize| length <= WHOLE || *at < ENDS || *at > length - ENDS || at.is_multiple_of(61);
    (0..length).filter(is_wanted).collect()
}

/// Files that are one thing after the other, of which some prefixes are good files.
const SEQUENCES: [&str; 5] =
    ["back-to-back.bundle", "demo.deb", "host.a", "mixed.bundle", "offloading.bin"];

/// A prefix gives an error, or what is missing did not matter and the answer is that of the file.
#[test]
fn every_prefix_of_every_fixture() {
    let fixtures = fixtures();
    each(fixtures.len(), |at| {
        let (name, bytes) = &fixtures[at];
        let whole = exercise(bytes);
        assert_eq!(whole.errors, [], "{name}");
        let is_silent_loss = |length: &usize| {
            let found = exercise(&bytes[..*length]);
            let is_same = match SEQUENCES.contains(&name.as_str()) {
                true => whole.content.starts_with(&found.content),
                false => whole.content == found.content,
            };
            found.errors.is_empty() && !is_same
        };
        let lost: Vec<_> = prefixes(bytes.len()).into_iter().filter(is_silent_loss).collect();
        assert_eq!(lost, [0; 0], "{name}: prefixes that lose something without an error");
    });
}

const MUTATIONS: usize = 100_000;

/// Row B16 of docs/kerneldb.md.
#[test]
fn mutations_of_every_fixture() {
    let fixtures = fixtures();
    let harmed = AtomicUsize::new(0);
    each(MUTATIONS, |at| {
        let (_, bytes) = &fixtures[at % fixtures.len()];
        let mutated = mutation::mutate(bytes, &mut Random::new(at as u64));
        let found = exercise(&mutated);
        harmed.fetch_add(usize::from(!found.errors.is_empty()), Ordering::Relaxed);
    });
    // Most bytes of most files are checked by something.
    let harmed = harmed.into_inner();
    assert!((MUTATIONS / 4..MUTATIONS).contains(&harmed), "{harmed} of {MUTATIONS} had errors");
}
