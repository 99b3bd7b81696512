//! What code is compiled for: processors, target ids, `e_flags`, and what a device can hold.

mod abi;
mod compatibility;
mod eflags;
mod entry;
mod error;
mod generation;
mod id;
mod limits;
mod processor;
mod product;
mod setting;

pub use abi::AbiVersion;
pub use compatibility::{Incompatible, Reason};
pub use eflags::{EFlags, EFlagsFault, MergeConflict};
pub use entry::EntryId;
pub use error::{ErrorKind, ParseTargetError};
pub use generation::Generation;
pub use id::TargetId;
pub use limits::{AccVgprs, FlatScratch, Limits, VgprRules, WaveSize};
pub use processor::Processor;
pub use setting::{Feature, Setting};
