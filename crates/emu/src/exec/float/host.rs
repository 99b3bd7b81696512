//! Floats of the host.

use crate::num::{F16, F32, F64, Format};

#[inline(always)]
pub(super) fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

#[inline(always)]
pub(super) fn d(bits: u64) -> f64 {
    f64::from_bits(bits)
}

pub(super) const SIGN: u32 = 0x8000_0000;
pub(super) const INFINITY: u32 = 0x7f80_0000;
pub(super) const MIN_NORMAL: u32 = 0x0080_0000;

#[inline(always)]
pub(super) fn is_nan(bits: u32) -> bool {
    bits & !SIGN > INFINITY
}

/// A denormal becomes zero where `Z` is set.
#[inline(always)]
pub(super) fn flush<const Z: bool>(bits: u32) -> u32 {
    if Z && bits & INFINITY == 0 { bits & SIGN } else { bits }
}

/// The number, zero for a denormal where `Z` is set.
#[inline(always)]
pub(super) fn flushed<const Z: bool>(bits: u32) -> f32 {
    f(flush::<Z>(bits))
}

#[inline(always)]
pub(super) fn is_denormal(bits: u32) -> bool {
    (bits & INFINITY == 0) & (bits & !SIGN != 0)
}

#[inline(always)]
pub(super) fn is_nan_half(bits: u32) -> bool {
    bits & 0x7fff > 0x7c00
}

/// The value of a half; a NaN stays one.
#[inline(always)]
pub(super) fn half(bits: u32) -> f32 {
    let magnitude = (bits & 0x7fff) << 13;
    let number = f(magnitude) * f(0x7780_0000);
    let value = if magnitude >= 0x0f80_0000 { f(magnitude | INFINITY) } else { number };
    f(value.to_bits() | (bits & 0x8000) << 16)
}

/// The nearest half of what is no NaN.
#[inline(always)]
pub(super) fn to_half(value: f32) -> u32 {
    let bits = value.to_bits();
    let magnitude = bits & !SIGN;
    let even = magnitude >> 13 & 1;
    let normal = magnitude.wrapping_add(0xfff + even).wrapping_sub(0x3800_0000) >> 13;
    // Halves of 0.5 to 1 are as far apart as denormal halves.
    let denormal = (f(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let half = if magnitude < 0x3880_0000 { denormal } else { normal.min(0x7c00) };
    half | bits >> 16 & 0x8000
}

/// A format whose values the host has.
pub(crate) trait HostFormat: Format {
    type Value: Copy + PartialOrd;
    /// The value; `Z`: denormals are zeros.
    fn on_host<const Z: bool>(bits: u64) -> Self::Value;
}

impl HostFormat for F32 {
    type Value = f32;
    #[inline(always)]
    fn on_host<const Z: bool>(bits: u64) -> f32 {
        f(flush::<Z>(bits as u32))
    }
}

impl HostFormat for F16 {
    type Value = f32;
    #[inline(always)]
    fn on_host<const Z: bool>(bits: u64) -> f32 {
        let bits = bits as u32;
        half(if Z && bits & 0x7c00 == 0 { bits & 0x8000 } else { bits })
    }
}

impl HostFormat for F64 {
    type Value = f64;
    #[inline(always)]
    fn on_host<const Z: bool>(bits: u64) -> f64 {
        d(if Z && bits & Self::INFINITY == 0 { bits & Self::SIGN } else { bits })
    }
}
