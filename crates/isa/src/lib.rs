//! AMD GPU instructions, from gfx8 to gfx12.5: decoded, printed as LLVM 22 prints them, assembled; what each does, and
//! what the processors are that run them.
//!
//! A [`Decoder`] is made for one processor. It turns bytes into [`Inst`]s, which are small and `Copy`, and answers what
//! there is to ask about them: text, operands, effects.
//!
//! ```
//! use hsaco_isa::effects::Flow;
//! use hsaco_isa::model::{OperandValue, VgprMsb};
//! use hsaco_isa::{Decoder, Processor};
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
//! # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
//! ```
//!
//! | module | what it has |
//! |---|---|
//! | [`decoder`] | [`Decoder`], its options, and memories for texts and decoders |
//! | [`assembler`] | [`Assembler`]: text to instructions, and text that assembles to given bytes |
//! | [`model`] | [`Inst`], its operands and registers; [`Form`](model::Form), the key for tables about instructions |
//! | [`errata`] | which instructions stepping A0 of gfx1250 runs wrongly |
//! | [`effects`] | registers read and written, memory, wait counters, control flow |
//! | [`mod@print`] | tokens and words of printed text |
//! | [`target`] | [`Processor`], [`TargetId`], `e_flags`, compatibility, what a device can hold |
//! | [`occupancy`] | how many waves of a kernel fit, and what to free for more |
#![forbid(unsafe_code)]

mod asm;
pub mod assembler;
mod decode;
pub mod decoder;
pub mod effects;
pub mod errata;
pub mod model;
pub mod occupancy;
pub mod print;
pub mod target;

pub use assembler::Assembler;
pub use decoder::Decoder;
pub use model::Inst;
pub use target::{Processor, TargetId};
