//! Operands of graphics shaders: targets of exports and parameters of interpolation.
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

use super::condition::{ALWAYS, BEFORE_GFX11, GFX10_PLUS, GFX11_PLUS, When};
use super::{Marks, Out, Token, modifier};
use crate::arch::Arch;

/// Targets of exports: first and last value, name, whether a number follows, where it is.
pub(crate) static TARGETS: [(u32, u32, &str, bool, When); 8] = [
    (0, 7, "mrt", true, ALWAYS),
    (8, 8, "mrtz", false, ALWAYS),
    (9, 9, "null", false, BEFORE_GFX11),
    (12, 15, "pos", true, ALWAYS),
    (16, 16, "pos4", false, GFX10_PLUS),
    (20, 20, "prim", false, GFX10_PLUS),
    (21, 22, "dual_src_blend", true, GFX11_PLUS),
    (32, 63, "param", true, BEFORE_GFX11),
];

/// Where an export goes.
pub(crate) fn export_target<M: Marks>(out: &mut Out<'_, M>, arch: Arch, value: u32) {
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

pub(crate) static SLOTS: [&str; 3] = ["p10", "p20", "p0"];

/// Which parameter of an attribute `v_interp_mov_f32` reads.
pub(crate) fn interp_slot<M: Marks>(out: &mut Out<'_, M>, value: u32) {
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
pub(crate) fn interp_attr<M: Marks>(out: &mut Out<'_, M>, value: u32) {
    out.token(Token::Modifier);
    out.text("attr");
    out.dec(u64::from(value));
}

/// The channel of the attribute to interpolate.
pub(crate) fn interp_attr_chan<M: Marks>(out: &mut Out<'_, M>, value: u32) {
    out.token(Token::Modifier);
    out.text(match value & 3 {
        0 => ".x",
        1 => ".y",
        2 => ".z",
        _ => ".w",
    });
}
