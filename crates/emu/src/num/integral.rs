//! Integral parts, fractions, mantissas and exponents.

use super::arith::exact;
use super::float::{Exact, Kind, operand, parts, quieted, round, shift_round};
use super::{Env, Format, Round};

/// v_rndne: to the nearest integer, ties to even.
///
/// ```
/// use hsaco_emu::num::{rndne, Env, F32};
/// assert_eq!(rndne::<F32>(2.5f32.to_bits(), Env::IEEE), 2f32.to_bits());
/// ```
pub fn rndne<F: Format>(a: F::Bits, env: Env) -> F::Bits {
    integer::<F>(a, Round::NearestEven, env)
}

/// v_trunc.
///
/// ```
/// use hsaco_emu::num::{trunc, Env, F64};
/// assert_eq!(trunc::<F64>((-1.5f64).to_bits(), Env::IEEE), (-1f64).to_bits());
/// ```
pub fn trunc<F: Format>(a: F::Bits, env: Env) -> F::Bits {
    integer::<F>(a, Round::Zero, env)
}

/// v_ceil.
///
/// ```
/// use hsaco_emu::num::{ceil, Env, F32};
/// assert_eq!(ceil::<F32>((-0.5f32).to_bits(), Env::IEEE), (-0f32).to_bits());
/// ```
pub fn ceil<F: Format>(a: F::Bits, env: Env) -> F::Bits {
    integer::<F>(a, Round::Up, env)
}

/// v_floor.
///
/// ```
/// use hsaco_emu::num::{floor, Env, F32};
/// assert_eq!(floor::<F32>((-0.5f32).to_bits(), Env::IEEE), (-1f32).to_bits());
/// ```
pub fn floor<F: Format>(a: F::Bits, env: Env) -> F::Bits {
    integer::<F>(a, Round::Down, env)
}

fn integer<F: Format>(a: F::Bits, direction: Round, env: Env) -> F::Bits {
    let bits = operand::<F>(a, env);
    let value = parts::<F>(bits);
    F::narrow(match value.kind {
        Kind::Nan => quieted::<F>(bits, env),
        Kind::Finite(significand, exponent) if exponent < 0 => {
            let whole = shift_round(significand.into(), -exponent, value.negative, direction);
            round::<F>(Exact { negative: value.negative, significand: whole, exponent: 0 }, env)
        }
        _ => bits,
    })
}

/// v_fract: what is above the integer below, less than one. Integers give +0 and infinities a NaN.
///
/// ```
/// use hsaco_emu::num::{fract, Env, F32};
/// assert_eq!(fract::<F32>((-0.25f32).to_bits(), Env::IEEE), 0.75f32.to_bits());
/// assert_eq!(fract::<F32>(0x8000_0001, Env::IEEE), 0x3f7f_ffff);
/// ```
pub fn fract<F: Format>(a: F::Bits, env: Env) -> F::Bits {
    let bits = operand::<F>(a, env);
    let value = parts::<F>(bits);
    F::narrow(match value.kind {
        Kind::Nan => quieted::<F>(bits, env),
        Kind::Infinity => F::INVALID,
        Kind::Finite(significand, exponent) if exponent < 0 => {
            let fraction = fraction_above_floor(value.negative, significand, exponent);
            round::<F>(fraction, env).min(F::ONE - 1)
        }
        _ => 0,
    })
}

/// `x - floor(x)`; numbers too small to matter keep their lowest bit only.
fn fraction_above_floor(negative: bool, significand: u64, exponent: i32) -> Exact {
    let positive = |significand, exponent| Exact { negative: false, significand, exponent };
    if exponent < -120 {
        return if negative {
            positive((1 << 120) - 1, -120)
        } else {
            positive(significand.into(), exponent)
        };
    }
    let one = 1u128 << -exponent;
    let below = u128::from(significand) & (one - 1);
    positive(if negative && below != 0 { one - below } else { below }, exponent)
}

/// v_frexp_mant: the mantissa in 0.5 to 1, with the sign.
///
/// ```
/// use hsaco_emu::num::{frexp_mant, Env, F32};
/// assert_eq!(frexp_mant::<F32>(8f32.to_bits(), Env::IEEE), 0.5f32.to_bits());
/// ```
pub fn frexp_mant<F: Format>(a: F::Bits, env: Env) -> F::Bits {
    let bits = operand::<F>(a, env);
    let value = parts::<F>(bits);
    F::narrow(match value.kind {
        Kind::Nan => quieted::<F>(bits, env),
        Kind::Finite(..) => {
            let mut value = exact(value);
            value.exponent -= value.leading() + 1;
            round::<F>(value, env)
        }
        _ => bits,
    })
}

/// v_frexp_exp: the exponent that belongs to [`frexp_mant`]; 0 for zeros, infinities and NaNs.
///
/// ```
/// use hsaco_emu::num::{frexp_exp, Env, F32};
/// assert_eq!(frexp_exp::<F32>(8f32.to_bits(), Env::IEEE), 4);
/// ```
pub fn frexp_exp<F: Format>(a: F::Bits, env: Env) -> i32 {
    let value = parts::<F>(operand::<F>(a, env));
    match value.kind {
        Kind::Finite(..) => exact(value).leading() + 1,
        _ => 0,
    }
}

/// v_ldexp: `a * 2^exponent`, rounded once.
///
/// ```
/// use hsaco_emu::num::{ldexp, Env, F32};
/// assert_eq!(ldexp::<F32>(3f32.to_bits(), -1, Env::IEEE), 1.5f32.to_bits());
/// ```
pub fn ldexp<F: Format>(a: F::Bits, exponent: i32, env: Env) -> F::Bits {
    let bits = operand::<F>(a, env);
    let value = parts::<F>(bits);
    F::narrow(match value.kind {
        Kind::Nan => quieted::<F>(bits, env),
        Kind::Finite(..) => {
            let mut value = exact(value);
            // Beyond this everything overflows or vanishes.
            value.exponent += exponent.clamp(-5000, 5000);
            round::<F>(value, env)
        }
        _ => bits,
    })
}
