//! The operands of a decoded instruction, typed.

use std::fmt;

use super::Model;
use super::arch::Arch;
use super::code::{Code, FLOATS, scalar_dwords, tag};
use super::generated::{KINDS, OPERAND_NAMES};
use super::inst::Inst;
use super::special::Special;
use super::table::{Kind, Slot, Source, Type};

/// A file of numbered registers, or a register with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegisterFile {
    /// Vector registers.
    Vgpr,
    /// Accumulation registers of gfx908 to gfx950.
    Agpr,
    /// Scalar registers.
    Sgpr,
    /// Scalar registers of the trap handler.
    Ttmp,
    /// A register of its own.
    Special(Special),
}

/// Which half of a 32-bit register a 16-bit operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Half {
    /// Bits 0 to 15.
    Low,
    /// Bits 16 to 31.
    High,
}

/// A register, or several in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Register {
    /// Where it is.
    pub file: RegisterFile,
    /// The number of the first; 0 for special registers.
    pub first: u16,
    /// How many 32-bit registers the operand spans.
    pub count: u8,
    /// Which half is meant, where the operand is half a register.
    pub half: Option<Half>,
}

impl Register {
    /// Whether two registers have bits in common: `v5.l` has none with `v5.h`, `vcc_lo` has some with `vcc`.
    ///
    /// ```
    /// use hsaco_isa::model::{Half, Register, RegisterFile};
    /// let pair = Register { file: RegisterFile::Vgpr, first: 4, count: 2, half: None };
    /// let low = Register { first: 5, count: 1, half: Some(Half::Low), ..pair };
    /// let high = Register { half: Some(Half::High), ..low };
    /// assert!(pair.overlaps(&low) && pair.overlaps(&high));
    /// assert!(!low.overlaps(&high));
    /// ```
    #[must_use]
    pub fn overlaps(&self, other: &Register) -> bool {
        let end = |it: &Register| it.first + u16::from(it.count.max(1));
        let halves_meet = || self.half.zip(other.half).is_none_or(|(one, other)| one == other);
        match (self.file, other.file) {
            (RegisterFile::Special(one), RegisterFile::Special(other)) => {
                one == other || one.is_half_of(other) || other.is_half_of(one)
            }
            (file, other_file) => {
                file == other_file
                    && self.first < end(other)
                    && other.first < end(self)
                    && halves_meet()
            }
        }
    }

    /// The registers that two have in common, one by one.
    pub(crate) fn common(self, other: &Register) -> impl Iterator<Item = Register> + use<> {
        let end = |it: &Register| it.first + u16::from(it.count.max(1));
        let (first, end) = (self.first.max(other.first), end(&self).min(end(other)));
        let file = match (self.file, other.file) {
            (RegisterFile::Special(one), RegisterFile::Special(other)) if other.is_half_of(one) => {
                RegisterFile::Special(other)
            }
            (file, _) => file,
        };
        let half = self.half.or(other.half);
        (first..end).map(move |first| Register { file, first, count: 1, half })
    }

    /// Whether a register has all bits of another one, which is not several.
    pub(crate) fn covers(&self, other: &Register) -> bool {
        let is_half = match (self.file, other.file) {
            (RegisterFile::Special(whole), RegisterFile::Special(part)) => part.is_half_of(whole),
            _ => false,
        };
        let is_whole = self.half.is_none() || self.half == other.half;
        is_half || self.file == other.file && self.overlaps(other) && is_whole
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = match self.file {
            RegisterFile::Vgpr => "v",
            RegisterFile::Agpr => "a",
            RegisterFile::Sgpr => "s",
            RegisterFile::Ttmp => "ttmp",
            RegisterFile::Special(special) => return f.write_str(special.name()),
        };
        match (self.half, self.count) {
            (Some(Half::Low), _) => write!(f, "{file}{}.l", self.first),
            (Some(Half::High), _) => write!(f, "{file}{}.h", self.first),
            (None, 0 | 1) => write!(f, "{file}{}", self.first),
            (None, count) => {
                write!(f, "{file}[{}:{}]", self.first, self.first + u16::from(count) - 1)
            }
        }
    }
}

/// What changes a source before the operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools, reason = "independent bits of the encoding")]
pub struct SourceModifiers {
    /// Negated; for packed operations, the lower half (`neg_lo`).
    pub neg: bool,
    /// The absolute value; for packed operations, the upper half negated (`neg_hi`).
    pub abs: bool,
    /// Extended by its sign (SDWA).
    pub sext: bool,
    /// The upper half is read (`op_sel`).
    pub op_sel: bool,
    /// For packed operations, the upper half is read for the upper result (`op_sel_hi`); for the first
    /// source of others, the upper half is written.
    pub op_sel_hi: bool,
}

