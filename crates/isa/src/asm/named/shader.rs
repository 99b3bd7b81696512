//! Targets of exports and parameters of interpolation.

use crate::asm::cursor::Cursor;
use crate::asm::error::{Expected, Parse};
use crate::model::Arch;
use crate::model::named::shader::{SLOTS, TARGETS};

pub(in crate::asm) fn export_target(cursor: &mut Cursor<'_>, arch: Arch) -> Parse<u32> {
    let word = cursor.word();
    let found = TARGETS.iter().filter(|target| target.4.holds(arch)).find_map(
        |(first, last, name, numbered, _)| {
            let rest = word.strip_prefix(name)?;
            let number = if *numbered { decimal(rest)? } else { u32::from(!rest.is_empty()) * 64 };
            Some(first + number).filter(|target| target <= last)
        },
    );
    let invalid = || decimal(word.strip_prefix("invalid_target_")?);
    match found.or_else(invalid) {
        Some(target) => {
            cursor.take_word();
            Ok(target)
        }
        None => cursor.wanted("a target of exports"),
    }
}

/// A number without leading zeros or sign.
fn decimal(text: &str) -> Option<u32> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit())
        && (text.len() == 1 || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain)
}

pub(in crate::asm) fn interp_slot(cursor: &mut Cursor<'_>) -> Parse<u32> {
    let word = cursor.word();
    let position = SLOTS.iter().position(|name| *name == word).map(|at| at as u32);
    match position.or_else(|| decimal(word.strip_prefix("invalid_param_")?)) {
        Some(slot) => {
            cursor.take_word();
            Ok(slot)
        }
        None => cursor.wanted("p0, p10 or p20"),
    }
}

pub(in crate::asm) fn interp_attr(cursor: &mut Cursor<'_>) -> Parse<u32> {
    match cursor.word().strip_prefix("attr").and_then(decimal) {
        Some(33..) => Err(cursor.miss(Expected::UpTo("attr", 32))),
        Some(attribute) => {
            cursor.advance(cursor.word().len());
            Ok(attribute)
        }
        None => cursor.wanted("an attribute"),
    }
}

pub(in crate::asm) fn interp_attr_chan(cursor: &mut Cursor<'_>) -> Parse<u32> {
    let channel = match (cursor.peek(), cursor.byte(1)) {
        (b'.', b'x') => 0,
        (b'.', b'y') => 1,
        (b'.', b'z') => 2,
        (b'.', b'w') => 3,
        _ => return cursor.wanted("a channel: .x, .y, .z or .w"),
    };
    cursor.advance(2);
    Ok(channel)
}
