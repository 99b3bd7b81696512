//! Formats and scales of the matrices that a WMMA instruction multiplies.
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

use super::{Marks, Out, modifier};
use crate::model::named::matrix::{FORMATS, SCALE_FORMATS, SCALES};

/// The format of the elements of matrix `a` or `b`.
pub(in crate::print) fn matrix_format<M: Marks>(out: &mut Out<'_, M>, matrix: u8, value: u32) {
    setting(out, matrix, "_fmt:", &FORMATS, value & 7);
}

/// Which rows hold the scales of matrix `a` or `b`.
pub(in crate::print) fn matrix_scale<M: Marks>(out: &mut Out<'_, M>, matrix: u8, value: u32) {
    setting(out, matrix, "_scale:", &SCALES, value & 1);
}

/// The format of the scales of matrix `a` or `b`.
pub(in crate::print) fn matrix_scale_format<M: Marks>(
    out: &mut Out<'_, M>,
    matrix: u8,
    value: u32,
) {
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
