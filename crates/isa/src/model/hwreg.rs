//! Fields of hardware registers: the operand of `s_getreg` and `s_setreg`.

use std::ops::Range;

use super::inst::Inst;
use super::table::{Op, P};

/// Some bits of a hardware register, as the operand of `s_getreg` and `s_setreg` names them.
///
/// ```
/// use hsaco_isa::model::HwRegField;
/// use hsaco_isa::{Decoder, Processor};
/// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
/// let inst = decoder.decode(&[0x01, 0x19, 0x02, 0xb9]).unwrap();
/// assert_eq!(decoder.text(&inst), "s_setreg_b32 hwreg(HW_REG_MODE, 4, 4), s2");
/// let field = inst.hwreg_field().unwrap();
/// assert_eq!(field, HwRegField { register: HwRegField::MODE, first: 4, width: 4 });
/// assert_eq!(field.bits(), 4..8);
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HwRegField {
    /// The number of the register: 0 to 63.
    pub register: u8,
    /// The first bit: 0 to 31.
    pub first: u8,
    /// How many bits: 1 to 32.
    pub width: u8,
}

impl HwRegField {
    /// The number of the register MODE.
    pub const MODE: u8 = 1;

    /// What an operand stands for.
    #[must_use]
    pub const fn from_operand(operand: u16) -> Self {
        HwRegField {
            register: (operand & 63) as u8,
            first: (operand >> 6 & 31) as u8,
            width: (operand >> 11 & 31) as u8 + 1,
        }
    }

    /// The operand that stands for it.
    #[must_use]
    pub const fn to_operand(self) -> u16 {
        self.register as u16 & 63
            | (self.first as u16 & 31) << 6
            | (self.width as u16).wrapping_sub(1) << 11
    }

    /// Its bits; some may be beyond the register's 32.
    #[must_use]
    pub const fn bits(self) -> Range<u8> {
        self.first..self.first + self.width
    }

    /// Whether any of these bits of MODE is among it.
    #[must_use]
    pub const fn is_of_mode(self, bits: &Range<u8>) -> bool {
        self.register == Self::MODE && self.first < bits.end && self.first + self.width > bits.start
    }
}

impl Inst {
    /// The field of a hardware register that it reads or writes: of `s_getreg` and `s_setreg` alone.
    #[must_use]
    pub fn hwreg_field(&self) -> Option<HwRegField> {
        let Op(_, slot) = self.ops().iter().find(|op| op.0 == P::HwReg)?;
        let operand = self.value(self.slots().get(usize::from(*slot))?);
        Some(HwRegField::from_operand(operand as u16))
    }
}

#[cfg(test)]
mod tests {
    use super::HwRegField;

    #[test]
    fn operands_and_fields_are_the_same() {
        for operand in 0..=u16::MAX {
            let field = HwRegField::from_operand(operand);
            assert_eq!(field.to_operand(), operand);
            assert!(field.register < 64 && field.first < 32 && (1..=32).contains(&field.width));
        }
    }
}
