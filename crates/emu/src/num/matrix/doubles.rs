//! Where nothing is known of a unit: exact products, added in double precision, and rounded once for each group.

use super::super::{Env, F16, F32, F64, Format, convert};
use super::{Accumulator, Shape};

/// `acc += a * b` with elements of [`super::Element::double`]; `group` products are added at once.
#[inline(always)]
pub fn multiply_doubles(
    group: usize,
    shape: Shape,
    a: &[f64],
    b: &[f64],
    acc: &mut [u32],
    to: Accumulator,
) {
    let mut totals = vec![0.0; shape.n];
    for (row, sums) in a.chunks_exact(shape.k).zip(acc.chunks_exact_mut(shape.n)) {
        for (factors, rows) in row.chunks(group).zip(b.chunks(group * shape.n)) {
            totals.fill(0.0);
            for (factor, row) in factors.iter().zip(rows.chunks_exact(shape.n)) {
                for (total, other) in totals.iter_mut().zip(row) {
                    *total += factor * other;
                }
            }
            for (sum, total) in sums.iter_mut().zip(&totals) {
                *sum = narrow(widen(*sum, to) + total, to);
            }
        }
    }
}

fn widen(bits: u32, from: Accumulator) -> f64 {
    match from {
        Accumulator::F32 => f64::from(f32::from_bits(bits)),
        Accumulator::Bf16 => f64::from(f32::from_bits(bits << 16)),
        Accumulator::F16 { .. } => {
            f64::from_bits(convert::<F16, F64>(bits as u16, Env::IEEE, Env::IEEE))
        }
    }
}

fn narrow(value: f64, to: Accumulator) -> u32 {
    match to {
        Accumulator::F32 if value.is_nan() => F32::INVALID as u32,
        Accumulator::F32 => (value as f32).to_bits(),
        Accumulator::F16 { saturate } => {
            let env = Env { saturate, ..Env::IEEE };
            convert::<F64, F16>(value.to_bits(), Env::IEEE, env).into()
        }
        Accumulator::Bf16 => {
            convert::<F64, super::super::BF16>(value.to_bits(), Env::IEEE, Env::IEEE).into()
        }
    }
}
