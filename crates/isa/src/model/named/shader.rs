//! Operands of graphics shaders: targets of exports and parameters of interpolation.
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

use super::condition::{ALWAYS, BEFORE_GFX11, GFX10_PLUS, GFX11_PLUS, When};

/// Targets of exports: first and last value, name, whether a number follows, where it is.
pub(crate) static TARGETS: [(u32, u32, &str, bool, When); 8] = [
    (0, 7, "mrt", true, ALWAYS),
    (8, 8, "mrtz", false, ALWAYS),
    (9, 9, "null", false, BEFORE_GFX11),
    (12, 15, "pos", true, ALWAYS),
    (16, 16, "pos4", false, GFX10_PLUS),
    (20, 20, "prim", false, GFX10_PLUS),
    (21, 22, "dual_src_blend", true, GFX11_PLUS),
    (32, 63, "param", true, BEFORE_GFX11),
];

pub(crate) static SLOTS: [&str; 3] = ["p10", "p20", "p0"];
