//! Operands whose values have names: counters, messages, hardware registers, formats, modifiers.
//! Each function prints one operand, with the space that LLVM's printer puts before it, if any.

pub(crate) mod cache;
pub(crate) mod condition;
pub(crate) mod format;
pub(crate) mod hwreg;
pub(crate) mod lanes;
pub(crate) mod matrix;
pub(crate) mod message;
pub(crate) mod shader;
#[cfg(test)]
mod tests;
pub(crate) mod wait;

pub(crate) use cache::{TemporalKind, cache_policy};
pub(crate) use format::{buffer_format, image_dim};
pub(crate) use hwreg::hwreg;
pub(crate) use lanes::{dpp_ctrl, dpp8, gpr_idx_mode, sdwa_dst_unused, sdwa_sel, swizzle};
pub(crate) use matrix::{matrix_format, matrix_scale, matrix_scale_format};
pub(crate) use message::send_msg;
pub(crate) use shader::{export_target, interp_attr, interp_attr_chan, interp_slot};
pub(crate) use wait::{delay_alu, dep_ctr, wait_cnt};

use super::padded::Padded;
use super::{Marks, Out, Token};

/// The operand of `s_endpgm`; zero is left out.
pub(crate) fn endpgm<M: Marks>(out: &mut Out<'_, M>, value: u32) {
    if value & 0xffff != 0 {
        space(out, Token::Immediate);
        out.dec(u64::from(value & 0xffff));
    }
}

/// The truth table of `v_bitop3`.
pub(crate) fn bit_op3<M: Marks>(out: &mut Out<'_, M>, value: u32) {
    let table = u64::from(value & 0xff);
    if table == 0 {
        return;
    }
    modifier(out, "bitop3:");
    if table <= 10 {
        out.dec(table);
    } else {
        out.hex(table);
    }
}

/// What a result is multiplied by.
pub(crate) fn output_modifier<M: Marks>(out: &mut Out<'_, M>, value: u32) {
    match value {
        1 => modifier(out, "mul:2"),
        2 => modifier(out, "mul:4"),
        3 => modifier(out, "div:2"),
        _ => {}
    }
}

/// The microcode versions that `s_version` names.
///
/// Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).
pub(crate) static VERSIONS: [(u32, &str); 4] = [
    (0, "UC_VERSION_GFX7"),
    (4, "UC_VERSION_GFX10"),
    (6, "UC_VERSION_GFX11"),
    (9, "UC_VERSION_GFX12"),
];

/// The flags above a microcode version.
///
/// Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).
pub(crate) static VERSION_FLAGS: [(u32, &str); 3] = [
    (0x2000, "|UC_VERSION_W64_BIT"),
    (0x4000, "|UC_VERSION_W32_BIT"),
    (0x8000, "|UC_VERSION_MDP_BIT"),
];

/// The operand of `s_version`: a chain of ors, nested to the left.
pub(crate) fn version<M: Marks>(out: &mut Out<'_, M>, value: u32) {
    if value & 0x1f00 != 0 {
        out.token(Token::Immediate);
        return out.hex(u64::from(value));
    }
    out.token(Token::Modifier);
    let flags = (value >> 13).count_ones();
    for _ in 1..flags {
        out.byte(b'(');
    }
    match VERSIONS.iter().find(|(code, _)| *code == value & 0xff) {
        Some((_, name)) => out.text(name),
        None => out.dec(u64::from(value & 0xff)),
    }
    let set = VERSION_FLAGS.iter().filter(|(bit, _)| value & bit != 0);
    for (at, (_, name)) in set.enumerate() {
        if at > 0 {
            out.byte(b')');
        }
        out.text(name);
    }
}

/// A space, then the start of a token.
fn space<M: Marks>(out: &mut Out<'_, M>, token: Token) {
    out.token(Token::Punctuation);
    out.byte(b' ');
    out.token(token);
}

/// A space, then a modifier or its beginning.
fn modifier<M: Marks>(out: &mut Out<'_, M>, text: &str) {
    space(out, Token::Modifier);
    out.text(text);
}
