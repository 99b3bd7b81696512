//! Conversions from and to E5M3: every byte, every boundary, ten million numbers.

use super::machine::{BUDGET, LANES, Random, assemble, bytes, copy_vectors, rewrite, tools, wave};
use hsaco::emu::Probe;
use hsaco::patch::{Options, Tools};

/// The bit of MODE that makes too large a number the largest.
pub(crate) const SATURATES: u32 = 1 << 23;

/// What a byte stands for; 0xff is what would follow the largest number.
fn value(byte: u32) -> f64 {
    let (exponent, mantissa) = (byte >> 3, f64::from(byte & 7));
    match exponent {
        0 => mantissa * 2_f64.powi(-17),
        _ => (8.0 + mantissa) * 2_f64.powi(exponent as i32 - 18),
    }
}

/// A conversion into v5, as it is and computed.
struct Conversion {
    code: [Vec<u8>; 2],
    waves: [Probe; 2],
}

impl Conversion {
    fn new(tools: &Tools, text: &str) -> Self {
        let code = rewrite(tools, "e5m3", text, &Options::default(), BUDGET).unwrap();
        let code = [bytes(&assemble(tools, text)), bytes(&code)];
        Conversion { code, waves: [wave(32), wave(32)] }
    }

    /// Converts what v6 and v7 are given.
    fn check(&mut self, sources: [[u32; LANES]; 2], mode: u32) -> u32 {
        let [before, after] = &mut self.waves;
        before.vector_mut(6).copy_from_slice(&sources[0]);
        before.vector_mut(7).copy_from_slice(&sources[1]);
        (*before.mode_mut(), *after.mode_mut()) = (mode, mode);
        copy_vectors(before, after, 8);
        before.execute(&self.code[0]).unwrap();
        after.execute(&self.code[1]).unwrap();
        let given = sources.map(|it| it.map(f32::from_bits));
        assert_eq!(before.vector(5), after.vector(5), "{given:?}");
        before.vector(5)[0]
    }
}

/// Modes of which conversions of floats make use: none of them may matter but the one bit.
fn modes() -> [u32; 4] {
    [0x3f0, 0x3f0 | SATURATES, 0x300, 0x3f5 | SATURATES]
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

/// Numbers for all lanes at a time.
fn chunks() -> Vec<[u32; LANES]> {
    let mut all = boundaries();
    all.resize(all.len().next_multiple_of(LANES), 1.0);
    let chunk = |chunk: &[f32]| std::array::from_fn(|lane| chunk[lane].to_bits());
    all.chunks_exact(LANES).map(chunk).collect()
}

/// Pair EM10, capability 29.
#[test]
fn pack_of_all_boundaries_and_ten_million_numbers() {
    let tools = tools();
    let mut lower = Conversion::new(&tools, "v_cvt_pk_fp8_f32 v5, v6, v7 clamp");
    let mut upper = Conversion::new(&tools, "v_cvt_pk_fp8_f32 v5, v6, v7 op_sel:[0,0,1] clamp");
    for mode in modes() {
        for chunk in chunks() {
            let turned: [u32; LANES] = std::array::from_fn(|lane| chunk[LANES - 1 - lane]);
            lower.check([chunk, turned], mode);
            upper.check([turned, chunk], mode);
        }
    }
    let mut random = Random(29);
    for round in 0..157_000 {
        let numbers = [0, 1].map(|_| std::array::from_fn(|_| number(&mut random).to_bits()));
        lower.check(numbers, modes()[round % 4]);
    }
}

/// Capability 29.
#[test]
fn sources_with_signs_and_constants() {
    let tools = tools();
    for (text, expected) in [
        ("v_cvt_pk_fp8_f32 v5, -v6, |v6| clamp", 0x7c7c),
        ("v_cvt_pk_fp8_f32 v5, -|v6|, -v7 clamp", 0),
        ("v_cvt_pk_fp8_f32 v5, 0x477f0000, 0x477f0000 clamp", 0xf8f8),
        ("v_cvt_pk_fp8_f32 v5, 1.0, 0.5 clamp", 0x7078),
        ("v_cvt_pk_fp8_f32 v5, s9, v7 clamp", 0x8468),
    ] {
        let mut conversion = Conversion::new(&tools, text);
        for wave in &mut conversion.waves {
            wave.scalars_mut()[9] = 0.25_f32.to_bits();
        }
        let sources = [[(-1.5_f32).to_bits(); LANES], [3.0_f32.to_bits(); LANES]];
        assert_eq!(conversion.check(sources, 0x3f0), expected, "{text}");
    }
}

/// Pair EM10, capability 29.
#[test]
fn stochastic_of_all_boundaries_and_ten_million_numbers() {
    let tools = tools();
    let mut random = Random(30);
    for text in ["", " byte_sel:1", " byte_sel:2", " byte_sel:3"] {
        let text = format!("v_cvt_sr_fp8_f32 v5, v6, v7{text} clamp");
        let mut conversion = Conversion::new(&tools, &text);
        for chunk in chunks() {
            for noise in [0, 0xfff, 0x1000, 0x7fff_ffff, 0xffff_ffff] {
                for mode in modes() {
                    conversion.check([chunk, [noise; LANES]], mode);
                }
            }
        }
        // All bytes together ten million.
        for round in 0..79_000 {
            let numbers = std::array::from_fn(|_| number(&mut random).to_bits());
            let noise = std::array::from_fn(|_| random.next());
            conversion.check([numbers, noise], modes()[round % 4]);
        }
    }
}

/// Pair EM10, capability 29.
#[test]
fn unpack_of_every_byte_in_every_place() {
    let tools = tools();
    let mut random = Random(31);
    for (place, text) in ["", " byte_sel:1", " byte_sel:2", " byte_sel:3"].iter().enumerate() {
        let text = format!("v_cvt_f32_fp8_e64 v5, v6{text} clamp");
        let mut conversion = Conversion::new(&tools, &text);
        for bytes in 0..8 {
            let byte = |lane: usize| bytes * 32 + lane as u32;
            let sources = std::array::from_fn(|lane| {
                random.next() & !(0xff << (8 * place)) | byte(lane) << (8 * place)
            });
            conversion.check([sources, [0; LANES]], 0x3f0);
        }
    }
}

/// comgr went through half precision: what is just above a border became the border, and went to even.
#[test]
fn rounding_twice_would_be_seen() {
    let tools = tools();
    let above = (f64::midpoint(value(0x40), value(0x41)) as f32).to_bits() + 1;
    let packed = |before: &str| {
        let mut wave = wave(8);
        wave.vector_mut(6).fill(above);
        let text = format!("{before}v_cvt_pk_fp8_f32 v5, v6, v6 clamp");
        wave.execute(&bytes(&assemble(&tools, &text))).unwrap();
        wave.vector(5)[0] & 0xff
    };
    assert_eq!(packed(""), 0x41);
    assert_eq!(packed("v_cvt_pk_f16_f32 v6, v6, v6\nv_cvt_f32_f16_e32 v6, v6\n"), 0x40);
}
