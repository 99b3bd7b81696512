//! Conversions against rationals, and small formats against a search through all their codes.

use num_bigint::BigInt;

use super::Random;
use super::rational::Rational;
use super::rounding::envs;
use crate::num::float::{is_infinite, is_nan, operand};
use crate::num::{
    BF16, Env, F16, F32, F64, Format, Generation, Integer, Round, Small, SmallRound, ToInteger,
    convert, from_integer, stochastic_16, to_integer,
};

fn check_convert<From: Format, To: Format>(count: u64) {
    let mut random = Random::new(u64::from(From::WIDTH * 1000 + To::MANTISSA));
    for env in envs() {
        for _ in 0..count {
            let bits = random.float(From::WIDTH, From::MANTISSA);
            let seen = operand::<From>(From::narrow(bits), env);
            if is_nan::<From>(seen) || is_infinite::<From>(seen) {
                continue;
            }
            let value = Rational::of_bits::<From>(seen);
            let zero = if seen & From::SIGN != 0 { To::SIGN } else { 0 };
            let want = if value.is_zero() { zero } else { value.rounded::<To>(env) };
            let got: u64 = convert::<From, To>(From::narrow(bits), env, env).into();
            assert_eq!(got, want, "{bits:x} {env:?}");
        }
    }
}

#[test]
fn formats_convert_as_rationals_do() {
    check_convert::<F32, F16>(3000);
    check_convert::<F32, BF16>(3000);
    check_convert::<F64, F32>(1000);
    check_convert::<F64, F16>(1000);
    check_convert::<F16, F32>(1000);
    check_convert::<F32, F64>(500);
    check_convert::<BF16, F32>(1000);
}

#[test]
fn nans_convert_with_their_payload() {
    assert_eq!(convert::<F32, F16>(0x7f80_2001, Env::IEEE, Env::IEEE), 0x7e01);
    assert_eq!(convert::<F16, F32>(0xfc01, Env::IEEE, Env::IEEE), 0xffc0_2000);
    let keep = Env { quiet: false, ..Env::IEEE };
    assert_eq!(convert::<F32, F16>(0x7f80_0001, keep, keep), 0x7c01);
}

fn check_integer<F: Format>(to: Integer, count: u64) {
    let mut random = Random::new(u64::from(F::WIDTH + to.width));
    for _ in 0..count {
        let bits = random.float(F::WIDTH, F::MANTISSA);
        if is_nan::<F>(bits) || is_infinite::<F>(bits) {
            continue;
        }
        let value = Rational::of_bits::<F>(bits);
        let got =
            to_integer::<F>(F::narrow(bits), to, ToInteger::Truncate, Env::IEEE, Generation::Gfx11);
        let got_nearest = to_integer::<F>(
            F::narrow(bits),
            to,
            ToInteger::NearestUp,
            Env::IEEE,
            Generation::Gfx11,
        );
        let got_floor =
            to_integer::<F>(F::narrow(bits), to, ToInteger::Floor, Env::IEEE, Generation::Gfx11);
        let half = Rational { numerator: BigInt::from(1), exponent: -1 };
        assert_eq!(to.value(got), limited(&value.truncated(), to), "{bits:x}");
        assert_eq!(to.value(got_floor), limited(&value.floored(), to), "{bits:x}");
        assert_eq!(to.value(got_nearest), limited(&value.plus(&half).floored(), to), "{bits:x}");
    }
}

fn limited(value: &BigInt, to: Integer) -> i128 {
    let least = to.value(to.saturate(i128::MIN));
    let largest = to.value(to.saturate(i128::MAX));
    if *value < BigInt::from(least) {
        least
    } else if *value > BigInt::from(largest) {
        largest
    } else {
        value.to_string().parse().unwrap()
    }
}

#[test]
fn floats_become_integers() {
    for width in [8, 16, 32, 64] {
        for to in [Integer::signed(width), Integer::unsigned(width)] {
            check_integer::<F16>(to, 5000);
            check_integer::<F32>(to, 5000);
            check_integer::<F64>(to, 3000);
        }
    }
    let convert = |bits, how, generation| {
        to_integer::<F32>(bits, Integer::signed(32), how, Env::IEEE, generation)
    };
    assert_eq!(convert(0x7fc0_0000, ToInteger::Floor, Generation::Gfx11), 0);
    assert_eq!(convert(0x7fc0_0000, ToInteger::Floor, Generation::Gfx12), 0x7fff_ffff);
    assert_eq!(convert(0xffc0_0000, ToInteger::NearestUp, Generation::Gfx12), 0x8000_0000);
}

