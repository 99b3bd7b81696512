//! Floats on the host's unit: nearest even, denormals kept or flushed.

use std::cmp::Ordering;

#[inline(always)]
pub(crate) fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

#[inline(always)]
pub(crate) fn d(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// A denormal becomes zero where `Z` is set.
#[inline(always)]
pub(crate) fn flush<const Z: bool>(bits: u32) -> u32 {
    if Z && bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

/// The value of a half.
pub(crate) fn half_to_f32(bits: u16) -> f32 {
    let (sign, exponent, fraction) =
        (u32::from(bits >> 15) << 31, u32::from(bits >> 10 & 31), u32::from(bits & 0x3ff));
    match exponent {
        0 => {
            let magnitude = fraction as f32 * f32::from_bits(0x3380_0000);
            f32::from_bits(magnitude.to_bits() | sign)
        }
        31 => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

/// The nearest half, ties to even.
pub(crate) fn f64_to_half(value: f64) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 48) as u16 & 0x8000;
    let magnitude = f64::from_bits(bits & (u64::MAX >> 1));
    if magnitude.is_nan() {
        return sign | 0x7e00 | (bits >> 42) as u16 & 0x3ff;
    }
    if magnitude >= 65520.0 {
        return sign | 0x7c00;
    }
    // Adding and taking away a power of two rounds at the place of a half's last bit.
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(-14);
    let unit = f64::from_bits(((exponent - 10 + 52 + 1023) as u64) << 52);
    let rounded = (magnitude + unit) - unit;
    let steps = rounded * f64::from_bits(((1023 + 10 - exponent) as u64) << 52);
    let fraction = steps as u16;
    // A carry out of the fraction is one more in the exponent, and so is the hidden bit.
    sign | ((exponent + 14) as u16 * 1024 + fraction)
}

pub(crate) fn f32_to_half(value: f32) -> u16 {
    f64_to_half(f64::from(value))
}

/// The half toward zero.
pub(crate) fn f32_to_half_toward_zero(value: f32) -> u16 {
    let nearest = f32_to_half(value);
    if value.is_nan() || value.is_infinite() {
        return nearest;
    }
    let magnitude = half_to_f32(nearest & 0x7fff);
    if magnitude > value.abs() { nearest - 1 } else { nearest }
}

/// The value of a brain float.
pub(crate) fn brain_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The nearest brain float, ties to even.
pub(crate) fn f32_to_brain(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

/// The smaller number; a NaN gives way to a number, and -0 is below +0.
#[inline(always)]
pub(crate) fn min32(a: u32, b: u32) -> u32 {
    match (f(a).is_nan(), f(b).is_nan()) {
        (true, false) => b,
        (_, true) => a | if f(a).is_nan() { 0x0040_0000 } else { 0 },
        _ if f(a) < f(b) || f(a) == f(b) && a >> 31 == 1 => a,
        _ => b,
    }
}

#[inline(always)]
pub(crate) fn max32(a: u32, b: u32) -> u32 {
    match (f(a).is_nan(), f(b).is_nan()) {
        (true, false) => b,
        (_, true) => a | if f(a).is_nan() { 0x0040_0000 } else { 0 },
        _ if f(a) > f(b) || f(a) == f(b) && a >> 31 == 0 => a,
        _ => b,
    }
}

#[inline(always)]
pub(crate) fn min64(a: u64, b: u64) -> u64 {
    match (d(a).is_nan(), d(b).is_nan()) {
        (true, false) => b,
        (_, true) => a | if d(a).is_nan() { 1 << 51 } else { 0 },
        _ if d(a) < d(b) || d(a) == d(b) && a >> 63 == 1 => a,
        _ => b,
    }
}

#[inline(always)]
pub(crate) fn max64(a: u64, b: u64) -> u64 {
    match (d(a).is_nan(), d(b).is_nan()) {
        (true, false) => b,
        (_, true) => a | if d(a).is_nan() { 1 << 51 } else { 0 },
        _ if d(a) > d(b) || d(a) == d(b) && a >> 63 == 0 => a,
        _ => b,
    }
}

/// The smaller of two halves, as above.
pub(crate) fn min16(a: u16, b: u16) -> u16 {
    pick16(a, b, Ordering::Less)
}

pub(crate) fn max16(a: u16, b: u16) -> u16 {
    pick16(a, b, Ordering::Greater)
}

fn pick16(a: u16, b: u16, wanted: Ordering) -> u16 {
    let (x, y) = (half_to_f32(a), half_to_f32(b));
    match (x.is_nan(), y.is_nan()) {
        (true, true) => a | 0x200,
        (true, false) => b,
        (false, true) => a,
        _ if x.total_cmp(&y) == wanted => a,
        _ => b,
    }
}

/// NaN if either is; else the smaller.
pub(crate) fn minimum32(a: u32, b: u32) -> u32 {
    if f(a).is_nan() {
        a | 0x0040_0000
    } else if f(b).is_nan() {
        b | 0x0040_0000
    } else {
        min32(a, b)
    }
}

pub(crate) fn maximum32(a: u32, b: u32) -> u32 {
    if f(a).is_nan() {
        a | 0x0040_0000
    } else if f(b).is_nan() {
        b | 0x0040_0000
    } else {
        max32(a, b)
    }
}

/// An integer toward zero; NaN becomes 0, what is too large the largest.
#[inline(always)]
pub(crate) fn to_i32(value: f64) -> u32 {
    value as i32 as u32
}

#[inline(always)]
pub(crate) fn to_u32(value: f64) -> u32 {
    value as u32
}

/// The fraction in [0.5, 1) and the exponent of a number.
pub(crate) fn frexp64(bits: u64) -> (u64, i32) {
    let value = d(bits);
    if value == 0.0 || !value.is_finite() {
        return (bits, 0);
    }
    let scaled =
        if bits >> 52 & 0x7ff == 0 { value * f64::from_bits(0x4350_0000_0000_0000) } else { value };
    let shift = if bits >> 52 & 0x7ff == 0 { 54 } else { 0 };
    let exponent = (scaled.to_bits() >> 52 & 0x7ff) as i32 - 1022 - shift;
    (scaled.to_bits() & !(0x7ff << 52) | 1022 << 52, exponent)
}

/// A number times a power of two, rounded once.
pub(crate) fn ldexp64(value: f64, exponent: i32) -> f64 {
    let mut left = exponent.clamp(-4200, 4200);
    let (mut mantissa, base) = frexp64(value.to_bits());
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    left += base;
    if left > 1024 {
        return f64::INFINITY.copysign(value);
    }
    if left < -1074 {
        return 0.0_f64.copysign(value);
    }
    if left >= -1021 {
        mantissa = mantissa & !(0x7ff << 52) | ((left + 1022) as u64) << 52;
        return f64::from_bits(mantissa);
    }
    // Denormal: one exact scaling, one that rounds.
    let normal = f64::from_bits(mantissa & !(0x7ff << 52) | 1 << 52);
    normal * f64::from_bits(((left + 1021 + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_there_and_back() {
        for bits in (0..=u16::MAX).filter(|it| it & 0x7c00 != 0x7c00 || it & 0x3ff == 0) {
            assert_eq!(f32_to_half(half_to_f32(bits)), bits, "{bits:#x}");
        }
        assert_eq!(f32_to_half(1.0 + 1.0 / 2048.0), 0x3c00);
        assert_eq!(f32_to_half(1.0 + 3.0 / 2048.0), 0x3c02);
        assert_eq!(f32_to_half(65519.0), 0x7bff);
        assert_eq!(f32_to_half(65520.0), 0x7c00);
        assert_eq!(f32_to_half_toward_zero(65535.0), 0x7bff);
        assert_eq!(f32_to_half(f32::from_bits(0x3300_0000)), 0);
        assert_eq!(f32_to_half(f32::from_bits(0x3300_0001)), 1);
    }

    #[test]
    fn exponents_are_taken_off_and_put_on() {
        for value in [1.0, 0.75, -3.5, 5e-324, 1.7e308, 2.2e-308] {
            let (mantissa, exponent) = frexp64(f64::to_bits(value));
            assert!((0.5..1.0).contains(&d(mantissa).abs()), "{value}");
            assert_eq!(ldexp64(d(mantissa), exponent), value);
        }
        assert_eq!(ldexp64(1.0, -1074), 5e-324);
        assert_eq!(ldexp64(1.0, 2000), f64::INFINITY);
    }

    #[test]
    fn minimum_of_zeros_and_nans() {
        let (nan, zero, minus) = (f32::NAN.to_bits(), 0, 0x8000_0000);
        assert_eq!((min32(zero, minus), min32(minus, zero)), (minus, minus));
        assert_eq!((max32(zero, minus), max32(minus, zero)), (zero, zero));
        assert_eq!((min32(nan, zero), min32(zero, nan)), (zero, zero));
        assert!(f(minimum32(zero, nan)).is_nan());
    }
}
