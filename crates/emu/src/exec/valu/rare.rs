//! What is seldom used: bytes, sums of differences, dot products of integers.

use super::lanes;

fn perm(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = u64::from(a) << 32 | u64::from(b);
    let byte = |select: u32| -> u32 {
        let sign = |at: u32| if bytes >> (at * 8 + 7) & 1 == 1 { 0xff } else { 0 };
        match select & 0xff {
            at @ 0..=7 => (bytes >> (at * 8)) as u32 & 0xff,
            at @ 8..=11 => sign((at - 8) * 2 + 1),
            12 => 0,
            _ => 0xff,
        }
    };
    (0..4).fold(0, |all, at| all | byte(selector >> (at * 8)) << (at * 8))
}

/// A sum over the bytes of two registers.
fn bytes(a: u32, b: u32, term: impl Fn(u8, u8) -> u32) -> u32 {
    let pairs = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
    pairs.map(|(a, b)| term(a, b)).sum()
}

fn sad_u8(a: u32, b: u32, c: u32) -> u32 {
    bytes(a, b, |a, b| u32::from(a.abs_diff(b))).wrapping_add(c)
}

fn sad_hi_u8(a: u32, b: u32, c: u32) -> u32 {
    (bytes(a, b, |a, b| u32::from(a.abs_diff(b))) << 16).wrapping_add(c)
}

fn msad_u8(a: u32, b: u32, c: u32) -> u32 {
    bytes(a, b, |a, b| if b == 0 { 0 } else { u32::from(a.abs_diff(b)) }).wrapping_add(c)
}

fn sad_u16(a: u32, b: u32, c: u32) -> u32 {
    let half = |shift: u32| ((a >> shift) as u16).abs_diff((b >> shift) as u16);
    u32::from(half(0)).wrapping_add(u32::from(half(16))).wrapping_add(c)
}

fn lerp_u8(a: u32, b: u32, c: u32) -> u32 {
    let byte = |at: u32| {
        let part = |it: u32| it >> (at * 8) & 0xff;
        (part(a) + part(b) + (part(c) & 1)) >> 1 << (at * 8)
    };
    (0..4).map(byte).sum()
}

fn sat_pk_u8_i16(a: u32) -> u32 {
    let byte = |half: u32| u32::from(i32::from(half as i16).clamp(0, 255) as u8);
    byte(a) | byte(a >> 16) << 8
}

/// Two numbers shifted, each cut to a byte.
fn shifted_bytes(a: u32, b: u32, shift: u32, low: i32, high: i32) -> u32 {
    let byte = |it: u32| (it.cast_signed() >> (shift & 31)).clamp(low, high) as u32 & 0xff;
    byte(a) | byte(b) << 8
}

/// Four bytes, each cut to four bits.
fn halves_of_bytes(a: u32, cut: impl Fn(u8) -> u32) -> u32 {
    (0..).zip(a.to_le_bytes()).fold(0, |all, (at, byte)| all | (cut(byte) & 15) << (at * 4))
}

lanes! {
    by rare_handler;
    VPermB32 |a, b, c| perm(a, b, c);
    VSadU8 |a, b, c| sad_u8(a, b, c);
    VSadHiU8 |a, b, c| sad_hi_u8(a, b, c);
    VMsadU8 |a, b, c| msad_u8(a, b, c);
    VSadU16 |a, b, c| sad_u16(a, b, c);
    VSadU32 |a, b, c| a.abs_diff(b).wrapping_add(c);
    VLerpU8 |a, b, c| lerp_u8(a, b, c);
    VSatPkU8I16 |a, _, _| sat_pk_u8_i16(a);
    VAshrPkI8I32 |a, b, c| shifted_bytes(a, b, c, -128, 127);
    VAshrPkU8I32 |a, b, c| shifted_bytes(a, b, c, 0, 255);
    VSatPk4I4I8 |a, _, _| halves_of_bytes(a, |it| i32::from(it.cast_signed()).clamp(-8, 7) as u32);
    VSatPk4U4U8 |a, _, _| halves_of_bytes(a, |it| u32::from(it).min(15));
    VPrngB32 |a, _, _| (a << 1) ^ if a >> 31 == 1 { 0xc5 } else { 0 };
}
