//! What AMD GPU code objects hold, as one HTML file that needs nothing from elsewhere.
//!
//! [`ObjectPages`] is an object: a row for each of its kernels and functions, and a page for each, both from the libraries
//! that the verbs of the command use; nothing about code is worked out here. [`HtmlReport`] puts objects together and
//! writes the file, in which pages are compressed until a reader opens them. [`Runs`] is what profiles and samples say of
//! instructions, [`OlderFiles`] what is different from older files, [`Rewriting`] what a manifest says was changed.
//!
//! ```
//! use hsaco_check::Checker;
//! use hsaco_container::entries;
//! use hsaco_files::{KernelSelection, ObjectItem, Trouble};
//! use hsaco_report::{OlderFiles, ObjectPages, PageOptions, HtmlReport, Rewriting, Runs};
//!
//! # let file = std::fs::read("../../tests/fixtures/lines.dwarf5.co")?;
//! let mut report = HtmlReport::new("lines.co");
//! report.begin_file("lines.co", Some("code object"));
//! let (mut trouble, kernels) = (Trouble::default(), KernelSelection::default());
//! let options = PageOptions {
//!     kernels: &kernels,
//!     checker: &Checker::new(),
//!     text: &|_| None,
//!     max_size: 1 << 30,
//!     runs: &Runs::default(),
//!     comparison: None,
//!     rewriting: &Rewriting::default(),
//! };
//! for (number, entry) in entries(&file, &Default::default()).enumerate() {
//!     let entry = entry?;
//!     let item = ObjectItem::new(number, &entry, &mut trouble);
//!     report.add(ObjectPages::new(&item, &options, &mut trouble));
//! }
//! let mut html = Vec::new();
//! report.write(&mut html)?;
//! assert!(html.starts_with(b"<!doctype html>"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod chunk;
mod code;
mod compare;
mod html;
mod object;
mod occupancy;
mod overview;
mod page;
mod picture;
mod rewriting;
mod run;
mod samples;
mod source;

pub use compare::OlderFiles;
pub use html::HtmlReport;
pub use object::{ObjectPages, PageOptions};
pub use rewriting::Rewriting;
pub use run::Runs;
pub use source::SourceText;
