//! The unit of RDNA3 and RDNA4: a polynomial of degree three for each segment of the mantissa, in fixed point.
//!
//! Every product keeps 24 significant bits. Exponential, logarithm and square root equal captures over their whole range;
//! reciprocals were fitted here and differ from captures by one in the last place for about five mantissas in a million.

use super::Transcendental;
use super::table::{Cubic, EXP2, LOG2, LOG2_ABOVE_ONE, LOG2_SECOND, RCP, RSQ, SQRT, row};

/// The function of a number that is not special.
pub(super) fn evaluate(function: Transcendental, bits: u32) -> u32 {
    match function {
        Transcendental::Rcp => reciprocal(bits),
        Transcendental::Rsq => reciprocal_root(bits),
        Transcendental::Sqrt => square_root(bits),
        Transcendental::Exp2 => exponential(bits),
        Transcendental::Log2 => logarithm(bits),
        _ => super::double::evaluate(function, bits),
    }
}

/// `value / 2^shift`, to nearest even.
pub(super) fn nearest(value: u64, shift: u32) -> u64 {
    let (whole, rest, half) = (value >> shift, value & ((1 << shift) - 1), 1 << (shift - 1));
    whole + u64::from(rest > half || rest == half && whole & 1 != 0)
}

/// A product of two numbers of 24 bits, in units of 2^23: 24 significant bits of it.
fn product(a: u64, b: u64) -> u64 {
    let product = a * b;
    if product >= 1 << 47 { nearest(product, 24) << 1 } else { nearest(product, 23) }
}

fn fields(bits: u32) -> (i32, u32) {
    ((bits >> 23 & 0xff) as i32 - 127, bits & 0x7f_ffff)
}

/// Puts a significand of 24 bits under an exponent; zero or infinity where it does not fit.
fn pack(negative: bool, exponent: i32, significand: u64) -> u32 {
    let sign = u32::from(negative) << 31;
    match exponent + 127 {
        ..=0 => sign,
        255.. => sign | 0x7f80_0000,
        field => sign | (field as u32) << 23 | (significand & 0x7f_ffff) as u32,
    }
}

/// A falling cubic, which reciprocals have, as a significand. Its terms are summed in units of `2^-(bits + 2)` of the last
/// place; the linear one comes in thirty-seconds of it.
fn falling(row: Cubic, t: u64, linear: u64, bits: u32) -> u64 {
    let cut = bits - 3;
    let cubic = (row.cubic * 2 * t) >> cut << cut;
    let inner = ((row.quadratic << 19) - cubic) >> (20 - bits);
    let square = ((t >> 1) * (t >> 1)) >> 10;
    nearest((row.constant << bits) - (linear << (bits - 3)) + product(inner, square), bits + 2)
}

fn reciprocal(bits: u32) -> u32 {
    let (exponent, mantissa) = fields(bits);
    let (row, t) = (row(&RCP, mantissa >> 18), u64::from(mantissa & 0x3_ffff));
    let scaled = row.linear * t;
    // Rounded to 24 bits, then up to thirty-seconds of the last place.
    let linear =
        if scaled >= 1 << 38 { nearest(scaled, 15) } else { nearest(scaled, 14).div_ceil(2) };
    let significand = falling(row, t, linear, 9);
    // 0.5 to 1; a power of two gives a power of two.
    let (significand, exponent) = normalized(significand, -exponent - 1);
    pack(bits >> 31 != 0, exponent, significand)
}

fn normalized(significand: u64, exponent: i32) -> (u64, i32) {
    if significand >= 1 << 24 { (significand >> 1, exponent + 1) } else { (significand, exponent) }
}

fn reciprocal_root(bits: u32) -> u32 {
    let (exponent, mantissa) = fields(bits);
    let parity = exponent as u32 & 1;
    let (row, t) = (row(&RSQ, parity << 5 | mantissa >> 18), u64::from(mantissa & 0x3_ffff));
    let scaled = row.linear * t;
    let linear = if scaled >= 1 << 37 {
        nearest(scaled, 14).div_ceil(2)
    } else {
        nearest(scaled, 13).div_ceil(4)
    };
    let (significand, exponent) = normalized(falling(row, t, linear, 10), -(exponent >> 1) - 1);
    pack(false, exponent, significand)
}

fn square_root(bits: u32) -> u32 {
    let (exponent, mantissa) = fields(bits);
    let index = (exponent as u32 & 1) << 23 | mantissa;
    let (row, t) = (row(&SQRT, index >> 19), u64::from(index & 0x7_ffff));
    let scaled = row.linear * t;
    let half = if scaled >= 1 << 40 { 1 << 16 } else { 1 << 15 };
    let linear = (scaled + half) >> 17;
    let inner = ((row.quadratic << 19) - row.cubic * (2 * t + 1) + 0x400) >> 11;
    let square = ((t >> 2) * (t >> 2)) >> 10;
    let scaled = inner * square;
    let quadratic =
        if scaled >= 1 << 47 { (scaled + (1 << 23)) >> 24 << 1 } else { nearest(scaled, 23) };
    let significand = nearest((row.constant << 10) + (linear << 7) - quadratic, 12);
    pack(false, exponent >> 1, significand)
}

