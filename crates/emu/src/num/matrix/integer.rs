//! Integers: exact products and sums; the result wraps, or stays in the range of its type.

use super::Shape;

/// `acc += a * b`.
#[inline(always)]
pub fn multiply_integers(shape: Shape, a: &[i32], b: &[i32], acc: &mut [u32], clamps: bool) {
    let mut totals = vec![0_i32; shape.n];
    for (row, sums) in a.chunks_exact(shape.k).zip(acc.chunks_exact_mut(shape.n)) {
        totals.fill(0);
        for (factor, row) in row.iter().zip(b.chunks_exact(shape.n)) {
            for (total, other) in totals.iter_mut().zip(row) {
                // 128 products of bytes are far from the range's end.
                *total += factor * other;
            }
        }
        for (sum, total) in sums.iter_mut().zip(&totals) {
            *sum = add(*sum, i64::from(*total), true, clamps);
        }
    }
}

/// `c` and the products of `32 / bits` parts of two registers, each with or without a sign.
#[must_use]
pub fn dot_integers(bits: u32, a: (u32, bool), b: (u32, bool), c: u32, clamps: bool) -> u32 {
    let part = |(word, signed): (u32, bool), at: u32| {
        let top = word << (32 - bits - at * bits);
        if signed {
            i64::from(top.cast_signed() >> (32 - bits))
        } else {
            i64::from(top >> (32 - bits))
        }
    };
    let sum = (0..32 / bits).map(|at| part(a, at) * part(b, at)).sum();
    add(c, sum, a.1 || b.1, clamps)
}

/// The same of parts without a sign, and a sum that has one and stays in its range.
#[must_use]
pub fn dot_into_signed(bits: u32, a: u32, b: u32, c: u32) -> u32 {
    // The products alone are far from the range's end.
    let products = dot_integers(bits, (a, false), (b, false), 0, false);
    add(c, i64::from(products), true, true)
}

fn add(c: u32, sum: i64, signed: bool, clamps: bool) -> u32 {
    match (clamps, signed) {
        (false, _) => c.wrapping_add(sum as u32),
        (true, true) => {
            let total = i64::from(c.cast_signed()) + sum;
            total.clamp(i32::MIN.into(), i32::MAX.into()) as u32
        }
        (true, false) => (i64::from(c) + sum).min(u32::MAX.into()) as u32,
    }
}
