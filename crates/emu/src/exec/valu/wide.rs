//! Integers of 64 bits.

use super::wides;

const ALL: [bool; 4] = [true; 4];
/// Result and second operand.
const SHIFT: [bool; 4] = [true, false, true, false];
/// Result and last operand.
const MAD: [bool; 4] = [true, false, false, true];

wides! {
    VMovB64 ALL, |a, _, _| a;
    VAddU64 ALL, |a, b, _| a.wrapping_add(b);
    VSubU64 ALL, |a, b, _| a.wrapping_sub(b);
    VMulU64 ALL, |a, b, _| a.wrapping_mul(b);
    VMinU64 ALL, |a, b, _| a.min(b);
    VMaxU64 ALL, |a, b, _| a.max(b);
    VMinI64 ALL, |a, b, _| a.cast_signed().min(b.cast_signed()).cast_unsigned();
    VMaxI64 ALL, |a, b, _| a.cast_signed().max(b.cast_signed()).cast_unsigned();
    VLshlrevB64 SHIFT, |a, b, _| b << (a & 63);
    VLshrrevB64 SHIFT, |a, b, _| b >> (a & 63);
    VAshrrevI64 SHIFT, |a, b, _| (b.cast_signed() >> (a & 63)).cast_unsigned();
    VLshlAddU64 [true, true, false, true], |a, b, c| (a << (b & 7)).wrapping_add(c);
    VMadNcU64U32 MAD, |a, b, c| (a * b).wrapping_add(c);
    VMadNcI64I32 MAD, |a, b, c| {
        let product = i64::from(a as i32) * i64::from(b as i32);
        product.cast_unsigned().wrapping_add(c)
    };
}