/// The value of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperandValue {
    /// A register.
    Register(Register),
    /// An integer that the source field itself encodes: -16 to 64.
    Integer(i8),
    /// A float that the source field itself encodes: its bits in the operand's own precision.
    Float(u64),
    /// A 32-bit literal.
    Literal32(u32),
    /// A 64-bit literal.
    Literal64(u64),
    /// What changes the source that follows.
    Modifiers(SourceModifiers),
    /// A number: an offset, a branch distance, a cache policy, a format, DPP and SDWA controls, clamp.
    Number(i64),
}

/// One operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operand {
    /// Its name in LLVM's tables: `vdst`, `src0`, `src0_modifiers`, `offset`, `cpol`, `dpp_ctrl`…
    pub name: &'static str,
    /// Whether the instruction writes it.
    pub is_output: bool,
    /// What it is.
    pub value: OperandValue,
}

impl Model {
    pub(crate) fn typed(&self, inst: &Inst, slot: &'static Slot) -> Option<Operand> {
        let name = OPERAND_NAMES.get(usize::from(slot.name)).copied()?;
        let kind = KINDS.get(usize::from(slot.kind))?;
        let value = match kind.source {
            Source::Absent => return None,
            Source::Immediate if name.ends_with("_modifiers") => {
                OperandValue::Modifiers(modifiers(inst.value(slot)))
            }
            Source::Immediate if kind.ty == Type::PcRelative => {
                OperandValue::Number((inst.value(slot) as u16 as i16).into())
            }
            Source::Immediate => OperandValue::Number(inst.value(slot) as i64),
            Source::ScalarOffset => {
                OperandValue::Number(self.signed_offset(kind, inst.value(slot)))
            }
            Source::Literal if kind.dwords == 2 => OperandValue::Literal64(inst.value(slot)),
            Source::Literal => OperandValue::Literal32(inst.value(slot) as u32),
            _ => self.source_value(inst, slot, kind)?,
        };
        Some(Operand { name, is_output: slot.is_output, value })
    }

    pub(crate) fn signed_offset(&self, kind: &Kind, value: u64) -> i64 {
        match kind.source {
            Source::ScalarOffset if self.arch.is_gfx12_plus() => sign_extend(value, 24),
            Source::ScalarOffset if self.arch.has(Arch::GFX8) => (value & 0xf_ffff) as i64,
            Source::ScalarOffset => sign_extend(value, 21),
            _ => value as i64,
        }
    }

    fn source_value(&self, inst: &Inst, slot: &'static Slot, kind: &Kind) -> Option<OperandValue> {
        let code = self.code(inst, slot);
        Some(match code.tag() {
            tag::INVALID => return None,
            tag::INLINE => match code.number() {
                number @ 128..=192 => OperandValue::Integer(i8::try_from(number - 128).ok()?),
                number @ 193..=208 => OperandValue::Integer(-i8::try_from(number - 192).ok()?),
                number => OperandValue::Float(float_bits(number, kind)?),
            },
            tag::LITERAL => OperandValue::Literal32(inst.literal()? as u32),
            tag::LITERAL64 => OperandValue::Literal64(inst.literal()?),
            _ => OperandValue::Register(self.register(inst, slot, kind, code)?),
        })
    }

    pub(crate) fn register(
        &self,
        inst: &Inst,
        slot: &'static Slot,
        kind: &Kind,
        code: Code,
    ) -> Option<Register> {
        self.register_of(inst, slot, kind, code, self.operand_dwords(inst, slot, kind))
    }

    /// The same where it is known how many registers are meant.
    pub(crate) fn register_of(
        &self,
        inst: &Inst,
        slot: &Slot,
        kind: &Kind,
        code: Code,
        count: u8,
    ) -> Option<Register> {
        let code = self.settled(inst, slot, kind, code);
        let number = code.number();
        let whole = |file| Register { file, first: number, count, half: None };
        Some(match code.tag() {
            tag::VGPR => whole(RegisterFile::Vgpr),
            tag::AGPR => whole(RegisterFile::Agpr),
            tag::SGPR => {
                Register { count: scalar_dwords(tag::SGPR, count), ..whole(RegisterFile::Sgpr) }
            }
            tag::TTMP => {
                Register { count: scalar_dwords(tag::TTMP, count), ..whole(RegisterFile::Ttmp) }
            }
            tag::HALF => Register {
                file: RegisterFile::Vgpr,
                first: number >> 1,
                count: 1,
                half: Some(if number & 1 == 0 { Half::Low } else { Half::High }),
            },
            _ => Register {
                file: RegisterFile::Special(code.special()?),
                first: 0,
                count,
                half: None,
            },
        })
    }
}

pub(crate) const fn sign_extend(value: u64, bits: u32) -> i64 {
    ((value << (64 - bits)) as i64) >> (64 - bits)
}

