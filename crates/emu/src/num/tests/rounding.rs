//! Every rounding mode and every denormal mode of every format.

use super::Random;
use super::rational::Rational;
use crate::num::arith::without_host;
use crate::num::float::{HostOp, is_infinite, is_nan, operand};
use crate::num::{BF16, Denorm, Env, F16, F32, F64, Format, Round, add, fma, mul};

pub(super) fn envs() -> impl Iterator<Item = Env> {
    let denorms = (0..4).map(|bits| Denorm { input: bits & 1 != 0, output: bits & 2 != 0 });
    denorms.flat_map(|denorm| {
        Round::ALL.into_iter().map(move |round| Env { round, denorm, ..Env::IEEE })
    })
}

/// The answer by definition, for operands that are finite.
fn expected<F: Format>(op: HostOp, [a, b, c]: [u64; 3], env: Env) -> u64 {
    let [x, y, z] = [a, b, c].map(Rational::of_bits::<F>);
    let (value, negatives) = match op {
        HostOp::Add => (x.plus(&y), [a & F::SIGN != 0, b & F::SIGN != 0]),
        HostOp::Mul => (x.times(&y), [(a ^ b) & F::SIGN != 0; 2]),
        HostOp::Fma => (x.times(&y).plus(&z), [(a ^ b) & F::SIGN != 0, c & F::SIGN != 0]),
    };
    if !value.is_zero() {
        return value.rounded::<F>(env);
    }
    let negative = match negatives {
        [true, true] => true,
        [false, false] => false,
        _ => env.round == Round::Down,
    };
    if negative { F::SIGN } else { 0 }
}

fn check<F: Format>(count: u64) {
    let mut random = Random::new(u64::from(F::WIDTH * 100 + F::MANTISSA));
    for env in envs() {
        for _ in 0..count {
            let bits = [(); 3].map(|()| random.float(F::WIDTH, F::MANTISSA));
            let operands = bits.map(F::narrow);
            let seen = operands.map(|bits| operand::<F>(bits, env));
            let finite = seen.iter().all(|bits| !is_nan::<F>(*bits) && !is_infinite::<F>(*bits));
            for op in [HostOp::Add, HostOp::Mul, HostOp::Fma] {
                let [a, b, c] = operands;
                let got: u64 = match op {
                    HostOp::Add => add::<F>(a, b, env),
                    HostOp::Mul => mul::<F>(a, b, env),
                    HostOp::Fma => fma::<F>(a, b, c, env),
                }
                .into();
                let slow: u64 = without_host::<F>(op, operands, env).into();
                assert_eq!(got, slow, "{op:?} {bits:x?} {env:?}: with the host and without");
                if finite {
                    let want = expected::<F>(op, seen, env);
                    assert_eq!(got, want, "{op:?} {bits:x?} {env:?}: {got:x}, not {want:x}");
                }
            }
        }
    }
}

#[test]
fn f16_rounds_as_rationals_do() {
    check::<F16>(3000);
}

#[test]
fn bf16_rounds_as_rationals_do() {
    check::<BF16>(2000);
}

#[test]
fn f32_rounds_as_rationals_do() {
    check::<F32>(2000);
}

#[test]
fn f64_rounds_as_rationals_do() {
    check::<F64>(300);
}

#[test]
fn the_host_agrees_where_it_is_asked() {
    let mut random = Random::new(7);
    for env in envs().filter(|env| env.round == Round::NearestEven) {
        for _ in 0..100_000 {
            let bits = [(); 3].map(|()| random.float(32, 23) as u32);
            let [a, b, c] = bits;
            assert_eq!(add::<F32>(a, b, env), without_host::<F32>(HostOp::Add, bits, env));
            assert_eq!(mul::<F32>(a, b, env), without_host::<F32>(HostOp::Mul, bits, env));
            assert_eq!(fma::<F32>(a, b, c, env), without_host::<F32>(HostOp::Fma, bits, env));
            let bits = [(); 3].map(|()| random.float(64, 52));
            let [a, b, c] = bits;
            assert_eq!(add::<F64>(a, b, env), without_host::<F64>(HostOp::Add, bits, env));
            assert_eq!(mul::<F64>(a, b, env), without_host::<F64>(HostOp::Mul, bits, env));
            assert_eq!(fma::<F64>(a, b, c, env), without_host::<F64>(HostOp::Fma, bits, env));
        }
    }
}

#[test]
fn nans_keep_their_payload_and_the_first_one_wins() {
    let keep = Env { quiet: false, ..Env::IEEE };
    assert_eq!(add::<F32>(0x7f80_0001, 0xffc0_0002, Env::IEEE), 0x7fc0_0001);
    assert_eq!(add::<F32>(0x7f80_0001, 0, keep), 0x7f80_0001);
    assert_eq!(mul::<F32>(0x7f80_0000, 0, Env::IEEE), 0xffc0_0000);
    assert_eq!(fma::<F32>(0x7f80_0000, 0, 0x7fc1_2345, Env::IEEE), 0xffc0_0000);
    assert_eq!(fma::<F32>(0, 0, 0x7f81_2345, Env::IEEE), 0x7fc1_2345);
    assert_eq!(fma::<F16>(0x7c00, 0x3c00, 0xfc00, Env::IEEE), 0xfe00);
}
