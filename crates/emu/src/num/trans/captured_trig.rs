//! Sine and cosine of RDNA3 and RDNA4: a cubic for each sixteenth of an octant. Close to captures, not equal to all.

use super::captured::nearest;
use super::table::{COSINE, SINE};
use crate::num::float::{Exact, parts, round};
use crate::num::{Env, F32};

/// `2 pi`, as the unit multiplies small operands of the sine by it.
const SMALL_FACTOR: u64 = 0xc9_0fd5;

/// The function of a finite number that is not zero.
pub(super) fn evaluate(bits: u32, cosine: bool, env: Env) -> u32 {
    let magnitude = bits & 0x7fff_ffff;
    if !cosine && magnitude < 0x39c0_0000 {
        return small_sine(bits, env);
    }
    let exponent = (magnitude >> 23) as i32 - 127;
    if exponent >= 23 {
        return if cosine { 0x3f80_0000 } else { 0 };
    }
    let angle = Angle::new(magnitude, exponent);
    let result = angle.magnitude(cosine);
    let below = angle.quadrant >> 1 != u32::from(cosine) & angle.quadrant & 1;
    let negative = below != (!cosine && bits >> 31 != 0);
    if result == 0 { 0 } else { result | u32::from(negative) << 31 }
}

/// A product that is rounded once.
fn small_sine(bits: u32, env: Env) -> u32 {
    let x = crate::num::arith::exact(parts::<F32>(bits.into()));
    let significand = x.significand * u128::from(SMALL_FACTOR);
    round::<F32>(Exact { significand, exponent: x.exponent - 21, ..x }, env) as u32
}

/// A part of a turn, reduced to an octant.
struct Angle {
    quadrant: u32,
    reflected: bool,
    /// The distance from the nearest quarter turn, in 2^-31 of a turn.
    reduced: u32,
}

impl Angle {
    fn new(magnitude: u32, exponent: i32) -> Self {
        let significand = u64::from(magnitude & 0x7f_ffff | 0x80_0000);
        let phase = match exponent + 8 {
            shift @ 0.. => ((significand << shift) & 0x7fff_ffff) as u32,
            shift @ -63..=-1 => (significand >> -shift) as u32,
            _ => 0,
        };
        let quarter = phase & 0x1fff_ffff;
        let reflected = quarter >= 0x1000_0000;
        let reduced = if reflected { 0x2000_0000 - quarter } else { quarter };
        Self { quadrant: phase >> 29, reflected, reduced }
    }

    /// The absolute value of the sine, or of the cosine.
    fn magnitude(&self, cosine: bool) -> u32 {
        let of_cosine = cosine ^ (self.quadrant & 1 != 0) ^ self.reflected;
        let edge = u32::from(self.reflected);
        let segment = (self.reduced.wrapping_sub(edge) >> 24) & 15;
        let fraction = self.reduced - (segment << 24);
        let table = if of_cosine { &COSINE } else { &SINE };
        let [constant, linear, quadratic, cubic] =
            table.get(segment as usize).copied().unwrap_or_default();
        match (of_cosine, self.reduced) {
            (true, ..46_592) => return 0x3f80_0000,
            (false, 0) => return 0,
            _ => {}
        }
        let square = u128::from(fraction.wrapping_sub(edge) >> 7).pow(2);
        let inner = (-quadratic << 24) - cubic * i64::from(fraction);
        let product = inner as u128 * square;
        if !of_cosine && segment < 2 {
            self.near_zero(segment, fraction, [constant, linear], product)
        } else {
            self.elsewhere(fraction, [constant, linear], product)
        }
    }

    /// The sine of the first two segments keeps more bits; in the first, operands are moved up by groups of four.
    fn near_zero(
        &self,
        segment: u32,
        fraction: u32,
        [constant, linear]: [i64; 2],
        product: u128,
    ) -> u32 {
        let width = 32 - fraction.leading_zeros();
        let first = segment == 0;
        let groups = |bits: u32| if first { bits.saturating_sub(width) / 4 * 4 } else { 0 };
        let (normalization, moved) = (groups(24), groups(25));
        let mut operand =
            if first { u64::from(fraction) << moved } else { self.linear_operand(fraction, 2) };
        if first && self.reflected && operand & 0xf_ffff == 0 {
            operand -= 1;
        }
        let linear_bits = if first { 32 + normalization } else { 30 };
        let bits = 34 + normalization;
        let linear = ((linear as u64 * operand) >> (50 + moved - linear_bits)) as i64;
        let quadratic = wide_nearest(product, 84 - bits) as i64;
        let sum = (constant << (bits - 26)) + (linear << (bits - linear_bits)) - quadratic;
        cut_to_f32(sum as u64, bits as i32)
    }

    fn elsewhere(&self, fraction: u32, [constant, linear]: [i64; 2], product: u128) -> u32 {
        let scaled = linear * self.linear_operand(fraction, 4) as i64;
        let absolute = scaled.unsigned_abs();
        let rounded =
            if absolute >= 1 << 45 { nearest(absolute, 22) << 1 } else { nearest(absolute, 21) };
        let linear = rounded as i64 * scaled.signum();
        let bias = 1 << 50;
        let quadratic = product.saturating_sub(bias).div_ceil(1 << 56) as i64;
        cut_to_f32((constant * 8 + linear - quadratic * 2) as u64, 29)
    }

    /// The fraction rounded at `shift` bits, but not into the next 20 bits. Reflected, the end comes from below.
    fn linear_operand(&self, fraction: u32, shift: u32) -> u64 {
        let value = fraction.wrapping_sub(u32::from(self.reflected));
        let limit = (((value >> (20 + shift)) + 1) << 20) - 1;
        let rounded = (value + (1 << (shift - 1))) >> shift;
        u64::from(rounded.min(limit)) << shift
    }
}

fn wide_nearest(value: u128, shift: u32) -> u128 {
    crate::num::float::shift_round(value, shift as i32, false, crate::num::Round::NearestEven)
}

/// A fixed-point number as an f32, cut.
fn cut_to_f32(value: u64, fraction_bits: i32) -> u32 {
    let cut = Env { round: crate::num::Round::Zero, ..Env::IEEE };
    round::<F32>(
        Exact { negative: false, significand: value.into(), exponent: -fraction_bits },
        cut,
    ) as u32
}