fn modifiers(bits: u64) -> SourceModifiers {
    let is_set = |bit: u32| bits >> bit & 1 == 1;
    SourceModifiers {
        neg: is_set(0),
        abs: is_set(1),
        op_sel: is_set(2),
        op_sel_hi: is_set(3),
        sext: is_set(4),
    }
}

/// An inline float's bits in the operand's precision.
fn float_bits(encoding: u16, kind: &Kind) -> Option<u64> {
    let (half, brain, single, double, _) = *FLOATS.get(usize::from(encoding).checked_sub(240)?)?;
    Some(match kind.ty {
        Type::F64 | Type::Int64 => double,
        Type::F16 | Type::Int16 | Type::V2F16 | Type::V2F16Splat | Type::V2InlineF16 => half.into(),
        Type::BF16 | Type::V2BF16 | Type::V2InlineBF16 => brain.into(),
        _ => single.into(),
    })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use crate::{Decoder, Processor};

    fn check(processor: &str, words: &[u32], expected: &Expect) {
        let decoder = Decoder::new(Processor::from_name(processor).unwrap()).unwrap();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let inst = decoder.decode(&bytes).unwrap();
        let mut found = format!("{}\n", decoder.text(&inst));
        for operand in decoder.operands(&inst) {
            let direction = if operand.is_output { "out" } else { "in" };
            found.push_str(&format!("{direction} {}: {:?}\n", operand.name, operand.value));
        }
        expected.assert_eq(&found);
    }

    #[test]
    fn modifiers_constants_and_registers_are_told_apart() {
        check(
            "gfx942",
            &[0xd1cb_8103, 0x6405_e4f2],
            &expect![[r#"
            v_fma_f32 v3, -|1.0|, neg(1.0), v1 clamp
            out vdst: Register(Register { file: Vgpr, first: 3, count: 1, half: None })
            in src0_modifiers: Modifiers(SourceModifiers { neg: true, abs: true, sext: false, op_sel: false, op_sel_hi: false })
            in src0: Float(1065353216)
            in src1_modifiers: Modifiers(SourceModifiers { neg: true, abs: false, sext: false, op_sel: false, op_sel_hi: false })
            in src1: Float(1065353216)
            in src2_modifiers: Modifiers(SourceModifiers { neg: false, abs: false, sext: false, op_sel: false, op_sel_hi: false })
            in src2: Register(Register { file: Vgpr, first: 1, count: 1, half: None })
            in clamp: Number(1)
            in omod: Number(0)
        "#]],
        );
    }

    #[test]
    fn a_literal_is_an_operand() {
        check(
            "gfx1100",
            &[0x8102_ff01, 0x1234_5678],
            &expect![[r#"
            s_add_i32 s2, s1, 0x12345678
            out sdst: Register(Register { file: Sgpr, first: 2, count: 1, half: None })
            in src0: Register(Register { file: Sgpr, first: 1, count: 1, half: None })
            in src1: Literal32(305419896)
        "#]],
        );
    }

    #[test]
    fn halves_are_told_apart() {
        check(
            "gfx1100",
            &[0x6402_0581],
            &expect![[r#"
            v_add_f16_e32 v1.l, v1.h, v2.l
            out vdst: Register(Register { file: Vgpr, first: 1, count: 1, half: Some(Low) })
            in src0: Register(Register { file: Vgpr, first: 1, count: 1, half: Some(High) })
            in src1: Register(Register { file: Vgpr, first: 2, count: 1, half: Some(Low) })
        "#]],
        );
    }

    #[test]
    fn the_second_accumulator_of_a_dual_instruction_is_its_destination() {
        let decoder = Decoder::new(Processor::from_name("gfx1100").unwrap()).unwrap();
        let bytes = [0x01, 0x04, 0x00, 0xc9, 0x69, 0x06, 0x06, 0xff];
        let inst = decoder.decode(&bytes).unwrap();
        assert_eq!(decoder.operand(&inst, "src2Y"), decoder.operand(&inst, "vdstY"));
        assert!(decoder.text(&inst).ends_with("v_dual_fmac_f32 v6, s105, v3"));
    }

    #[test]
    fn image_data_is_as_wide_as_its_mask() {
        check(
            "gfx1030",
            &[0xf000_0708, 0x0002_0500],
            &expect![[r#"
            image_load v[5:7], v[0:1], s[8:15] dmask:0x7 dim:SQ_RSRC_IMG_2D
            out vdata: Register(Register { file: Vgpr, first: 5, count: 3, half: None })
            in vaddr0: Register(Register { file: Vgpr, first: 0, count: 2, half: None })
            in srsrc: Register(Register { file: Sgpr, first: 8, count: 8, half: None })
            in dmask: Number(7)
            in dim: Number(1)
            in unorm: Number(0)
            in cpol: Number(0)
            in r128: Number(0)
            in a16: Number(0)
            in tfe: Number(0)
            in lwe: Number(0)
            in d16: Number(0)
        "#]],
        );
    }
}
