//! AMD GPU instruction sets.
//!
//! Today: what a target is. [`Processor`] names every processor LLVM 22 knows, [`TargetId`] adds the
//! xnack and sramecc settings, [`EFlags`] reads both out of an ELF header, [`TargetId::runs_on`] says
//! whether code loads on a device, and [`Processor::limits`] what one device of that kind can hold.
//!
//! ```
//! use hsaco_isa::{AbiVersion, EFlags, TargetId};
//! let flags = EFlags::new(0x0100_0054, AbiVersion::V6);
//! let device: TargetId = "gfx1151".parse()?;
//! assert_eq!(flags.target_id().unwrap().to_string(), "gfx11-generic");
//! assert_eq!(flags.runs_on(device), Some(Ok(())));
//! assert_eq!(device.processor.limits().max_vgprs, 256);
//! # Ok::<(), hsaco_isa::ParseTargetError>(())
//! ```
#![forbid(unsafe_code)]

mod abi;
mod arch;
mod asm;
mod compatibility;
mod decode;
mod eflags;
mod encode;
mod entry;
mod generated;
mod generation;
mod inst;
mod limits;
mod operand;
mod print;
mod processor;
mod setting;
mod table;
mod target;

pub use abi::AbiVersion;
pub use asm::{AsmError, Assembler};
pub use compatibility::{Incompatible, Reason};
pub use decode::{DecodeOptions, Decoder, Mode, UnsupportedProcessor};
pub use eflags::{EFlags, EFlagsFault, MergeConflict};
pub use entry::EntryId;
pub use generation::Generation;
pub use inst::Inst;
pub use limits::{AccVgprs, FlatScratch, Limits, VgprRules, WaveSize};
pub use operand::Special;
pub use print::{Token, VgprMsb};
pub use processor::Processor;
pub use setting::{Feature, Setting};
pub use target::{ErrorKind, ParseTargetError, TargetId};
