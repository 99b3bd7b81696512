//! Integers of 32 bits.

use super::lanes;

#[inline(always)]
fn i(bits: u32) -> i32 {
    bits.cast_signed()
}

#[inline(always)]
fn u(value: i32) -> u32 {
    value.cast_unsigned()
}

/// The lower 24 bits with their sign.
#[inline(always)]
fn i24(bits: u32) -> i32 {
    i(bits << 8) >> 8
}

const M24: u32 = 0xff_ffff;

lanes! {
    by wide_handler;
    VMovB32 |a, _, _| a;
    VNotB32 |a, _, _| !a;
    VBfrevB32 |a, _, _| a.reverse_bits();
    VClzI32U32 |a, _, _| if a == 0 { u32::MAX } else { a.leading_zeros() };
    VCtzI32B32 |a, _, _| if a == 0 { u32::MAX } else { a.trailing_zeros() };
    VClsI32 |a, _, _| {
        let flipped = a ^ u(i(a) >> 31);
        if flipped == 0 { u32::MAX } else { flipped.leading_zeros() }
    };
    VAddU32 |a, b, _| a.wrapping_add(b);
    VSubU32 |a, b, _| a.wrapping_sub(b);
    VSubrevU32 |a, b, _| b.wrapping_sub(a);
    VAddI32 |a, b, _| a.wrapping_add(b);
    VSubI32 |a, b, _| a.wrapping_sub(b);
    VAndB32 |a, b, _| a & b;
    VOrB32 |a, b, _| a | b;
    VXorB32 |a, b, _| a ^ b;
    VXnorB32 |a, b, _| !(a ^ b);
    VLshlrevB32 |a, b, _| b << (a & 31);
    VLshrrevB32 |a, b, _| b >> (a & 31);
    VAshrrevI32 |a, b, _| u(i(b) >> (a & 31));
    VMulLoU32 |a, b, _| a.wrapping_mul(b);
    VMulHiU32 |a, b, _| ((u64::from(a) * u64::from(b)) >> 32) as u32;
    VMulHiI32 |a, b, _| ((i64::from(i(a)) * i64::from(i(b))) >> 32) as u32;
    VMulU32U24 |a, b, _| (a & M24).wrapping_mul(b & M24);
    VMulI32I24 |a, b, _| u(i24(a).wrapping_mul(i24(b)));
    VMulHiU32U24 |a, b, _| ((u64::from(a & M24) * u64::from(b & M24)) >> 32) as u32;
    VMulHiI32I24 |a, b, _| ((i64::from(i24(a)) * i64::from(i24(b))) >> 32) as u32;
    VMadU32U24 |a, b, c| (a & M24).wrapping_mul(b & M24).wrapping_add(c);
    VMadI32I24 |a, b, c| u(i24(a).wrapping_mul(i24(b))).wrapping_add(c);
    VMadU32 |a, b, c| a.wrapping_mul(b).wrapping_add(c);
    VMinU32 |a, b, _| a.min(b);
    VMaxU32 |a, b, _| a.max(b);
    VMinI32 |a, b, _| u(i(a).min(i(b)));
    VMaxI32 |a, b, _| u(i(a).max(i(b)));
    VMin3U32 |a, b, c| a.min(b).min(c);
    VMax3U32 |a, b, c| a.max(b).max(c);
    VMed3U32 |a, b, c| a.min(b).max(a.max(b).min(c));
    VMin3I32 |a, b, c| u(i(a).min(i(b)).min(i(c)));
    VMax3I32 |a, b, c| u(i(a).max(i(b)).max(i(c)));
    VMed3I32 |a, b, c| u(i(a).min(i(b)).max(i(a).max(i(b)).min(i(c))));
    VMaxminU32 |a, b, c| a.max(b).min(c);
    VMinmaxU32 |a, b, c| a.min(b).max(c);
    VMaxminI32 |a, b, c| u(i(a).max(i(b)).min(i(c)));
    VMinmaxI32 |a, b, c| u(i(a).min(i(b)).max(i(c)));
    VAdd3U32 |a, b, c| a.wrapping_add(b).wrapping_add(c);
    VAddLshlU32 |a, b, c| a.wrapping_add(b) << (c & 31);
    VLshlAddU32 |a, b, c| (a << (b & 31)).wrapping_add(c);
    VLshlOrB32 |a, b, c| a << (b & 31) | c;
    VAndOrB32 |a, b, c| a & b | c;
    VOr3B32 |a, b, c| a | b | c;
    VXor3B32 |a, b, c| a ^ b ^ c;
    VXadU32 |a, b, c| (a ^ b).wrapping_add(c);
    VAddMaxU32 |a, b, c| a.saturating_add(b).max(c);
    VAddMinU32 |a, b, c| a.saturating_add(b).min(c);
    VAddMaxI32 |a, b, c| u(i(a).saturating_add(i(b)).max(i(c)));
    VAddMinI32 |a, b, c| u(i(a).saturating_add(i(b)).min(i(c)));
    VBfeU32 |a, b, c| a >> (b & 31) & ((1 << (c & 31)) - 1);
    VBfeI32 |a, b, c| {
        let (width, field) = (c & 31, u(i(a) >> (b & 31)));
        if width == 0 { 0 } else { u(i(field << (32 - width)) >> (32 - width)) }
    };
    VBfiB32 |a, b, c| a & b | !a & c;
    VBfmB32 |a, b, _| ((1 << (a & 31)) - 1) << (b & 31);
    VBcntU32B32 |a, b, _| a.count_ones().wrapping_add(b);
    VAlignbitB32 |a, b, c| ((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32;
    VAlignbyteB32 |a, b, c| ((u64::from(a) << 32 | u64::from(b)) >> ((c & 3) * 8)) as u32;
    VMadU32U16 |a, b, c| (a & 0xffff).wrapping_mul(b & 0xffff).wrapping_add(c);
    VMadI32I16 |a, b, c| {
        u(i32::from(a as i16).wrapping_mul(i32::from(b as i16))).wrapping_add(c)
    };
    VCvtPkI16I32 |a, b, _| {
        let half = |it: u32| u32::from((i(it).clamp(-0x8000, 0x7fff) as i16).cast_unsigned());
        half(a) | half(b) << 16
    };
    VCvtPkU16U32 |a, b, _| a.min(0xffff) | b.min(0xffff) << 16;
}
