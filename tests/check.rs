//! Checks: for each rule an object that breaks it alone, and one that just does not.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

#[path = "check/assembled.rs"]
mod assembled;
#[path = "check/baseline.rs"]
mod baseline;
#[path = "check/corruption.rs"]
mod corruption;
#[path = "check/headers.rs"]
mod headers;
#[path = "check/loadable.rs"]
mod loadable;
#[path = "check/output.rs"]
mod output;
#[path = "check/real.rs"]
mod real;
#[path = "check/registers.rs"]
mod registers;
#[path = "check/sarif.rs"]
mod sarif;

#[path = "check/vacuous.rs"]
mod vacuous;

use std::fs;

use hsaco::check::{Checker, Rule, Severity};

fn fixture(name: &str) -> Vec<u8> {
    fs::read(hsaco_tests::fixture(name)).unwrap()
}

fn on(device: &str) -> Checker {
    Checker::new().device(device.parse().unwrap())
}

/// Errors and warnings, a line each.
fn findings(checker: &Checker, bytes: &[u8]) -> String {
    let report = checker.file(bytes);
    let shown = report.findings.iter().filter(|it| it.severity > Severity::Note);
    shown.map(|finding| format!("{finding}\n")).collect()
}

/// What one rule says, notes included.
fn only(rule: &str, checker: Checker, bytes: &[u8]) -> String {
    let report = checker.select(Rule::by_name(rule).unwrap()).file(bytes);
    report.findings.iter().map(|finding| format!("{finding}\n")).collect()
}
