//! Scales for every 16 numbers, made of scales for every 32.

use super::machine::{
    BUDGET, LANES, Random, assemble, bytes, copy_vectors, fill, rewrite, rows, texts, tools, wave,
};
use hsaco::emu::Probe;
use hsaco::patch::{Options, Tools};

const FORMATS: [(&str, u16); 5] = [("FP8", 16), ("BF8", 16), ("FP6", 12), ("BF6", 12), ("FP4", 8)];

fn text(d: u16, a: u16, b: u16, formats: (usize, usize), more: &str) -> String {
    let row = |first: u16, count: u16| format!("v[{first}:{}]", first + count - 1);
    let ((one, width), (other, height)) = (FORMATS[formats.0], FORMATS[formats.1]);
    let format = |matrix: &str, name: &str| match name {
        "FP8" => String::new(),
        _ => format!(" matrix_{matrix}_fmt:MATRIX_FMT_{name}"),
    };
    format!(
        "v_wmma_scale16_f32_16x16x128_f8f6f4 {}, {}, {}, v[48:55], v[2:3], v[4:5]{}{}{more}",
        row(d, 8),
        row(a, width),
        row(b, height),
        format("a", one),
        format("b", other)
    )
}

/// Small numbers, so that every sum is exact: in each format one or two bits of the lower part of numbers.
fn small(random: &mut Random, format: usize) -> u32 {
    let bits = random.next();
    match format {
        0 => bits & 0x8383_8383 | 0x3030_3030,
        1 => bits & 0x8383_8383 | 0x3838_3838,
        // Any bits are small numbers.
        _ => bits,
    }
}

fn setup(wave: &mut Probe, random: &mut Random, a: u16, b: u16, formats: (usize, usize)) {
    fill(wave, a, FORMATS[formats.0].1, || small(random, formats.0));
    fill(wave, b, FORMATS[formats.1].1, || small(random, formats.1));
    fill(wave, 48, 8, || (random.below(64) as f32).to_bits());
    // Exponents of -2 to 1.
    fill(wave, 2, 4, || 0x7d7d_7d7d + (random.next() & 0x0303_0303));
}

/// What a product leaves, as it is and rewritten.
fn run_both(tools: &Tools, after: &mut Probe, text: &str) -> [Vec<Vec<u32>>; 2] {
    let code = rewrite(tools, "scale-sixteen", text, &Options::default(), BUDGET).unwrap();
    assert!(texts(tools, &code).iter().all(|it| !it.contains("scale16")));
    let d = text.split("v[").nth(1).unwrap().split(':').next().unwrap().parse().unwrap();
    let count = if text.contains("32x16") { 16 } else { 8 };
    let mut before = wave(1024);
    copy_vectors(after, &mut before, 1024);
    before.execute(&bytes(&assemble(tools, text))).unwrap();
    after.execute(&bytes(&code)).unwrap();
    [rows(after, d, count), rows(&before, d, count)]
}

#[test]
fn every_pair_of_formats_gives_the_same_product() {
    let (tools, mut random) = (tools(), Random(16));
    for one in 0..5 {
        for other in 0..5 {
            for more in ["", " neg_lo:[0,0,1]", " matrix_a_scale:MATRIX_SCALE_ROW1"] {
                let text = text(64, 16, 32, (one, other), more);
                let mut wave = wave(1024);
                setup(&mut wave, &mut random, 16, 32, (one, other));
                let [found, expected] = run_both(&tools, &mut wave, &text);
                assert_eq!(found, expected, "{text}");
            }
        }
    }
}

#[test]
fn a_result_may_overlap_what_is_read() {
    let (tools, mut random) = (tools(), Random(17));
    for d in [16, 24, 32, 40, 48] {
        for formats in [(0, 0), (1, 1), (4, 1)] {
            let text = text(d, 16, 32, formats, "");
            let mut wave = wave(1024);
            setup(&mut wave, &mut random, 16, 32, formats);
            let [found, expected] = run_both(&tools, &mut wave, &text);
            assert_eq!(found, expected, "{text}");
        }
    }
}

#[test]
fn infinities_stay_infinite() {
    let tools = tools();
    let text = text(64, 16, 32, (0, 1), "");
    let mut wave = wave(1024);
    setup(&mut wave, &mut Random(18), 16, 32, (0, 1));
    // One, at every place of A; infinity at one place of B.
    fill(&mut wave, 16, 16, || 0x3838_3838);
    wave.vector_mut(32)[20] = 0x0000_007c;
    let [found, expected] = run_both(&tools, &mut wave, &text);
    assert_eq!(found, expected);
    assert_eq!(found[0][4], f32::INFINITY.to_bits());
}

#[test]
fn thirty_two_rows_give_the_same_product() {
    let (tools, mut random) = (tools(), Random(32));
    for _ in 0..20 {
        let text = "v_wmma_scale16_f32_32x16x128_f4 v[96:111], v[16:31], v[32:39], v[48:63], v[2:3], v[4:5]";
        let mut wave = wave(1024);
        fill(&mut wave, 16, 24, || random.next());
        fill(&mut wave, 48, 16, || (random.below(64) as f32).to_bits());
        fill(&mut wave, 2, 4, || 0x7d7d_7d7d + (random.next() & 0x0303_0303));
        let [found, expected] = run_both(&tools, &mut wave, text);
        assert_eq!(found, expected);
    }
}

#[test]
fn gathers_of_ten_million_scales() {
    let (tools, mut random) = (tools(), Random(10));
    let text = text(64, 16, 32, (4, 4), "");
    let code = rewrite(&tools, "scale-sixteen", &text, &Options::default(), BUDGET).unwrap();
    // The four gathers come first.
    let gathers: Vec<_> = code.iter().copied().filter(|it| it.mnemonic() == "v_perm_b32").collect();
    assert_eq!(gathers.len(), 4);
    let to: Vec<u16> = texts(&tools, &gathers)
        .iter()
        .map(|it| it.split(['v', ',']).nth(2).unwrap().parse().unwrap())
        .collect();
    let gathers = bytes(&gathers);
    let mut wave = wave(1024);
    for _ in 0..80_000 {
        fill(&mut wave, 2, 4, || random.next());
        let before = rows(&wave, 2, 4);
        wave.execute(&gathers).unwrap();
        for lane in 0..LANES {
            for (at, number) in to.iter().enumerate() {
                let pair = if at % 2 == 0 { 0 } else { 2 };
                let scales: Vec<u8> = (0..2)
                    .flat_map(|it| before[pair + it][lane].to_le_bytes())
                    .skip(usize::from(at >= 2))
                    .step_by(2)
                    .collect();
                assert_eq!(wave.vector(*number)[lane].to_le_bytes(), scales[..]);
            }
        }
    }
}
