//! Operands of instructions as registers of a wave's files.

use hsaco_isa::model::{Operand, OperandValue, Register, RegisterFile, SourceModifiers, Special};

use super::{Builder, Registers};
use crate::error::Result;
use crate::exec::{control, handler, modifier};
use crate::semantics::Type;
use crate::wave::scalar;

/// How a constant fills two registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wide {
    /// It has one.
    No,
    /// A literal is the lower half of an unsigned number.
    Unsigned,
    Signed,
    /// A literal is the upper half.
    Double,
}

impl Wide {
    pub(super) fn of(ty: Type) -> Self {
        match ty {
            Type::B64 | Type::U64 | Type::Pk32 => Self::Unsigned,
            Type::I64 => Self::Signed,
            Type::F64 => Self::Double,
            _ => Self::No,
        }
    }
}

/// A constant's bits, of one or two registers.
pub(super) fn constant(value: OperandValue, wide: Wide) -> Option<(u32, Option<u32>)> {
    let bits = match (value, wide) {
        (OperandValue::Integer(it), _) => i64::from(it).cast_unsigned(),
        (OperandValue::Float(bits) | OperandValue::Literal64(bits), _) => bits,
        (OperandValue::Literal32(bits), Wide::Double) => u64::from(bits) << 32,
        (OperandValue::Literal32(bits), Wide::Signed) => {
            i64::from(bits.cast_signed()).cast_unsigned()
        }
        (OperandValue::Literal32(bits), _) => u64::from(bits),
        (OperandValue::Number(it), _) => it.cast_unsigned(),
        _ => return None,
    };
    let high = (wide != Wide::No).then_some((bits >> 32) as u32);
    Some((bits as u32, high))
}

