//! Formats and scales of the matrices that a WMMA instruction multiplies.
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

use super::{Marks, Out, modifier};

pub(crate) static FORMATS: [&str; 5] =
    ["MATRIX_FMT_FP8", "MATRIX_FMT_BF8", "MATRIX_FMT_FP6", "MATRIX_FMT_BF6", "MATRIX_FMT_FP4"];
pub(crate) static SCALES: [&str; 2] = ["MATRIX_SCALE_ROW0", "MATRIX_SCALE_ROW1"];
pub(crate) static SCALE_FORMATS: [&str; 3] =
    ["MATRIX_SCALE_FMT_E8", "MATRIX_SCALE_FMT_E5M3", "MATRIX_SCALE_FMT_E4M3"];

/// The format of the elements of matrix `a` or `b`.
pub(crate) fn matrix_format<M: Marks>(out: &mut Out<'_, M>, matrix: u8, value: u32) {
    setting(out, matrix, "_fmt:", &FORMATS, value & 7);
}

/// Which rows hold the scales of matrix `a` or `b`.
pub(crate) fn matrix_scale<M: Marks>(out: &mut Out<'_, M>, matrix: u8, value: u32) {
    setting(out, matrix, "_scale:", &SCALES, value & 1);
}

/// The format of the scales of matrix `a` or `b`.
pub(crate) fn matrix_scale_format<M: Marks>(out: &mut Out<'_, M>, matrix: u8, value: u32) {
    setting(out, matrix, "_scale_fmt:", &SCALE_FORMATS, value & 3);
}

fn setting<M: Marks>(out: &mut Out<'_, M>, matrix: u8, name: &str, values: &[&str], value: u32) {
    if value == 0 {
        return;
    }
    modifier(out, "matrix_");
    out.byte(matrix);
    out.text(name);
    match values.get(value as usize) {
        Some(name) => out.text(name),
        None => out.dec(u64::from(value)),
    }
}
