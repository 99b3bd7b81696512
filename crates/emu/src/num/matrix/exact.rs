//! CDNA1: the sum of a group's products and `c` is exact, and rounded once.
//!
//! After MMA-Sim (arXiv 2511.10909), whose model was confirmed on MI100.

use super::super::float::{Exact, round};
use super::super::{Env, F32, Format};
use super::element::Infinities;
use super::{Class, FRACTION, Factor};

/// Words of an exact sum.
const WORDS: usize = 10;
/// The exponent of its lowest bit: below that of the smallest product of bf16.
const LOWEST: i32 = -300;

/// How a unit of CDNA1 adds products: so many at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Once {
    /// Products of a group.
    pub group: usize,
}

impl Once {
    /// `c` and all products, group after group.
    #[must_use]
    pub fn dot(self, a: &[Factor], b: &[Factor], c: u32) -> u32 {
        a.chunks(self.group).zip(b.chunks(self.group)).fold(c, |c, (a, b)| step(a, b, c))
    }
}

fn step(a: &[Factor], b: &[Factor], c: u32) -> u32 {
    if let Some(special) = special(a, b, c) {
        return special;
    }
    let mut sum = Sum::default();
    let field = (c >> 23 & 0xff) as i32;
    let hidden = u32::from(field != 0) << 23;
    sum.add(u64::from(c & 0x7f_ffff | hidden), field.max(1) - 150, c >> 31 == 1);
    for (x, y) in a.iter().zip(b) {
        let product = u64::from(x.significand) * u64::from(y.significand);
        let exponent = x.exponent + y.exponent - 2 * FRACTION as i32;
        sum.add(product, exponent, x.negative != y.negative);
    }
    sum.rounded()
}

/// The result if it is not a number, or infinite.
fn special(a: &[Factor], b: &[Factor], c: u32) -> Option<u32> {
    let magnitude = u64::from(c) & !F32::SIGN;
    let mut is_nan = magnitude > F32::INFINITY;
    let mut infinities = Infinities::default();
    if magnitude == F32::INFINITY {
        infinities.add(c >> 31 == 1);
    }
    for (x, y) in a.iter().zip(b) {
        let is_zero = |it: &Factor| it.class == Class::Finite && it.significand == 0;
        is_nan |= x.class == Class::Nan || y.class == Class::Nan;
        if x.class == Class::Infinite || y.class == Class::Infinite {
            is_nan |= is_zero(x) || is_zero(y);
            infinities.add(x.negative != y.negative);
        }
    }
    let invalid = F32::INVALID as u32;
    if is_nan { Some(invalid) } else { infinities.sum(invalid) }
}

/// An exact sum in two's complement, the lowest word first.
#[derive(Default)]
struct Sum([u64; WORDS]);

impl Sum {
    /// Adds `magnitude * 2^exponent`, or subtracts it.
    fn add(&mut self, magnitude: u64, exponent: i32, is_negative: bool) {
        if magnitude == 0 {
            return;
        }
        let shift = (exponent - LOWEST).max(0) as usize;
        let wide = u128::from(magnitude) << (shift % 64);
        let parts = [wide as u64, (wide >> 64) as u64];
        let mut carry = false;
        for (at, word) in self.0.iter_mut().enumerate().skip(shift / 64) {
            let part = parts.get(at - shift / 64).copied().unwrap_or(0);
            let (sum, one) =
                if is_negative { word.overflowing_sub(part) } else { word.overflowing_add(part) };
            let (sum, two) = match is_negative {
                true => sum.overflowing_sub(carry.into()),
                false => sum.overflowing_add(carry.into()),
            };
            (*word, carry) = (sum, one | two);
        }
    }

    /// As an f32; a zero has no sign.
    fn rounded(mut self) -> u32 {
        let is_negative = self.0.last().is_some_and(|it| it >> 63 == 1);
        if is_negative {
            let mut carry = true;
            for word in &mut self.0 {
                (*word, carry) = (!*word).overflowing_add(carry.into());
            }
        }
        let Some(top) = self.0.iter().rposition(|it| *it != 0) else {
            return 0;
        };
        let word = |at: usize| u128::from(self.0.get(at).copied().unwrap_or(0));
        let below = top.saturating_sub(1);
        let is_inexact = self.0.iter().take(below).any(|it| *it != 0);
        let significand = if top == 0 { word(0) } else { word(top) << 64 | word(below) };
        let value = Exact {
            negative: is_negative,
            // A bit below all others says that there was more.
            significand: significand | u128::from(is_inexact),
            exponent: LOWEST + below as i32 * 64,
        };
        round::<F32>(value, Env::IEEE) as u32
    }
}
