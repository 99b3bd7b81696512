//! What an instruction waits for: dependencies between units, delays of the ALU.
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

use super::condition::{ALWAYS, GFX10_3_PLUS, When};

/// Fields of `s_waitcnt_depctr`: name, first bit, width, where it is. All ones do not wait.
pub(crate) static DEPENDENCIES: [(&str, u32, u32, When); 7] = [
    ("depctr_hold_cnt", 7, 1, GFX10_3_PLUS),
    ("depctr_sa_sdst", 0, 1, ALWAYS),
    ("depctr_va_vdst", 12, 4, ALWAYS),
    ("depctr_va_sdst", 9, 3, ALWAYS),
    ("depctr_va_ssrc", 8, 1, ALWAYS),
    ("depctr_va_vcc", 1, 1, ALWAYS),
    ("depctr_vm_vsrc", 2, 3, ALWAYS),
];

static DELAYS: [&str; 12] = [
    "NO_DEP",
    "VALU_DEP_1",
    "VALU_DEP_2",
    "VALU_DEP_3",
    "VALU_DEP_4",
    "TRANS32_DEP_1",
    "TRANS32_DEP_2",
    "TRANS32_DEP_3",
    "FMA_ACCUM_CYCLE_1",
    "SALU_CYCLE_1",
    "SALU_CYCLE_2",
    "SALU_CYCLE_3",
];
static SKIPS: [&str; 6] = ["SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"];

/// Parts of `s_delay_alu`: name, first bit, width, names of values.
pub(crate) static DELAY_PARTS: [(&str, u32, u32, &[&str]); 3] =
    [("instid0", 0, 4, &DELAYS), ("instskip", 4, 3, &SKIPS), ("instid1", 7, 4, &DELAYS)];
