//! Addition, multiplication, and both in one.

use super::float::{
    Exact, HostOp, Kind, Parts, is_denormal, is_nan, is_zero, operand, parts, quieted, round, sign,
};
use super::{Env, Format, Round};

/// `a + b`.
///
/// ```
/// use hsaco_emu::num::{add, Env, F16};
/// assert_eq!(add::<F16>(0x3c00, 0x3c00, Env::IEEE), 0x4000);
/// ```
#[inline]
pub fn add<F: Format>(a: F::Bits, b: F::Bits, env: Env) -> F::Bits {
    let (a, b) = (operand::<F>(a, env), operand::<F>(b, env));
    F::narrow(
        on_host::<F>(HostOp::Add, [a, b, 0], env).unwrap_or_else(|| exact_add::<F>(a, b, env)),
    )
}

/// `a - b`: the sign of `b` is turned, that of a NaN too.
///
/// ```
/// use hsaco_emu::num::{sub, Env, F32};
/// assert_eq!(sub::<F32>(0x3f80_0000, 0x3f80_0000, Env::IEEE), 0);
/// ```
#[inline]
pub fn sub<F: Format>(a: F::Bits, b: F::Bits, env: Env) -> F::Bits {
    add::<F>(a, F::narrow(b.into() ^ F::SIGN), env)
}

/// `a * b`.
///
/// ```
/// use hsaco_emu::num::{mul, Env, F64};
/// assert_eq!(mul::<F64>(2f64.to_bits(), 3f64.to_bits(), Env::IEEE), 6f64.to_bits());
/// ```
#[inline]
pub fn mul<F: Format>(a: F::Bits, b: F::Bits, env: Env) -> F::Bits {
    let (a, b) = (operand::<F>(a, env), operand::<F>(b, env));
    F::narrow(
        on_host::<F>(HostOp::Mul, [a, b, 0], env).unwrap_or_else(|| exact_mul::<F>(a, b, env)),
    )
}

/// `a * b + c`, rounded once.
///
/// ```
/// use hsaco_emu::num::{fma, Env, F32};
/// let [two, three, four] = [2f32, 3., 4.].map(f32::to_bits);
/// assert_eq!(fma::<F32>(two, three, four, Env::IEEE), 10f32.to_bits());
/// ```
#[inline]
pub fn fma<F: Format>(a: F::Bits, b: F::Bits, c: F::Bits, env: Env) -> F::Bits {
    let [a, b, c] = [a, b, c].map(|bits| operand::<F>(bits, env));
    let exact = || exact_fma::<F>([a, b, c], 0, env);
    F::narrow(on_host::<F>(HostOp::Fma, [a, b, c], env).unwrap_or_else(exact))
}

/// `a * b + c` of v_mad and v_mac: the product is rounded, then the sum.
/// v_mad_f32 and v_mac_f32 flush denormals whatever MODE says, so callers hand in an [`Env`] that does.
///
/// ```
/// use hsaco_emu::num::{fma, mad, Env, F32};
/// let (a, minus_one) = (0x3f80_0001, 0xbf80_0002);
/// assert_eq!(mad::<F32>(a, a, minus_one, Env::IEEE), 0);
/// assert_ne!(fma::<F32>(a, a, minus_one, Env::IEEE), 0);
/// ```
#[inline]
pub fn mad<F: Format>(a: F::Bits, b: F::Bits, c: F::Bits, env: Env) -> F::Bits {
    add::<F>(mul::<F>(a, b, env), c, env)
}

/// The operand modifiers: the absolute value first, then the other sign.
///
/// ```
/// use hsaco_emu::num::{neg_abs, F16};
/// assert_eq!(neg_abs::<F16>(0xbc00, true, true), 0xbc00);
/// ```
#[inline]
pub fn neg_abs<F: Format>(bits: F::Bits, neg: bool, abs: bool) -> F::Bits {
    let bits = bits.into();
    F::narrow((if abs { bits & !F::SIGN } else { bits }) ^ sign::<F>(neg))
}

/// The host's answer where it is the device's as well: to nearest even, no NaN, no denormal that would be flushed.
#[inline]
fn on_host<F: Format>(op: HostOp, [a, b, c]: [u64; 3], env: Env) -> Option<u64> {
    if env.round != Round::NearestEven || env.saturate {
        return None;
    }
    let bits = F::host(op, a, b, c)?;
    let magnitude = bits & !F::SIGN;
    // The smallest normal number may have been rounded up to, which counts as a denormal.
    let stays = env.denorm.output || magnitude > F::MIN_NORMAL || magnitude == 0;
    (stays && magnitude <= F::INFINITY).then_some(bits)
}

fn exact_add<F: Format>(a: u64, b: u64, env: Env) -> u64 {
    if let Some(nan) = first_nan::<F>(&[a, b], env) {
        return nan;
    }
    let (x, y) = (parts::<F>(a), parts::<F>(b));
    match (x.kind, y.kind) {
        (Kind::Infinity, Kind::Infinity) if x.negative != y.negative => F::INVALID,
        (Kind::Infinity, _) => a,
        (_, Kind::Infinity) => b,
        _ => sum::<F>(exact(x), exact(y), 0, env),
    }
}

