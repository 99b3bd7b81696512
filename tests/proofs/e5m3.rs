//! Conversions from and to E5M3: every byte, every boundary, ten million numbers.

use std::sync::LazyLock;

use super::machine::{BUDGET, LANES, Random, Step, Wave, prepare, rewrite, tools};
use hsaco::patch::{Options, Tools};

/// The bit of MODE that makes too large a number the largest.
pub(crate) const SATURATES: u32 = 1 << 23;

/// What a byte stands for; 0xff is what would follow the largest number.
pub(crate) fn value(byte: u32) -> f64 {
    static VALUES: LazyLock<[f64; 0x101]> = LazyLock::new(|| {
        std::array::from_fn(|byte| {
            let (exponent, mantissa) = (byte >> 3, (byte & 7) as f64);
            match exponent {
                0 => mantissa * 2_f64.powi(-17),
                _ => (8.0 + mantissa) * 2_f64.powi(exponent as i32 - 18),
            }
        })
    });
    VALUES[byte as usize]
}

fn too_large(saturates: bool) -> u32 {
    if saturates { 0xfe } else { 0xff }
}

/// The nearest byte, ties to even: by bisection of the borders between bytes.
pub(crate) fn packed(number: f32, saturates: bool) -> u32 {
    if number.is_nan() {
        return 0xff;
    }
    let number = f64::from(number);
    let is_above = |byte: u32| {
        let border = f64::midpoint(value(byte), value(byte + 1));
        number > border || number == border && byte % 2 == 1
    };
    let (mut low, mut high) = (0, 0xff);
    while low < high {
        let middle = u32::midpoint(low, high);
        if is_above(middle) { low = middle + 1 } else { high = middle }
    }
    if low > 0xfe { too_large(saturates) } else { low }
}

/// The byte below, after noise in the lower 20 bits.
pub(crate) fn stochastic(number: f32, noise: u32, saturates: bool) -> u32 {
    if number.is_nan() {
        return 0xff;
    }
    let bits = if number > 0.0 { number.to_bits() } else { 0 } + (noise >> 12);
    if bits >= 0x7f80_0000 {
        return too_large(saturates);
    }
    let number = f64::from(f32::from_bits(bits));
    let (mut low, mut high) = (0_u32, 0xff_u32);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if value(middle) <= number { low = middle } else { high = middle - 1 }
    }
    if low == 0xff { too_large(saturates) } else { low }
}

fn code(tools: &Tools, text: &str) -> Vec<Step> {
    prepare(tools, &rewrite(tools, "e5m3", text, &Options::default(), BUDGET).unwrap(), 0)
}

/// Every byte's number, the borders between them, and their neighbours; and what is special.
fn boundaries() -> Vec<f32> {
    let mut all = vec![
        0.0,
        f32::INFINITY,
        f32::NAN,
        f32::MAX,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
        f32::from_bits(0x0007_ffff),
        f32::from_bits(0x007f_ffff),
        f32::from_bits(0x7f80_0001),
        f32::from_bits(0x7fff_ffff),
    ];
    for byte in 0..=0xff {
        for number in [value(byte), f64::midpoint(value(byte), value(byte + 1))] {
            let bits = (number as f32).to_bits();
            all.extend((bits.saturating_sub(3)..=bits + 3).map(f32::from_bits));
        }
    }
    let negative: Vec<f32> = all.iter().map(|it| -it).collect();
    all.extend(negative);
    all
}

/// Numbers around those that have a byte, and any bits.
fn number(random: &mut Random) -> f32 {
    let bits = random.next();
    match random.below(8) {
        0 => f32::from_bits(bits),
        _ => f32::from_bits(
            bits & 0x007f_ffff
                | (106 + random.below(40)) << 23
                | (bits >> 31 & bits >> 30 & 1) << 31,
        ),
    }
}

fn check_pack(wave: &mut Wave, code: &[Step], numbers: &[[f32; LANES]; 2], is_upper: bool) {
    let old = wave.vgprs[5];
    wave.vgprs[6] = numbers[0].map(f32::to_bits);
    wave.vgprs[7] = numbers[1].map(f32::to_bits);
    wave.run(code);
    let saturates = wave.mode & SATURATES != 0;
    for lane in 0..LANES {
        let [first, second] = [0, 1].map(|it| packed(numbers[it][lane], saturates));
        let pair = first | second << 8;
        let expected = match is_upper {
            true => old[lane] & 0xffff | pair << 16,
            false => old[lane] & 0xffff_0000 | pair,
        };
        let given = numbers.map(|it| it[lane]);
        assert_eq!(wave.vgprs[5][lane], expected, "{given:?} {:#010x}", given[0].to_bits());
    }
}

