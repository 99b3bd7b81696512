//! Rewriting AMD GPU code objects by rules.
//!
//! A [`RewriteRule`] looks at one instruction of an analysed function and answers what is to be done; it changes
//! nothing. [`RuleSet`] is a table of rules that the compiler has checked. [`Patcher`] takes an object through five stages,
//! each a module that makes a value of the one before it; all that is wanted is written, or nothing:
//!
//! ```text
//! survey   object               -> Survey             kernels, functions, branch targets; a View of each function
//! plan     Survey, rules, edits -> Requests           what to replace in a function, or refusals
//! place    Requests             -> Placed             where replacements go, how control gets there and back
//! write    Placed               -> bytes, Manifest    every change is in the manifest; the bytes follow from it
//! verify   original, result, Manifest -> findings     believes neither the rules nor the placement
//! ```
//!
//! The first three go function by function, so that one analysis is in memory at a time.
//!
//! ```
//! let set = hsaco_patch::RuleSet::by_name("gfx1250-b0-to-a0").unwrap();
//! assert!(set.rules().iter().any(|rule| rule.name == "clause"));
//! ```
#![forbid(unsafe_code)]
#![allow(clippy::cast_possible_truncation, reason = "code of one object is shorter than 4 GiB")]

mod argument;
mod body;
mod branch_target;
mod budget;
mod bytes;
mod call;
mod dialect;
mod digest;
#[cfg(feature = "json")]
mod document;
mod edit;
#[cfg(test)]
mod example;
mod file;
mod file_verify;
mod jump;
mod location;
mod manifest;
mod matrix;
mod option;
mod patcher;
mod place;
mod plan;
mod refusal;
mod release;
mod remark;
#[cfg(feature = "json")]
mod report;
mod request;
mod revision;
mod rewrite;
pub mod rule;
#[cfg(feature = "json")]
mod rule_rows;
mod scan;
mod scratch;
mod setting;
mod site;
mod stack;
mod survey;
mod text;
mod tools;
mod verify;
mod view;
mod write;

pub use argument::InsertedArgument;
pub use budget::RegisterBudget;
pub use bytes::CodeBytes;
pub use call::InsertedCall;
pub use digest::{Digest, Digests};
#[cfg(feature = "json")]
pub use document::{VerifiedRow, write_manifests};
pub use edit::{CodeEdit, Points};
pub use file::{PatchedFile, PatchedObject, code_objects};
pub use file_verify::{Described, FileFinding, FileManifest, Pair, Pairing};
pub use jump::JumpKind;
pub use location::{EditLocation, Where};
pub use manifest::{
    Change, KernelRecord, Manifest, Patched, Placement, Pool, Record, Remark, Setting, Stub,
    Verdict,
};
pub use option::{ClusterLoads, Options, ScaleSixteen};
pub use patcher::Patcher;
pub use refusal::{Refusal, RefusalKind};
#[cfg(feature = "json")]
pub use report::PatchReport;
pub use request::EditRequest;
pub use rewrite::{Edit, Plan};
pub use rule::{
    Answer, Example, ExampleOutcome, Requirement, RewriteRule, RuleSet, Stage, Stepping, Trigger,
};
#[cfg(feature = "json")]
pub use rule_rows::{ExampleRow, RuleRow, RuleSetRow, RuleSetRows, SteppingRow};
pub use scan::{Filter, Hit};
pub use scratch::ScratchRegisters;
pub use setting::{KernelSetting, set};
pub use site::Site;
pub use text::ManifestText;
pub use tools::Tools;
pub use verify::{Expected, VerifyFinding, verify_set};
pub use view::{Surroundings, View};
