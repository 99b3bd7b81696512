//! Operands of graphics shaders: targets of exports and parameters of interpolation.
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

use super::{Marks, Out, Token, modifier};
use crate::model::Arch;
use crate::model::named::condition::When;
use crate::model::named::shader::{SLOTS, TARGETS};

/// Where an export goes.
pub(in crate::print) fn export_target<M: Marks>(out: &mut Out<'_, M>, arch: Arch, value: u32) {
    let target = value & 63;
    let holds = |(first, last, _, _, when): &&(u32, u32, &str, bool, When)| {
        (*first..=*last).contains(&target) && when.holds(arch)
    };
    match TARGETS.iter().find(holds) {
        Some((first, _, name, numbered, _)) => {
            modifier(out, name);
            if *numbered {
                out.dec(u64::from(target - first));
            }
        }
        None => {
            modifier(out, "invalid_target_");
            out.dec(u64::from(target));
        }
    }
}

/// Which parameter of an attribute `v_interp_mov_f32` reads.
pub(in crate::print) fn interp_slot<M: Marks>(out: &mut Out<'_, M>, value: u32) {
    out.token(Token::Modifier);
    match SLOTS.get(value as usize) {
        Some(name) => out.text(name),
        None => {
            out.text("invalid_param_");
            out.dec(u64::from(value));
        }
    }
}

/// The attribute to interpolate.
pub(in crate::print) fn interp_attr<M: Marks>(out: &mut Out<'_, M>, value: u32) {
    out.token(Token::Modifier);
    out.text("attr");
    out.dec(u64::from(value));
}

/// The channel of the attribute to interpolate.
pub(in crate::print) fn interp_attr_chan<M: Marks>(out: &mut Out<'_, M>, value: u32) {
    out.token(Token::Modifier);
    out.text(match value & 3 {
        0 => ".x",
        1 => ".y",
        2 => ".z",
        _ => ".w",
    });
}
