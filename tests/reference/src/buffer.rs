//! Buffers: descriptors without bounds or swizzling, and the addresses that they give.

use hsaco_emu::Registers;
use hsaco_isa::model::{OperandValue, Register, RegisterFile};
use hsaco_isa::target::Generation;

use super::access::{STRIDE, register};
use super::generate::Random;
use super::machine::Machine;
use super::operand::{Instruction, Type};

/// Bits of the encoding: an offset in a vector register, an index in one, another register with what failed.
struct Bits {
    offset: usize,
    index: usize,
    fail: usize,
}

fn bits(generation: Generation) -> Bits {
    match generation {
        Generation::Gfx11 => Bits { offset: 54, index: 55, fail: 53 },
        it if it >= Generation::Gfx12 => Bits { offset: 62, index: 63, fail: 22 },
        _ => Bits { offset: 12, index: 13, fail: 55 },
    }
}

/// Whether it loads or stores registers, and does nothing else. Descriptors of gfx1250 are others.
pub(super) fn is_simple(machine: &Machine<'_>, instruction: &Instruction) -> bool {
    let generation = machine.generation;
    let goes_to_lds = generation < Generation::Gfx11 && instruction.bit(16);
    let is_known = generation != Generation::Gfx125;
    is_known && !goes_to_lds && !instruction.bit(bits(generation).fail)
}

/// The first register of the descriptor.
fn descriptor(instruction: &Instruction) -> Option<usize> {
    match instruction.operand("srsrc")? {
        OperandValue::Register(Register { file: RegisterFile::Sgpr, first, .. }) => {
            Some(usize::from(*first))
        }
        _ => None,
    }
}

/// The registers of the index and of the offset.
fn vectors(
    machine: &Machine<'_>,
    instruction: &Instruction,
) -> Option<(Option<usize>, Option<usize>)> {
    let bits = bits(machine.generation);
    let (has_index, has_offset) = (instruction.bit(bits.index), instruction.bit(bits.offset));
    if !has_index && !has_offset {
        return Some((None, None));
    }
    let first = usize::from(register(instruction, &["vaddr"])?.first);
    // The index comes first.
    let offset = has_offset.then_some(first + usize::from(has_index));
    Some((has_index.then_some(first), offset))
}

/// The address of a lane, which is inside of the buffer.
pub(super) fn address(
    machine: &Machine<'_>,
    instruction: &Instruction,
    offset: u64,
    lane: usize,
) -> Option<u64> {
    let at = descriptor(instruction)?;
    let words = &machine.before.scalars;
    let base = u64::from(words[at]) | u64::from(words[at + 1] & 0xffff) << 32;
    let stride = u64::from(words[at + 1] >> 16 & 0x3fff);
    if words[at + 1] >> 30 != 0 || words[at + 2] != u32::MAX || words[at + 3] & 1 << 23 != 0 {
        return None;
    }
    let (index, own) = vectors(machine, instruction)?;
    let value = |number: Option<usize>| {
        number.map_or(0, |number| u64::from(machine.before.vectors[number][lane]))
    };
    let scalar = machine.scalar(instruction.operand("soffset")?, Type::U32);
    Some(base + scalar + value(index) * stride + value(own) + offset)
}

/// Makes a descriptor, an index and offsets that lead into memory.
pub(super) fn aim(
    machine: &Machine<'_>,
    instruction: &Instruction,
    registers: &mut Registers,
    offset: u64,
    is_store: bool,
    random: &mut Random,
) -> Option<()> {
    let at = descriptor(instruction)?;
    let (index, own) = vectors(machine, instruction)?;
    let stride = if index.is_some() { [4, 16, 64, 256][random.below(4)] } else { 0 };
    if let OperandValue::Register(register) = instruction.operand("soffset")? {
        let value = random.below(1024) as u32;
        match register.file {
            RegisterFile::Sgpr => registers.scalars[usize::from(register.first)] = value,
            _ => registers.m0 = value,
        }
    }
    let before = Machine::new(machine.generation, machine.lanes, registers, machine.memory);
    let scalar = before.scalar(instruction.operand("soffset")?, Type::U32);
    let base = machine.memory.base.wrapping_sub(offset).wrapping_sub(scalar);
    let words = registers.scalars.get_mut(at..at + 4)?;
    words[0] = base as u32;
    words[1] = (base >> 32) as u32 & 0xffff | stride << 16;
    words[2] = u32::MAX;
    // From gfx10 on: no bounds but a number of records that is zero.
    words[3] = if machine.is_gfx9() { 0x0002_7000 } else { 0x2101_6000 };
    for lane in 0..machine.lanes {
        if let Some(index) = index {
            registers.vectors[index][lane] = random.below(64) as u32;
        }
        if let Some(own) = own {
            let apart = if is_store { lane as u64 * STRIDE } else { random.below(8192) as u64 };
            registers.vectors[own][lane] = (apart + random.below(64) as u64) as u32 & !3;
        }
    }
    Some(())
}
