//! Register classes: which registers LLVM lets an operand be.

use super::Model;
use super::arch::Arch;
use super::code::{Code, scalar_dwords, tag};
use super::generated::{CLASS_MODES, CLASSES, KINDS, OPERAND_NAMES};
use super::inst::Inst;
use super::special::Special;
use super::table::{Class, Flags, Kind};

impl Model {
    /// The class of an operand of that kind, where the register is not in it.
    pub(crate) fn class_without(
        &self,
        kind: &Kind,
        code: Code,
        dwords: u8,
    ) -> Option<&'static Class> {
        let (modes, wave_sized) = CLASS_MODES.get(usize::from(kind.class).checked_sub(1)?)?;
        let class =
            modes.get(self.class_mode).and_then(|number| CLASSES.get(usize::from(*number)))?;
        (!wave_sized && !contains(class, code, dwords)).then_some(class)
    }

    /// Whether a special register is itself in the class of an operand, not only a value that any may have.
    pub(crate) fn class_names(&self, kind: &Kind, code: Code) -> bool {
        let modes = CLASS_MODES.get(usize::from(kind.class).wrapping_sub(1));
        let Some((modes, wave_sized)) = modes else { return true };
        let class = modes.get(self.class_mode).and_then(|number| CLASSES.get(usize::from(*number)));
        let (Some(class), Some(special)) = (class, code.special()) else { return true };
        // The compiler keeps them out of masks, which can name them all the same.
        let is_kept_out =
            matches!(special, Special::M0 | Special::Exec | Special::ExecLo | Special::ExecHi);
        if *wave_sized && is_kept_out {
            return true;
        }
        // Scalar tuples of any width may be null, where their class does not rule it out.
        let may_be_null = class.name.starts_with("SReg_") && !class.name.contains("XNULL");
        let is_null = matches!(special, Special::Null | Special::Null64);
        is_null && may_be_null || class.special >> special as u8 & 1 == 1
    }

    /// The name of the class that an operand has under the processor's mode.
    fn class_name(&self, class: u8) -> Option<&'static str> {
        let (modes, _) = CLASS_MODES.get(usize::from(class).checked_sub(1)?)?;
        modes
            .get(self.class_mode)
            .and_then(|number| CLASSES.get(usize::from(*number)))
            .map(|class| class.name)
    }

    /// Whether DPP treats the instruction as one of double precision.
    pub(crate) fn is_dp_alu(&self, inst: &Inst) -> bool {
        if !self.arch.has(Arch::DP_ALU_DPP) {
            return false;
        }
        if inst.flags().has(Flags::DP_ALU_32) {
            return self.arch.has(Arch::GFX1250);
        }
        // Few operands are of these classes: names are looked at last.
        let mut pairs = inst.slots().iter().filter(|slot| {
            let class = KINDS[usize::from(slot.kind)].class;
            matches!(self.class_name(class), Some("VReg_64" | "VReg_64_Align2"))
        });
        pairs.any(|slot| {
            let name = OPERAND_NAMES[usize::from(slot.name)];
            matches!(name, "vdst" | "src0" | "src1" | "src2")
        })
    }
}

/// Which of LLVM's modes chooses register classes, numbered as the generated tables do.
pub(super) const fn class_mode(arch: Arch) -> usize {
    match (arch.has(Arch::ALIGNED_VGPRS), arch.has(Arch::GFX9), arch.has(Arch::WAVE32)) {
        (false, _, false) => 0,
        (false, _, true) => 1,
        (true, true, _) => 2,
        (true, false, false) => 3,
        (true, false, true) => 4,
    }
}

fn contains(class: &Class, code: Code, dwords: u8) -> bool {
    let bank = match code.tag() {
        tag::VGPR | tag::HALF => 0,
        tag::AGPR => 1,
        tag::SGPR => 2,
        tag::TTMP => 3,
        _ => {
            let Some(special) = code.special() else { return false };
            return special.is_inline_value() || class.special >> special as u8 & 1 == 1;
        }
    };
    let (last, step) = class.banks.get(bank).copied().unwrap_or_default();
    let number = if code.tag() == tag::HALF { code.number() >> 1 } else { code.number() };
    let exists = bank < 2 || scalar_dwords(code.tag(), dwords) == dwords;
    exists
        && step != 0
        && number <= last
        && number % u16::from(step) == 0
        && class_fits(class, code, dwords)
}

/// A class of wider or narrower registers has none of these.
fn class_fits(class: &Class, code: Code, dwords: u8) -> bool {
    let halves = class.name.starts_with("VGPR_16") || class.name.starts_with("VS_16");
    (code.tag() == tag::HALF) == halves || dwords == 0
}
