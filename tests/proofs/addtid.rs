//! Addresses of M0 and the lane's number, for all lanes and all values of M0.

use super::machine::{
    BUDGET, LANES, Random, Results, Stepped, assemble, bytes, fill_lds, rewrite, texts, tools,
    wave, word,
};
use hsaco::emu::Probe;
use hsaco::patch::{Options, RegisterBudget, Tools};

/// B0 takes 20 bits; upper bits of M0 are not part of the address. What the emulator is held against.
fn expected(m0: u32, lane: usize, offset: u32) -> u32 {
    (m0.wrapping_add(4 * lane as u32) & 0xf_ffff) + offset
}

/// A wave with as much LDS as 20 bits and an offset reach, in which no word is as another.
fn with_lds(vgprs: u16) -> Probe {
    let mut wave = wave(vgprs).with_lds((1 << 18) + (1 << 14) + 1);
    fill_lds(&mut wave);
    wave
}

/// An access before and after, for one value of M0 after the other.
struct Access {
    code: [Vec<u8>; 2],
    waves: [Probe; 2],
    offset: u32,
    is_load: bool,
}

impl Access {
    fn new(tools: &Tools, text: &str, offset: u32) -> Self {
        let code = rewrite(tools, "ds-addtid", text, &Options::default(), BUDGET).unwrap();
        let late = Stepped::run(tools, &mut with_lds(16), &code, Results::Late);
        assert_eq!(late.outstanding(), 1, "it counts as one");
        let code = [bytes(&assemble(tools, text)), bytes(&code)];
        Access { code, waves: [with_lds(16), with_lds(16)], offset, is_load: text.contains("load") }
    }

    fn check(&mut self, m0: u32) {
        for (wave, code) in self.waves.iter_mut().zip(&self.code) {
            *wave.m0_mut() = m0;
            wave.vector_mut(8).iter_mut().for_each(|lane| *lane = m0 ^ 0x5555_5555);
            wave.execute(code).unwrap();
        }
        let [before, after] = &self.waves;
        for lane in 0..LANES {
            let at = expected(m0, lane, self.offset);
            let (one, other) = match self.is_load {
                true => (before.vector(5)[lane], after.vector(5)[lane]),
                false => (before.vector(8)[lane], word(after, at)),
            };
            assert_eq!(one, other, "M0 {m0:#x}, lane {lane}");
            assert_eq!(one, word(before, at), "M0 {m0:#x}, lane {lane}");
        }
    }
}

/// Of a sum the lower 20 bits depend on the lower 20 bits of what is added alone, and the upper 12 of M0 are cut off. So
/// all values of M0 are: every value of the lower 20 bits, beside upper bits that differ from one to the next; every value
/// of the upper 12, beside lower bits that are about to overflow and some that are not; and ten million pairs of any M0
/// and a lane, in case code should mix the two after all.
/// Capability 18.
#[test]
fn all_lanes_and_all_values_of_m0() {
    let tools = tools();
    for (text, offset) in
        [("ds_load_addtid_b32 v5 offset:128", 128), ("ds_store_addtid_b32 v8 offset:64", 64)]
    {
        let mut access = Access::new(&tools, text, offset);
        // The store computes alike.
        let stride = if access.is_load { 1 } else { 61 };
        for low in (0..1_u32 << 20).step_by(stride) {
            // What is above differs from value to value.
            access.check(low | low.wrapping_mul(0x9e37_79b1) & 0xfff0_0000);
        }
        for upper in (0..1_u32 << 12).map(|upper| upper << 20) {
            for low in (0xf_ff80..=0xf_ffff_u32).step_by(3).chain([0, 1, 0x7_ffff, 0x8_0000]) {
                access.check(upper | low);
            }
        }
        let mut random = Random(18);
        for _ in 0..10_000_000 / LANES / stride {
            access.check(random.next());
        }
        let [before, after] = &access.waves;
        assert!(before.lds() == after.lds());
    }
}

/// The store's address is worked out by the same instructions in another register, so what holds of all values for the load holds for it.
/// Capability 18.
#[test]
fn loads_and_stores_compute_alike() {
    let tools = tools();
    let computes = |text: &str| {
        let code = rewrite(&tools, "ds-addtid", text, &Options::default(), BUDGET).unwrap();
        texts(&tools, &code[..code.len() - 1])
    };
    let load = computes("ds_load_addtid_b32 v5 offset:128");
    let load: Vec<String> = load.iter().map(|line| line.replace("v5", "v0")).collect();
    assert_eq!(load, computes("ds_store_addtid_b32 v8 offset:64"));
}

/// Capability 18.
#[test]
fn a_store_takes_a_register_that_is_not_needed() {
    let tools = tools();
    let text = "v_mov_b32_e32 v1, v0
        ds_store_addtid_b32 v8 offset:64
        global_store_b32 v1, v0, s[2:3]";
    let code = rewrite(&tools, "ds-addtid", text, &Options::default(), BUDGET).unwrap();
    assert_eq!(tools.decoder().text(&code[1]), "v_mbcnt_lo_u32_b32 v2, -1, 0");
}

/// Capability 18.
#[test]
fn banks() {
    let tools = tools();
    for mode in [0x41_u32, 0x00, 0xff, 0x1b, 0xc0] {
        let text = format!("s_set_vgpr_msb {mode}\nds_load_addtid_b32 v5 offset:8");
        let code = rewrite(&tools, "ds-addtid", &text, &Options::default(), BUDGET).unwrap();
        let mut wave = with_lds(1024);
        *wave.m0_mut() = 0x4_0000;
        wave.execute(&bytes(&code)).unwrap();
        let to = 5 + 256 * (mode >> 6) as u16;
        for lane in 0..LANES {
            let at = expected(0x4_0000, lane, 8);
            assert_eq!(wave.vector(to)[lane], word(&wave, at), "{mode:#x}");
        }
        for other in (5..1024).step_by(256).filter(|it| *it != to) {
            assert_eq!(wave.vector(other), [0; LANES], "{mode:#x}: v{other}");
        }
    }
}

/// Case AT5.
#[test]
fn without_a_register_a_store_is_refused() {
    let budget =
        RegisterBudget { sgprs: 8, max_sgprs: 106, vgprs: 9, max_vgprs: 9, unused: Some((8, 9)) };
    let text = "ds_store_addtid_b32 v8 offset:64";
    let refusal = rewrite(&tools(), "ds-addtid", text, &Options::default(), budget).unwrap_err();
    assert_eq!(refusal, "no-register: none free of 1 vector registers below v9");
}
