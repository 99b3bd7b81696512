//! Would this device refuse this code object, or run it wrongly?
//!
//! [`check`] holds a code object, or any file that carries some, to every [`Rule`] that headers, metadata and kernel
//! descriptors can answer, and says what is wrong, with which kernel, where and by how much. No device is needed.
//! An [`Error`](Severity::Error) is certain: the device refuses the object or runs it wrongly. What is merely odd is
//! a warning, what the caller has to know a note.
//!
//! ```
//! let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
//! let report = hsaco_check::check(&file, &"gfx950".parse()?);
//! assert!(!report.passes());
//! assert_eq!(
//!     report.findings[0].to_string(),
//!     "error: target-mismatch: compiled for gfx942, and the device is gfx950: exact processors do not run each \
//!      other's code (e_flags, at offset 0x30); compile for gfx950 or gfx9-4-generic",
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod baseline;
mod budget;
mod checker;
mod code;
mod config;
mod device;
mod facts;
mod fault;
mod finding;
mod launch;
mod nearest;
mod question;
pub mod render;
mod report;
mod request;
pub mod result;
mod rule;
mod rules;
mod source;

pub use baseline::{Baseline, ParseBaselineError};
pub use budget::{Budget, Measures, ParseBudgetError};
pub use checker::{Checker, check};
pub use config::{CheckTable, Config};
pub use device::{Device, Limit};
pub use facts::Facts;
pub use finding::{Finding, Severity, Subject};
pub use launch::LaunchFacts;
pub use report::{ObjectReport, Report};
pub use request::{CheckedObject, Request};
pub use rule::{Depth, Rule};
pub use rules::{BUDGET, REGRESSION, RULES, SANITIZERS, UNRESOLVED_SYMBOL};
pub use source::Sources;
