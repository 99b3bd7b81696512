//! Checks: for each rule an object that breaks it alone, and one that just does not.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod assembled;
mod baseline;
mod corruption;
mod headers;
mod loadable;
mod output;
mod real;
mod registers;
mod sarif;

mod vacuous;

use std::fs;

use hsaco::check::{Checker, Device, LaunchFacts, Report, Rule, Severity};

fn fixture(name: &str) -> Vec<u8> {
    fs::read(hsaco_tests::fixture(name)).unwrap()
}

/// A checker, and what it is asked.
struct Asked {
    checker: Checker,
    device: Option<Device>,
    launch: LaunchFacts,
}

/// Everything on a device.
fn on(device: &str) -> Asked {
    Asked { device: Some(device.parse().unwrap()), ..own(Checker::new()) }
}

/// Each object on the device that it is for.
fn own(checker: Checker) -> Asked {
    Asked { checker, device: None, launch: LaunchFacts::default() }
}

impl Asked {
    fn with(self, change: impl Fn(Checker) -> Checker) -> Self {
        Self { checker: change(self.checker), ..self }
    }

    fn file(&self, bytes: &[u8]) -> Report {
        self.checker.file(bytes, self.device.as_ref(), &self.launch)
    }
}

/// Errors and warnings, a line each.
fn findings(asked: &Asked, bytes: &[u8]) -> String {
    let report = asked.file(bytes);
    let shown = report.findings.iter().filter(|it| it.severity > Severity::Note);
    shown.map(|finding| format!("{finding}\n")).collect()
}

/// What one rule says, notes included.
fn only(rule: &str, asked: Asked, bytes: &[u8]) -> String {
    let rule = Rule::by_name(rule).unwrap();
    let report = asked.with(|it| it.select(rule)).file(bytes);
    report.findings.iter().map(|finding| format!("{finding}\n")).collect()
}
