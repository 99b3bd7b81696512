//! Formats and scales of the matrices that a WMMA instruction multiplies.
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

pub(crate) static FORMATS: [&str; 5] =
    ["MATRIX_FMT_FP8", "MATRIX_FMT_BF8", "MATRIX_FMT_FP6", "MATRIX_FMT_BF6", "MATRIX_FMT_FP4"];
pub(crate) static SCALES: [&str; 2] = ["MATRIX_SCALE_ROW0", "MATRIX_SCALE_ROW1"];
pub(crate) static SCALE_FORMATS: [&str; 3] =
    ["MATRIX_SCALE_FMT_E8", "MATRIX_SCALE_FMT_E5M3", "MATRIX_SCALE_FMT_E4M3"];
