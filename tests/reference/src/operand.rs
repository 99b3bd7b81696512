//! An instruction as the reference reads it: its name, its operands by name, what changes its sources.

use hsaco_isa::model::{Extension, Format, OperandValue, SourceModifiers};
use hsaco_isa::{Decoder, Inst};

/// How the bits of an operand are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    U16,
    I16,
    F16,
    Bf16,
    U32,
    I32,
    F32,
    /// Bits that `neg` and `abs` change as they change a float's.
    B32,
    U64,
    I64,
    F64,
    /// One bit for each lane.
    Mask,
}

impl Type {
    /// From the name of a type in AMD's manuals.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "u16" | "b16" => Self::U16,
            "i16" => Self::I16,
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "u32" => Self::U32,
            "i32" => Self::I32,
            "f32" => Self::F32,
            "b32" => Self::B32,
            "u64" | "b64" => Self::U64,
            "i64" => Self::I64,
            "f64" => Self::F64,
            "mask" => Self::Mask,
            _ => return None,
        })
    }

    pub(super) fn bits(self) -> u32 {
        match self {
            Self::U16 | Self::I16 | Self::F16 | Self::Bf16 => 16,
            Self::U32 | Self::I32 | Self::F32 | Self::B32 => 32,
            Self::U64 | Self::I64 | Self::F64 | Self::Mask => 64,
        }
    }

    pub(super) fn cut(self, bits: u64) -> u64 {
        bits & (u64::MAX >> (64 - self.bits()))
    }

    pub(super) fn has_sign_bit(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64 | Self::B32)
    }

    /// The number that bits are.
    pub(super) fn number(self, bits: u64) -> i128 {
        let bits = self.cut(bits);
        match self {
            Self::I16 => i128::from(bits as i16),
            Self::I32 => i128::from(bits as i32),
            Self::I64 => i128::from(bits as i64),
            _ => i128::from(bits),
        }
    }

    /// The nearest number that the type has.
    pub(super) fn saturated(self, number: i128) -> i128 {
        let bits = self.bits();
        match self {
            Self::I16 | Self::I32 | Self::I64 => {
                number.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
            }
            _ => number.clamp(0, (1 << bits) - 1),
        }
    }
}

/// An instruction.
pub(super) struct Instruction {
    /// Its name, without what tells encodings apart.
    pub(super) name: &'static str,
    /// The name of the second half of a dual instruction.
    pub(super) second: Option<&'static str>,
    pub(super) format: Format,
    pub(super) extension: Option<Extension>,
    operands: Vec<(&'static str, OperandValue)>,
    bytes: [u8; 20],
}

impl Instruction {
    pub(super) fn new(decoder: &Decoder, inst: &Inst) -> Self {
        Self {
            name: inst.mnemonic().trim_end_matches("_e32"),
            second: inst.second_mnemonic(),
            format: inst.format(),
            extension: inst.extension(),
            operands: decoder.operands(inst).map(|it| (it.name, it.value)).collect(),
            bytes: inst.bytes(),
        }
    }

    /// A bit of the encoding.
    pub(super) fn bit(&self, number: usize) -> bool {
        self.bytes[number / 8] >> (number % 8) & 1 == 1
    }

    pub(super) fn operand(&self, name: &str) -> Option<&OperandValue> {
        self.operands.iter().find(|it| it.0 == name).map(|it| &it.1)
    }

    pub(super) fn number(&self, name: &str) -> Option<i64> {
        match self.operand(name)? {
            OperandValue::Number(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn is_set(&self, name: &str) -> bool {
        self.number(name).is_some_and(|it| it != 0)
    }

    pub(super) fn modifiers(&self, source: usize) -> SourceModifiers {
        const NAMES: [&str; 3] = ["src0_modifiers", "src1_modifiers", "src2_modifiers"];
        match NAMES.get(source).and_then(|name| self.operand(name)) {
            Some(OperandValue::Modifiers(modifiers)) => *modifiers,
            _ => SourceModifiers::default(),
        }
    }
}
