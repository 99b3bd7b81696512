//! Products of 128 columns and 32 rows: the same numbers as one instruction, rounded once.

use super::machine::matrix::{self, Layout, ROWS, half_place, nearest_half};
use super::machine::numbers::f16_to_f32;
use super::machine::{BUDGET, LANES, Random, Wave, prepare, rewrite, texts, tools};
use hsaco::isa::Inst;
use hsaco::patch::{Options, RegisterBudget, Tools};

fn rules(tools: &Tools, text: &str) -> Vec<Inst> {
    rewrite(tools, "wmma-split", text, &Options::default(), BUDGET).unwrap()
}

/// Bytes of which none is infinite or NaN.
fn finite(random: &mut Random, is_bf8: bool) -> u32 {
    let byte = |bits: u32| match (is_bf8, bits & 0x7f) {
        (false, 0x7f) | (true, 0x7c..) => bits & 0x80,
        _ => bits & 0xff,
    };
    let bits = random.next();
    (0..4).fold(0, |word, at| word | byte(bits >> (8 * at)) << (8 * at))
}

fn fill(wave: &mut Wave, first: usize, count: usize, mut word: impl FnMut() -> u32) {
    for register in &mut wave.vgprs[first..first + count] {
        register.iter_mut().for_each(|lane| *lane = word());
    }
}

/// B0's product of halves: 128 products and the third matrix are added up in single precision and rounded once.
fn expected(wave: &Wave, formats: (u32, u32), c: usize) -> Vec<u16> {
    let a = matrix::elements(wave, (0, formats.0), Layout::Plain, 128);
    let b = matrix::elements(wave, (16, formats.1), Layout::Plain, 128);
    let ones = [0; 4];
    let mut all = Vec::with_capacity(ROWS * ROWS);
    for row in 0..ROWS {
        for column in 0..ROWS {
            let (register, lane, shift) = half_place(row, column);
            let half = wave.vgprs[c + register][lane] >> shift & 0xffff;
            let third = matrix::fixed(f32::from_bits(f16_to_f32(half)));
            let sum = matrix::dot(&a[row], &b[column], 32, (&ones, &ones)).unwrap();
            all.push(nearest_half(f64::from(matrix::rounded(sum + third))));
        }
    }
    all
}

fn found(wave: &Wave, d: usize) -> Vec<u16> {
    let places = (0..ROWS).flat_map(|row| (0..ROWS).map(move |column| half_place(row, column)));
    places.map(|(register, lane, shift)| (wave.vgprs[d + register][lane] >> shift) as u16).collect()
}

/// Of 256 sums each: ten million in all.
const TILES: usize = 40_000;
/// So many of each form are made as comgr did, too.
const COMGRS: usize = 250;

/// Halves of moderate size, of which none is infinite or NaN.
fn halves(random: &mut Random) -> u32 {
    let bits = random.next();
    let half = |bits: u32| bits & 0x83ff | (bits >> 10 & 0x1f).min(27) << 10;
    half(bits & 0xffff) | half(bits >> 16) << 16
}

/// Capability 23.
#[test]
fn ten_million_sums_of_halves_are_rounded_once() {
    let (tools, mut random) = (tools(), Random(23));
    for (name, formats) in
        [("fp8_fp8", (0, 0)), ("fp8_bf8", (0, 1)), ("bf8_fp8", (1, 0)), ("bf8_bf8", (1, 1))]
    {
        let text = format!("v_wmma_f16_16x16x128_{name} v[40:43], v[0:15], v[16:31], v[32:35]");
        let ours = prepare(&tools, &rules(&tools, &text), 0);
        let comgrs = format!(
            "v_wmma_f16_16x16x64_{name} v[40:43], v[0:7], v[16:23], v[32:35]
             v_wmma_f16_16x16x64_{name} v[40:43], v[8:15], v[24:31], v[40:43]"
        );
        let comgrs = prepare(&tools, &super::machine::assemble(&tools, &comgrs), 0);
        let mut wave = Wave::new();
        let mut differences = 0;
        for tile in 0..TILES / 4 {
            // Every other tile has small numbers, so that sums are not all out of range.
            let keep = if tile % 2 == 0 { 0xffff_ffff } else { 0xbfbf_bfbf };
            fill(&mut wave, 0, 16, || finite(&mut random, formats.0 == 1) & keep);
            fill(&mut wave, 16, 16, || finite(&mut random, formats.1 == 1) & keep);
            fill(&mut wave, 32, 4, || halves(&mut random));
            let expected = expected(&wave, formats, 32);
            wave.run(&ours);
            assert_eq!(found(&wave, 40), expected, "{name}");
            if tile < COMGRS {
                wave.run(&comgrs);
                let found = found(&wave, 40);
                differences += found.iter().zip(&expected).filter(|(a, b)| a != b).count();
            }
        }
        assert!(differences > 0, "{name}: rounding twice has to be seen");
    }
}

