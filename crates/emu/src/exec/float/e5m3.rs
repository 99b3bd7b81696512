//! Conversions from and to E5M3, which the clamp bit makes of those of fp8 on gfx1250: no sign, and 0xff is NaN.

use crate::num::{Mode, Round, Small, SmallRound};

fn e5m3(mode: &Mode, bits: u64, round: Round) -> u64 {
    Small::E5M3.encode(bits as u32, SmallRound::Mode(round), mode.fp16_ovfl).into()
}

/// Two numbers into two bytes of E5M3.
pub(super) fn pk_e5m3_of_f32(mode: &Mode, a: u64, b: u64, _: u64) -> u64 {
    e5m3(mode, a, Round::NearestEven) | e5m3(mode, b, Round::NearestEven) << 8
}

/// The seed is added to the bits of the number as they are, and what is below is cut.
pub(super) fn sr_e5m3_of_f32(mode: &Mode, a: u64, b: u64, _: u64) -> u64 {
    let is_positive = a & 0x8000_0000 == 0;
    let is_nan = a & 0x7fff_ffff > 0x7f80_0000;
    let number = if is_positive || is_nan { a } else { 0 };
    let noise = if is_nan { 0 } else { (b & 0xffff_ffff) >> 12 };
    // Beyond the largest exponent it is too large, not a NaN.
    let sum = if is_nan { number } else { (number + noise).min(0x7f80_0000) };
    e5m3(mode, sum, Round::Zero)
}

/// A NaN is the one that comgr's replacement of the instruction gives.
pub(super) fn f32_of_e5m3(_: &Mode, a: u64, _: u64, _: u64) -> u64 {
    match a as u32 & 0xff {
        0xff => 0x7fa3_d000,
        code => Small::E5M3.decode(code).into(),
    }
}

/// Against what bytes stand for, by bisection of the borders between them.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::Generation;

    /// What a byte stands for; 0xff is what would follow the largest number.
    fn value(byte: u32) -> f64 {
        let (exponent, mantissa) = (byte >> 3, f64::from(byte & 7));
        match exponent {
            0 => mantissa * 2_f64.powi(-17),
            _ => (8.0 + mantissa) * 2_f64.powi(exponent as i32 - 18),
        }
    }

    /// The first byte that is not refused, or 0xff.
    fn first(is_below: impl Fn(u32) -> bool) -> u32 {
        let (mut low, mut high) = (0, 0xff);
        while low < high {
            let middle = u32::midpoint(low, high);
            if is_below(middle) { low = middle + 1 } else { high = middle }
        }
        low
    }

    fn limited(byte: u32, saturates: bool) -> u32 {
        if byte == 0xff && saturates { 0xfe } else { byte }
    }

    fn nearest(number: f32, saturates: bool) -> u32 {
        if number.is_nan() {
            return 0xff;
        }
        let number = f64::from(number);
        let is_above = |byte: u32| {
            let border = f64::midpoint(value(byte), value(byte + 1));
            number > border || number == border && byte % 2 == 1
        };
        limited(first(is_above), saturates)
    }

    fn stochastic(number: f32, noise: u32, saturates: bool) -> u32 {
        if number.is_nan() {
            return 0xff;
        }
        let bits = if number > 0.0 { number.to_bits() } else { 0 } + (noise >> 12);
        let sum = if bits >= 0x7f80_0000 { f64::INFINITY } else { f32::from_bits(bits).into() };
        limited(first(|byte| value(byte + 1) <= sum), saturates)
    }

    /// Every byte's number, the borders between them and their neighbours; what is special; and any bits.
    fn numbers() -> impl Iterator<Item = f32> {
        let special = [0, 1, 0x7_ffff, 0x7f_ffff, 0x7f7f_ffff, 0x7f80_0000, 0x7f80_0001, !0 >> 1];
        let at_bytes = (0..=0xff).flat_map(|byte| {
            [value(byte), f64::midpoint(value(byte), value(byte + 1))]
                .map(|it| (it as f32).to_bits())
        });
        let near = at_bytes.flat_map(|bits| bits.saturating_sub(3)..=bits + 3);
        let any = (0_u32..200_000).map(|it| {
            let bits = it.wrapping_mul(0x9e37_79b1);
            // Every other one has the exponent of a number that has a byte.
            if it % 2 == 0 { bits } else { bits & 0x807f_ffff | (106 + it / 2 % 40) << 23 }
        });
        special
            .into_iter()
            .chain(near)
            .chain(any)
            .flat_map(|it| [it, it | 1 << 31])
            .map(f32::from_bits)
    }

    fn mode(saturates: bool) -> Mode {
        Mode::decode(0x3f0 | u32::from(saturates) << 23, Generation::Gfx1250)
    }

    #[test]
    fn packs_to_the_nearest_byte() {
        for (at, number) in numbers().enumerate() {
            let (saturates, other) = (at % 2 == 1, 2.0);
            let found = pk_e5m3_of_f32(
                &mode(saturates),
                number.to_bits().into(),
                f32::to_bits(other).into(),
                0,
            );
            let expected = nearest(number, saturates) | nearest(other, saturates) << 8;
            assert_eq!(found, u64::from(expected), "{number:?}");
        }
    }

    #[test]
    fn adds_noise_and_drops_what_is_below() {
        for (at, number) in (0_u32..).zip(numbers()) {
            for noise in [0, 0xfff, 0x1000, !0, at.wrapping_mul(0x85eb_ca6b)] {
                let saturates = at % 2 == 1;
                let found =
                    sr_e5m3_of_f32(&mode(saturates), number.to_bits().into(), noise.into(), 0);
                assert_eq!(
                    found,
                    u64::from(stochastic(number, noise, saturates)),
                    "{number:?} {noise:#x}"
                );
            }
        }
    }

    #[test]
    fn unpacks_every_byte() {
        for byte in 0..0xff {
            let found = f32_of_e5m3(&mode(false), u64::from(byte | 0xabcd_ef00), 0, 0);
            assert_eq!(found, u64::from((value(byte) as f32).to_bits()));
        }
        assert_eq!(f32_of_e5m3(&mode(false), 0xff, 0, 0), 0x7fa3_d000);
    }
}
