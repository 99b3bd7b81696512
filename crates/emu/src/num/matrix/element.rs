//! Elements of matrices: what their bits stand for.

use super::super::{F32, Format, Small};

/// Fractional bits of every factor's significand: as many as f16 and xf32 have.
pub const FRACTION: u32 = 10;

/// The exponent of a zero: below that of any product.
pub(super) const NO_EXPONENT: i32 = -4096;

/// What an element is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// A number.
    #[default]
    Finite,
    /// Infinity.
    Infinite,
    /// Not a number.
    Nan,
}

/// An element, taken apart: `significand * 2^(exponent - FRACTION)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Factor {
    /// The magnitude's bits: 11 of them, the first one set unless the element is subnormal.
    pub significand: u32,
    /// The exponent that alignment goes by: subnormals have that of the smallest normal number.
    pub exponent: i32,
    /// Its sign, also of zeros.
    pub negative: bool,
    /// What it is.
    pub class: Class,
}

impl Factor {
    /// A zero where the element is subnormal.
    #[must_use]
    pub const fn flushed(self) -> Self {
        match self.class {
            Class::Finite if self.significand < 1 << FRACTION => {
                Self { significand: 0, exponent: NO_EXPONENT, ..self }
            }
            _ => self,
        }
    }
}

/// The format of a matrix's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// Half precision.
    F16,
    /// bfloat16.
    Bf16,
    /// Single precision, of which the upper 10 bits of the mantissa count.
    Xf32,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
    /// Eight bits or fewer.
    Small(Small),
    /// Integers of so many bits.
    Integer {
        /// The bits.
        bits: u32,
        /// Whether they have a sign.
        signed: bool,
    },
}

impl Element {
    /// Bits of one.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::F16 | Self::Bf16 => 16,
            Self::Xf32 | Self::F32 => 32,
            Self::F64 => 64,
            Self::Small(small) => small.width(),
            Self::Integer { bits, .. } => bits,
        }
    }

    /// The factor that bits stand for. Formats with longer mantissas are cut.
    #[must_use]
    #[inline]
    pub fn factor(self, bits: u32) -> Factor {
        match self {
            Self::F16 => ieee::<5, 10>(bits),
            Self::Bf16 => ieee::<8, 7>(bits),
            Self::Xf32 | Self::F32 => ieee::<8, 10>(bits >> 13),
            Self::Small(small) => of_small(small, bits),
            Self::F64 | Self::Integer { .. } => Factor::default(),
        }
    }

    /// The number that bits stand for, in double precision.
    #[must_use]
    pub fn double(self, bits: u32) -> f64 {
        match self {
            Self::F32 | Self::Xf32 => f64::from(f32::from_bits(bits)),
            _ => {
                let factor = self.factor(bits);
                let magnitude = match factor.class {
                    Class::Finite if factor.significand == 0 => 0.0,
                    Class::Finite => {
                        f64::from(factor.significand) * power(factor.exponent - FRACTION as i32)
                    }
                    Class::Infinite => f64::INFINITY,
                    Class::Nan => f64::NAN,
                };
                if factor.negative { -magnitude } else { magnitude }
            }
        }
    }

    /// The number that bits stand for, as CDNA2 sees it: subnormals are positive zeros.
    #[must_use]
    pub fn flushed_single(self, bits: u32) -> f32 {
        let factor = self.factor(bits).flushed();
        if factor.class == Class::Finite && factor.significand == 0 {
            return 0.0;
        }
        // Numbers of 16 bits that are not subnormal are in the range of f32.
        #[allow(clippy::cast_possible_truncation, reason = "the number is an f32")]
        let number = self.double(bits) as f32;
        number
    }
}

/// `2^exponent`, in the range of normal numbers.
pub(super) fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023).clamp(1, 2046) as u64) << 52)
}

/// A format with `E` bits of exponent and `M` of mantissa, laid out as IEEE 754 says.
#[inline(always)]
fn ieee<const E: u32, const M: u32>(bits: u32) -> Factor {
    let fraction = bits & ((1 << M) - 1);
    let field = bits >> M & ((1 << E) - 1);
    let hidden = u32::from(field != 0) << M;
    let significand = (fraction | hidden) << (FRACTION - M);
    let is_last = field == (1 << E) - 1;
    let class = match (is_last, fraction) {
        (false, _) => Class::Finite,
        (true, 0) => Class::Infinite,
        (true, _) => Class::Nan,
    };
    let bias = (1 << (E - 1)) - 1;
    let exponent = if significand == 0 { NO_EXPONENT } else { field.max(1) as i32 - bias };
    Factor { significand, exponent, negative: bits >> (E + M) & 1 == 1, class }
}

#[inline]
fn of_small(small: Small, code: u32) -> Factor {
    let (magnitude, negative, class) = small.split(code);
    let (significand, power) = small.number(magnitude);
    let exponent = if significand == 0 { NO_EXPONENT } else { power + small.mantissa() as i32 };
    Factor { significand: significand << (FRACTION - small.mantissa()), exponent, negative, class }
}

/// Infinities among the terms of a sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Infinities {
    positive: bool,
    negative: bool,
}

impl Infinities {
    pub(super) fn add(&mut self, negative: bool) {
        if negative {
            self.negative = true;
        } else {
            self.positive = true;
        }
    }

    /// Whether they cancel.
    pub(super) fn are_opposed(self) -> bool {
        self.positive && self.negative
    }

    /// The sum, if there are any; `invalid` where they cancel.
    pub(super) fn sum(self, invalid: u32) -> Option<u32> {
        match (self.positive, self.negative) {
            (false, false) => None,
            (true, true) => Some(invalid),
            (true, false) => Some(F32::INFINITY as u32),
            (false, true) => Some((F32::SIGN | F32::INFINITY) as u32),
        }
    }
}
