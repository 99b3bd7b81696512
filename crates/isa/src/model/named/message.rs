//! Messages that a wave sends, as `s_sendmsg` names them.
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

use super::condition::{
    ALWAYS, BEFORE_GFX9, BEFORE_GFX11, GFX8_TO_10, GFX9_10, GFX9_PLUS, GFX9_TO_11, GFX10,
    GFX11_PLUS, GFX12, GFX1250, Row,
};

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
