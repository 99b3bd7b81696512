//! Transcendentals: captures, check sums over whole ranges, and how far all are from the truth.

use crate::num::{
    Env, F16, Generation, Transcendental, seed_f64, transcendental_16, transcendental_f32,
};

/// What gfx1100 and gfx1201 answered.
const EXP2: &[(u32, u32)] = &[
    (0x3380_0000, 0x3f80_0000),
    (0xb37f_ffff, 0x3f80_0000),
    (0xb380_0000, 0x3f7f_ffff),
    (0x42ff_ffff, 0x7f7f_ffa7),
    (0x4300_0000, 0x7f80_0000),
    (0xc2fc_0000, 0x0080_0000),
    (0xc2fc_0001, 0x0000_0000),
    (0x3f05_67ec, 0x3fb7_b03d),
    (0xc114_ed44, 0x3ace_cc1e),
    (0x3550_0000, 0x3f80_0004),
    (0x3f60_0022, 0x3fea_c0dc),
];
const LOG2: &[(u32, u32)] = &[
    (0x3f80_0c30, 0x3a0c_a2fa),
    (0x3f80_ffff, 0x3c37_f1ce),
    (0x3f81_0001, 0x3c37_f33d),
    (0x3f82_0000, 0x3cb7_3cb4),
    (0x3f84_0000, 0x3d35_d69c),
    (0x3f86_0001, 0x3d87_59db),
    (0x3fff_ffff, 0x3f7f_ffff),
    (0x7fa1_2345, 0x7fe1_2345),
    (0x8000_0001, 0xff80_0000),
];

fn captured(function: Transcendental, bits: u32) -> u32 {
    transcendental_f32(function, bits, Env::IEEE, Generation::Gfx12)
}

#[test]
fn captures_come_out() {
    for (operand, result) in EXP2 {
        assert_eq!(captured(Transcendental::Exp2, *operand), *result, "{operand:x}");
    }
    for (operand, result) in LOG2 {
        assert_eq!(captured(Transcendental::Log2, *operand), *result, "{operand:x}");
    }
}

fn check_sum(function: Transcendental, operands: impl Iterator<Item = u32>) -> u64 {
    operands.fold(14_695_981_039_346_656_037, |sum: u64, operand| {
        (sum ^ u64::from(captured(function, operand))).wrapping_mul(1_099_511_628_211)
    })
}

/// Sums of captures of gfx1100 and gfx1201.
#[test]
fn check_sums_of_whole_ranges_come_out() {
    let units = |sign: u32| (0..1u32 << 24).map(move |i| (i as f32 / 16_777_216.).to_bits() | sign);
    assert_eq!(check_sum(Transcendental::Exp2, units(0)), 0x6895_9bb6_84f4_2e5f);
    assert_eq!(check_sum(Transcendental::Exp2, units(1 << 31)), 0x88b7_5684_494d_b8d3);
    let mantissas = 0x3f00_0000..0x4000_0000;
    assert_eq!(check_sum(Transcendental::Log2, mantissas), 0xc33a_54ef_bae0_98be);
}

/// The largest distance from the truth in units of the last place, over normal results.
fn worst(function: Transcendental, generation: Generation, truth: impl Fn(f64) -> f64) -> f64 {
    let mut worst = 0f64;
    for bits in (0..u32::MAX).step_by(4099) {
        let x = f32::from_bits(bits);
        let result = f32::from_bits(transcendental_f32(function, bits, Env::IEEE, generation));
        if !x.is_normal() || !result.is_normal() {
            continue;
        }
        let exact = truth(f64::from(x));
        let ulp = f64::from(f32::from_bits(result.to_bits() + 1)) - f64::from(result);
        worst = worst.max((f64::from(result) - exact).abs() / ulp.abs());
    }
    worst
}

#[test]
fn all_are_within_their_bounds() {
    for generation in [Generation::Gfx12, Generation::Gfx942] {
        let bound = |function: Transcendental, truth: fn(f64) -> f64, bound: f64| {
            let worst = worst(function, generation, truth);
            assert!(worst <= bound, "{function:?} on {generation:?}: {worst}");
        };
        let near = if generation == Generation::Gfx942 { 0.500_001 } else { 1.01 };
        bound(Transcendental::Rcp, |x| 1. / x, near);
        bound(Transcendental::Rsq, |x| 1. / x.sqrt(), near);
        bound(Transcendental::Sqrt, f64::sqrt, near);
        bound(Transcendental::Exp2, f64::exp2, near);
        bound(Transcendental::Log2, f64::log2, near);
    }
    let tanh = worst(Transcendental::Tanh, Generation::Gfx1250, f64::tanh);
    assert!(tanh < 0.500_001, "{tanh}");
}

#[test]
fn sine_and_cosine_are_near_the_truth() {
    for i in 0..2_000_000 {
        let x = (i as f32 - 1_000_000.) / 250_000.;
        let turn = f64::from(x) * std::f64::consts::TAU;
        for (function, truth) in
            [(Transcendental::Sin, turn.sin()), (Transcendental::Cos, turn.cos())]
        {
            let result = f32::from_bits(captured(function, x.to_bits()));
            assert!(
                (f64::from(result) - truth).abs() < 1.5e-7,
                "{function:?} {x} {result} {truth}"
            );
        }
    }
    assert_eq!(captured(Transcendental::Sin, 0.25f32.to_bits()), 1f32.to_bits());
    assert_eq!(captured(Transcendental::Cos, 0.5f32.to_bits()), (-1f32).to_bits());
}

#[test]
fn halves_are_rounded_floats() {
    let half =
        |function, bits| transcendental_16::<F16>(function, bits, Env::IEEE, Generation::Gfx12);
    assert_eq!(half(Transcendental::Rcp, 0x4000), 0x3800);
    assert_eq!(half(Transcendental::Exp2, 0xcc00), 0x0100);
    assert_eq!(half(Transcendental::Log2, 0x0001), 0xce00);
    assert_eq!(half(Transcendental::Rcp, 0x0000), 0x7c00);
    let saturating = Env { saturate: true, ..Env::IEEE };
    let result =
        transcendental_16::<F16>(Transcendental::Rcp, 0x8000, saturating, Generation::Gfx12);
    assert_eq!(result, 0xfbff);
}

#[test]
fn seeds_of_doubles_are_right() {
    let mut random = super::Random::new(11);
    for _ in 0..100_000 {
        let x = f64::from_bits(random.float(64, 52) & !(1 << 63));
        if !x.is_finite() {
            continue;
        }
        let seed = |function| seed_f64(function, x.to_bits(), Env::IEEE).unwrap();
        assert_eq!(seed(Transcendental::Rcp), (1. / x).to_bits(), "{x}");
        assert_eq!(seed(Transcendental::Sqrt), x.sqrt().to_bits(), "{x}");
        let root = f64::from_bits(seed(Transcendental::Rsq));
        assert!(x == 0. || (root * x.sqrt() - 1.).abs() < 1e-15, "{x}");
    }
}
