//! Integers in two halves of a register at once.

use super::lanes;

/// A function of both halves of up to three registers.
#[inline(always)]
fn both(a: u32, b: u32, c: u32, function: impl Fn(u16, u16, u16) -> u16) -> u32 {
    let low = function(a as u16, b as u16, c as u16);
    let high = function((a >> 16) as u16, (b >> 16) as u16, (c >> 16) as u16);
    u32::from(low) | u32::from(high) << 16
}

#[inline(always)]
fn signed(a: u16, b: u16, function: impl Fn(i16, i16) -> i16) -> u16 {
    function(a.cast_signed(), b.cast_signed()).cast_unsigned()
}

lanes! {
    by rare_handler;
    VPkAddU16 |a, b, c| both(a, b, c, |a, b, _| a.wrapping_add(b));
    VPkAddI16 |a, b, c| both(a, b, c, |a, b, _| a.wrapping_add(b));
    VPkSubU16 |a, b, c| both(a, b, c, |a, b, _| a.wrapping_sub(b));
    VPkSubI16 |a, b, c| both(a, b, c, |a, b, _| a.wrapping_sub(b));
    VPkMulLoU16 |a, b, c| both(a, b, c, |a, b, _| a.wrapping_mul(b));
    VPkMadU16 |a, b, c| both(a, b, c, |a, b, c| a.wrapping_mul(b).wrapping_add(c));
    VPkMadI16 |a, b, c| both(a, b, c, |a, b, c| a.wrapping_mul(b).wrapping_add(c));
    VPkAddMaxU16 |a, b, c| both(a, b, c, |a, b, c| a.saturating_add(b).max(c));
    VPkAddMinU16 |a, b, c| both(a, b, c, |a, b, c| a.saturating_add(b).min(c));
    VPkAddMaxI16 |a, b, c| {
        both(a, b, c, |a, b, c| signed(signed(a, b, i16::saturating_add), c, i16::max))
    };
    VPkAddMinI16 |a, b, c| {
        both(a, b, c, |a, b, c| signed(signed(a, b, i16::saturating_add), c, i16::min))
    };
    VPkMinU16 |a, b, c| both(a, b, c, |a, b, _| a.min(b));
    VPkMaxU16 |a, b, c| both(a, b, c, |a, b, _| a.max(b));
    VPkMinI16 |a, b, c| both(a, b, c, |a, b, _| signed(a, b, i16::min));
    VPkMaxI16 |a, b, c| both(a, b, c, |a, b, _| signed(a, b, i16::max));
    VPkMin3U16 |a, b, c| both(a, b, c, |a, b, c| a.min(b).min(c));
    VPkMax3U16 |a, b, c| both(a, b, c, |a, b, c| a.max(b).max(c));
    VPkMin3I16 |a, b, c| both(a, b, c, |a, b, c| signed(signed(a, b, i16::min), c, i16::min));
    VPkMax3I16 |a, b, c| both(a, b, c, |a, b, c| signed(signed(a, b, i16::max), c, i16::max));
    VPkLshlrevB16 |a, b, c| both(a, b, c, |a, b, _| b << (a & 15));
    VPkLshrrevB16 |a, b, c| both(a, b, c, |a, b, _| b >> (a & 15));
    VPkAshrrevI16 |a, b, c| both(a, b, c, |a, b, _| (b.cast_signed() >> (a & 15)).cast_unsigned());
}
