//! What an instruction waits for.

use crate::asm::cursor::Cursor;
use crate::asm::error::{Expected, Parse};
use crate::model::named::wait::{DELAY_PARTS, DEPENDENCIES};
use crate::model::{Arch, WaitField, ones};

/// `vmcnt(0) & lgkmcnt(1)` with any separator, or a number.
pub(in crate::asm) fn wait_cnt(cursor: &mut Cursor<'_>, arch: Arch) -> Parse<u32> {
    if cursor.is_number() {
        return cursor.half_word("counts");
    }
    let fields = WaitField::all(arch);
    let mut value = fields.iter().fold(0, |value, field| value | field.write(field.max()));
    loop {
        let word = cursor.word();
        let saturates = word.strip_suffix("_sat");
        let name = saturates.unwrap_or(word);
        let Some(field) = fields.iter().find(|field| field.counter.name() == name) else {
            return cursor.wanted("a counter of this processor");
        };
        cursor.take_word();
        cursor.expect("(")?;
        let most = i64::from(field.max());
        let start = *cursor;
        let count =
            cursor.integer_between("a count", 0, if saturates.is_some() { i64::MAX } else { most });
        let count =
            count.map_err(|_| start.miss(Expected::Between("a count", 0, most)))?.min(most) as u32;
        cursor.expect(")")?;
        value = value & !field.write(field.max()) | field.write(count);
        if !goes_on(cursor) {
            return Ok(value);
        }
    }
}

/// Passes a separator; whether something follows.
fn goes_on(cursor: &mut Cursor<'_>) -> bool {
    let separated = cursor.eat(b'&') || cursor.eat(b',');
    separated || !cursor.word().is_empty()
}

/// `depctr_va_vdst(0) depctr_sa_sdst(0)`, or a number.
pub(in crate::asm) fn dep_ctr(cursor: &mut Cursor<'_>, arch: Arch) -> Parse<u32> {
    if cursor.is_number() {
        return cursor.half_word("dependencies");
    }
    let fields = || DEPENDENCIES.iter().filter(|(_, _, _, when)| when.holds(arch));
    let mut value = fields().fold(0, |known, (_, shift, width, _)| known | ones(*width) << shift);
    loop {
        let word = cursor.word();
        let Some((_, shift, width, _)) = fields().find(|(name, ..)| *name == word) else {
            return cursor.wanted("a dependency of this processor");
        };
        cursor.take_word();
        cursor.expect("(")?;
        let count = cursor.integer_between("a count", 0, i64::from(ones(*width)))? as u32;
        cursor.expect(")")?;
        value = value & !(ones(*width) << shift) | count << shift;
        if !goes_on(cursor) {
            return Ok(value);
        }
    }
}

/// `instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)`, or a number.
pub(in crate::asm) fn delay_alu(cursor: &mut Cursor<'_>) -> Parse<u32> {
    if cursor.is_number() {
        return cursor.half_word("a delay");
    }
    let mut value = 0;
    loop {
        let word = cursor.word();
        let Some((_, shift, _, names)) = DELAY_PARTS.iter().find(|(name, ..)| *name == word) else {
            return cursor.wanted("instid0, instskip or instid1");
        };
        cursor.take_word();
        cursor.expect("(")?;
        let part = cursor.word();
        let Some(position) = names.iter().position(|name| *name == part) else {
            return cursor.wanted("a delay");
        };
        cursor.take_word();
        cursor.expect(")")?;
        value |= (position as u32) << shift;
        if !cursor.eat(b'|') {
            return Ok(value);
        }
    }
}