/// Capability 22.
#[test]
fn one_instruction() {
    let tools = tools();
    let text = "v_wmma_f32_16x16x128_fp8_bf8 v[16:23], v[0:15], v[24:39], v[16:23]";
    let code = rules(&tools, text);
    let mut bytes = Vec::new();
    code.iter().for_each(|inst| inst.encode(&mut bytes));
    let expected = [
        0x00, 0x00, 0x35, 0xcc, 0x80, 0x00, 0x01, 0x04, 0x10, 0x00, 0x33, 0xcc, 0x00, 0x31, 0x42,
        0x0c,
    ];
    assert_eq!(bytes, expected);
    // The same sums as the instruction had, of matrices laid out for it.
    let mut random = Random(22);
    let mut wave = Wave::new();
    for _ in 0..50 {
        fill(&mut wave, 0, 16, || finite(&mut random, false));
        fill(&mut wave, 24, 16, || finite(&mut random, true));
        fill(&mut wave, 16, 8, || f16_to_f32(halves(&mut random) & 0xffff));
        let mut before = wave.clone();
        before.run(&prepare(&tools, &super::machine::assemble(&tools, text), 0));
        wave.run(&prepare(&tools, &code, 0));
        assert_eq!(wave.vgprs[16..24], before.vgprs[16..24]);
    }
}

/// B0's product of 32 rows: two of 16, of what was there before.
pub(crate) fn rows32(
    wave: &Wave,
    tools: &Tools,
    parts: [usize; 3],
    mods: &str,
) -> Vec<[u32; LANES]> {
    let [a, b, c] = parts;
    let mut result = Vec::new();
    for half in 0..2 {
        let mut copy = wave.clone();
        let row = if half == 1 && !mods.starts_with("0,") {
            " matrix_a_scale:MATRIX_SCALE_ROW1"
        } else {
            ""
        };
        let text = format!(
            "v_wmma_scale_f32_16x16x128_f8f6f4 v[200:207], v[{}:{}], v[{b}:{}], v[{}:{}], {mods} matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4{row}",
            a + 8 * half,
            a + 8 * half + 7,
            b + 7,
            c + 8 * half,
            c + 8 * half + 7
        );
        copy.run(&prepare(tools, &super::machine::assemble(tools, &text), 0));
        result.extend_from_slice(&copy.vgprs[200..208]);
    }
    result
}

/// Capability 24.
#[test]
fn overlaps_are_kept_apart() {
    let (tools, mut random) = (tools(), Random(24));
    let mut wave = Wave::new();
    for _ in 0..600 {
        let row = |random: &mut Random| 2 * random.below(16) as usize;
        let (d, a, b, c) = (row(&mut random), row(&mut random), row(&mut random), row(&mut random));
        let text = format!(
            "v_wmma_f32_32x16x128_f4 v[{d}:{}], v[{a}:{}], v[{b}:{}], v[{c}:{}]",
            d + 15,
            a + 15,
            b + 7,
            c + 15
        );
        let code = rules(&tools, &text);
        // Any bits are numbers of four bits; as a third matrix they have to be finite and of moderate size.
        fill(&mut wave, 0, 64, || random.next() & 0x83ff_ffff | 0x3800_0000);
        let expected = rows32(&wave, &tools, [a, b, c], "0, 0");
        wave.run(&prepare(&tools, &code, 0));
        assert_eq!(wave.vgprs[d..d + 16], expected[..], "{text}\n{:?}", texts(&tools, &code));
    }
}

/// Capability 24.
#[test]
fn the_overlapping_pair_is_never_made() {
    let tools = tools();
    let text = "v_wmma_f32_16x16x128_fp8_fp8 v[16:23], v[0:15], v[8:23], 1.0";
    let code = texts(&tools, &rules(&tools, text));
    assert_eq!(code, ["v_wmma_scale_f32_16x16x128_f8f6f4 v[16:23], v[0:15], v[8:23], 1.0, 0, 0"]);
    // Where registers are needed and there are none, it is refused.
    let budget = RegisterBudget {
        sgprs: 8,
        max_sgprs: 106,
        vgprs: 36,
        max_vgprs: 36,
        unused: Some((8, 36)),
    };
    let text = "v_wmma_f32_32x16x128_f4 v[0:15], v[16:31], v[4:11], 0";
    let refusal = rewrite(&tools, "wmma-split", text, &Options::default(), budget).unwrap_err();
    assert_eq!(refusal, "no-register: none free of 8 vector registers below v36");
}

/// Capability 25.
#[test]
fn rows_of_scales() {
    let (tools, mut random) = (tools(), Random(25));
    let text = "v_wmma_scale_f32_32x16x128_f4 v[96:111], v[16:31], v[32:39], v[48:63], v2, v4";
    let code = rules(&tools, text);
    let has_row = |text: &String| text.contains("matrix_a_scale:MATRIX_SCALE_ROW1");
    let rows: Vec<bool> = texts(&tools, &code).iter().map(has_row).collect();
    assert_eq!(rows, [false, true]);
    let mut wave = Wave::new();
    for _ in 0..50 {
        fill(&mut wave, 16, 24, || random.next());
        fill(&mut wave, 48, 16, || random.next() & 0x83ff_ffff | 0x3800_0000);
        fill(&mut wave, 2, 3, || 0x7c7c_7c7c + (random.next() & 0x0707_0707));
        let expected = rows32(&wave, &tools, [16, 32, 48], "v2, v4");
        wave.run(&prepare(&tools, &code, 0));
        assert_eq!(wave.vgprs[96..112], expected[..]);
    }
}