/// Pair EM10, capability 29.
#[test]
fn pack_of_all_boundaries_and_ten_million_numbers() {
    let tools = tools();
    let lower = code(&tools, "v_cvt_pk_fp8_f32 v5, v6, v7 clamp");
    let upper = code(&tools, "v_cvt_pk_fp8_f32 v5, v6, v7 op_sel:[0,0,1] clamp");
    let (mut wave, mut random) = (Wave::new(), Random(29));
    let mut all = boundaries();
    all.resize(all.len().next_multiple_of(LANES), 1.0);
    for mode in [0, SATURATES] {
        wave.mode = mode | 0xf0;
        for chunk in all.chunks_exact(LANES) {
            let chunk: [f32; LANES] = chunk.try_into().unwrap();
            let turned: [f32; LANES] = std::array::from_fn(|lane| chunk[LANES - 1 - lane]);
            check_pack(&mut wave, &lower, &[chunk, turned], false);
            check_pack(&mut wave, &upper, &[turned, chunk], true);
        }
    }
    for round in 0..157_000 {
        wave.mode = if round % 3 == 0 { SATURATES } else { 0 };
        let numbers = [0, 1].map(|_| std::array::from_fn(|_| number(&mut random)));
        check_pack(&mut wave, &lower, &numbers, false);
    }
}

/// Capability 29.
#[test]
fn sources_with_signs_and_constants() {
    let tools = tools();
    let run = |text: &str, sources: [f32; 2]| {
        let mut wave = Wave::new();
        (wave.vgprs[6], wave.vgprs[7]) =
            ([(-1.5_f32).to_bits(); LANES], [3.0_f32.to_bits(); LANES]);
        wave.sgprs[9] = 0.25_f32.to_bits();
        wave.run(&code(&tools, text));
        let expected = packed(sources[0], false) | packed(sources[1], false) << 8;
        assert_eq!(wave.vgprs[5], [expected; LANES], "{text}");
    };
    run("v_cvt_pk_fp8_f32 v5, -v6, |v6| clamp", [1.5, 1.5]);
    run("v_cvt_pk_fp8_f32 v5, -|v6|, -v7 clamp", [-1.5, -3.0]);
    run("v_cvt_pk_fp8_f32 v5, 0x477f0000, 0x477f0000 clamp", [65280.0, 65280.0]);
    run("v_cvt_pk_fp8_f32 v5, 1.0, 0.5 clamp", [1.0, 0.5]);
    run("v_cvt_pk_fp8_f32 v5, s9, v7 clamp", [0.25, 3.0]);
}

/// Pair EM10, capability 29.
#[test]
fn stochastic_of_all_boundaries_and_ten_million_numbers() {
    let tools = tools();
    let (mut wave, mut random) = (Wave::new(), Random(30));
    let mut all = boundaries();
    all.resize(all.len().next_multiple_of(LANES), 1.0);
    for (byte, text) in ["", " byte_sel:1", " byte_sel:2", " byte_sel:3"].iter().enumerate() {
        let code = code(&tools, &format!("v_cvt_sr_fp8_f32 v5, v6, v7{text} clamp"));
        let mut check = |numbers: &[f32; LANES], noise: [u32; LANES], mode: u32| {
            let old = wave.vgprs[5];
            (wave.vgprs[6], wave.vgprs[7], wave.mode) = (numbers.map(f32::to_bits), noise, mode);
            wave.run(&code);
            for lane in 0..LANES {
                let result = stochastic(numbers[lane], noise[lane], mode != 0);
                let expected = old[lane] & !(0xff << (8 * byte)) | result << (8 * byte);
                let given = (numbers[lane], noise[lane]);
                assert_eq!(wave.vgprs[5][lane], expected, "{given:?} byte {byte}");
            }
        };
        for chunk in all.chunks_exact(LANES) {
            let chunk: [f32; LANES] = chunk.try_into().unwrap();
            for noise in [0, 0xfff, 0x1000, 0x7fff_ffff, 0xffff_ffff] {
                check(&chunk, [noise; LANES], 0);
                check(&chunk, [noise; LANES], SATURATES);
            }
        }
        // All bytes together ten million.
        for _ in 0..79_000 {
            let numbers = std::array::from_fn(|_| number(&mut random));
            check(&numbers, std::array::from_fn(|_| random.next()), random.below(2) * SATURATES);
        }
    }
}

/// Pair EM10, capability 29.
#[test]
fn unpack_of_every_byte_in_every_place() {
    let tools = tools();
    let (mut wave, mut random) = (Wave::new(), Random(31));
    for (place, text) in ["", " byte_sel:1", " byte_sel:2", " byte_sel:3"].iter().enumerate() {
        let code = code(&tools, &format!("v_cvt_f32_fp8_e64 v5, v6{text} clamp"));
        for bytes in 0..8 {
            let byte = |lane: usize| bytes * 32 + lane as u32;
            wave.vgprs[6] = std::array::from_fn(|lane| {
                random.next() & !(0xff << (8 * place)) | byte(lane) << (8 * place)
            });
            wave.run(&code);
            for lane in 0..LANES {
                let expected = match byte(lane) {
                    0xff => 0x7fa3_d000,
                    byte => (value(byte) as f32).to_bits(),
                };
                assert_eq!(wave.vgprs[5][lane], expected, "{:#x}", byte(lane));
            }
        }
    }
}

#[test]
fn rounding_twice_would_be_seen() {
    // comgr went through half precision: what is just above a border became the border, and went to even.
    let above = f32::from_bits((f64::midpoint(value(0x40), value(0x41)) as f32).to_bits() + 1);
    assert_eq!(packed(above, false), 0x41);
    let half = f64::from(f32::from_bits(super::machine::numbers::f16_to_f32(
        super::machine::matrix::nearest_half(above.into()).into(),
    )));
    assert_eq!(packed(half as f32, false), 0x40);
}