fn exact_mul<F: Format>(a: u64, b: u64, env: Env) -> u64 {
    if let Some(nan) = first_nan::<F>(&[a, b], env) {
        return nan;
    }
    let (x, y) = (parts::<F>(a), parts::<F>(b));
    match (x.kind, y.kind) {
        (Kind::Infinity, Kind::Zero) | (Kind::Zero, Kind::Infinity) => F::INVALID,
        (Kind::Infinity, _) | (_, Kind::Infinity) => {
            sign::<F>(x.negative != y.negative) | F::INFINITY
        }
        _ => round::<F>(product(x, y), env),
    }
}

/// `(a * b + c) * 2^scale`, rounded once.
pub(super) fn exact_fma<F: Format>([a, b, c]: [u64; 3], scale: i32, env: Env) -> u64 {
    if let Some(nan) = first_nan::<F>(&[a, b], env) {
        return nan;
    }
    let (x, y, z) = (parts::<F>(a), parts::<F>(b), parts::<F>(c));
    let negative = x.negative != y.negative;
    let infinite = x.kind == Kind::Infinity || y.kind == Kind::Infinity;
    let invalid = infinite
        && (x.kind == Kind::Zero
            || y.kind == Kind::Zero
            || z.kind == Kind::Infinity && z.negative != negative);
    // An invalid product comes before the addend's NaN.
    if invalid {
        return F::INVALID;
    }
    if is_nan::<F>(c) {
        return quieted::<F>(c, env);
    }
    if infinite {
        return sign::<F>(negative) | F::INFINITY;
    }
    if z.kind == Kind::Infinity {
        return c;
    }
    sum::<F>(product(x, y), exact(z), scale, env)
}

fn first_nan<F: Format>(operands: &[u64], env: Env) -> Option<u64> {
    let nan = operands.iter().find(|bits| is_nan::<F>(**bits))?;
    Some(quieted::<F>(*nan, env))
}

pub(super) fn exact(parts: Parts) -> Exact {
    let (significand, exponent) = match parts.kind {
        Kind::Finite(significand, exponent) => (significand.into(), exponent),
        _ => (0, 0),
    };
    Exact { negative: parts.negative, significand, exponent }
}

fn product(x: Parts, y: Parts) -> Exact {
    let (x, y) = (exact(x), exact(y));
    Exact {
        negative: x.negative != y.negative,
        significand: x.significand * y.significand,
        exponent: x.exponent + y.exponent,
    }
}

/// Adds two numbers of at most 106 bits, scales, and rounds once.
fn sum<F: Format>(x: Exact, y: Exact, scale: i32, env: Env) -> u64 {
    let (mut total, zero_negative) = match (x.significand, y.significand) {
        (0, 0) => return sign::<F>(zero_sum_is_negative(x.negative, y.negative, env.round)),
        (0, _) => (y, false),
        (_, 0) => (x, false),
        _ => (exact_sum(x, y), env.round == Round::Down),
    };
    if total.significand == 0 {
        return sign::<F>(zero_negative);
    }
    total.exponent += scale;
    round::<F>(total, env)
}

fn zero_sum_is_negative(a: bool, b: bool, round: Round) -> bool {
    if a == b { a } else { round == Round::Down }
}

/// The sum; what does not fit below is kept in the lowest bit, which leaves more bits than any format rounds at.
fn exact_sum(x: Exact, y: Exact) -> Exact {
    let (high, low) = if x.exponent >= y.exponent { (x, y) } else { (y, x) };
    let room = high.significand.leading_zeros() as i32 - 2;
    let left = (high.exponent - low.exponent).min(room);
    let exponent = high.exponent - left;
    let high_bits = high.significand << left;
    let right = exponent - low.exponent;
    let low_bits = match right {
        0 => low.significand,
        1..=127 => {
            let lost = low.significand & ((1 << right) - 1) != 0;
            low.significand >> right | u128::from(lost)
        }
        _ => 1,
    };
    if high.negative == low.negative {
        return Exact { negative: high.negative, significand: high_bits + low_bits, exponent };
    }
    let negative = if high_bits >= low_bits { high.negative } else { low.negative };
    Exact { negative, significand: high_bits.abs_diff(low_bits), exponent }
}

/// The device's answer without the host's help.
#[cfg(test)]
pub(super) fn without_host<F: Format>(op: HostOp, operands: [F::Bits; 3], env: Env) -> F::Bits {
    let [a, b, c] = operands.map(|bits| operand::<F>(bits, env));
    F::narrow(match op {
        HostOp::Add => exact_add::<F>(a, b, env),
        HostOp::Mul => exact_mul::<F>(a, b, env),
        HostOp::Fma => exact_fma::<F>([a, b, c], 0, env),
    })
}

/// Whether bits are zero or a denormal.
pub(super) fn is_tiny<F: Format>(bits: u64) -> bool {
    is_zero::<F>(bits) || is_denormal::<F>(bits)
}
