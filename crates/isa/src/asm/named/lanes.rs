//! How lanes exchange values, and which part of a register is meant.

use crate::asm::cursor::Cursor;
use crate::asm::error::Parse;
use crate::model::Arch;
use crate::model::named::lanes::{CONTROLS, FFT, INDEXED, ROTATE, SELECTIONS, UNUSED};

/// `dpp8:[7,6,5,4,3,2,1,0]`
pub(in crate::asm) fn dpp8(cursor: &mut Cursor<'_>) -> Parse<Option<u32>> {
    if !cursor.eat_label("dpp8") {
        return Ok(None);
    }
    cursor.expect("[")?;
    let value = lanes(cursor, 8, 3)?;
    cursor.expect("]")?;
    Ok(Some(value))
}

/// Numbers of lanes between commas, the first in the lowest bits.
fn lanes(cursor: &mut Cursor<'_>, count: u32, width: u32) -> Parse<u32> {
    let mut value = 0;
    for lane in 0..count {
        if lane > 0 {
            cursor.expect(",")?;
        }
        value |= cursor.number_between("a lane", 0, (1 << width) - 1)? << (lane * width);
    }
    Ok(value)
}

/// `quad_perm:[…]`, `row_shl:1` and the like.
pub(in crate::asm) fn dpp_ctrl(cursor: &mut Cursor<'_>, arch: Arch) -> Parse<Option<u32>> {
    if cursor.eat_label("quad_perm") {
        cursor.expect("[")?;
        let value = lanes(cursor, 4, 2)?;
        cursor.expect("]")?;
        return Ok(Some(value));
    }
    let word = cursor.word();
    for (first, last, text, when) in &CONTROLS {
        let (name, fixed) = text.split_once(':').unwrap_or((text, ""));
        if name != word || !when.holds(arch) {
            continue;
        }
        if !text.contains(':') {
            cursor.take_word();
            return Ok(Some(*first));
        }
        let mut ahead = *cursor;
        if !ahead.eat_label(name) {
            return Ok(None);
        }
        if fixed.is_empty() {
            let lowest = i64::from(first & 15);
            let lanes =
                ahead.integer_between("a number of lanes", lowest, i64::from(last & 15))? as u32;
            *cursor = ahead;
            return Ok(Some(first - lowest as u32 + lanes));
        }
        if ahead.integer()?.to_string() == fixed {
            *cursor = ahead;
            return Ok(Some(*first));
        }
    }
    Ok(None)
}

pub(in crate::asm) fn sdwa_sel(cursor: &mut Cursor<'_>, label: &str) -> Parse<Option<u32>> {
    super::choice(cursor, label, &SELECTIONS, "a part of a register")
}

pub(in crate::asm) fn sdwa_dst_unused(cursor: &mut Cursor<'_>) -> Parse<Option<u32>> {
    super::choice(cursor, "dst_unused", &UNUSED, "UNUSED_PAD, UNUSED_SEXT or UNUSED_PRESERVE")
}

/// `gpr_idx(SRC0,DST)`, or a number.
pub(in crate::asm) fn gpr_idx_mode(cursor: &mut Cursor<'_>) -> Parse<u32> {
    if !cursor.eat_call("gpr_idx") {
        return cursor.number_between("a mode", 0, 15);
    }
    let mut value = 0;
    while !cursor.eat(b')') {
        if value != 0 {
            cursor.expect(",")?;
        }
        let word = cursor.word();
        match INDEXED.iter().find(|(bit, name)| *name == word && value & bit == 0) {
            Some((bit, _)) => value |= bit,
            None => return cursor.wanted("SRC0, SRC1, SRC2 or DST"),
        }
        cursor.take_word();
    }
    Ok(value)
}

/// The offset of `ds_swizzle_b32`.
pub(in crate::asm) fn swizzle(cursor: &mut Cursor<'_>, arch: Arch) -> Parse<Option<u32>> {
    if !cursor.eat_label("offset") {
        return Ok(None);
    }
    if !cursor.eat_call("swizzle") {
        return Ok(Some(cursor.number_between("an offset", 0, 0xffff)?));
    }
    let start = *cursor;
    let word = cursor.take_word();
    cursor.expect(",")?;
    let value = match word {
        "QUAD_PERM" => 0x8000 | lanes(cursor, 4, 2)?,
        "BITMASK_PERM" => bitmask(cursor)?,
        "BROADCAST" => {
            let group = power_of_two(cursor, 2, 32)?;
            cursor.expect(",")?;
            let lane = cursor.number_between("a lane of the group", 0, group - 1)?;
            masks(32 - group, lane, 0)
        }
        "SWAP" => masks(31, 0, power_of_two(cursor, 1, 16)?),
        "REVERSE" => masks(31, 0, power_of_two(cursor, 2, 32)? - 1),
        "FFT" if arch.is_gfx9_plus() => FFT | cursor.number_between("a pattern", 0, 31)?,
        "ROTATE" if arch.is_gfx9_plus() => {
            let direction = cursor.number_between("a direction", 0, 1)?;
            cursor.expect(",")?;
            ROTATE | direction << 10 | cursor.number_between("a number of lanes", 0, 31)? << 5
        }
        _ => return start.wanted("a pattern of exchange"),
    };
    cursor.expect(")")?;
    Ok(Some(value))
}

fn masks(and: u32, or: u32, xor: u32) -> u32 {
    and | or << 5 | xor << 10
}

fn power_of_two(cursor: &mut Cursor<'_>, first: i64, last: i64) -> Parse<u32> {
    let start = *cursor;
    let value = cursor.integer_between("a power of two", first, last)? as u32;
    if value.is_power_of_two() { Ok(value) } else { start.wanted("a power of two") }
}

/// Five characters in quotes, one for each bit of a lane's number.
fn bitmask(cursor: &mut Cursor<'_>) -> Parse<u32> {
    let text = cursor
        .rest()
        .strip_prefix('"')
        .and_then(|rest| rest.get(..5))
        .filter(|_| cursor.byte(6) == b'"');
    let Some(text) = text else { return cursor.wanted("five of 0, 1, p and i in quotes") };
    let (mut and, mut or, mut xor) = (0, 0, 0);
    for (bit, character) in [16, 8, 4, 2, 1].into_iter().zip(text.bytes()) {
        match character {
            b'0' => {}
            b'1' => or |= bit,
            b'p' => and |= bit,
            b'i' => {
                and |= bit;
                xor |= bit;
            }
            _ => return cursor.wanted("five of 0, 1, p and i in quotes"),
        }
    }
    cursor.advance(7);
    Ok(masks(and, or, xor))
}
