//! Registers before and after an instruction, and how operands name them.

use hsaco_emu::Registers;
use hsaco_isa::model::{Half, OperandValue, Register, RegisterFile, Special};
use hsaco_isa::target::Generation;

use super::memory::{Memory, Writes};
use super::operand::Type;

/// The registers that an instruction reads, and those that it leaves.
pub(super) struct Machine<'r> {
    pub(super) generation: Generation,
    pub(super) lanes: usize,
    pub(super) before: &'r Registers,
    pub(super) after: Registers,
    pub(super) memory: &'r Memory,
    pub(super) writes: Writes,
}

impl<'r> Machine<'r> {
    pub(super) fn new(
        generation: Generation,
        lanes: usize,
        before: &'r Registers,
        memory: &'r Memory,
    ) -> Self {
        let after = before.clone();
        Self { generation, lanes, before, after, memory, writes: Writes::default() }
    }

    pub(super) fn is_gfx9(&self) -> bool {
        self.generation < Generation::Gfx10
    }

    pub(super) fn is_active(&self, lane: usize) -> bool {
        self.before.exec >> lane & 1 == 1
    }

    /// All lanes that EXEC enables.
    pub(super) fn active(&self) -> impl Iterator<Item = usize> + use<> {
        let exec = self.before.exec;
        (0..self.lanes).filter(move |lane| exec >> lane & 1 == 1)
    }

    /// A lane mask cut to the lanes of the wave.
    pub(super) fn cut(&self, mask: u64) -> u64 {
        if self.lanes == 64 { mask } else { mask & 0xffff_ffff }
    }

    /// One word of a register operand, for a lane if it is a vector register.
    fn word(&self, register: &Register, number: u16, lane: usize) -> u32 {
        let low = |value: u64| if number == 0 { value as u32 } else { (value >> 32) as u32 };
        let flag = |is_set: bool| u32::from(is_set && number == 0);
        match register.file {
            RegisterFile::Vgpr => self.before.vectors[usize::from(register.first + number)][lane],
            RegisterFile::Sgpr => self.before.scalars[usize::from(register.first + number)],
            RegisterFile::Special(special) => match special {
                Special::VccLo | Special::Vcc => low(self.before.vcc),
                Special::VccHi => (self.before.vcc >> 32) as u32,
                Special::ExecLo | Special::Exec => low(self.before.exec),
                Special::ExecHi => (self.before.exec >> 32) as u32,
                Special::M0 => self.before.m0,
                Special::Scc => flag(self.before.scc),
                Special::VccZ => flag(self.cut(self.before.vcc) == 0),
                Special::ExecZ => flag(self.before.exec == 0),
                _ => 0,
            },
            _ => 0,
        }
    }

    /// The bits of an operand: as many as its type has, no modifiers applied; of half a register that half.
    pub(super) fn bits(&self, value: &OperandValue, ty: Type, lane: usize) -> u64 {
        match value {
            OperandValue::Register(register) => {
                let word = |number| u64::from(self.word(register, number, lane));
                match register.half {
                    Some(Half::High) => word(0) >> 16,
                    Some(Half::Low) => word(0) & 0xffff,
                    None if ty.bits() == 64 => word(0) | word(1) << 32,
                    None => word(0),
                }
            }
            OperandValue::Integer(number) => i64::from(*number) as u64,
            OperandValue::Float(bits) => *bits,
            OperandValue::Literal32(bits) => match ty {
                Type::F64 => u64::from(*bits) << 32,
                Type::I64 => i64::from(*bits as i32) as u64,
                _ => u64::from(*bits),
            },
            OperandValue::Literal64(bits) => *bits,
            OperandValue::Number(number) => *number as u64,
            OperandValue::Modifiers(_) => 0,
        }
    }

    /// A scalar operand.
    pub(super) fn scalar(&self, value: &OperandValue, ty: Type) -> u64 {
        ty.cut(self.bits(value, ty, 0))
    }

    /// Writes a scalar register, or two.
    pub(super) fn set_scalar(&mut self, to: &OperandValue, ty: Type, value: u64) {
        let OperandValue::Register(register) = to else { return };
        let low = |old: u64| old & !0xffff_ffff | value & 0xffff_ffff;
        let high = |old: u64| old & 0xffff_ffff | value << 32;
        let is_wide = ty.bits() == 64;
        let after = &mut self.after;
        match register.file {
            RegisterFile::Sgpr => {
                after.scalars[usize::from(register.first)] = value as u32;
                if is_wide {
                    after.scalars[usize::from(register.first) + 1] = (value >> 32) as u32;
                }
            }
            RegisterFile::Special(special) => match special {
                Special::Vcc | Special::VccLo if is_wide => after.vcc = value,
                Special::VccLo | Special::Vcc => after.vcc = low(after.vcc),
                Special::VccHi => after.vcc = high(after.vcc),
                Special::Exec | Special::ExecLo if is_wide => after.exec = value,
                Special::ExecLo | Special::Exec => after.exec = low(after.exec),
                Special::ExecHi => after.exec = high(after.exec),
                Special::M0 => after.m0 = value as u32,
                _ => {}
            },
            _ => {}
        }
    }

    /// The type of a lane mask.
    pub(super) fn mask_type(&self) -> Type {
        if self.lanes == 64 { Type::U64 } else { Type::U32 }
    }

    /// Writes a lane mask to scalar registers, or to VCC where the instruction names none.
    pub(super) fn set_mask(&mut self, to: Option<&OperandValue>, mask: u64) {
        let mask = self.cut(mask);
        match to {
            Some(to) => self.set_scalar(to, self.mask_type(), mask),
            None => self.after.vcc = self.after.vcc & !self.cut(u64::MAX) | mask,
        }
    }
}
