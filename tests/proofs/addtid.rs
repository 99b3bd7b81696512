//! Addresses of M0 and the lane's number, for all lanes and all values of M0.

use super::machine::{BUDGET, LANES, Random, Step, Wave, prepare, rewrite, texts, tools};
use hsaco::patch::{Options, RegisterBudget};

/// B0 takes 20 bits; upper bits of M0 are not part of the address.
pub(crate) fn expected(m0: u32, lane: usize, offset: u32) -> u32 {
    (m0.wrapping_add(4 * lane as u32) & 0xf_ffff) + offset
}

/// Runs what works the address out for one value of M0, in all lanes.
fn check(wave: &mut Wave, computes: &[Step], address: usize, offset: u32, m0: u32) {
    wave.m0 = m0;
    wave.run(computes);
    for lane in 0..LANES {
        let found = wave.vgprs[address][lane] + offset;
        assert_eq!(found, expected(m0, lane, offset), "M0 {m0:#x}, lane {lane}");
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
    for text in ["ds_load_addtid_b32 v5 offset:128", "ds_store_addtid_b32 v8 offset:64"] {
        let code = rewrite(&tools, "ds-addtid", text, &Options::default(), BUDGET).unwrap();
        let offset = if text.contains("128") { 128 } else { 64 };
        let (access, computes) = code.split_last().unwrap();
        let (access, computes) = (prepare(&tools, &[*access], 0), prepare(&tools, computes, 0));
        // The store computes alike.
        let (address, stride) = if offset == 128 { (5, 1) } else { (0, 61) };
        let mut wave = Wave::new();
        for low in (0..1_u32 << 20).step_by(stride) {
            // What is above differs from value to value.
            let m0 = low | low.wrapping_mul(0x9e37_79b1) & 0xfff0_0000;
            check(&mut wave, &computes, address, offset, m0);
        }
        for upper in (0..1_u32 << 12).map(|upper| upper << 20) {
            for low in (0xf_ff80..=0xf_ffff_u32).step_by(3).chain([0, 1, 0x7_ffff, 0x8_0000]) {
                check(&mut wave, &computes, address, offset, upper | low);
            }
        }
        let mut random = Random(18);
        for _ in 0..10_000_000 / LANES / stride {
            check(&mut wave, &computes, address, offset, random.next());
        }
        wave.m0 = 0x1_2344;
        wave.run(&computes);
        wave.run(&access);
        let places: [u32; LANES] = std::array::from_fn(|lane| expected(wave.m0, lane, offset));
        assert_eq!(wave.addresses, places);
        assert_eq!(wave.under_way, 1, "it counts as one");
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
        let mut wave = Wave::new();
        wave.m0 = 0x4_0000;
        wave.run(&prepare(&tools, &code, 0));
        let to = 5 + 256 * (mode >> 6) as usize;
        for lane in 0..LANES {
            assert_eq!(wave.vgprs[to][lane], wave.word(expected(wave.m0, lane, 8)), "{mode:#x}");
        }
        for other in (5..1024).step_by(256).filter(|it| *it != to) {
            assert_eq!(wave.vgprs[other], [0; LANES], "{mode:#x}: v{other}");
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
