//! Shows by execution that a rewritten code object behaves as its original.
//!
//! Both run on the emulator with the same launches, each on its own silicon. Where sites begin and end, the live
//! registers of every wave are compared, in the order in which the wave comes by; at the end, memory is, bit by bit.
//! [`KernelProof`] says which sites ran and which never did, and what was different.
#![forbid(unsafe_code)]

mod compare;
mod error;
mod flow;
mod input;
mod observe;
mod proof;
mod run;
mod site;

pub use compare::{Difference, DifferenceKind};
pub use error::{Error, Result};
pub use input::{Given, Input};
pub use proof::{KernelProof, ProofVerdict, Prover, Settings, SiteRuns};
pub use site::RewrittenSite;