impl<const C: usize> Builder<'_, C> {
    pub(super) fn operand(&self, name: &str) -> Option<OperandValue> {
        self.operands.iter().find(|it| it.name == name).map(|it| it.value)
    }

    pub(super) fn needed(&self, name: &str) -> Result<OperandValue> {
        self.operand(name).ok_or_else(|| self.unsupported(&format!("no operand {name}")))
    }

    /// A number that is part of the encoding; 0 where there is none.
    pub(super) fn number(&self, name: &str) -> i64 {
        match self.operand(name) {
            Some(OperandValue::Number(number)) => number,
            _ => 0,
        }
    }

    pub(super) fn modifiers(&self, name: &str) -> SourceModifiers {
        let is_it = |it: &&Operand| it.name.strip_suffix("_modifiers") == Some(name);
        match self.operands.iter().find(is_it).map(|it| it.value) {
            Some(OperandValue::Modifiers(modifiers)) => modifiers,
            _ => SourceModifiers::default(),
        }
    }

    /// The register that is read; constants are in the file as well.
    pub(super) fn scalar_source(&mut self, value: OperandValue, wide: Wide) -> Result<u16> {
        if let OperandValue::Register(register) = value {
            return self.scalar_register(register, wide, false);
        }
        let (low, high) =
            constant(value, wide).ok_or_else(|| self.unsupported("no scalar operand"))?;
        Ok(scalar::CONSTANTS + self.pools.scalar(low, high))
    }

    /// The register that is written.
    pub(super) fn scalar_target(&mut self, value: OperandValue) -> Result<u16> {
        let OperandValue::Register(register) = value else {
            return Err(self.unsupported("no scalar destination"));
        };
        self.scalar_register(register, Wide::No, true)
    }

    fn scalar_register(&mut self, register: Register, wide: Wide, is_target: bool) -> Result<u16> {
        Ok(match register.file {
            RegisterFile::Sgpr => register.first,
            RegisterFile::Ttmp => scalar::TTMP + register.first,
            RegisterFile::Special(special) => self.special(special, wide, is_target)?,
            RegisterFile::Vgpr | RegisterFile::Agpr => {
                return Err(self.unsupported("a vector register as a scalar operand"));
            }
        })
    }

    fn special(&mut self, special: Special, wide: Wide, is_target: bool) -> Result<u16> {
        let zero = |builder: &mut Self| scalar::CONSTANTS + builder.pools.scalar(0, Some(0));
        Ok(match special {
            Special::Vcc | Special::VccLo => scalar::VCC,
            Special::VccHi => scalar::VCC + 1,
            Special::Exec | Special::ExecLo => scalar::EXEC,
            Special::ExecHi => scalar::EXEC + 1,
            Special::M0 => scalar::M0,
            Special::Null | Special::Null64 if is_target => scalar::SINK,
            Special::Null | Special::Null64 => zero(self),
            Special::FlatScratch | Special::FlatScratchLo => scalar::FLAT_SCRATCH,
            Special::FlatScratchHi => scalar::FLAT_SCRATCH + 1,
            Special::XnackMask | Special::XnackMaskLo => scalar::XNACK_MASK,
            Special::XnackMaskHi => scalar::XNACK_MASK + 1,
            Special::Tba | Special::TbaLo => scalar::TBA,
            Special::TbaHi => scalar::TBA + 1,
            Special::Tma | Special::TmaLo => scalar::TMA,
            Special::TmaHi => scalar::TMA + 1,
            // As an operand of 32 bits, only the lower half is read, which is zero.
            Special::SharedBase | Special::SharedBaseLo if wide != Wide::No => scalar::SHARED_BASE,
            Special::SharedLimit | Special::SharedLimitLo if wide != Wide::No => {
                scalar::SHARED_LIMIT
            }
            Special::PrivateBase | Special::PrivateBaseLo if wide != Wide::No => {
                scalar::PRIVATE_BASE
            }
            Special::PrivateLimit | Special::PrivateLimitLo if wide != Wide::No => {
                scalar::PRIVATE_LIMIT
            }
            Special::SharedBase
            | Special::SharedBaseLo
            | Special::SharedLimit
            | Special::SharedLimitLo
            | Special::PrivateBase
            | Special::PrivateBaseLo
            | Special::PrivateLimit
            | Special::PrivateLimitLo => zero(self),
            Special::FlatScratchBaseLo => scalar::FLAT_SCRATCH_BASE,
            Special::FlatScratchBaseHi => scalar::FLAT_SCRATCH_BASE + 1,
            Special::Scc => self.flag(0),
            Special::VccZ => self.flag(1),
            Special::ExecZ => self.flag(2),
            other => return Err(self.unsupported(&format!("{} as an operand", other.name()))),
        })
    }

    fn flag(&mut self, number: u16) -> u16 {
        self.push(control::flags::<C>, Registers { d: scalar::FLAG, ..Registers::default() });
        scalar::FLAG + 2 * number
    }

    /// Steps that follow a write of scalar registers.
    pub(super) fn after_scalar_write(&mut self, first: u16, count: u16) {
        if first < scalar::EXEC + 2 && first + count > scalar::EXEC {
            self.push(control::sync_exec::<C>, Registers::default());
        }
    }

    /// The register of the vector file that is named; `place` is 0 to 2 for sources, 3 for the destination.
    pub(super) fn vector_register(&self, register: Register, place: u8) -> Result<u16> {
        let relative =
            place < 4 && self.index.0 >> place & 1 == 1 && register.file == RegisterFile::Vgpr;
        let first = register.first + if relative { u16::from(self.index.1) } else { 0 };
        let count = u16::from(register.count.max(1));
        let (base, size) = match register.file {
            RegisterFile::Vgpr => (0, self.layout.vgprs),
            RegisterFile::Agpr => (self.layout.vgprs, self.layout.agprs),
            _ => return Err(self.unsupported("a scalar register as a vector operand")),
        };
        if first + count > size {
            let detail = format!("{register}, and the kernel has {size} of them");
            return Err(self.unsupported(&detail));
        }
        Ok(base + first)
    }

    /// A source in the vector file: registers as they are, scalars and constants in all lanes.
    pub(super) fn vector_source(
        &mut self,
        value: OperandValue,
        wide: Wide,
        place: u8,
    ) -> Result<u16> {
        match value {
            OperandValue::Register(register)
                if matches!(register.file, RegisterFile::Vgpr | RegisterFile::Agpr) =>
            {
                self.vector_register(register, place)
            }
            OperandValue::Register(register) => {
                let first = self.scalar_register(register, wide, false)?;
                let count = if wide == Wide::No { 1 } else { 2 };
                Ok(self.broadcast(first, count))
            }
            value => {
                let (low, high) =
                    constant(value, wide).ok_or_else(|| self.unsupported("no vector operand"))?;
                Ok(self.layout.constants() + self.pools.vector(low, high))
            }
        }
    }

    /// One or two scalar registers in all lanes of registers that are kept for them.
    fn broadcast(&mut self, first: u16, count: u16) -> u16 {
        let to = self.layout.constants() + self.pools.broadcast(first, count == 2);
        let run = match count {
            1 => handler::<C, modifier::Broadcast>(self.host),
            _ => handler::<C, modifier::BroadcastPair>(self.host),
        };
        self.push(run, Registers { d: to, a: first, ..Registers::default() });
        to
    }

    /// A constant in all lanes.
    pub(super) fn vector_constant(&mut self, value: u32) -> u16 {
        self.layout.constants() + self.pools.vector(value, None)
    }
}
