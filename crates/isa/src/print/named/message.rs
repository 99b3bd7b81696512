//! Messages that a wave sends, as `s_sendmsg` names them.
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

use super::condition::{
    ALWAYS, BEFORE_GFX9, BEFORE_GFX11, GFX8_TO_10, GFX9_10, GFX9_PLUS, GFX9_TO_11, GFX10,
    GFX11_PLUS, GFX12, GFX1250, Row, name_of,
};
use super::{Marks, Out, Token};
use crate::arch::Arch;

/// Before gfx11: geometry shader messages, which carry an operation and a stream.
pub(crate) const GS: u32 = 2;
pub(crate) const GS_DONE: u32 = 3;
pub(crate) const GS_NOP: u32 = 0;
/// Carries an operation.
pub(crate) const SYSTEM: u32 = 15;

/// Messages by number, without `MSG_`.
pub(crate) static MESSAGES: &[Row] = &[
    (1, "INTERRUPT", ALWAYS),
    (GS, "GS", BEFORE_GFX11),
    (2, "HS_TESSFACTOR", GFX11_PLUS),
    (GS_DONE, "GS_DONE", BEFORE_GFX11),
    (3, "DEALLOC_VGPRS", GFX11_PLUS),
    (4, "SAVEWAVE", GFX8_TO_10),
    (5, "STALL_WAVE_GEN", GFX9_TO_11),
    (6, "HALT_WAVES", GFX9_TO_11),
    (7, "ORDERED_PS_DONE", GFX9_10),
    (8, "EARLY_PRIM_DEALLOC", GFX9_10),
    (9, "GS_ALLOC_REQ", GFX9_PLUS),
    (10, "GET_DOORBELL", GFX9_10),
    (10, "SAVEWAVE_HAS_TDM", GFX1250),
    (11, "GET_DDID", GFX10),
    (SYSTEM, "SYSMSG", ALWAYS),
    (128, "RTN_GET_DOORBELL", GFX11_PLUS),
    (129, "RTN_GET_DDID", GFX11_PLUS),
    (130, "RTN_GET_TMA", GFX11_PLUS),
    (131, "RTN_GET_REALTIME", GFX11_PLUS),
    (132, "RTN_SAVE_WAVE", GFX11_PLUS),
    (133, "RTN_GET_TBA", GFX11_PLUS),
    (134, "RTN_GET_TBA_TO_PC", GFX11_PLUS),
    (135, "RTN_GET_SE_AID_ID", GFX12),
    (136, "RTN_GET_CLUSTER_BARRIER_STATE", GFX1250),
];

/// Operations of system messages.
pub(crate) static SYSTEM_OPERATIONS: &[Row] = &[
    (1, "SYSMSG_OP_ECC_ERR_INTERRUPT", ALWAYS),
    (2, "SYSMSG_OP_REG_RD", ALWAYS),
    (3, "SYSMSG_OP_HOST_TRAP_ACK", BEFORE_GFX9),
    (4, "SYSMSG_OP_TTRACE_PC", ALWAYS),
];

/// Operations of geometry shader messages.
pub(crate) static GS_OPERATIONS: &[Row] = &[
    (GS_NOP, "GS_OP_NOP", ALWAYS),
    (1, "GS_OP_CUT", ALWAYS),
    (2, "GS_OP_EMIT", ALWAYS),
    (3, "GS_OP_EMIT_CUT", ALWAYS),
];

/// A message and what it carries, by name where all of it has one.
pub(crate) fn send_msg<M: Marks>(out: &mut Out<'_, M>, arch: Arch, value: u32) {
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
