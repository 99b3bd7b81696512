//! Single and double precision: fused multiply-adds in sequence, `c` first.

use super::super::{F32, F64, Format};
use super::Shape;

/// `acc += a * b` in single precision.
#[inline(always)]
pub fn multiply_fused(shape: Shape, a: &[u32], b: &[u32], acc: &mut [u32]) {
    for (row, sums) in a.chunks_exact(shape.k).zip(acc.chunks_exact_mut(shape.n)) {
        for (factor, row) in row.iter().zip(b.chunks_exact(shape.n)) {
            let factor = f32::from_bits(*factor);
            for (sum, other) in sums.iter_mut().zip(row) {
                let result = factor.mul_add(f32::from_bits(*other), f32::from_bits(*sum));
                // Which NaN comes out is not known.
                *sum = if result.is_nan() { F32::INVALID as u32 } else { result.to_bits() };
            }
        }
    }
}

/// `acc += a * b` in double precision.
#[inline(always)]
pub fn multiply_fused_f64(shape: Shape, a: &[u64], b: &[u64], acc: &mut [u64]) {
    for (row, sums) in a.chunks_exact(shape.k).zip(acc.chunks_exact_mut(shape.n)) {
        for (factor, row) in row.iter().zip(b.chunks_exact(shape.n)) {
            let factor = f64::from_bits(*factor);
            for (sum, other) in sums.iter_mut().zip(row) {
                let result = factor.mul_add(f64::from_bits(*other), f64::from_bits(*sum));
                *sum = if result.is_nan() { F64::INVALID } else { result.to_bits() };
            }
        }
    }
}
