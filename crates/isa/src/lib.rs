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

mod arch;
mod asm;
#[allow(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    reason = "fields are cut out of words; tables are as long as their indices reach"
)]
mod decode;
mod effects;
mod encode;
mod format;
mod generated;
#[allow(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    reason = "fields are cut out of words; tables are as long as their indices reach"
)]
mod inst;
mod occupancy;
#[allow(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    reason = "fields are cut out of words; tables are as long as their indices reach"
)]
mod operand;
#[allow(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    reason = "fields are cut out of words; tables are as long as their indices reach"
)]
mod operands;
#[allow(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    reason = "fields are cut out of words; tables are as long as their indices reach"
)]
mod print;
mod table;
mod target;

pub use asm::{AsmError, Assembler, Data, Exactness, Statement};
pub use decode::{DecodeOptions, Decoder, DecoderCache, Mode, UnsupportedProcessor};
pub use effects::{Access, Counter, Counters, Effects, Flow, Lanes, Memory, Registers, Space};
pub use format::{Extension, Format};
pub use inst::{Inst, Outline};
pub use occupancy::{Demand, Limiter, NextStep, Occupancy};
pub use operand::Special;
pub use operands::{Half, Operand, OperandValue, Register, RegisterFile, SourceModifiers};
pub use print::{TextMemory, Token, VgprMsb, Words};
pub use target::{
    AbiVersion, AccVgprs, EFlags, EFlagsFault, EntryId, ErrorKind, Feature, FlatScratch,
    Generation, Incompatible, Limits, MergeConflict, ParseTargetError, Processor, Reason, Setting,
    TargetId, VgprRules, WaveSize,
};
