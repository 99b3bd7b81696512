//! Exact binary rationals in big integers, and rounding by search: shares nothing with what it tests.

use num_bigint::{BigInt, Sign};

use crate::num::{Env, Format, Round};

/// `numerator * 2^exponent`.
#[derive(Clone, Debug)]
pub(super) struct Rational {
    pub(super) numerator: BigInt,
    pub(super) exponent: i64,
}

impl Rational {
    /// A finite value of the format.
    pub(super) fn of_bits<F: Format>(bits: u64) -> Self {
        let magnitude = Self::of_magnitude::<F>(bits & !F::SIGN);
        if bits & F::SIGN != 0 { magnitude.negated() } else { magnitude }
    }

    /// As above, and the bits of infinity are the number that would be next.
    fn of_magnitude<F: Format>(bits: u64) -> Self {
        let field = (bits >> F::MANTISSA) as i64;
        let fraction = bits & (F::MIN_NORMAL - 1);
        let significand = if field == 0 { fraction } else { fraction | F::MIN_NORMAL };
        let exponent = field.max(1) - i64::from(F::BIAS) - i64::from(F::MANTISSA);
        Self { numerator: BigInt::from(significand), exponent }
    }

    fn negated(self) -> Self {
        Self { numerator: -self.numerator, exponent: self.exponent }
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        let exponent = self.exponent.min(other.exponent);
        Self { numerator: self.at(exponent) + other.at(exponent), exponent }
    }

    pub(super) fn times(&self, other: &Self) -> Self {
        Self {
            numerator: &self.numerator * &other.numerator,
            exponent: self.exponent + other.exponent,
        }
    }

    pub(super) fn scaled(&self, exponent: i64) -> Self {
        Self { numerator: self.numerator.clone(), exponent: self.exponent + exponent }
    }

    fn at(&self, exponent: i64) -> BigInt {
        &self.numerator << (self.exponent - exponent)
    }

    pub(super) fn floored(&self) -> BigInt {
        if self.exponent >= 0 { self.at(0) } else { &self.numerator >> -self.exponent }
    }

    pub(super) fn truncated(&self) -> BigInt {
        if self.is_negative() { -self.clone().negated().floored() } else { self.floored() }
    }

    pub(super) fn less_than(&self, other: &Self) -> bool {
        let exponent = self.exponent.min(other.exponent);
        self.at(exponent) < other.at(exponent)
    }

    pub(super) fn is_zero(&self) -> bool {
        self.numerator.sign() == Sign::NoSign
    }

    pub(super) fn is_negative(&self) -> bool {
        self.numerator.sign() == Sign::Minus
    }

    /// The bits of the value, which is not zero, rounded into the format.
    pub(super) fn rounded<F: Format>(&self, env: Env) -> u64 {
        let negative = self.is_negative();
        let magnitude = if negative { self.clone().negated() } else { self.clone() };
        let sign = if negative { F::SIGN } else { 0 };
        if !env.denorm.output && magnitude.is_tiny_after_rounding::<F>(negative, env.round) {
            return sign;
        }
        let bits = magnitude.nearest::<F>(negative, env.round);
        let overflows = bits == F::INFINITY && env.saturate;
        sign | if overflows { F::MAX } else { bits }
    }

    /// Below the smallest normal number when it is rounded at full precision.
    fn is_tiny_after_rounding<F: Format>(&self, negative: bool, round: Round) -> bool {
        let lift = i64::from(F::BIAS);
        let smallest = Self::of_magnitude::<F>(F::MIN_NORMAL);
        if !self.less_than(&smallest) {
            return false;
        }
        let lifted = self.scaled(lift).nearest::<F>(negative, round);
        Self::of_magnitude::<F>(lifted).less_than(&smallest.scaled(lift))
    }

    fn nearest<F: Format>(&self, negative: bool, round: Round) -> u64 {
        // The largest bits whose value is not above.
        let (mut low, mut high) = (0, F::INFINITY);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.less_than(&Self::of_magnitude::<F>(middle)) {
                high = middle;
            } else {
                low = middle;
            }
        }
        let (below, above) = (Self::of_magnitude::<F>(low), Self::of_magnitude::<F>(high));
        let inexact = below.less_than(self);
        let up = match round {
            Round::Up => inexact && !negative,
            Round::Down => inexact && negative,
            Round::Zero => false,
            Round::NearestEven => {
                let twice = self.scaled(1);
                let middle = below.plus(&above);
                middle.less_than(&twice) || !twice.less_than(&middle) && low & 1 != 0
            }
        };
        if up { high } else { low }
    }
}
