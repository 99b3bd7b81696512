//! Conversions between formats, and between floats and integers.

use super::arith::exact;
use super::float::{Exact, Kind, is_nan, operand, parts, quieted, round, shift_round};
use super::{Env, F16, F32, Format, Generation, Round};

/// Converts a float into another format, rounded once. Operands are flushed by `from`, results by `to`.
///
/// ```
/// use hsaco_emu::num::{convert, Env, Round, F16, F32};
/// let env = Env { round: Round::Zero, ..Env::IEEE };
/// assert_eq!(convert::<F32, F16>(1e9f32.to_bits(), Env::IEEE, Env::IEEE), 0x7c00);
/// assert_eq!(convert::<F32, F16>(1e9f32.to_bits(), Env::IEEE, env), 0x7bff);
/// ```
pub fn convert<From: Format, To: Format>(a: From::Bits, from: Env, to: Env) -> To::Bits {
    let bits = operand::<From>(a, from);
    let value = parts::<From>(bits);
    let sign = if value.negative { To::SIGN } else { 0 };
    To::narrow(match value.kind {
        Kind::Nan => sign | nan_payload::<From, To>(quieted::<From>(bits, to)),
        Kind::Infinity => sign | To::INFINITY,
        Kind::Zero => sign,
        Kind::Finite(..) => round::<To>(exact(value), to),
    })
}

/// The upper bits of the payload; a payload that vanishes is one, so that the NaN stays one.
fn nan_payload<From: Format, To: Format>(bits: u64) -> u64 {
    let fraction = bits & (From::MIN_NORMAL - 1);
    let cut = if To::MANTISSA >= From::MANTISSA {
        fraction << (To::MANTISSA - From::MANTISSA)
    } else {
        fraction >> (From::MANTISSA - To::MANTISSA)
    };
    To::INFINITY | cut.max(1)
}

/// v_cvt_pkrtz_f16_f32: two numbers, cut toward zero.
///
/// ```
/// use hsaco_emu::num::{cvt_pkrtz, Env};
/// assert_eq!(cvt_pkrtz(1f32.to_bits(), 2f32.to_bits(), Env::IEEE, Env::IEEE), 0x4000_3c00);
/// ```
pub fn cvt_pkrtz(a: u32, b: u32, f32: Env, f16: Env) -> u32 {
    let f16 = Env { round: Round::Zero, ..f16 };
    let [low, high] = [a, b].map(|bits| u32::from(convert::<F32, F16>(bits, f32, f16)));
    high << 16 | low
}

/// Integers that floats are converted to and from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Integer {
    /// Its bits, at most 64.
    pub width: u32,
    /// Whether it is signed.
    pub signed: bool,
}

impl Integer {
    /// Signed, of these many bits.
    pub const fn signed(width: u32) -> Self {
        Self { width, signed: true }
    }

    /// Unsigned, of these many bits.
    pub const fn unsigned(width: u32) -> Self {
        Self { width, signed: false }
    }

    const fn largest(self) -> i128 {
        (1 << (self.width - self.signed as u32)) - 1
    }

    const fn least(self) -> i128 {
        if self.signed { -(1 << (self.width - 1)) } else { 0 }
    }

    const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    /// The nearest value of this type, as its bits.
    ///
    /// ```
    /// use hsaco_emu::num::Integer;
    /// assert_eq!(Integer::unsigned(8).saturate(300), 255);
    /// assert_eq!(Integer::signed(16).saturate(-70000), 0x8000);
    /// ```
    pub const fn saturate(self, value: i128) -> u64 {
        let within = if value > self.largest() {
            self.largest()
        } else if value < self.least() {
            self.least()
        } else {
            value
        };
        within as u64 & self.mask()
    }

    /// What the bits stand for.
    ///
    /// ```
    /// use hsaco_emu::num::Integer;
    /// assert_eq!(Integer::signed(8).value(0xff), -1);
    /// ```
    pub const fn value(self, bits: u64) -> i128 {
        let bits = bits & self.mask();
        let negative = self.signed && bits >> (self.width - 1) != 0;
        bits as i128 - if negative { 1 << self.width } else { 0 }
    }
}

/// How a conversion to an integer treats fractions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToInteger {
    /// Cut: v_cvt_i32_f32 and the like.
    Truncate,
    /// Down: v_cvt_floor_i32_f32, v_cvt_flr_i32_f32.
    Floor,
    /// To nearest, ties up: v_cvt_nearest_i32_f32, v_cvt_rpi_i32_f32.
    NearestUp,
    /// To nearest, ties to even.
    NearestEven,
}

