//! A second opinion on what instructions do: a slow interpreter, one lane at a time, one obvious function for each operation.
//!
//! It shares the decoder and the list of registers with the emulator, and nothing else. [`Opinion::of`] runs one instruction;
//! [`agreement`] compares both on random instructions.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::indexing_slicing,
    reason = "bits are cut out of words; registers are checked before they are used"
)]

mod access;
pub mod agreement;
mod buffer;
mod compare;
mod exact;
mod float;
mod generate;
mod integer;
mod lane;
mod machine;
mod memory;
mod operand;
mod scalar;
mod vector;

use hsaco_emu::Registers;
use hsaco_isa::target::{Generation, WaveSize};
use hsaco_isa::{Decoder, Inst};

use machine::Machine;
pub use memory::{Memory, Space, Writes};
use operand::Instruction;

/// What the reference makes of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opinion {
    /// The registers after it, and what it writes to memory.
    Registers(Box<Registers>, Writes),
    /// There is no function for it.
    Unknown,
}

impl Opinion {
    /// Runs one instruction from given registers and memory.
    pub fn of(
        decoder: &Decoder,
        inst: &Inst,
        generation: Generation,
        wave_size: WaveSize,
        registers: &Registers,
        memory: &Memory,
    ) -> Self {
        let lanes = if wave_size == WaveSize::Wave64 { 64 } else { 32 };
        let mut machine = Machine::new(generation, lanes, registers, memory);
        let instruction = Instruction::new(decoder, inst);
        let known = scalar::run(&mut machine, &instruction)
            || lane::run(&mut machine, &instruction)
            || compare::run(&mut machine, &instruction)
            || access::run(&mut machine, &instruction)
            || vector::run(&mut machine, &instruction);
        if known { Self::Registers(Box::new(machine.after), machine.writes) } else { Self::Unknown }
    }
}
