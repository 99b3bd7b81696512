//! Hardware registers, as `s_getreg` and `s_setreg` name them.
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

use super::{Marks, Out, Token};
use crate::model::named::condition::name_of;
use crate::model::named::hwreg::REGISTERS;
use crate::model::{Arch, HwRegField};

/// A hardware register, and the bits of it unless they are all 32.
pub(in crate::print) fn hwreg<M: Marks>(out: &mut Out<'_, M>, arch: Arch, value: u32) {
    let HwRegField { register, first, width } = HwRegField::from_operand(value as u16);
    out.token(Token::Modifier);
    out.text("hwreg(");
    match name_of(REGISTERS, register.into(), arch) {
        Some(name) => {
            out.text("HW_REG_");
            out.text(name);
        }
        None => out.dec(u64::from(register)),
    }
    if (first, width) != (0, 32) {
        out.text(", ");
        out.dec(u64::from(first));
        out.text(", ");
        out.dec(u64::from(width));
    }
    out.byte(b')');
}
