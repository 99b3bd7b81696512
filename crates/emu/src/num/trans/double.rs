//! Functions in double arithmetic, for devices of which nothing is public: the last bit of an f32 is right but for
//! cases closer to a tie than a double can tell.

use super::Transcendental;
use super::exact;
use crate::num::{Denorm, Env, F32, F64, convert};

const LN_2: f64 = std::f64::consts::LN_2;
const FLUSH: Env = Env { denorm: Denorm::FLUSH, ..Env::IEEE };

/// The function of a number that is not special.
pub(super) fn evaluate(function: Transcendental, bits: u32) -> u32 {
    if let Some(bits) = exact::evaluate::<F32>(function, bits.into(), FLUSH) {
        return bits as u32;
    }
    let x = f64::from(f32::from_bits(bits));
    let result = match function {
        Transcendental::Exp2 => exponential(x),
        Transcendental::Log2 => logarithm(x),
        _ => hyperbolic_tangent(x),
    };
    convert::<F64, F32>(result.to_bits(), Env::IEEE, FLUSH)
}

/// `2^n` for exponents of doubles.
fn power_of_two(n: i32) -> f64 {
    f64::from_bits(((n.clamp(-1022, 1023) + 1023) as u64) << 52)
}

fn exponential(x: f64) -> f64 {
    let x = x.clamp(-200., 200.);
    let whole = x.round_ties_even();
    (1. + exponential_less_one((x - whole) * LN_2)) * power_of_two(whole as i32)
}

/// The coefficients of `e^y - 1`, from the last: enough of them for `|y|` up to one half.
#[allow(clippy::indexing_slicing, reason = "checked when it is compiled")]
const EXPONENTIAL: [f64; 18] = {
    let mut coefficients = [1.; 18];
    let (mut n, mut factorial) = (1, 1.);
    while n <= 18 {
        factorial *= n as f64;
        coefficients[18 - n] = 1. / factorial;
        n += 1;
    }
    coefficients
};

/// The coefficients of the inverse hyperbolic tangent of a root, from the last.
#[allow(clippy::indexing_slicing, reason = "checked when it is compiled")]
const LOGARITHM: [f64; 12] = {
    let mut coefficients = [1.; 12];
    let mut n = 0;
    while n < 12 {
        coefficients[11 - n] = 1. / (2 * n + 1) as f64;
        n += 1;
    }
    coefficients
};

/// `e^y - 1` for `|y|` up to one half.
fn exponential_less_one(y: f64) -> f64 {
    EXPONENTIAL.iter().fold(0., |sum, coefficient| sum * y + coefficient) * y
}

fn logarithm(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i32 - 1023;
    let mut mantissa = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | 1023 << 52);
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    let s = (mantissa - 1.) / (mantissa + 1.);
    let square = s * s;
    let series = LOGARITHM.iter().fold(0., |sum, coefficient| sum * square + coefficient);
    f64::from(exponent) + 2. * s * series / LN_2
}

fn hyperbolic_tangent(x: f64) -> f64 {
    let magnitude = x.abs();
    let result = if magnitude > 20. {
        1.
    } else if magnitude < 0.25 {
        let less_one = exponential_less_one(2. * magnitude);
        less_one / (less_one + 2.)
    } else {
        1. - 2. / (exponential(2. * magnitude / LN_2) + 1.)
    };
    result.copysign(x)
}
