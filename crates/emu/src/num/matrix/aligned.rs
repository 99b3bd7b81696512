//! CDNA3: products are cut to a common grid, and the sum is floored twice before it is rounded.
//!
//! After MMA-Sim (arXiv 2511.10909), whose model was confirmed on MI300X.

use super::super::float::{Exact, round};
use super::super::{Env, F32, Format};
use super::element::{Infinities, NO_EXPONENT};
use super::{Class, Element, FRACTION, Factor, Shape};

const CUT: i32 = Aligned::CUT;
const DOT: i32 = Aligned::DOT;
const SUM: i32 = Aligned::SUM;
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
    /// Fractional bits that a product keeps, at the largest exponent of its group.
    pub const CUT: i32 = 24;
    /// Fractional bits that a group's sum keeps where `c` has the larger exponent.
    pub const DOT: i32 = 32;
    /// Fractional bits of the sum before it is rounded.
    pub const SUM: i32 = 31;

    /// `c` and all products, group after group.
    #[must_use]
    pub fn dot(self, a: &[Factor], b: &[Factor], c: u32) -> u32 {
        a.chunks(self.group).zip(b.chunks(self.group)).fold(c, |c, (a, b)| self.step(a, b, c))
    }

    fn step(self, a: &[Factor], b: &[Factor], c: u32) -> u32 {
        let c = if self.drops_special(a, b, c) { 0 } else { c };
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

    /// Whether a NaN or an infinity in `c` counts as too small: MMA-Sim gives these the exponent -1, so that products of bf8
    /// can be large enough to drop them.
    fn drops_special(self, a: &[Factor], b: &[Factor], c: u32) -> bool {
        let is_special = c >> 23 & 0xff == 0xff;
        let largest = || a.iter().zip(b).map(|(x, y)| x.exponent + y.exponent).max();
        self.is_split && is_special && largest().is_some_and(|it| it > CUT)
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

/// `acc += a * b` for matrices of 16-bit floats or xf32 that are all finite, without even and odd apart: the same as
/// [`Aligned::dot`] for each, for all columns of a row at once. Returns whether it could be done.
#[inline(always)]
pub fn multiply_aligned(
    model: Aligned,
    shape: Shape,
    (a, of_a): (&[u32], Element),
    (b, of_b): (&[u32], Element),
    acc: &mut [u32],
) -> bool {
    if model.is_split || acc.iter().any(|it| it >> 23 & 0xff == 0xff) {
        return false;
    }
    let (Some(a), Some(b)) = (Columns::of(a, of_a), Columns::of(b, of_b)) else { return false };
    // A product must stay below 2^128 for the short way.
    if a.largest + b.largest >= 126 {
        return false;
    }
    let mut scratch =
        Scratch { largest: vec![0; shape.n], scales: vec![0.; shape.n], units: vec![0.; shape.n] };
    for (row, sums) in acc.chunks_exact_mut(shape.n).enumerate().take(shape.m) {
        for first in (0..shape.k).step_by(model.group) {
            let last = (first + model.group).min(shape.k);
            let of_row = a.part(row * shape.k + first, row * shape.k + last);
            let of_rows = b.part(first * shape.n, last * shape.n);
            step_columns(of_row, of_rows, sums, &mut scratch);
        }
    }
    true
}

/// Numbers and their exponents, beside each other for the host's vectors.
struct Columns {
    numbers: Vec<f64>,
    exponents: Vec<i32>,
    largest: i32,
}

impl Columns {
    /// Elements of a format that is laid out as IEEE 754 says, if all of them are finite.
    #[inline(always)]
    fn of(elements: &[u32], element: Element) -> Option<Self> {
        match element {
            Element::F16 => Self::ieee::<5, 10, 0>(elements),
            Element::Bf16 => Self::ieee::<8, 7, 0>(elements),
            Element::Xf32 => Self::ieee::<8, 10, 13>(elements),
            _ => None,
        }
    }

    /// `E` bits of exponent and `M` of mantissa, above `S` bits that do not count.
    #[inline(always)]
    #[allow(clippy::indexing_slicing, reason = "all have the length of the elements")]
    fn ieee<const E: u32, const M: u32, const S: u32>(elements: &[u32]) -> Option<Self> {
        let count = elements.len();
        let (mut numbers, mut exponents) = (vec![0.; count], vec![0; count]);
        let (mut largest, mut last) = (NO_EXPONENT, 0);
        for at in 0..count {
            let bits = elements[at] >> S;
            let field = bits >> M & ((1 << E) - 1);
            let significand = bits & ((1 << M) - 1) | u32::from(field != 0) << M;
            let exponent = field.max(1) as i32 - ((1 << (E - 1)) - 1);
            let unit = power(i64::from(exponent).wrapping_sub(i64::from(M)));
            let magnitude = f64::from(significand as i32) * unit;
            numbers[at] = if bits >> (E + M) & 1 == 1 { -magnitude } else { magnitude };
            exponents[at] = if significand == 0 { NO_EXPONENT } else { exponent };
            largest = largest.max(exponents[at]);
            last = last.max(field);
        }
        (last < (1 << E) - 1).then_some(Self { numbers, exponents, largest })
    }

    #[inline(always)]
    fn part(&self, from: usize, to: usize) -> (&[f64], &[i32]) {
        (
            self.numbers.get(from..to).unwrap_or_default(),
            self.exponents.get(from..to).unwrap_or_default(),
        )
    }
}

/// Of each column: the largest exponent, what brings it to the grid, and the sum of its products there.
struct Scratch {
    largest: Vec<i32>,
    scales: Vec<f64>,
    units: Vec<f64>,
}

/// One group for all columns. A double holds every product, and the sum of all that is left of them on the grid.
#[inline(always)]
#[allow(clippy::indexing_slicing, reason = "all slices are cut to the columns first")]
fn step_columns(
    (numbers_a, exponents_a): (&[f64], &[i32]),
    (numbers_b, exponents_b): (&[f64], &[i32]),
    sums: &mut [u32],
    scratch: &mut Scratch,
) {
    let n = sums.len();
    let (largest, scales) = (&mut scratch.largest[..n], &mut scratch.scales[..n]);
    let units = &mut scratch.units[..n];
    largest.fill(-8192);
    units.fill(0.);
    for (k, exponent) in exponents_a.iter().enumerate() {
        let exponents = &exponents_b[k * n..][..n];
        for j in 0..n {
            largest[j] = largest[j].max(exponents[j].wrapping_add(*exponent));
        }
    }
    for j in 0..n {
        // Where all products are zero, any scale will do.
        scales[j] = power(i64::from(CUT.wrapping_sub(largest[j].max(2 * LOWEST))));
    }
    for (k, number) in numbers_a.iter().enumerate() {
        let numbers = &numbers_b[k * n..][..n];
        for j in 0..n {
            units[j] += (number * numbers[j] * scales[j]).trunc();
        }
    }
    for j in 0..n {
        sums[j] = finish_aligned(units[j], largest[j], sums[j]);
    }
}

/// `2^exponent`, of normal numbers.
#[inline(always)]
fn power(exponent: i64) -> f64 {
    f64::from_bits(exponent.wrapping_add(1023).cast_unsigned() << 52)
}

/// Adds `c` to a sum of products in units of `2^(exponent_dot - CUT)`, and rounds: in double precision, which holds every
/// sum exactly.
#[must_use]
#[inline(always)]
pub fn finish_aligned(units: f64, exponent_dot: i32, c: u32) -> u32 {
    const DOT: i64 = self::DOT as i64;
    const CUT: i64 = self::CUT as i64;
    const SUM: i64 = self::SUM as i64;
    let exponent_c = ((c >> 23 & 0xff) as i32).max(1).wrapping_sub(127);
    let exponent = exponent_dot.max(exponent_c);
    let below = i64::from(exponent_dot.wrapping_sub(exponent).max(-200));
    let exponent = i64::from(exponent);
    // In units of the grid where the dot product is floored.
    let of_dot = (units * power(below.wrapping_add(DOT - CUT))).floor();
    let of_c = (f64::from(f32::from_bits(c)) * power(CUT.wrapping_sub(exponent))).floor();
    let sum = of_dot + of_c * power(DOT - CUT);
    let value = sum * power(exponent.wrapping_sub(DOT));
    let lowest = i64::from(LOWEST);
    let leading = (value.to_bits() >> 52 & 0x7ff).cast_signed().wrapping_sub(1023).max(lowest);
    let floored = (value * power(SUM.wrapping_sub(leading))).floor();
    ((floored * power(leading.wrapping_sub(SUM))) as f32).to_bits()
}
