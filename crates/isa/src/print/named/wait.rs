//! What an instruction waits for: counters, dependencies between units, delays of the ALU.
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

use super::{Marks, Out, Token};
use crate::model::named::wait::{DELAY_PARTS, DEPENDENCIES};
use crate::model::{Arch, WaitField, ones};

/// The counters that are waited for, or all of them where none is.
pub(in crate::print) fn wait_cnt<M: Marks>(out: &mut Out<'_, M>, arch: Arch, value: u32) {
    let fields = WaitField::all(arch);
    let all = fields.iter().all(|field| field.read(value) == field.max());
    out.token(Token::Modifier);
    let mut is_first = true;
    for field in fields {
        let count = field.read(value);
        if all || count != field.max() {
            if !is_first {
                out.byte(b' ');
            }
            out.text(field.counter.name());
            out.byte(b'(');
            out.small(count);
            out.byte(b')');
            is_first = false;
        }
    }
}

/// The dependencies that are waited for, or all of them where none is.
pub(in crate::print) fn dep_ctr<M: Marks>(out: &mut Out<'_, M>, arch: Arch, value: u32) {
    let fields = || DEPENDENCIES.iter().filter(|(_, _, _, when)| when.holds(arch));
    let known = fields().fold(0, |known, (_, shift, width, _)| known | ones(*width) << shift);
    let value = value & 0xffff;
    if value & !known != 0 {
        out.token(Token::Immediate);
        return out.hex(u64::from(value));
    }
    out.token(Token::Modifier);
    let mut separator = "";
    for (name, shift, width, _) in fields() {
        let count = bits(value, *shift, *width);
        if value == known || count != ones(*width) {
            out.text(separator);
            out.text(name);
            out.byte(b'(');
            out.dec(u64::from(count));
            out.byte(b')');
            separator = " ";
        }
    }
}

/// The delays before the next instructions of the ALU.
pub(in crate::print) fn delay_alu<M: Marks>(out: &mut Out<'_, M>, value: u32) {
    if value & 0x7ff == 0 {
        out.token(Token::Immediate);
        return out.byte(b'0');
    }
    out.token(Token::Modifier);
    let mut is_first = true;
    for (name, shift, width, values) in DELAY_PARTS {
        let part = bits(value, shift, width);
        if part != 0 {
            if !is_first {
                out.text(" | ");
            }
            out.text(name);
            out.byte(b'(');
            match values.get(part as usize) {
                Some(value) => out.text(value),
                None => {
                    out.text("/* invalid ");
                    out.text(name.trim_end_matches(['0', '1']));
                    out.text(" value */");
                }
            }
            out.byte(b')');
            is_first = false;
        }
    }
}

const fn bits(value: u32, shift: u32, width: u32) -> u32 {
    value >> shift & ones(width)
}
