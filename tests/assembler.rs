//! The assembler against every row of the golden files, which LLVM 22 made.
//!
//! With `BLESS=1` the figures of `docs/assembler-agreement.md` are rewritten.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::{env, fs};

use hsaco_tests::assembly::{
    AsmJudge, AsmTally, Assembly, CAUSES, Difference, TEXT_CAUSES, assembly_dir, llvm_mc,
};
use hsaco_tests::diff::diff;
use hsaco_tests::golden::{FAMILIES, Golden};
use hsaco_tests::oracle::{Answer, Target};
use hsaco_tests::{require_tools, workspace_root};

/// How many differences a failure shows for each target.
const SHOWN: usize = 20;

#[test]
fn golden_files_hold_what_the_manifest_says() {
    let manifest = fs::read_to_string(assembly_dir().join("manifest.txt")).unwrap();
    let line = |family: &&str| Assembly::read(family).unwrap().manifest_line(family);
    let found: String = FAMILIES.iter().map(line).collect();
    assert_eq!(diff(&manifest, &found), "");
}

#[test]
fn golden_rows_agree() {
    let mut report = Report::default();
    for family in FAMILIES {
        for (target, tally) in Assembly::read(family).unwrap().tallies().unwrap() {
            report.add(&target, &tally);
        }
    }
    let assembled = report.finish();
    let mut printed = String::new();
    for (target, mut tally) in FAMILIES.iter().flat_map(|family| printed_again(family)) {
        let differing = std::mem::take(&mut tally.differing);
        writeln!(printed, "{} {} |", line(&target.to_string(), &tally), differing.len()).unwrap();
        assert_is_llvms(&target, &differing);
    }
    check_document(&format!("{HEAD}{assembled}{ROUND_TRIP}{printed}"));
}

/// Where the text does not give the bytes back, LLVM's assembler must say what ours says.
fn assert_is_llvms(target: &Target, differing: &[Difference]) {
    require_tools!("llvm-mc-22");
    let lines: Vec<_> = differing.iter().map(|it| it.text.as_str()).collect();
    let theirs = llvm_mc(target, &lines).unwrap();
    for (it, theirs) in differing.iter().zip(theirs) {
        assert_eq!(it.ours.as_ref().ok(), theirs.as_ref(), "{target}: {it}");
    }
}

/// The decoder's golden rows of a family, assembled from what they print.
fn printed_again(family: &str) -> Vec<(Target, AsmTally)> {
    let golden = Golden::read(family).unwrap();
    let tally = |index: usize| (golden.targets[index].clone(), assemble_again(&golden, index));
    (0..golden.targets.len()).map(tally).collect()
}

fn assemble_again(golden: &Golden, index: usize) -> AsmTally {
    let judge = AsmJudge::new(&golden.targets[index], TEXT_CAUSES).unwrap();
    let mut tally = AsmTally::default();
    for row in golden.rows() {
        if let Some(Answer::Instruction { size, text }) = row.answers().nth(index) {
            tally.add(&judge, &text, &row.slot()[..size]);
        }
    }
    tally
}

fn line(target: &str, tally: &AsmTally) -> String {
    let excused: usize = tally.excused.values().sum();
    format!("| {target} | {} | {} | {excused} |", tally.rows, tally.agreed)
}

/// A table of the document.
#[derive(Default)]
struct Report {
    rows: String,
    failures: String,
    excused: BTreeMap<&'static str, usize>,
}

impl Report {
    fn add(&mut self, target: &str, tally: &AsmTally) {
        writeln!(self.rows, "{}", line(target, tally)).unwrap();
        for (name, count) in &tally.excused {
            *self.excused.entry(*name).or_insert(0) += count;
        }
        for it in tally.differing.iter().take(SHOWN) {
            writeln!(self.failures, "{target}: {it}").unwrap();
        }
    }

    fn finish(self) -> String {
        assert!(self.failures.is_empty(), "{}", self.failures);
        let mut document = self.rows + CAUSE_HEAD;
        for cause in CAUSES {
            let count = self.excused.get(cause.name).copied().unwrap_or(0);
            writeln!(document, "| {} | {count} | {} |", cause.name, cause.reason).unwrap();
        }
        document
    }
}

const HEAD: &str = "# Agreement of the assembler with LLVM 22

Every row of the golden files (`tests/isa/assemble/`) is a line of LLVM's own tests with the bytes
that llvm-mc 22.1.8 makes of it. Rows that are there twice count once; tests that turn on both wave
sizes at once, which no processor has, are left out. `cargo test -p hsaco-tests --test assembler`
checks this page; with `BLESS=1` it rewrites it.

| target | rows | agreed | excused |
|---|---:|---:|---:|
";

const ROUND_TRIP: &str = "
## Printed and assembled again

Every row of the decoder's golden files (`tests/isa/decode/`) that is an instruction, assembled from
the text that llvm-objdump prints for it. Excuses are the first two above, nearly always `bits-not-shown`.
The last column counts texts that LLVM's own assembler refuses or encodes otherwise; there we do what it
does, and the test asks it.

| target | rows | agreed | excused | as LLVM's assembler |
|---|---:|---:|---:|---:|
";

const CAUSE_HEAD: &str = "
The excuses, all of them listed in `tests/src/assembly.rs`:

| cause | rows | reason |
|---|---:|---|
";

fn check_document(document: &str) {
    let path = workspace_root().join("docs/assembler-agreement.md");
    if env::var_os("BLESS").is_some() {
        return fs::write(path, document).unwrap();
    }
    let committed = fs::read_to_string(path).unwrap_or_default();
    assert_eq!(diff(&committed, document), "", "run with BLESS=1 to accept the figures");
}