/// Converts a float to an integer; what is too large becomes the limit, a NaN zero.
/// gfx12's floor and nearest forms turn a NaN into the limit of its sign.
///
/// ```
/// use hsaco_emu::num::{to_integer, Env, Generation, Integer, ToInteger, F32};
/// let convert = |x: f32| to_integer::<F32>(x.to_bits(), Integer::signed(32), ToInteger::Truncate, Env::IEEE, Generation::Gfx11);
/// assert_eq!(convert(-1.9), 0xffff_ffff);
/// assert_eq!(convert(f32::INFINITY), 0x7fff_ffff);
/// ```
pub fn to_integer<F: Format>(
    a: F::Bits,
    to: Integer,
    how: ToInteger,
    env: Env,
    generation: Generation,
) -> u64 {
    let bits = operand::<F>(a, env);
    let value = parts::<F>(bits);
    let limit = if value.negative { i128::MIN } else { i128::MAX };
    match value.kind {
        Kind::Zero => 0,
        Kind::Infinity => to.saturate(limit),
        Kind::Nan => {
            let by_sign = matches!(how, ToInteger::Floor | ToInteger::NearestUp);
            if by_sign && generation.always_quiets() { to.saturate(limit) } else { 0 }
        }
        Kind::Finite(_, exponent) if exponent > 64 => to.saturate(limit),
        Kind::Finite(significand, exponent) => {
            let magnitude = integral(significand.into(), exponent, value.negative, how) as i128;
            to.saturate(if value.negative { -magnitude } else { magnitude })
        }
    }
}

fn integral(significand: u128, exponent: i32, negative: bool, how: ToInteger) -> u128 {
    let round = match how {
        ToInteger::Truncate => Round::Zero,
        ToInteger::Floor => Round::Down,
        ToInteger::NearestEven => Round::NearestEven,
        ToInteger::NearestUp => {
            // Twice the value, cut; then half of it and the bit that was a half or more.
            let twice = shift_round(significand << 1, -exponent, false, Round::Zero);
            let lost =
                exponent < 0 && exponent > -128 && significand << 1 & ((1 << -exponent) - 1) != 0;
            let tie_goes_down = negative && twice & 1 != 0 && !lost;
            return (twice >> 1) + (twice & 1) - u128::from(tie_goes_down);
        }
    };
    shift_round(significand, -exponent, negative, round)
}

/// Converts an integer to a float.
///
/// ```
/// use hsaco_emu::num::{from_integer, Env, Integer, F32};
/// assert_eq!(from_integer::<F32>(0xffff_ffff, Integer::signed(32), Env::IEEE), (-1f32).to_bits());
/// ```
pub fn from_integer<F: Format>(bits: u64, from: Integer, env: Env) -> F::Bits {
    let value = from.value(bits);
    let exact = Exact { negative: value < 0, significand: value.unsigned_abs(), exponent: 0 };
    F::narrow(round::<F>(exact, env))
}

/// v_cvt_norm and v_cvt_pk*norm: -1 to 1, or 0 to 1, into all values of 16 bits, to nearest; halfway, which only
/// a half is, away from zero as graphics APIs have it, which is to even as well.
///
/// ```
/// use hsaco_emu::num::{cvt_norm, Env, F32};
/// assert_eq!(cvt_norm::<F32>((-1f32).to_bits(), true, Env::IEEE), 0x8001);
/// assert_eq!(cvt_norm::<F32>(0.5f32.to_bits(), false, Env::IEEE), 0x8000);
/// assert_eq!(cvt_norm::<F32>((-0.5f32).to_bits(), true, Env::IEEE), 0xc000);
/// ```
pub fn cvt_norm<F: Format>(a: F::Bits, signed: bool, env: Env) -> u16 {
    let bits = operand::<F>(a, env);
    let scale: i128 = if signed { 0x7fff } else { 0xffff };
    let value = parts::<F>(bits);
    let magnitude = match value.kind {
        Kind::Nan | Kind::Zero => 0,
        _ if bits & !F::SIGN >= F::ONE => scale,
        Kind::Finite(significand, exponent) => {
            let scaled = u128::from(significand) * scale as u128;
            integral(scaled, exponent, value.negative, ToInteger::NearestEven) as i128
        }
        Kind::Infinity => scale,
    };
    let to = Integer { width: 16, signed };
    to.saturate(if value.negative { -magnitude } else { magnitude }) as u16
}

/// v_cvt_off_f32_i4: the low four bits as a signed number of sixteenths.
///
/// ```
/// use hsaco_emu::num::cvt_off_f32_i4;
/// assert_eq!(cvt_off_f32_i4(8), (-0.5f32).to_bits());
/// ```
pub fn cvt_off_f32_i4(bits: u32) -> u32 {
    let value = Integer::signed(4).value(bits.into());
    let exact = Exact { negative: value < 0, significand: value.unsigned_abs(), exponent: -4 };
    round::<F32>(exact, Env::IEEE) as u32
}

/// v_cvt_f32_ubyte0 to 3.
///
/// ```
/// use hsaco_emu::num::cvt_f32_ubyte;
/// assert_eq!(cvt_f32_ubyte(0x0000_ff00, 1), 255f32.to_bits());
/// ```
pub fn cvt_f32_ubyte(bits: u32, byte: u32) -> u32 {
    from_integer::<F32>(u64::from(bits >> (8 * (byte & 3))), Integer::unsigned(8), Env::IEEE)
}

/// Whether the bits are a NaN: integer conversions of callers treat these apart.
///
/// ```
/// use hsaco_emu::num::{is_nan_bits, F32};
/// assert!(is_nan_bits::<F32>(0x7fc0_0000));
/// ```
pub fn is_nan_bits<F: Format>(bits: F::Bits) -> bool {
    is_nan::<F>(bits.into())
}
