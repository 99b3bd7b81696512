//! Operands whose values have names: counters, messages, hardware registers, formats, modifiers.
//! Each function prints one operand, with the space that LLVM's printer puts before it, if any.

mod cache;
mod format;
mod hwreg;
mod lanes;
mod matrix;
mod message;
mod shader;
#[cfg(test)]
mod tests;
mod wait;

pub(super) use cache::cache_policy;
pub(super) use format::{buffer_format, image_dim};
pub(super) use hwreg::hwreg;
pub(super) use lanes::{dpp_ctrl, dpp8, gpr_idx_mode, sdwa_dst_unused, sdwa_sel, swizzle};
pub(super) use matrix::{matrix_format, matrix_scale, matrix_scale_format};
pub(super) use message::send_msg;
pub(super) use shader::{export_target, interp_attr, interp_attr_chan, interp_slot};
pub(super) use wait::{delay_alu, dep_ctr, wait_cnt};

use super::{Marks, Out, Token};
use crate::model::named::version::{VERSION_FLAGS, VERSIONS};

/// The operand of `s_endpgm`; zero is left out.
pub(super) fn endpgm<M: Marks>(out: &mut Out<'_, M>, value: u32) {
    if value & 0xffff != 0 {
        space(out, Token::Immediate);
        out.dec(u64::from(value & 0xffff));
    }
}

/// The truth table of `v_bitop3`.
pub(super) fn bit_op3<M: Marks>(out: &mut Out<'_, M>, value: u32) {
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
pub(super) fn output_modifier<M: Marks>(out: &mut Out<'_, M>, value: u32) {
    match value {
        1 => modifier(out, "mul:2"),
        2 => modifier(out, "mul:4"),
        3 => modifier(out, "div:2"),
        _ => {}
    }
}

/// The operand of `s_version`: a chain of ors, nested to the left.
pub(super) fn version<M: Marks>(out: &mut Out<'_, M>, value: u32) {
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
