//! Products of 128 columns and 32 rows: the same numbers as one instruction, rounded once.

use super::machine::{
    BUDGET, Random, assemble, bytes, copy_vectors, fill, rewrite, rows, texts, tools, wave,
};
use hsaco::emu::Probe;
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

/// Code before and after a rule, from the same registers; then some of them are equal.
struct Pair {
    code: [Vec<u8>; 2],
    waves: [Probe; 2],
}

impl Pair {
    fn new(tools: &Tools, text: &str, vgprs: u16) -> Self {
        let code = [bytes(&assemble(tools, text)), bytes(&rules(tools, text))];
        Pair { code, waves: [wave(vgprs), wave(vgprs)] }
    }

    /// What is left in registers by the code before, which the code after has to leave as well.
    fn check(&mut self, registers: u16, to: (u16, u16)) -> Vec<Vec<u32>> {
        let [before, after] = &mut self.waves;
        copy_vectors(before, after, registers);
        before.execute(&self.code[0]).unwrap();
        after.execute(&self.code[1]).unwrap();
        let [one, other] = [&*before, after].map(|wave| rows(wave, to.0, to.1));
        assert_eq!(one, other);
        one
    }
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
    for (name, formats) in [
        ("fp8_fp8", (false, false)),
        ("fp8_bf8", (false, true)),
        ("bf8_fp8", (true, false)),
        ("bf8_bf8", (true, true)),
    ] {
        let text = format!("v_wmma_f16_16x16x128_{name} v[40:43], v[0:15], v[16:31], v[32:35]");
        let mut ours = Pair::new(&tools, &text, 64);
        let comgrs = format!(
            "v_wmma_f16_16x16x64_{name} v[40:43], v[0:7], v[16:23], v[32:35]
             v_wmma_f16_16x16x64_{name} v[40:43], v[8:15], v[24:31], v[40:43]"
        );
        let comgrs = bytes(&assemble(&tools, &comgrs));
        let mut differences = 0;
        for tile in 0..TILES / 4 {
            // Every other tile has small numbers, so that sums are not all out of range.
            let keep = if tile % 2 == 0 { 0xffff_ffff } else { 0xbfbf_bfbf };
            let before = &mut ours.waves[0];
            fill(before, 0, 16, || finite(&mut random, formats.0) & keep);
            fill(before, 16, 16, || finite(&mut random, formats.1) & keep);
            fill(before, 32, 4, || halves(&mut random));
            let expected = ours.check(44, (40, 4));
            if tile < COMGRS {
                ours.waves[0].execute(&comgrs).unwrap();
                differences += usize::from(rows(&ours.waves[0], 40, 4) != expected);
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
    let expected = [
        0x00, 0x00, 0x35, 0xcc, 0x80, 0x00, 0x01, 0x04, 0x10, 0x00, 0x33, 0xcc, 0x00, 0x31, 0x42,
        0x0c,
    ];
    assert_eq!(bytes(&code), expected);
    // The same sums as the instruction had, of matrices laid out for it.
    let mut random = Random(22);
    let mut pair = Pair::new(&tools, text, 64);
    for _ in 0..50 {
        let before = &mut pair.waves[0];
        fill(before, 0, 16, || finite(&mut random, false));
        fill(before, 24, 16, || finite(&mut random, true));
        // Halves of moderate size, as singles.
        fill(before, 16, 8, || random.next() & 0xbfff_ffff);
        pair.check(40, (16, 8));
    }
}

/// Capability 24.
#[test]
fn overlaps_are_kept_apart() {
    let (tools, mut random) = (tools(), Random(24));
    for _ in 0..600 {
        let [d, a, b, c] = [(); 4].map(|()| 2 * random.below(16) as u16);
        let text = format!(
            "v_wmma_f32_32x16x128_f4 v[{d}:{}], v[{a}:{}], v[{b}:{}], v[{c}:{}]",
            d + 15,
            a + 15,
            b + 7,
            c + 15
        );
        let mut pair = Pair::new(&tools, &text, 128);
        // Any bits are numbers of four bits; as a third matrix they have to be finite and of moderate size.
        fill(&mut pair.waves[0], 0, 64, || random.next() & 0x83ff_ffff | 0x3800_0000);
        pair.check(64, (d, 16));
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
    let mut pair = Pair::new(&tools, text, 128);
    for _ in 0..50 {
        let before = &mut pair.waves[0];
        fill(before, 16, 24, || random.next());
        fill(before, 48, 16, || random.next() & 0x83ff_ffff | 0x3800_0000);
        fill(before, 2, 3, || 0x7c7c_7c7c + (random.next() & 0x0707_0707));
        pair.check(112, (96, 16));
    }
}
