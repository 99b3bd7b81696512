//! Integer arithmetic that keeps to the range of its type: `clamp`.

use super::lanes;

fn s(bits: u32) -> i16 {
    bits as i16
}

fn w(value: i16) -> u32 {
    value.cast_unsigned().into()
}

fn both(a: u32, b: u32, function: impl Fn(u16, u16) -> u16) -> u32 {
    let high = function((a >> 16) as u16, (b >> 16) as u16);
    u32::from(function(a as u16, b as u16)) | u32::from(high) << 16
}

lanes! {
    by rare_handler;
    VAddU32 |a, b, _| a.saturating_add(b);
    VSubU32 |a, b, _| a.saturating_sub(b);
    VSubrevU32 |a, b, _| b.saturating_sub(a);
    VAddI32 |a, b, _| a.cast_signed().saturating_add(b.cast_signed()).cast_unsigned();
    VSubI32 |a, b, _| a.cast_signed().saturating_sub(b.cast_signed()).cast_unsigned();
    VAddU16 |a, b, _| u32::from((a as u16).saturating_add(b as u16));
    VSubU16 |a, b, _| u32::from((a as u16).saturating_sub(b as u16));
    VSubrevU16 |a, b, _| u32::from((b as u16).saturating_sub(a as u16));
    VAddI16 |a, b, _| w(s(a).saturating_add(s(b)));
    VSubI16 |a, b, _| w(s(a).saturating_sub(s(b)));
    VPkAddU16 |a, b, _| both(a, b, u16::saturating_add);
    VPkSubU16 |a, b, _| both(a, b, u16::saturating_sub);
    VPkAddI16 |a, b, _| both(a, b, |a, b| a.cast_signed().saturating_add(b.cast_signed()).cast_unsigned());
    VPkSubI16 |a, b, _| both(a, b, |a, b| a.cast_signed().saturating_sub(b.cast_signed()).cast_unsigned());
    VMadU16 |a, b, c| ((a & 0xffff) * (b & 0xffff)).saturating_add(c & 0xffff).min(0xffff);
    VMadI16 |a, b, c| {
        let sum = i32::from(s(a)) * i32::from(s(b)) + i32::from(s(c));
        w(sum.clamp(i16::MIN.into(), i16::MAX.into()) as i16)
    };
    VMadU32U24 |a, b, c| {
        let product = u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff);
        u32::try_from(product + u64::from(c)).unwrap_or(u32::MAX)
    };
}
