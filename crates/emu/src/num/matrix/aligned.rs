//! CDNA3: products are cut to a common grid, and the sum is floored twice before it is rounded.
//!
//! After MMA-Sim (arXiv 2511.10909), whose model was confirmed on MI300X.

use super::super::float::{Exact, round};
use super::super::{Env, F32, Format};
use super::element::Infinities;
use super::{Class, FRACTION, Factor, Shape};

/// Fractional bits that a product keeps, at the largest exponent of its group.
const CUT: i32 = 24;
/// Fractional bits that a group's sum keeps where `c` has the larger exponent.
const DOT: i32 = 32;
/// Fractional bits of the sum before it is rounded.
const SUM: i32 = 31;
const LOWEST: i32 = -126;

/// How a unit of CDNA3 adds products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aligned {
    /// So many at once.
    pub group: usize,
    /// Products of even and odd numbers apart, and a `c` that is too small is dropped: fp8 and bf8.
    pub is_split: bool,
}

/// A sum of products: `units * 2^(exponent - CUT)`.
#[derive(Clone, Copy, Debug)]
struct Cut {
    units: i64,
    exponent: i32,
}

impl Aligned {
    /// `c` and all products, group after group.
    #[must_use]
    pub fn dot(self, a: &[Factor], b: &[Factor], c: u32) -> u32 {
        a.chunks(self.group).zip(b.chunks(self.group)).fold(c, |c, (a, b)| self.step(a, b, c))
    }

    fn step(self, a: &[Factor], b: &[Factor], c: u32) -> u32 {
        if let Some(special) = self.special(a, b, c) {
            return special;
        }
        let products = || a.iter().zip(b);
        let dot = if self.is_split {
            let halves = [cut(products().step_by(2)), cut(products().skip(1).step_by(2))];
            let exponent = halves.iter().map(|it| it.exponent).max().unwrap_or_default();
            let units = halves.iter().map(|it| floor_shift(it.units, exponent - it.exponent)).sum();
            Cut { units, exponent }
        } else {
            cut(products())
        };
        self.finish(dot, c)
    }

    /// The result if it is not a number, or infinite.
    fn special(self, a: &[Factor], b: &[Factor], c: u32) -> Option<u32> {
        let magnitude = u64::from(c) & !F32::SIGN;
        let mut is_nan = magnitude > F32::INFINITY;
        let mut infinities = Infinities::default();
        if magnitude == F32::INFINITY {
            infinities.add(c >> 31 == 1);
        }
        for (x, y) in a.iter().zip(b) {
            let is_zero = |it: &Factor| it.class == Class::Finite && it.significand == 0;
            is_nan |= x.class == Class::Nan || y.class == Class::Nan;
            let is_infinite = x.class == Class::Infinite || y.class == Class::Infinite;
            is_nan |= is_infinite && (is_zero(x) || is_zero(y));
            if is_infinite || !self.is_split && is_too_large(x, y) {
                infinities.add(x.negative != y.negative);
            }
        }
        let invalid = F32::INVALID as u32;
        if is_nan { Some(invalid) } else { infinities.sum(invalid) }
    }

    /// Adds `c` and rounds.
    fn finish(self, dot: Cut, c: u32) -> u32 {
        let field = (c >> 23 & 0xff) as i32;
        let exponent_c = field.max(1) - 127;
        let hidden = u32::from(field != 0) << 23;
        let magnitude = i64::from(c & 0x7f_ffff | hidden);
        let signed = if c >> 31 == 1 { -magnitude } else { magnitude };
        let exponent = dot.exponent.max(exponent_c);
        let of_dot = floor_shift(dot.units << (DOT - CUT), exponent - dot.exponent);
        let is_dropped = self.is_split && exponent_c < exponent - CUT - 1;
        let of_c =
            if is_dropped { 0 } else { floor_shift(signed << (CUT - 23), exponent - exponent_c) };
        let sum = of_dot + (of_c << (DOT - CUT));
        let grid = exponent - DOT;
        let leading = 63 - sum.unsigned_abs().leading_zeros() as i32 + grid;
        let below = (leading.max(LOWEST) - SUM - grid).max(0);
        let floored = floor_shift(sum, below);
        let value = Exact {
            negative: floored < 0,
            significand: floored.unsigned_abs().into(),
            exponent: grid + below,
        };
        round::<F32>(value, Env::IEEE) as u32
    }
}

/// Whether a product is beyond the range of f32.
fn is_too_large(x: &Factor, y: &Factor) -> bool {
    let product = x.significand * y.significand;
    let carry = i32::from(product >= 2 << (2 * FRACTION));
    product != 0 && x.exponent + y.exponent + carry >= 128
}

/// The sum of products, each cut toward zero at the largest exponent.
fn cut<'f>(products: impl Iterator<Item = (&'f Factor, &'f Factor)> + Clone) -> Cut {
    let exponent = products.clone().map(|(x, y)| x.exponent + y.exponent).max().unwrap_or_default();
    let units = products.map(|(x, y)| {
        let magnitude = u64::from(x.significand * y.significand) << (CUT - 2 * FRACTION as i32);
        let shift = (exponent - x.exponent - y.exponent).min(63);
        let kept = (magnitude >> shift) as i64;
        if x.negative == y.negative { kept } else { -kept }
    });
    Cut { units: units.sum(), exponent }
}

