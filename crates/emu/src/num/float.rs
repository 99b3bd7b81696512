//! Floating-point formats, and the one place where a value is rounded into one.

use std::fmt::Debug;

use super::{Env, Round};

/// An IEEE 754 binary format.
///
/// ```
/// use hsaco_emu::num::{Format, BF16};
/// assert_eq!((BF16::WIDTH, BF16::MANTISSA, BF16::INFINITY), (16, 7, 0x7f80));
/// ```
pub trait Format: Copy + Debug + 'static {
    /// The register bits of a value.
    type Bits: Copy + Debug + Eq + Into<u64>;
    /// Bits of the format.
    const WIDTH: u32;
    /// Bits of the mantissa that are stored.
    const MANTISSA: u32;

    /// The exponent of numbers in 1 to 2, as it is stored.
    const BIAS: i32 = (1 << (Self::WIDTH - Self::MANTISSA - 2)) - 1;
    /// The sign bit.
    const SIGN: u64 = 1 << (Self::WIDTH - 1);
    /// Positive infinity.
    const INFINITY: u64 = (2 * Self::BIAS as u64 + 1) << Self::MANTISSA;
    /// The bit that makes a NaN quiet.
    const QUIET: u64 = 1 << (Self::MANTISSA - 1);
    /// The smallest normal number.
    const MIN_NORMAL: u64 = 1 << Self::MANTISSA;
    /// The largest finite number.
    const MAX: u64 = Self::INFINITY - 1;
    /// One.
    const ONE: u64 = (Self::BIAS as u64) << Self::MANTISSA;
    /// What an invalid operation gives on every device that was looked at: a quiet NaN with its sign set.
    const INVALID: u64 = Self::SIGN | Self::INFINITY | Self::QUIET;

    /// The low bits of a number.
    fn narrow(bits: u64) -> Self::Bits;
    /// `a + b`, `a * b`, `a * b + c` of the host if it has the format, rounded to nearest even with denormals.
    fn host(op: HostOp, a: u64, b: u64, c: u64) -> Option<u64>;
}

/// An operation that hosts have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostOp {
    /// `a + b`
    Add,
    /// `a * b`
    Mul,
    /// `a * b + c`, rounded once
    Fma,
}

macro_rules! format {
    ($name:ident, $bits:ty, $mantissa:literal, $about:literal, $host:expr) => {
        #[doc = $about]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $name;
        impl Format for $name {
            type Bits = $bits;
            const WIDTH: u32 = <$bits>::BITS;
            const MANTISSA: u32 = $mantissa;
            #[inline]
            fn narrow(bits: u64) -> $bits {
                bits as $bits
            }
            #[inline]
            fn host(op: HostOp, a: u64, b: u64, c: u64) -> Option<u64> {
                $host(op, a, b, c)
            }
        }
    };
}

format!(F16, u16, 10, "IEEE half precision.", no_host);
format!(BF16, u16, 7, "bfloat16: the upper half of an f32.", no_host);
format!(F32, u32, 23, "IEEE single precision.", host_f32);
format!(F64, u64, 52, "IEEE double precision.", host_f64);

fn no_host(_: HostOp, _: u64, _: u64, _: u64) -> Option<u64> {
    None
}

#[inline]
fn host_f32(op: HostOp, a: u64, b: u64, c: u64) -> Option<u64> {
    let [a, b, c] = [a, b, c].map(|bits| f32::from_bits(bits as u32));
    let result = match op {
        HostOp::Add => a + b,
        HostOp::Mul => a * b,
        HostOp::Fma => a.mul_add(b, c),
    };
    Some(result.to_bits().into())
}

#[inline]
fn host_f64(op: HostOp, a: u64, b: u64, c: u64) -> Option<u64> {
    let [a, b, c] = [a, b, c].map(f64::from_bits);
    let result = match op {
        HostOp::Add => a + b,
        HostOp::Mul => a * b,
        HostOp::Fma => a.mul_add(b, c),
    };
    Some(result.to_bits())
}

/// What bits of a format stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Zero,
    /// `significand * 2^exponent`, not zero.
    Finite(u64, i32),
    Infinity,
    Nan,
}

/// A value, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) negative: bool,
    pub(super) kind: Kind,
}

pub(super) fn is_nan<F: Format>(bits: u64) -> bool {
    bits & !F::SIGN > F::INFINITY
}

pub(super) fn is_signalling<F: Format>(bits: u64) -> bool {
    is_nan::<F>(bits) && bits & F::QUIET == 0
}

pub(super) fn is_infinite<F: Format>(bits: u64) -> bool {
    bits & !F::SIGN == F::INFINITY
}

