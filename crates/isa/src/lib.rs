//! AMD GPU instructions, from gfx8 to gfx12.5: decoded, printed as LLVM 22 prints them, assembled; what each does, and
//! what the processors are that run them.
//!
//! A [`Decoder`] is made for one processor. It turns bytes into [`Inst`]s, which are small and `Copy`, and answers what
//! there is to ask about them: text, operands, effects.
//!
//! ```
//! use hsaco_isa::{Decoder, Flow, OperandValue, Processor, VgprMsb};
//! let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
//! // Any bytes may follow; what is no instruction is `None`.
//! let inst = decoder.decode(&[0x01, 0x05, 0x06, 0x68, 0, 0, 0x81, 0xbf]).unwrap();
//! assert_eq!(inst.len(), 4);
//! assert_eq!(inst.mnemonic(), "v_add_u32");
//! assert_eq!(decoder.text(&inst), "v_add_u32_e32 v3, v1, v2");
//!
//! let Some(OperandValue::Register(source)) = decoder.operand(&inst, "src0") else { panic!() };
//! assert_eq!(source.to_string(), "v1");
//! let effects = decoder.effects(&inst, VgprMsb::default());
//! assert_eq!(effects.writes().next().unwrap().to_string(), "v3");
//! assert_eq!(effects.flow(), Flow::Next);
//! # Ok::<(), hsaco_isa::UnsupportedProcessor>(())
//! ```
//!
//! An [`Assembler`] goes the other way. A [`Form`] is what all instructions of one encoding have in common: the key for
//! tables about instructions. [`TargetId`], [`Processor`] and [`EFlags`] say what code is compiled for, and
//! [`Processor::limits`] what a device can hold.
#![forbid(unsafe_code)]

mod asm;
mod assembler;
mod decode;
mod decoder;
mod effects;
mod model;
mod occupancy;
mod print;
mod target;

pub use assembler::{AsmError, Assembler, Data, Exactness, Statement};
pub use decoder::{DecodeOptions, Decoder, DecoderCache, Mode, TextMemory, UnsupportedProcessor};
pub use effects::{Access, Counter, Counters, Effects, Flow, Lanes, Memory, Registers, Space};
pub use model::{
    Extension, Form, FormOperand, Format, Half, HwRegField, Inst, Operand, OperandRole,
    OperandValue, Outline, Register, RegisterFile, SourceModifiers, Special, ValueType, VgprMsb,
};
pub use occupancy::{Demand, Limiter, NextStep, Occupancy};
pub use print::{Token, Words};
pub use target::{
    AbiVersion, AccVgprs, EFlags, EFlagsFault, EntryId, ErrorKind, Feature, FlatScratch,
    Generation, Incompatible, Limits, MergeConflict, ParseTargetError, Processor, Reason, Setting,
    TargetId, VgprRules, WaveSize,
};
