//! The helpers of division: v_div_scale, v_div_fmas, v_div_fixup.
//!
//! Manuals differ from devices here; these follow what was seen on gfx1100 and gfx1201.

use super::arith::{exact, exact_fma};
use super::float::{Exact, Kind, is_infinite, is_nan, is_zero, operand, overflow, parts, round};
use super::{Denorm, Env, Format};

/// By how much v_div_scale scales, and from which distance of exponents on.
struct Scaling {
    threshold: i32,
    scale: i32,
    small_numerator: i32,
}

fn scaling<F: Format>() -> Scaling {
    if F::WIDTH == 64 {
        Scaling { threshold: 768, scale: 128, small_numerator: 53 }
    } else {
        Scaling { threshold: 96, scale: 64, small_numerator: 24 }
    }
}

fn field<F: Format>(bits: u64) -> i32 {
    ((bits & F::INFINITY) >> F::MANTISSA) as i32
}

/// v_div_scale: the operand `value`, which is the denominator or the numerator, scaled so that the steps of a division
/// neither overflow nor lose bits; and VCC: whether v_div_fmas has to scale back.
///
/// ```
/// use hsaco_emu::num::{div_scale, Env, F32};
/// let [one, three] = [1f32, 3.].map(f32::to_bits);
/// assert_eq!(div_scale::<F32>(three, three, one, Env::IEEE), (three, false));
/// ```
pub fn div_scale<F: Format>(
    value: F::Bits,
    denominator: F::Bits,
    numerator: F::Bits,
    env: Env,
) -> (F::Bits, bool) {
    let [v, d, n] = [value, denominator, numerator].map(|bits| operand::<F>(bits, env));
    let (adjust, post_scale) = adjustment::<F>(v == d, field::<F>(d), field::<F>(n));
    let bits = if is_zero::<F>(d) || is_zero::<F>(n) {
        F::INVALID
    } else if is_nan::<F>(v) {
        v | F::QUIET
    } else if is_infinite::<F>(v) {
        v
    } else {
        let scaled = exact(parts::<F>(v));
        round::<F>(Exact { exponent: scaled.exponent + adjust, ..scaled }, env)
    };
    (F::narrow(bits), post_scale)
}

fn adjustment<F: Format>(is_denominator: bool, denominator: i32, numerator: i32) -> (i32, bool) {
    let Scaling { threshold, scale, small_numerator } = scaling::<F>();
    let distance = numerator - denominator;
    if distance >= threshold {
        (if is_denominator { scale } else { 0 }, true)
    } else if denominator == 0 {
        (scale, false)
    } else if denominator >= 2 * F::BIAS - 1 {
        let far = distance <= -threshold;
        (if far && !is_denominator { 0 } else { -scale }, far)
    } else if distance <= -threshold {
        (if is_denominator { 0 } else { scale }, true)
    } else if numerator <= small_numerator {
        (scale, false)
    } else {
        (0, false)
    }
}

/// v_div_fmas: `a * b + c`, scaled back if VCC says so, rounded once. Denormal operands are kept.
///
/// ```
/// use hsaco_emu::num::{div_fmas, Env, F32};
/// let [one, two] = [1f32, 2.].map(f32::to_bits);
/// assert_eq!(div_fmas::<F32>(one, one, one, false, Env::IEEE), two);
/// ```
pub fn div_fmas<F: Format>(
    a: F::Bits,
    b: F::Bits,
    c: F::Bits,
    post_scale: bool,
    env: Env,
) -> F::Bits {
    let [a, b, c] = [a, b, c].map(Into::into);
    let up = field::<F>(c) > F::BIAS;
    let scale = scaling::<F>().scale;
    let scale = match (post_scale, up) {
        (false, _) => 0,
        (true, true) => scale,
        (true, false) => -scale,
    };
    let env = Env { denorm: Denorm { input: true, ..env.denorm }, quiet: true, ..env };
    F::narrow(exact_fma::<F>([a, b, c], scale, env))
}

/// v_div_fixup: the quotient with its sign, or what a division by zero, of infinities or of NaNs gives.
///
/// ```
/// use hsaco_emu::num::{div_fixup, Env, F32};
/// let one = 1f32.to_bits();
/// assert_eq!(div_fixup::<F32>(one, 0, one, Env::IEEE), f32::INFINITY.to_bits());
/// ```
pub fn div_fixup<F: Format>(
    quotient: F::Bits,
    denominator: F::Bits,
    numerator: F::Bits,
    env: Env,
) -> F::Bits {
    let q = quotient.into();
    let [d, n] = [denominator, numerator].map(|bits| operand::<F>(bits, env));
    let (x, y) = (parts::<F>(n), parts::<F>(d));
    let negative = x.negative != y.negative;
    let sign = (d ^ n) & F::SIGN;
    F::narrow(match (x.kind, y.kind) {
        (Kind::Nan, _) => n | F::QUIET,
        (_, Kind::Nan) => d | F::QUIET,
        (Kind::Zero, Kind::Zero) | (Kind::Infinity, Kind::Infinity) => F::INVALID,
        (_, Kind::Zero) | (Kind::Infinity, _) => sign | F::INFINITY,
        (Kind::Zero, _) | (_, Kind::Infinity) => sign,
        _ if F::WIDTH == 16 => sign | q & !F::SIGN,
        _ if field::<F>(n) - field::<F>(d) < -(F::BIAS + F::MANTISSA as i32) => {
            let exponent = -2 * (F::BIAS + F::MANTISSA as i32);
            round::<F>(Exact { negative, significand: 1, exponent }, env)
        }
        _ if q & !F::SIGN >= F::INFINITY => overflow::<F>(negative, env),
        _ => sign | q & !F::SIGN,
    })
}