#[test]
fn integers_become_floats() {
    let mut random = Random::new(3);
    for env in envs() {
        for _ in 0..2000 {
            let bits = random.next() >> random.below(64);
            for from in [
                Integer::signed(64),
                Integer::unsigned(64),
                Integer::signed(32),
                Integer::unsigned(16),
            ] {
                let value = Rational { numerator: BigInt::from(from.value(bits)), exponent: 0 };
                let want = |rounded: u64| if value.is_zero() { 0 } else { rounded };
                assert_eq!(
                    u64::from(from_integer::<F32>(bits, from, env)),
                    want(value.rounded::<F32>(env))
                );
                assert_eq!(from_integer::<F64>(bits, from, env), want(value.rounded::<F64>(env)));
                assert_eq!(
                    u64::from(from_integer::<F16>(bits, from, env)),
                    want(value.rounded::<F16>(env))
                );
            }
        }
    }
}

const SMALL: [Small; 7] = [
    Small::FP8_OCP,
    Small::BF8_OCP,
    Small::FP8_FNUZ,
    Small::BF8_FNUZ,
    Small::FP6,
    Small::BF6,
    Small::FP4,
];

#[test]
fn small_numbers_come_back() {
    for small in SMALL {
        for code in 0..1u32 << small.width() {
            let value = small.decode(code);
            let back = small.encode(value, SmallRound::Mode(Round::NearestEven), false);
            let both_nan = is_nan::<F32>(value.into()) && is_nan::<F32>(small.decode(back).into());
            assert!(back == code || both_nan, "{small:?} {code:x} {value:x} {back:x}");
        }
    }
}

/// The code nearest to a value, by looking at all of them; beyond the largest by less than half a step it is that.
fn nearest_code(small: Small, value: f64) -> f64 {
    let codes = (0..1u32 << small.width()).map(|code| f32::from_bits(small.decode(code)));
    let finite = codes.filter(|value| value.is_finite()).map(f64::from);
    finite.min_by(|a, b| (a - value).abs().total_cmp(&(b - value).abs())).unwrap()
}

#[test]
fn small_formats_round_to_the_nearest_code() {
    let mut random = Random::new(5);
    for small in SMALL {
        for _ in 0..20_000 {
            let bits = random.float(32, 23) as u32 & 0xbfff_ffff;
            let value = f64::from(f32::from_bits(bits));
            let code = small.encode(bits, SmallRound::Mode(Round::NearestEven), true);
            let got = f64::from(f32::from_bits(small.decode(code)));
            let want = nearest_code(small, value);
            assert_eq!((got - value).abs(), (want - value).abs(), "{small:?} {bits:x} {code:x}");
            // Seeds of all zeros cut, of all ones round up whatever is cut.
            let cut = small.decode(small.encode(bits, SmallRound::Stochastic(0), true));
            assert!(f64::from(f32::from_bits(cut)).abs() <= value.abs(), "{small:?} {bits:x}");
        }
    }
}

#[test]
fn small_overflow_is_what_mode_says() {
    let nearest = SmallRound::Mode(Round::NearestEven);
    let encode =
        |small: Small, value: f32, saturate| small.encode(value.to_bits(), nearest, saturate);
    assert_eq!(encode(Small::FP8_OCP, 1e6, false), 0x7f);
    assert_eq!(encode(Small::FP8_OCP, -1e6, true), 0xfe);
    assert_eq!(encode(Small::BF8_OCP, 1e6, false), 0x7c);
    assert_eq!(encode(Small::BF8_OCP, 1e6, true), 0x7b);
    assert_eq!(encode(Small::FP8_FNUZ, -1e6, false), 0x80);
    assert_eq!(encode(Small::BF8_FNUZ, -1e6, true), 0xff);
    assert_eq!(encode(Small::FP4, -1e6, false), 0xf);
    assert_eq!(encode(Small::FP8_FNUZ, 300., true), 0x7f);
}

#[test]
fn stochastic_rounding_of_16_bits_is_between_its_neighbours() {
    let mut random = Random::new(9);
    for _ in 0..100_000 {
        let bits = random.float(32, 23) as u32;
        if is_nan::<F32>(bits.into()) || bits & 0x7fff_ffff > 0x477f_e000 {
            continue;
        }
        let seed = random.next() as u32;
        let toward_zero = Env { round: Round::Zero, ..Env::IEEE };
        let low = convert::<F32, BF16>(bits, Env::IEEE, toward_zero);
        let got = stochastic_16::<BF16>(bits, seed);
        let carries = u64::from(bits & 0xffff) + u64::from(seed >> 16) >= 1 << 16;
        assert_eq!(got, low + u16::from(carries), "{bits:x} {seed:x}");
        let got = stochastic_16::<F16>(bits, seed);
        let low = convert::<F32, F16>(bits, Env::IEEE, toward_zero);
        assert!(got == low || got == low + 1, "{bits:x} {seed:x}");
    }
}
