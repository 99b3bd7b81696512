//! Messages that a wave sends, as `s_sendmsg` names them.
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

use super::{Marks, Out, Token};
use crate::model::Arch;
use crate::model::named::condition::name_of;
use crate::model::named::message::{
    GS, GS_DONE, GS_NOP, GS_OPERATIONS, MESSAGES, SYSTEM, SYSTEM_OPERATIONS,
};

/// A message and what it carries, by name where all of it has one.
pub(in crate::print) fn send_msg<M: Marks>(out: &mut Out<'_, M>, arch: Arch, value: u32) {
    let message = Message::read(arch, value);
    if let Some(name) = name_of(MESSAGES, message.id, arch)
        && let Some(operation) = message.operation_name(arch)
        && (message.stream == 0 || message.has_stream(arch))
    {
        out.token(Token::Modifier);
        out.text("sendmsg(MSG_");
        out.text(name);
        if !operation.is_empty() {
            out.text(", ");
            out.text(operation);
        }
        if message.has_stream(arch) {
            out.text(", ");
            out.dec(u64::from(message.stream));
        }
        out.byte(b')');
    } else if message.value() == value {
        message.numbers(out);
    } else {
        out.token(Token::Immediate);
        out.dec(u64::from(value));
    }
}

struct Message {
    id: u32,
    operation: u32,
    stream: u32,
}

impl Message {
    fn read(arch: Arch, value: u32) -> Self {
        if arch.is_gfx11_plus() {
            Self { id: value & 0xff, operation: 0, stream: 0 }
        } else {
            Self { id: value & 15, operation: value >> 4 & 7, stream: value >> 8 & 3 }
        }
    }

    fn value(&self) -> u32 {
        self.id | self.operation << 4 | self.stream << 8
    }

    fn is_gs(&self, arch: Arch) -> bool {
        !arch.is_gfx11_plus() && matches!(self.id, GS | GS_DONE)
    }

    fn has_stream(&self, arch: Arch) -> bool {
        self.is_gs(arch) && self.operation != GS_NOP
    }

    /// The name of the operation, empty where the message carries none; nothing if it is not valid.
    fn operation_name(&self, arch: Arch) -> Option<&'static str> {
        if self.id == SYSTEM {
            name_of(SYSTEM_OPERATIONS, self.operation, arch)
        } else if self.is_gs(arch) {
            let is_valid = (self.id, self.operation) != (GS, GS_NOP);
            name_of(GS_OPERATIONS, self.operation, arch).filter(|_| is_valid)
        } else {
            (self.operation == 0).then_some("")
        }
    }

    fn numbers<M: Marks>(&self, out: &mut Out<'_, M>) {
        out.token(Token::Modifier);
        out.text("sendmsg(");
        out.dec(u64::from(self.id));
        out.text(", ");
        out.dec(u64::from(self.operation));
        out.text(", ");
        out.dec(u64::from(self.stream));
        out.byte(b')');
    }
}