pub(super) fn is_zero<F: Format>(bits: u64) -> bool {
    bits & !F::SIGN == 0
}

pub(super) fn is_denormal<F: Format>(bits: u64) -> bool {
    let magnitude = bits & !F::SIGN;
    magnitude != 0 && magnitude < F::MIN_NORMAL
}

/// The NaN itself, made quiet if MODE wants it.
pub(super) fn quieted<F: Format>(nan: u64, env: Env) -> u64 {
    if env.quiet { nan | F::QUIET } else { nan }
}

/// An operand as the operation sees it: denormals may be zeros.
#[inline]
pub(super) fn operand<F: Format>(bits: F::Bits, env: Env) -> u64 {
    let bits = bits.into();
    if !env.denorm.input && is_denormal::<F>(bits) { bits & F::SIGN } else { bits }
}

pub(super) fn parts<F: Format>(bits: u64) -> Parts {
    let negative = bits & F::SIGN != 0;
    let magnitude = bits & !F::SIGN;
    let fraction = magnitude & (F::MIN_NORMAL - 1);
    let field = (magnitude >> F::MANTISSA) as i32;
    let lowest = 1 - F::BIAS - F::MANTISSA as i32;
    let kind = match field {
        0 if fraction == 0 => Kind::Zero,
        0 => Kind::Finite(fraction, lowest),
        _ if magnitude == F::INFINITY => Kind::Infinity,
        _ if magnitude > F::INFINITY => Kind::Nan,
        _ => Kind::Finite(fraction | F::MIN_NORMAL, lowest + field - 1),
    };
    Parts { negative, kind }
}

/// An exact number: `significand * 2^exponent`. The lowest bit stands for all that is below it as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exact {
    pub(super) negative: bool,
    pub(super) significand: u128,
    pub(super) exponent: i32,
}

impl Exact {
    /// The exponent of the leading bit; meaningless for zero.
    pub(super) fn leading(&self) -> i32 {
        127 - self.significand.leading_zeros() as i32 + self.exponent
    }
}

/// `value >> shift`, rounded. Shifts to the left where the shift is negative.
pub(super) fn shift_round(value: u128, shift: i32, negative: bool, round: Round) -> u128 {
    if shift <= 0 {
        return value << -shift;
    }
    let (whole, guard, sticky) = match shift {
        1..=127 => {
            let rest = value & ((1 << shift) - 1);
            let half = 1 << (shift - 1);
            (value >> shift, rest & half != 0, rest & (half - 1) != 0)
        }
        128 => (0, value >> 127 != 0, value << 1 != 0),
        _ => (0, false, value != 0),
    };
    let up = match round {
        Round::NearestEven => guard && (sticky || whole & 1 != 0),
        Round::Up => !negative && (guard || sticky),
        Round::Down => negative && (guard || sticky),
        Round::Zero => false,
    };
    whole + u128::from(up)
}

/// What a number beyond the largest one becomes.
pub(super) fn overflow<F: Format>(negative: bool, env: Env) -> u64 {
    let to_infinity = match env.round {
        Round::NearestEven => true,
        Round::Up => !negative,
        Round::Down => negative,
        Round::Zero => false,
    };
    let magnitude = if to_infinity && !env.saturate { F::INFINITY } else { F::MAX };
    sign::<F>(negative) | magnitude
}

pub(super) fn sign<F: Format>(negative: bool) -> u64 {
    if negative { F::SIGN } else { 0 }
}

/// Rounds a number once. Where denormal results are flushed, one that is below the smallest normal number when it is
/// rounded as if exponents had no end is zero, even if it would have been rounded up to that number.
pub(super) fn round<F: Format>(value: Exact, env: Env) -> u64 {
    let sign = sign::<F>(value.negative);
    if value.significand == 0 {
        return sign;
    }
    let mantissa = F::MANTISSA as i32;
    let lowest_normal = 1 - F::BIAS;
    let leading = value.leading();
    let full = leading - mantissa - value.exponent;
    let at = |shift| shift_round(value.significand, shift, value.negative, env.round) as u64;
    if leading < lowest_normal {
        if env.denorm.output {
            return sign | at(lowest_normal - mantissa - value.exponent);
        }
        let carries = leading == lowest_normal - 1 && at(full) == 2 * F::MIN_NORMAL;
        return sign | if carries { F::MIN_NORMAL } else { 0 };
    }
    if leading > F::BIAS {
        return overflow::<F>(value.negative, env);
    }
    // A carry out of the mantissa goes into the exponent, as it should.
    let bits = (((leading + F::BIAS - 1) as u64) << F::MANTISSA) + at(full);
    if bits >= F::INFINITY { overflow::<F>(value.negative, env) } else { sign | bits }
}
