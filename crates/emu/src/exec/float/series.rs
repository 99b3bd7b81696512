//! Functions that are correctly rounded where nothing of a device is known: short series in double precision. What comes
//! closer to the middle of two floats than their error is in doubt, and so is what is no ordinary number.

use super::host::{MIN_NORMAL, f};

/// Units in the last place of a double that a result may be wrong by: far more than it is.
const ERROR: u32 = 64;

/// The nearest float, and whether another may be as near.
#[inline(always)]
fn nearest(value: f64) -> (u32, bool) {
    // A double has 29 bits more than a float; the first of them alone is the middle.
    let beyond = value.to_bits() as u32 & 0x1fff_ffff;
    let distance = beyond.wrapping_sub(0x1000_0000 - ERROR);
    ((value as f32).to_bits(), distance < 2 * ERROR)
}

/// Whether a float is no positive normal number.
#[inline(always)]
fn is_no_positive_normal(bits: u32) -> bool {
    bits.wrapping_sub(MIN_NORMAL) >= 0x7f80_0000 - MIN_NORMAL
}

/// `ln(2)^n / n!`, from the last: enough for powers of -0.5 to 0.5.
#[allow(clippy::indexing_slicing, reason = "checked when it is compiled")]
const EXPONENTIAL: [f64; 13] = {
    let mut coefficients = [1.; 13];
    let (mut n, mut term) = (1, 1.);
    while n < 13 {
        term *= std::f64::consts::LN_2 / n as f64;
        coefficients[12 - n] = term;
        n += 1;
    }
    coefficients
};

/// `2 / (ln(2) * (2 n + 1))`, from the last: enough for arguments of up to 0.172.
#[allow(clippy::indexing_slicing, reason = "checked when it is compiled")]
const LOGARITHM: [f64; 10] = {
    let mut coefficients = [1.; 10];
    let mut n = 0;
    while n < 10 {
        coefficients[9 - n] = 2. / (std::f64::consts::LN_2 * (2 * n + 1) as f64);
        n += 1;
    }
    coefficients
};

#[inline(always)]
fn polynomial<const N: usize>(coefficients: &[f64; N], x: f64) -> f64 {
    let mut sum = 0.;
    for coefficient in coefficients {
        sum = sum * x + coefficient;
    }
    sum
}

/// `2^x`.
#[inline(always)]
pub(super) fn exponential(bits: u32) -> (u32, bool) {
    /// Added to a double, it leaves the nearest integer in the lowest bits.
    const ROUND: f64 = 6_755_399_441_055_744.;
    const ONE: u32 = 1_f32.to_bits();
    let x = f64::from(f(bits));
    let shifted = x + ROUND;
    let power = polynomial(&EXPONENTIAL, x - (shifted - ROUND));
    let value = f64::from_bits(power.to_bits().wrapping_add(shifted.to_bits() << 52));
    let (result, doubt) = nearest(value);
    // Denormals on either side are zeros; NaN is in no range.
    let is_denormal = bits & 0x7f80_0000 == 0;
    let vanishes = x < -127.;
    let is_ordinary = (x > -125.) & (x < 127.);
    let result = if is_denormal { ONE } else { result };
    let result = if vanishes { 0 } else { result };
    (result, !(vanishes | is_denormal) & (doubt | !is_ordinary))
}

/// The logarithm to base 2.
#[inline(always)]
pub(super) fn logarithm(bits: u32) -> (u32, bool) {
    /// The float above the root of one half.
    const ROOT: u32 = 0x3f35_04f3;
    let exponent = bits.wrapping_sub(ROOT).cast_signed() >> 23;
    let mantissa = f64::from(f(bits.wrapping_sub((exponent << 23).cast_unsigned())));
    let s = (mantissa - 1.) / (mantissa + 1.);
    let (result, doubt) = nearest(f64::from(exponent) + s * polynomial(&LOGARITHM, s * s));
    (result, doubt | is_no_positive_normal(bits))
}

/// `1 / sqrt(x)`.
#[inline(always)]
pub(super) fn reciprocal_root(bits: u32) -> (u32, bool) {
    let (result, doubt) = nearest(1. / f64::from(f(bits)).sqrt());
    (result, doubt | is_no_positive_normal(bits))
}
