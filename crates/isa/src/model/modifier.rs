//! Source modifiers, and what they and other fields decide about a register.

use super::Model;
use super::code::{Code, tag};
use super::inst::Inst;
use super::table::{DEFAULT_MODIFIER, Kind, Slot, Source};

pub(crate) const NEG: u64 = 1;
pub(crate) const ABS: u64 = 2;
pub(crate) const SEXT: u64 = 16;
pub(crate) const NEG_HI: u64 = 2;
pub(crate) const OP_SEL: u64 = 4;
pub(crate) const OP_SEL_HI: u64 = 8;
pub(crate) const DESTINATION_SEL: u64 = 8;

impl Model {
    /// The register that is meant where other fields have a say in it.
    #[inline]
    pub(crate) fn settled(&self, inst: &Inst, slot: &Slot, kind: &Kind, code: Code) -> Code {
        match code.tag() {
            tag::HALF => self.half(inst, slot, code),
            _ if kind.source == Source::DualDestination => {
                Code(code.0 & !1 | !first_destination(inst) & 1)
            }
            _ => code,
        }
    }

    /// `op_sel` bits choose the half where the register field does not.
    pub(crate) fn half(&self, inst: &Inst, slot: &Slot, code: Code) -> Code {
        let Some((source, bit)) = slot.half_modifier() else { return code };
        let upper = self.modifiers(inst, source).is_some_and(|modifiers| modifiers & bit != 0);
        code.half(upper)
    }

    /// Whether the destination is the upper half of its register.
    pub(crate) fn selects_upper_half(&self, inst: &Inst) -> bool {
        self.modifiers(inst, 0).is_some_and(|modifiers| modifiers & DESTINATION_SEL != 0)
    }

    /// The modifiers of a source.
    pub(crate) fn modifiers(&self, inst: &Inst, source: usize) -> Option<u64> {
        let position = inst
            .shape()
            .packed
            .get(source)
            .copied()
            .filter(|position| *position != DEFAULT_MODIFIER)?;
        inst.slots().get(usize::from(position)).map(|slot| inst.value(slot))
    }
}

impl Slot {
    /// Which source's modifiers choose the half of an operand's register, and their bit for it.
    pub(crate) fn half_modifier(&self) -> Option<(usize, u64)> {
        match self.label()? {
            "src0" => Some((0, OP_SEL)),
            "src1" => Some((1, OP_SEL)),
            "src2" => Some((2, OP_SEL)),
            "vdst" => Some((0, DESTINATION_SEL)),
            _ => None,
        }
    }
}

impl Kind {
    /// Whether operands may be halves of registers, which modifiers choose.
    pub(crate) fn may_be_half(&self) -> bool {
        use Source::{AnyHalf, AnyHalfLow, Half, HalfLow};
        matches!(self.source, Half | HalfLow | AnyHalf | AnyHalfLow)
    }
}

fn first_destination(inst: &Inst) -> u16 {
    inst.slots().first().map_or(0, |slot| inst.value(slot) as u16)
}
