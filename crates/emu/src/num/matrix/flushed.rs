//! CDNA2: products and sums are single precision, each rounded and flushed.
//!
//! After MMA-Sim (arXiv 2511.10909), whose model was confirmed on MI250X.

use super::super::{F32, Format};
use super::Shape;

/// A subnormal number is zero, with its sign.
#[inline(always)]
fn flush(value: f32) -> f32 {
    if value.abs() < f32::MIN_POSITIVE { value * 0.0 } else { value }
}

/// `acc += a * b` with elements of [`super::Element::flushed_single`]; groups of two or four products are added first.
#[inline(always)]
pub fn multiply_flushed(group: usize, shape: Shape, a: &[f32], b: &[f32], acc: &mut [u32]) {
    for sum in acc.iter_mut() {
        if *sum & 0x7f80_0000 == 0 {
            *sum = 0;
        }
    }
    for (row, sums) in a.chunks_exact(shape.k).zip(acc.chunks_exact_mut(shape.n)) {
        for (factors, rows) in row.chunks(group).zip(b.chunks(group * shape.n)) {
            add_group(factors, rows, sums);
        }
    }
}

#[inline(always)]
fn add_group(factors: &[f32], rows: &[f32], sums: &mut [u32]) {
    let n = sums.len();
    let row = |at: usize| rows.get(at * n..).and_then(|it| it.get(..n)).unwrap_or_default();
    let factor = |at: usize| factors.get(at).copied().unwrap_or_default();
    let pairs = [(0, 1), (2, 3)]
        .map(|(first, second)| (factor(first), factor(second), row(first), row(second)));
    let [(a0, a1, b0, b1), (a2, a3, b2, b3)] = pairs;
    for (at, sum) in sums.iter_mut().enumerate() {
        let at = |row: &[f32]| row.get(at).copied().unwrap_or_default();
        let mut total = flush(flush(a0 * at(b0)) + flush(a1 * at(b1)));
        if factors.len() == 4 {
            let second = flush(flush(a2 * at(b2)) + flush(a3 * at(b3)));
            total = flush(total + second);
        }
        *sum = defined(flush(f32::from_bits(*sum) + total));
    }
}

/// The bits of a result; which NaN comes out is not known.
#[inline(always)]
fn defined(value: f32) -> u32 {
    if value.is_nan() { F32::INVALID as u32 } else { value.to_bits() }
}
