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
#[allow(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    reason = "fields are cut out of words; tables are as long as their indices reach"
)]
mod decode;
mod effects;
mod eflags;
mod encode;
mod entry;
mod format;
mod generated;
mod generation;
#[allow(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    reason = "fields are cut out of words; tables are as long as their indices reach"
)]
mod inst;
mod limits;
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
mod processor;
mod product;
mod setting;
mod table;
mod target;

pub use abi::AbiVersion;
pub use asm::{AsmError, Assembler, Data, Exactness, Statement};
pub use compatibility::{Incompatible, Reason};
pub use decode::{DecodeOptions, Decoder, DecoderCache, Mode, UnsupportedProcessor};
pub use effects::{Access, Counter, Counters, Effects, Flow, Lanes, Memory, Registers, Space};
pub use eflags::{EFlags, EFlagsFault, MergeConflict};
pub use entry::EntryId;
pub use format::{Extension, Format};
pub use generation::Generation;
pub use inst::{Inst, Outline};
pub use limits::{AccVgprs, FlatScratch, Limits, VgprRules, WaveSize};
pub use occupancy::{Demand, Limiter, NextStep, Occupancy};
pub use operand::Special;
pub use operands::{Half, Operand, OperandValue, Register, RegisterFile, SourceModifiers};
pub use print::{TextMemory, Token, VgprMsb, Words};
pub use processor::Processor;
pub use setting::{Feature, Setting};
pub use target::{ErrorKind, ParseTargetError, TargetId};
