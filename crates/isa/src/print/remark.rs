//! What LLVM remarks on an instruction that it decodes.

use crate::model::code::{misaligned, scalar_dwords, tag};
use crate::model::generated::CHECKS;
use crate::model::inst::{Inst, MISALIGNED};
use crate::model::table::{Check, Role, Slot};

use super::Printer;
use super::out::Out;

impl Printer {
    /// Appends the remark that `llvm-objdump` puts after the encoding, ` ; Warning: …`, where it has one.
    #[inline]
    pub(crate) fn print_remarks(&self, inst: &Inst, out: &mut Vec<u8>) {
        if inst.marks & MISALIGNED != 0 {
            self.print_misaligned(inst, out);
        }
    }

    fn print_misaligned(&self, inst: &Inst, out: &mut Vec<u8>) {
        let (start, count) = inst.shape().checks;
        let checks = CHECKS
            .get(usize::from(start)..usize::from(start) + usize::from(count))
            .unwrap_or_default();
        let mut is_first = true;
        for Check { slot, role } in checks {
            let slot = inst
                .slots()
                .get(usize::from(*slot))
                .filter(|_| matches!(role, Role::Register | Role::Source));
            if let Some(rounded) = slot.and_then(|slot| self.rounded(inst, slot)) {
                Out::append(out, (), |out| rounded.print(is_first, out));
                is_first = false;
            }
        }
    }
}

/// A scalar tuple that was rounded down to where tuples start.
struct Rounded {
    file: &'static str,
    bits: u32,
    number: u16,
}

impl Rounded {
    fn print(&self, is_first: bool, out: &mut Out<'_, ()>) {
        out.text(if is_first { " ; Warning: " } else { "Warning: " });
        out.text(self.file);
        out.byte(b'_');
        out.dec(self.bits.into());
        out.text(": scalar reg isn't aligned ");
        out.dec(self.number.into());
    }
}

impl Printer {
    fn rounded(&self, inst: &Inst, slot: &Slot) -> Option<Rounded> {
        let code = self.model.code(inst, slot);
        let kind = slot.kind();
        let number = misaligned(kind.source, inst.value(slot) as u16, code)?;
        let file = if code.tag() == tag::SGPR { "SGPR" } else { "TTMP" };
        let dwords = scalar_dwords(code.tag(), self.model.dwords(kind));
        Some(Rounded { file, bits: u32::from(dwords) * 32, number })
    }
}
