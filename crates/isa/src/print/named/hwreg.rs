//! Hardware registers, as `s_getreg` and `s_setreg` name them.
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

use super::condition::{
    ALWAYS, BEFORE_GFX10, BEFORE_GFX12, GFX9_10, GFX9_TO_11, GFX10, GFX10_3_TO_11, GFX10_11,
    GFX10_BEFORE_3, GFX10_PLUS, GFX11, GFX12, GFX940, GFX1250, Row, name_of,
};
use super::{Marks, Out, Token};
use crate::arch::Arch;

/// Registers by number, without `HW_REG_`. Of several names that hold, the first is printed.
pub(crate) static REGISTERS: &[Row] = &[
    (1, "WAVE_MODE", GFX12),
    (1, "MODE", ALWAYS),
    (2, "WAVE_STATUS", GFX12),
    (2, "STATUS", ALWAYS),
    (3, "TRAPSTS", BEFORE_GFX12),
    (4, "HW_ID", BEFORE_GFX10),
    (4, "WAVE_STATE_PRIV", GFX12),
    (5, "WAVE_GPR_ALLOC", GFX12),
    (5, "GPR_ALLOC", ALWAYS),
    (6, "WAVE_LDS_ALLOC", GFX12),
    (6, "LDS_ALLOC", ALWAYS),
    (7, "IB_STS", ALWAYS),
    (10, "PERF_SNAPSHOT_DATA", GFX12),
    (11, "PERF_SNAPSHOT_PC_LO", GFX12),
    (12, "PERF_SNAPSHOT_PC_HI", GFX12),
    (15, "SH_MEM_BASES", GFX9_TO_11),
    (15, "PERF_SNAPSHOT_DATA1", GFX12),
    (16, "TBA_LO", GFX9_10),
    (16, "PERF_SNAPSHOT_DATA2", GFX12),
    (17, "TBA_HI", GFX9_10),
    (17, "WAVE_EXCP_FLAG_PRIV", GFX12),
    (18, "TMA_LO", GFX9_10),
    (18, "PERF_SNAPSHOT_PC_LO", GFX11),
    (18, "WAVE_EXCP_FLAG_USER", GFX12),
    (19, "TMA_HI", GFX9_10),
    (19, "PERF_SNAPSHOT_PC_HI", GFX11),
    (19, "WAVE_TRAP_CTRL", GFX12),
    (20, "FLAT_SCR_LO", GFX10_11),
    (20, "WAVE_SCRATCH_BASE_LO", GFX12),
    (20, "XCC_ID", GFX940),
    (21, "FLAT_SCR_HI", GFX10_11),
    (21, "WAVE_SCRATCH_BASE_HI", GFX12),
    (21, "SQ_PERF_SNAPSHOT_DATA", GFX940),
    (22, "XNACK_MASK", GFX10_BEFORE_3),
    (22, "SQ_PERF_SNAPSHOT_DATA1", GFX940),
    (23, "WAVE_HW_ID1", GFX12),
    (23, "HW_ID1", GFX10_PLUS),
    (23, "SQ_PERF_SNAPSHOT_PC_LO", GFX940),
    (24, "WAVE_HW_ID2", GFX12),
    (24, "HW_ID2", GFX10_PLUS),
    (24, "SQ_PERF_SNAPSHOT_PC_HI", GFX940),
    (25, "POPS_PACKER", GFX10),
    (26, "WAVE_SCHED_MODE", GFX12),
    (27, "PERF_SNAPSHOT_DATA", GFX11),
    (28, "IB_STS2", GFX1250),
    (29, "SHADER_CYCLES", GFX10_3_TO_11),
    (29, "SHADER_CYCLES_LO", GFX12),
    (30, "SHADER_CYCLES_HI", GFX12),
    (31, "WAVE_DVGPR_ALLOC_LO", GFX12),
    (32, "WAVE_DVGPR_ALLOC_HI", GFX12),
    (33, "XNACK_STATE_PRIV", GFX1250),
    (34, "XNACK_MASK", GFX1250),
];

/// A hardware register, and the bits of it unless they are all 32.
pub(crate) fn hwreg<M: Marks>(out: &mut Out<'_, M>, arch: Arch, value: u32) {
    let register = value & 63;
    let offset = value >> 6 & 31;
    let width = (value >> 11 & 31) + 1;
    out.token(Token::Modifier);
    out.text("hwreg(");
    match name_of(REGISTERS, register, arch) {
        Some(name) => {
            out.text("HW_REG_");
            out.text(name);
        }
        None => out.dec(u64::from(register)),
    }
    if (offset, width) != (0, 32) {
        out.text(", ");
        out.dec(u64::from(offset));
        out.text(", ");
        out.dec(u64::from(width));
    }
    out.byte(b')');
}
