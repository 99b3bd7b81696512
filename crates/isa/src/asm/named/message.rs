//! Messages and hardware registers.

use crate::asm::cursor::Cursor;
use crate::asm::error::Parse;
use crate::model::named::condition::value_of;
use crate::model::named::hwreg::REGISTERS;
use crate::model::named::message::{GS_OPERATIONS, MESSAGES, SYSTEM, SYSTEM_OPERATIONS};
use crate::model::{Arch, HwRegField};

/// `hwreg(HW_REG_MODE, 0, 4)`, or a number.
pub(in crate::asm) fn hwreg(cursor: &mut Cursor<'_>, arch: Arch) -> Parse<u32> {
    if !cursor.eat_call("hwreg") {
        return cursor.half_word("a hardware register");
    }
    let register = match cursor
        .word()
        .strip_prefix("HW_REG_")
        .and_then(|name| value_of(REGISTERS, name, arch))
    {
        Some(register) => {
            cursor.take_word();
            register
        }
        None if cursor.is_number() => cursor.number_between("a hardware register", 0, 63)?,
        None => return cursor.wanted("a hardware register of this processor"),
    };
    let mut field = HwRegField { register: register as u8, first: 0, width: 32 };
    if cursor.eat(b',') {
        field.first = cursor.number_between("a bit offset", 0, 31)? as u8;
        cursor.expect(",")?;
        field.width = cursor.number_between("a bit width", 1, 32)? as u8;
    }
    cursor.expect(")")?;
    Ok(field.to_operand().into())
}

/// `sendmsg(MSG_GS, GS_OP_CUT, 1)`, or a number.
pub(in crate::asm) fn send_msg(cursor: &mut Cursor<'_>, arch: Arch) -> Parse<u32> {
    if !cursor.eat_call("sendmsg") {
        return cursor.number_between("a message", 0, 0xffff);
    }
    let id =
        match cursor.word().strip_prefix("MSG_").and_then(|name| value_of(MESSAGES, name, arch)) {
            Some(id) => {
                cursor.take_word();
                id
            }
            None if cursor.is_number() => cursor.integer_between(
                "a message",
                0,
                if arch.is_gfx11_plus() { 255 } else { 15 },
            )? as u32,
            None => return cursor.wanted("a message of this processor"),
        };
    let operation = if cursor.eat(b',') { operation(cursor, id, arch)? } else { 0 };
    let stream = if cursor.eat(b',') { cursor.number_between("a stream", 0, 3)? } else { 0 };
    cursor.expect(")")?;
    Ok(id | operation << 4 | stream << 8)
}

fn operation(cursor: &mut Cursor<'_>, id: u32, arch: Arch) -> Parse<u32> {
    let operations = if id == SYSTEM { SYSTEM_OPERATIONS } else { GS_OPERATIONS };
    match value_of(operations, cursor.word(), arch) {
        Some(operation) => {
            cursor.take_word();
            Ok(operation)
        }
        None if cursor.is_number() => cursor.number_between("an operation", 0, 7),
        None => cursor.wanted("an operation of the message"),
    }
}