/// `value / 2^shift`, toward negative infinity.
fn floor_shift(value: i64, shift: i32) -> i64 {
    value >> shift.clamp(0, 63)
}

/// `acc += a * b` for matrices whose elements are finite, without even and odd apart: the same as [`Aligned::dot`] for
/// each, for all columns of a row at once. Returns whether it could be done.
#[inline(always)]
pub fn multiply_aligned(
    model: Aligned,
    shape: Shape,
    a: &[Factor],
    b: &[Factor],
    acc: &mut [u32],
) -> bool {
    let is_finite = |it: &Factor| it.class == Class::Finite;
    // A product must stay below 2^128 for the short way.
    let largest = |list: &[Factor]| list.iter().map(|it| it.exponent).max().unwrap_or_default();
    if model.is_split
        || !a.iter().all(is_finite)
        || !b.iter().all(is_finite)
        || acc.iter().any(|it| it >> 23 & 0xff == 0xff)
        || largest(a) + largest(b) >= 126
    {
        return false;
    }
    let significands: Vec<i32> = b
        .iter()
        .map(|it| {
            let magnitude = (it.significand as i32) << (CUT - 2 * FRACTION as i32);
            if it.negative { -magnitude } else { magnitude }
        })
        .collect();
    let exponents: Vec<i32> = b.iter().map(|it| it.exponent).collect();
    let mut scratch = Scratch { largest: vec![0; shape.n], units: vec![0; shape.n] };
    let of_group = model.group * shape.n;
    for (row, sums) in a.chunks_exact(shape.k).zip(acc.chunks_exact_mut(shape.n)) {
        let groups = significands.chunks(of_group).zip(exponents.chunks(of_group));
        for (factors, (significands, exponents)) in row.chunks(model.group).zip(groups) {
            step_columns(factors, significands, exponents, sums, &mut scratch);
        }
    }
    true
}

/// The largest exponent of each column, and the sum of its products.
struct Scratch {
    largest: Vec<i32>,
    units: Vec<i32>,
}

/// One group for all columns. Nothing overflows; checks would keep the host from using its vectors.
#[inline(always)]
fn step_columns(
    factors: &[Factor],
    significands: &[i32],
    exponents: &[i32],
    sums: &mut [u32],
    scratch: &mut Scratch,
) {
    let n = sums.len();
    let Scratch { largest, units } = scratch;
    largest.fill(-8192);
    units.fill(0);
    for (factor, exponents) in factors.iter().zip(exponents.chunks_exact(n)) {
        for (largest, exponent) in largest.iter_mut().zip(exponents) {
            *largest = (*largest).max(exponent.wrapping_add(factor.exponent));
        }
    }
    let by_k = significands.chunks_exact(n).zip(exponents.chunks_exact(n));
    for (factor, (significands, exponents)) in factors.iter().zip(by_k) {
        let magnitude = factor.significand as i32;
        let signed = if factor.negative { magnitude.wrapping_neg() } else { magnitude };
        let columns = significands.iter().zip(exponents).zip(largest.iter());
        for (unit, ((significand, exponent), largest)) in units.iter_mut().zip(columns) {
            let product = significand.wrapping_mul(signed);
            let below = largest.wrapping_sub(*exponent).wrapping_sub(factor.exponent);
            let sign = product >> 31;
            let magnitude = (product ^ sign).wrapping_sub(sign).cast_unsigned();
            let kept = magnitude.wrapping_shr(below.min(31).cast_unsigned()).cast_signed();
            *unit = unit.wrapping_add((kept ^ sign).wrapping_sub(sign));
        }
    }
    for (sum, (units, largest)) in sums.iter_mut().zip(units.iter().zip(largest.iter())) {
        *sum = finish_fast(*units, *largest, *sum);
    }
}

/// `2^exponent`, of normal numbers.
#[inline(always)]
fn power(exponent: i64) -> f64 {
    f64::from_bits(exponent.wrapping_add(1023).cast_unsigned() << 52)
}

/// [`Aligned::finish`] in double precision, which holds every sum exactly.
#[inline(always)]
fn finish_fast(units: i32, exponent_dot: i32, c: u32) -> u32 {
    const DOT: i64 = self::DOT as i64;
    const CUT: i64 = self::CUT as i64;
    const SUM: i64 = self::SUM as i64;
    let exponent_c = ((c >> 23 & 0xff) as i32).max(1).wrapping_sub(127);
    let exponent = exponent_dot.max(exponent_c);
    let below = i64::from(exponent_dot.wrapping_sub(exponent).max(-200));
    let exponent = i64::from(exponent);
    // In units of the grid where the dot product is floored.
    let of_dot = (f64::from(units) * power(below.wrapping_add(DOT - CUT))).floor();
    let of_c = (f64::from(f32::from_bits(c)) * power(CUT.wrapping_sub(exponent))).floor();
    let sum = of_dot + of_c * power(DOT - CUT);
    let value = sum * power(exponent.wrapping_sub(DOT));
    let lowest = i64::from(LOWEST);
    let leading = (value.to_bits() >> 52 & 0x7ff).cast_signed().wrapping_sub(1023).max(lowest);
    let floored = (value * power(SUM.wrapping_sub(leading))).floor();
    ((floored * power(leading.wrapping_sub(SUM))) as f32).to_bits()
}
