//! The strict decoder against every row of the golden files, which LLVM 22 made.
//!
//! With `BLESS=1` the figures of `docs/decoder-agreement.md` are rewritten.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::{env, fs};

use hsaco::isa::decoder::{DecodeOptions, Mode};
use hsaco::isa::{Decoder, Processor};
use hsaco_tests::diff::diff;
use hsaco_tests::golden::{FAMILIES, Golden, golden_dir, manifest_line};
use hsaco_tests::oracle::EXCEPTIONS;
use hsaco_tests::workspace_root;

/// How many differences a failure shows for each target.
const SHOWN: usize = 20;

#[test]
fn golden_files_hold_what_the_manifest_says() {
    let manifest = fs::read_to_string(golden_dir().join("manifest.txt")).unwrap();
    let lines = |family: &&str| {
        let golden = Golden::read(family).unwrap();
        let line = |(at, target)| manifest_line(target, &golden.table(at));
        golden.targets.iter().enumerate().map(line).collect::<String>()
    };
    let found: String = FAMILIES.iter().map(lines).collect();
    assert_eq!(diff(&manifest, &found), "");
}

/// Row C5 of docs/kerneldb.md.
#[test]
fn golden_rows_agree() {
    let mut document = String::from(HEAD);
    let mut failures = String::new();
    let mut excepted = BTreeMap::new();
    for family in FAMILIES {
        let golden = Golden::read(family).unwrap();
        for (index, tally) in golden.tallies(|_| true).unwrap() {
            let target = &golden.targets[index];
            let exceptions: usize = tally.excepted.values().sum();
            document +=
                &format!("| {target} | {} | {} | {exceptions} |\n", tally.rows, tally.agreed);
            for (name, count) in &tally.excepted {
                *excepted.entry(*name).or_insert(0) += count;
            }
            if tally.differences() > 0 {
                let (count, report) = (tally.differences(), tally.report(SHOWN, 1));
                write!(failures, "{target}: {count} rows differ\n{report}").unwrap();
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
    document += EXCEPTION_HEAD;
    for it in EXCEPTIONS {
        let count = excepted.get(it.name).copied().unwrap_or(0);
        document += &format!("| {} | {count} | {} |\n", it.name, it.reason);
    }
    check_document(&document);
}

/// Every encoding that LLVM takes, and each with every one of its bits flipped: bits that lenient decoding ignores
/// change nothing, and it takes nothing else.
#[test]
fn lenient_decoding_adds_only_bits_that_say_nothing() {
    for (family, processor, least) in [
        ("gfx10", "gfx1030", 1),
        ("gfx11", "gfx1100", 1),
        ("gfx12", "gfx1200", 0),
        ("gfx12", "gfx1250", 100_000),
    ] {
        let golden = Golden::read(family).unwrap();
        for real_true16 in [false, true] {
            let processor = Processor::from_name(processor).unwrap();
            let decoder = |mode| {
                let real_true16 = Some(real_true16);
                let options = DecodeOptions { mode, real_true16, ..DecodeOptions::default() };
                Decoder::with_options(processor, options).unwrap()
            };
            let (strict, lenient) = (decoder(Mode::Strict), decoder(Mode::Lenient));
            let mut ignored = 0_usize;
            for row in golden.rows() {
                ignored += check_flips(&strict, &lenient, row.slot());
            }
            assert!(ignored >= least, "{processor}: {ignored}");
        }
    }
}

/// How many bits lenient decoding ignores.
fn check_flips<const SIZE: usize>(strict: &Decoder, lenient: &Decoder, row: [u8; SIZE]) -> usize {
    let Some(inst) = strict.decode(&row) else { return 0 };
    assert_eq!(lenient.decode(&row), Some(inst), "{row:x?}");
    let text = strict.text(&inst);
    let (mut all, mut count) = (row, 0);
    for bit in 0..inst.len() * 8 {
        let mut flipped = row;
        flipped[bit / 8] ^= 1 << (bit % 8);
        match (strict.decode(&flipped), lenient.decode(&flipped)) {
            (None, None) => {}
            // A bit of the opcode makes another instruction of it, with bits that this one ignores.
            (None, Some(it)) if bit < 32 && names(&lenient.text(&it)) != names(&text) => {
                assert!(it.is_lenient(), "{flipped:x?}");
            }
            (None, Some(it)) => {
                assert!(it.is_lenient(), "{flipped:x?}");
                assert_eq!(lenient.text(&it), text, "{flipped:x?}");
                assert_eq!(it.len(), inst.len(), "{flipped:x?}");
                all[bit / 8] ^= 1 << (bit % 8);
                count += 1;
            }
            (strict, lenient) => assert_eq!(strict, lenient, "{flipped:x?}"),
        }
    }
    // Together they say no more than each of them alone.
    if count > 0 {
        assert_eq!(lenient.decode(&all).map(|it| lenient.text(&it)), Some(text), "{all:x?}");
    }
    count
}

/// The names of an instruction: two where two are issued at once.
fn names(text: &str) -> Vec<&str> {
    text.split(" :: ").filter_map(|it| it.split(' ').next()).collect()
}

const HEAD: &str = "# Agreement with LLVM 22

Every row of the golden files (`tests/isa/decode/`) is an encoding, taken from LLVM's own tests and
tried on every target of its family, with what llvm-objdump 22.1.8 prints for it. An answer agrees
when text, size and refusal are the same. `cargo test -p hsaco-tests --test instructions decoder` checks this
page; with `BLESS=1` it rewrites it.

| target | rows | agreed | excepted |
|---|---:|---:|---:|
";

const EXCEPTION_HEAD: &str = "
The exceptions, all of them listed in `tests/src/oracle.rs`:

| exception | rows | reason |
|---|---:|---|
";

fn check_document(document: &str) {
    let path = workspace_root().join("docs/decoder-agreement.md");
    if env::var_os("BLESS").is_some() {
        return fs::write(path, document).unwrap();
    }
    let committed = fs::read_to_string(path).unwrap_or_default();
    assert_eq!(diff(&committed, document), "", "run with BLESS=1 to accept the figures");
}
