//! Integers of 64 bits.

use super::wides;

const ALL: [bool; 4] = [true; 4];
/// Result and second operand.
const SHIFT: [bool; 4] = [true, false, true, false];
/// Result and last operand.
const MAD: [bool; 4] = [true, false, false, true];

/// Four sums of differences, of bytes that begin one after the other, each added to a half; `skips` leaves out bytes of the
/// second operand that are zero.
fn sums_of_differences(a: u64, b: u64, c: u64, skips: bool) -> u64 {
    (0..4).fold(0, |all, at| {
        let bytes = (a >> (at * 8)).to_le_bytes().into_iter().zip((b as u32).to_le_bytes());
        let kept = bytes.filter(|(_, b)| !skips || *b != 0);
        let sum: u64 = kept.map(|(a, b)| u64::from(a.abs_diff(b))).sum();
        all | (sum.wrapping_add(c >> (at * 16)) & 0xffff) << (at * 16)
    })
}

/// Sixteen times four bits out of a table of sixteen.
fn looked_up(high: u64, low: u64, numbers: u64) -> u64 {
    let table = high << 32 | low & 0xffff_ffff;
    (0..16).fold(0, |all, at| {
        let number = numbers >> (at * 4) & 15;
        all | (table >> (number * 4) & 15) << (at * 4)
    })
}

wides! {
    VQsadPkU16U8 [true, true, false, true], |a, b, c| sums_of_differences(a, b, c, false);
    VMqsadPkU16U8 [true, true, false, true], |a, b, c| sums_of_differences(a, b, c, true);
    VPermPk16B4U4 MAD, |a, b, c| looked_up(a, b, c);
    VMulU64 ALL, |a, b, _| a.wrapping_mul(b);
    VMinU64 ALL, |a, b, _| a.min(b);
    VMaxU64 ALL, |a, b, _| a.max(b);
    VMinI64 ALL, |a, b, _| a.cast_signed().min(b.cast_signed()).cast_unsigned();
    VMaxI64 ALL, |a, b, _| a.cast_signed().max(b.cast_signed()).cast_unsigned();
    VLshlrevB64 SHIFT, |a, b, _| b << (a & 63);
    VLshrrevB64 SHIFT, |a, b, _| b >> (a & 63);
    VAshrrevI64 SHIFT, |a, b, _| (b.cast_signed() >> (a & 63)).cast_unsigned();
    VMadNcU64U32 MAD, |a, b, c| (a * b).wrapping_add(c);
    VMadNcI64I32 MAD, |a, b, c| {
        let product = i64::from(a as i32) * i64::from(b as i32);
        product.cast_unsigned().wrapping_add(c)
    };
}
