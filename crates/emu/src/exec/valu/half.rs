//! Integers of 16 bits, in the lower half of a register; the upper half of the result is zero.

use super::lanes;

#[inline(always)]
fn s(bits: u32) -> i32 {
    i32::from(bits as i16)
}

#[inline(always)]
fn w(value: i32) -> u32 {
    u32::from((value as i16).cast_unsigned())
}

const M: u32 = 0xffff;

lanes! {
    by rare_handler;
    VMovB16 |a, _, _| a & M;
    VNotB16 |a, _, _| !a & M;
    VAndB16 |a, b, _| a & b & M;
    VOrB16 |a, b, _| (a | b) & M;
    VXorB16 |a, b, _| (a ^ b) & M;
    VAddU16 |a, b, _| a.wrapping_add(b) & M;
    VSubU16 |a, b, _| a.wrapping_sub(b) & M;
    VSubrevU16 |a, b, _| b.wrapping_sub(a) & M;
    VAddI16 |a, b, _| a.wrapping_add(b) & M;
    VSubI16 |a, b, _| a.wrapping_sub(b) & M;
    VMulLoU16 |a, b, _| (a & M).wrapping_mul(b & M) & M;
    VMadU16 |a, b, c| (a & M).wrapping_mul(b & M).wrapping_add(c) & M;
    VMadLegacyU16 |a, b, c| (a & M).wrapping_mul(b & M).wrapping_add(c) & M;
    VMadLegacyI16 |a, b, c| (a & M).wrapping_mul(b & M).wrapping_add(c) & M;
    VMadI16 |a, b, c| (a & M).wrapping_mul(b & M).wrapping_add(c) & M;
    VLshlrevB16 |a, b, _| (b & M) << (a & 15) & M;
    VLshrrevB16 |a, b, _| (b & M) >> (a & 15);
    VAshrrevI16 |a, b, _| w(s(b) >> (a & 15));
    VMinU16 |a, b, _| (a & M).min(b & M);
    VMaxU16 |a, b, _| (a & M).max(b & M);
    VMinI16 |a, b, _| w(s(a).min(s(b)));
    VMaxI16 |a, b, _| w(s(a).max(s(b)));
    VMin3U16 |a, b, c| (a & M).min(b & M).min(c & M);
    VMax3U16 |a, b, c| (a & M).max(b & M).max(c & M);
    VMed3U16 |a, b, c| {
        let (a, b, c) = (a & M, b & M, c & M);
        a.min(b).max(a.max(b).min(c))
    };
    VMin3I16 |a, b, c| w(s(a).min(s(b)).min(s(c)));
    VMax3I16 |a, b, c| w(s(a).max(s(b)).max(s(c)));
    VMed3I16 |a, b, c| w(s(a).min(s(b)).max(s(a).max(s(b)).min(s(c))));
    VCvtI32I16 |a, _, _| s(a).cast_unsigned();
    VCvtU32U16 |a, _, _| a & M;
    VPackB32F16 |a, b, _| a & M | b << 16;
}
