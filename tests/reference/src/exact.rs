//! Floats as exact numbers: a sign, an integer and a power of two, rounded once.

use num_bigint::BigUint;

use super::operand::Type;

/// Where a number is rounded to: MODE's encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    NearestEven,
    Up,
    Down,
    ToZero,
}

impl Round {
    pub(super) fn from_mode(bits: u32) -> Self {
        match bits & 3 {
            0 => Self::NearestEven,
            1 => Self::Up,
            2 => Self::Down,
            _ => Self::ToZero,
        }
    }
}

/// A binary format: bits of the exponent and of the fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Binary {
    pub(super) exponent: u32,
    pub(super) fraction: u32,
}

pub(super) const F16: Binary = Binary { exponent: 5, fraction: 10 };
pub(super) const BF16: Binary = Binary { exponent: 8, fraction: 7 };
pub(super) const F32: Binary = Binary { exponent: 8, fraction: 23 };
pub(super) const F64: Binary = Binary { exponent: 11, fraction: 52 };

impl Binary {
    pub(super) fn of(ty: Type) -> Self {
        match ty {
            Type::F16 => F16,
            Type::Bf16 => BF16,
            Type::F64 => F64,
            _ => F32,
        }
    }

    pub(super) fn sign(self) -> u64 {
        1 << (self.exponent + self.fraction)
    }

    pub(super) fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    pub(super) fn quiet(self) -> u64 {
        1 << (self.fraction - 1)
    }

    pub(super) fn largest(self) -> u64 {
        self.infinity() - 1
    }

    pub(super) fn magnitude(self, bits: u64) -> u64 {
        bits & (self.sign() - 1)
    }

    pub(super) fn is_negative(self, bits: u64) -> bool {
        bits & self.sign() != 0
    }

    pub(super) fn is_nan(self, bits: u64) -> bool {
        self.magnitude(bits) > self.infinity()
    }

    pub(super) fn is_signalling(self, bits: u64) -> bool {
        self.is_nan(bits) && bits & self.quiet() == 0
    }

    pub(super) fn is_infinite(self, bits: u64) -> bool {
        self.magnitude(bits) == self.infinity()
    }

    pub(super) fn is_zero(self, bits: u64) -> bool {
        self.magnitude(bits) == 0
    }

    pub(super) fn is_denormal(self, bits: u64) -> bool {
        let magnitude = self.magnitude(bits);
        magnitude != 0 && magnitude < 1 << self.fraction
    }

    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    /// The exponent of the smallest normal number.
    pub(super) fn least(self) -> i32 {
        1 - self.bias()
    }
}

/// A finite number.
#[derive(Clone, Debug)]
pub(super) struct Number {
    pub(super) is_negative: bool,
    pub(super) magnitude: BigUint,
    pub(super) exponent: i32,
}

impl Number {
    /// The number that bits are; they are no NaN and no infinity.
    pub(super) fn of(binary: Binary, bits: u64) -> Self {
        let magnitude = binary.magnitude(bits);
        let stored = (magnitude >> binary.fraction) as i32;
        let fraction = magnitude & ((1 << binary.fraction) - 1);
        let hidden = if stored == 0 { 0 } else { 1 << binary.fraction };
        let exponent = stored.max(1) - binary.bias() - binary.fraction as i32;
        Self {
            is_negative: binary.is_negative(bits),
            magnitude: BigUint::from(fraction | hidden),
            exponent,
        }
    }

    pub(super) fn integer(value: i128) -> Self {
        let magnitude = BigUint::from(value.unsigned_abs());
        Self { is_negative: value < 0, magnitude, exponent: 0 }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.magnitude == BigUint::ZERO
    }

    /// The exponent of its leading bit.
    pub(super) fn leading(&self) -> i32 {
        self.exponent + self.magnitude.bits() as i32 - 1
    }

    pub(super) fn times(&self, other: &Self) -> Self {
        Self {
            is_negative: self.is_negative != other.is_negative,
            magnitude: &self.magnitude * &other.magnitude,
            exponent: self.exponent + other.exponent,
        }
    }

    /// The sum. Zeros of different signs give +0, or -0 where rounding is down.
    pub(super) fn plus(&self, other: &Self, round: Round) -> Self {
        let exponent = self.exponent.min(other.exponent);
        let aligned = |it: &Self| it.magnitude.clone() << (it.exponent - exponent) as u64;
        let (a, b) = (aligned(self), aligned(other));
        let (is_negative, magnitude) = if self.is_negative == other.is_negative {
            (self.is_negative, a + b)
        } else if a > b {
            (self.is_negative, a - b)
        } else if b > a {
            (other.is_negative, b - a)
        } else {
            (round == Round::Down, BigUint::ZERO)
        };
        Self { is_negative, magnitude, exponent }
    }

    /// The nearest integer in a direction; `ties`: which of two that are as near.
    pub(super) fn to_integer(&self, round: Round) -> (bool, BigUint) {
        (self.is_negative, self.scaled(0, round))
    }

    /// The magnitude as a multiple of a power of two, rounded.
    fn scaled(&self, quantum: i32, round: Round) -> BigUint {
        let shift = quantum - self.exponent;
        if shift <= 0 {
            return self.magnitude.clone() << shift.unsigned_abs() as u64;
        }
        let kept = self.magnitude.clone() >> shift as u64;
        let rest = &self.magnitude - (kept.clone() << shift as u64);
        let half = BigUint::from(1_u8) << (shift - 1) as u64;
        let goes_up = match round {
            Round::NearestEven => rest > half || rest == half && kept.bit(0),
            Round::Up => !self.is_negative && rest != BigUint::ZERO,
            Round::Down => self.is_negative && rest != BigUint::ZERO,
            Round::ToZero => false,
        };
        if goes_up { kept + 1_u8 } else { kept }
    }

    /// The bits of the nearest float. `flushes`: a result that is denormal at full precision is zero.
    pub(super) fn rounded(&self, binary: Binary, round: Round, flushes: bool) -> u64 {
        let sign = if self.is_negative { binary.sign() } else { 0 };
        if self.is_zero() {
            return sign;
        }
        let fraction = binary.fraction as i32;
        let full = self.leading() - fraction;
        if flushes {
            let magnitude = self.scaled(full, round);
            if full + magnitude.bits() as i32 - 1 < binary.least() {
                return sign;
            }
        }
        let mut quantum = full.max(binary.least() - fraction);
        let mut magnitude = self.scaled(quantum, round);
        if magnitude.bits() > u64::from(binary.fraction) + 1 {
            magnitude >>= 1_u8;
            quantum += 1;
        }
        let magnitude = u64::try_from(magnitude).unwrap_or(u64::MAX);
        let biased = quantum - (binary.least() - fraction);
        // The hidden bit adds one to the exponent.
        let bits = (u128::from(biased.unsigned_abs()) << binary.fraction) + u128::from(magnitude);
        if bits < u128::from(binary.infinity()) {
            return sign | bits as u64;
        }
        let stays_finite = match round {
            Round::NearestEven => false,
            Round::Up => self.is_negative,
            Round::Down => !self.is_negative,
            Round::ToZero => true,
        };
        sign | if stays_finite { binary.largest() } else { binary.infinity() }
    }
}