fn exponential(bits: u32) -> u32 {
    let negative = bits >> 31 != 0;
    let magnitude = bits & 0x7fff_ffff;
    match magnitude {
        // Less than 2^-24, and what does not fit.
        ..0x3380_0000 => return 0x3f80_0000,
        0x4300_0000.. if !negative => return 0x7f80_0000,
        0x42fc_0001.. if negative => return 0,
        _ => {}
    }
    let (exponent, mantissa) = fields(magnitude);
    let significand = u64::from(mantissa | 0x80_0000);
    let shift = exponent + 6;
    let absolute = if shift >= 0 { significand << shift } else { significand >> -shift } as i64;
    // 29 bits behind the point; the complement stands for a negative number.
    let phase = if negative { !absolute } else { absolute };
    let fraction = phase as u64 & 0xff_ffff;
    let row = row(&EXP2, (phase >> 24) as u32 & 31);
    let scaled = row.linear * fraction;
    let linear = if scaled >= 1 << 47 { nearest(scaled, 24) } else { nearest(scaled, 23) >> 1 };
    let coordinate = fraction >> 6;
    let inner = nearest((row.quadratic << 7) + row.cubic * coordinate, 7);
    let square = (coordinate * coordinate) >> 12;
    let sum = ((row.constant + linear) << 8) + product(inner, square);
    let field = (phase >> 29) + 126;
    ((field << 23) + nearest(sum, 13) as i64) as u32
}

fn logarithm(bits: u32) -> u32 {
    match bits {
        0x3f80_0000 => 0,
        0x3f7c_0000..0x3f80_0000 => logarithm_below_one(bits),
        0x3f80_0001..0x3f84_0000 => logarithm_above_one(bits),
        _ => logarithm_elsewhere(bits),
    }
}

/// The 24 leading bits of a fixed-point number, with what rounding adds to it first.
fn leading(value: u64, fraction_bits: i32, up: bool) -> (u64, i32) {
    let top = 63 - value.leading_zeros();
    let shift = top - 23;
    let rounded = (value + if up { (1 << shift) - 1 } else { 0 }) >> shift;
    normalized(rounded, top as i32 - fraction_bits)
}

fn logarithm_elsewhere(bits: u32) -> u32 {
    let (exponent, mantissa) = fields(bits);
    let fraction = u64::from(mantissa & 0x3_ffff);
    let segment = mantissa >> 18;
    let row = match segment {
        1 if fraction >= 0x2_0000 => LOG2_SECOND,
        _ => row(&LOG2, segment),
    };
    let linear = (row.linear * fraction) >> 16;
    let inner = nearest((row.quadratic << 22) - row.cubic * (2 * fraction + 1), 22);
    let quadratic = product(inner, (fraction * fraction) >> 12);
    let of_mantissa = ((row.constant + linear) << 5) - quadratic;
    let fixed = (i64::from(exponent) << 35) + of_mantissa as i64;
    // Toward negative infinity.
    let (significand, exponent) = leading(fixed.unsigned_abs(), 35, fixed < 0);
    pack(fixed < 0, exponent, significand)
}

/// `normalization` is by how many bits, four at a time, a small distance from one is moved up.
fn groups_of_four(distance: u64) -> u32 {
    let width = 64 - distance.leading_zeros();
    if width < 18 { (18 - width) / 4 * 4 } else { 0 }
}

fn logarithm_above_one(bits: u32) -> u32 {
    let distance = u64::from(bits - 0x3f80_0000);
    let segment = match distance {
        ..0x1_0000 => 0,
        0x1_0000..0x2_0000 => 1,
        _ => 2,
    };
    let row = row(&LOG2_ABOVE_ONE, segment);
    let normalization = if segment == 0 { groups_of_four(distance) } else { 0 };
    let moved = distance << normalization;
    let linear = (row.linear * moved) >> 13 << 2;
    let inner = nearest((row.quadratic << 22) - row.cubic * (2 * distance + 1), 22);
    let fixed = row.constant + linear - product(inner, (moved * distance) >> 12);
    let top = 63 - fixed.leading_zeros();
    let fraction_bits = 35 + normalization as i32;
    // One is added to the last place even where nothing was cut.
    let (significand, exponent) = normalized((fixed >> (top - 23)) + 1, top as i32 - fraction_bits);
    pack(false, exponent, significand)
}

fn logarithm_below_one(bits: u32) -> u32 {
    let distance = u64::from(0x3f80_0000 - bits);
    let far = distance >= 0x2_0000;
    let (linear, quadratic, cubic, constant) = if far {
        (12_102_221, 12_097_323, 2_088_428, 100 << 16)
    } else {
        (12_102_203, 12_101_979, 2_035_248, 0)
    };
    let normalization = groups_of_four(distance);
    let linear_cut = 14u32.saturating_sub(normalization);
    let square_cut = 12u32.saturating_sub(normalization);
    let linear: u64 = (2 * linear * distance) >> linear_cut << linear_cut;
    let square = (distance * distance) >> square_cut << square_cut;
    let inner = nearest((quadratic << 22) + cubic * (distance - 1), 22);
    let product_cut = 38 - normalization;
    let product = (inner * square + ((1 << product_cut) - 1)) >> product_cut;
    let fixed = (linear << 2) + (product << (16 - normalization)) - constant;
    let (significand, exponent) = leading(fixed, 50, true);
    pack(true, exponent, significand)
}
