//! Operands whose values have names: the inverse of `print/named`. Each function reads one operand or,
//! of a modifier, says that it is another.

mod cache;
mod lanes;
mod message;
mod shader;
mod wait;

pub(super) use cache::{buffer_format, cache_policy, image_dim, settled_policy};
pub(super) use lanes::{dpp_ctrl, dpp8, gpr_idx_mode, sdwa_dst_unused, sdwa_sel, swizzle};
pub(super) use message::{hwreg, send_msg};
pub(super) use shader::{export_target, interp_attr, interp_attr_chan, interp_slot};
pub(super) use wait::{delay_alu, dep_ctr, wait_cnt};

use super::cursor::Cursor;
use super::error::Parse;
use crate::model::named::matrix::{FORMATS, SCALE_FORMATS, SCALES};
use crate::model::named::version::{VERSION_FLAGS, VERSIONS};

/// `label`, or `nolabel` for its opposite.
pub(super) fn bit(cursor: &mut Cursor<'_>, label: &str) -> Parse<Option<u32>> {
    if cursor.eat_word(label) {
        return Ok(Some(1));
    }
    let is_opposite = cursor.peek() == b'n' && cursor.word().strip_prefix("no") == Some(label);
    if is_opposite {
        cursor.take_word();
    }
    Ok(is_opposite.then_some(0))
}

/// `label:1` or `label:0`
pub(super) fn flag(cursor: &mut Cursor<'_>, label: &str) -> Parse<Option<u32>> {
    if !cursor.eat_label(label) {
        return Ok(None);
    }
    cursor.number_between("a bit", 0, 1).map(Some)
}

/// `label:3`
pub(super) fn labelled(cursor: &mut Cursor<'_>, label: &str) -> Parse<Option<u32>> {
    if !cursor.eat_label(label) {
        return Ok(None);
    }
    cursor.number_between("a number", 0, 0xffff).map(Some)
}

/// `[0,1,1]`, the first in the lowest bit.
pub(super) fn bit_list(cursor: &mut Cursor<'_>) -> Parse<u8> {
    cursor.expect("[")?;
    let mut bits = 0;
    for at in 0..4 {
        bits |= (cursor.integer_between("a bit", 0, 1)? as u8) << at;
        if !cursor.eat(b',') {
            break;
        }
    }
    cursor.expect("]")?;
    Ok(bits)
}

/// `neg:[0,1,0]`
pub(super) fn neg_list(cursor: &mut Cursor<'_>) -> Parse<Option<u32>> {
    if cursor.eat_label("neg") { bit_list(cursor).map(|bits| Some(bits.into())) } else { Ok(None) }
}

/// What a result is multiplied by.
pub(super) fn output_modifier(cursor: &mut Cursor<'_>) -> Parse<Option<u32>> {
    let start = *cursor;
    if cursor.eat_label("mul") {
        return match cursor.integer()? {
            1 => Ok(Some(0)),
            2 => Ok(Some(1)),
            4 => Ok(Some(2)),
            _ => start.wanted("mul:1, mul:2 or mul:4"),
        };
    }
    if cursor.eat_label("div") {
        return match cursor.integer()? {
            1 => Ok(Some(0)),
            2 => Ok(Some(3)),
            _ => start.wanted("div:1 or div:2"),
        };
    }
    Ok(None)
}

pub(super) fn matrix_format(cursor: &mut Cursor<'_>, label: &str) -> Parse<Option<u32>> {
    choice(cursor, label, &FORMATS, "a matrix format")
}

pub(super) fn matrix_scale(cursor: &mut Cursor<'_>, label: &str) -> Parse<Option<u32>> {
    choice(cursor, label, &SCALES, "a row of scales")
}

pub(super) fn matrix_scale_format(cursor: &mut Cursor<'_>, label: &str) -> Parse<Option<u32>> {
    choice(cursor, label, &SCALE_FORMATS, "a format of scales")
}

/// `label:NAME`, or a number.
fn choice(
    cursor: &mut Cursor<'_>,
    label: &str,
    names: &[&str],
    what: &'static str,
) -> Parse<Option<u32>> {
    if !cursor.eat_label(label) {
        return Ok(None);
    }
    if cursor.is_number() {
        return Ok(Some(cursor.integer_between(what, 0, names.len() as i64 - 1)? as u32));
    }
    let position = names.iter().position(|name| *name == cursor.word());
    match position {
        Some(position) => {
            cursor.take_word();
            Ok(Some(position as u32))
        }
        None => cursor.wanted(what),
    }
}

/// The operand of `s_version`: names and numbers with bars between them.
pub(super) fn version(cursor: &mut Cursor<'_>) -> Parse<u32> {
    let mut value = version_term(cursor)?;
    while cursor.eat(b'|') {
        value |= version_term(cursor)?;
    }
    Ok(value)
}

fn version_term(cursor: &mut Cursor<'_>) -> Parse<u32> {
    if cursor.eat(b'(') {
        let value = cursor.nested(version)?;
        cursor.expect(")")?;
        return Ok(value);
    }
    if cursor.peek().is_ascii_digit() {
        let start = *cursor;
        return match cursor.primary()? {
            super::number::Number::Integer(value @ 0..=0xffff) => Ok(value as u32),
            _ => start.wanted("a number of 16 bits"),
        };
    }
    let word = cursor.word();
    let is_flag = |name: &str| name.strip_prefix('|') == Some(word);
    let version = VERSIONS.iter().find(|(_, name)| *name == word).map(|(code, _)| *code);
    let found = version
        .or_else(|| VERSION_FLAGS.iter().find(|(_, name)| is_flag(name)).map(|(bit, _)| *bit));
    match found {
        Some(value) => {
            cursor.take_word();
            Ok(value)
        }
        None => cursor.wanted("a microcode version"),
    }
}
