//! LDS instructions with two addresses do what they did: every form, every offset, registers that overlap.

use super::machine::{
    BUDGET, LANES, Random, Results, Stepped, assemble, bytes, copy_vectors, fill, fill_lds,
    leasing, rewrite, texts, tools, wave, word,
};
use hsaco::emu::Probe;
use hsaco::patch::{Options, Tools};

pub(crate) const FORMS: [(&str, u32, u8); 12] = [
    ("ds_load_2addr_b32", 4, 1),
    ("ds_load_2addr_b64", 8, 2),
    ("ds_load_2addr_stride64_b32", 256, 1),
    ("ds_load_2addr_stride64_b64", 512, 2),
    ("ds_store_2addr_b32", 4, 1),
    ("ds_store_2addr_b64", 8, 2),
    ("ds_store_2addr_stride64_b32", 256, 1),
    ("ds_store_2addr_stride64_b64", 512, 2),
    ("ds_storexchg_2addr_rtn_b32", 4, 1),
    ("ds_storexchg_2addr_rtn_b64", 8, 2),
    ("ds_storexchg_2addr_stride64_rtn_b32", 256, 1),
    ("ds_storexchg_2addr_stride64_rtn_b64", 512, 2),
];

/// One instruction: its form, registers and offsets.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) form: usize,
    pub(crate) result: usize,
    pub(crate) address: usize,
    pub(crate) data: [usize; 2],
    pub(crate) offsets: [u32; 2],
}

impl Case {
    pub(crate) fn text(&self) -> String {
        let (name, _, words) = FORMS[self.form];
        let row = |first: usize, count: usize| match count {
            1 => format!("v{first}"),
            _ => format!("v[{first}:{}]", first + count - 1),
        };
        let words = usize::from(words);
        let mut operands = Vec::new();
        if !name.starts_with("ds_store_") {
            operands.push(row(self.result, 2 * words));
        }
        operands.push(row(self.address, 1));
        if name.starts_with("ds_store") {
            operands.extend(self.data.map(|first| row(first, words)));
        }
        let [first, second] = self.offsets;
        format!("{name} {} offset0:{first} offset1:{second}", operands.join(", "))
    }

    /// The bytes that a lane accesses, by address and count.
    fn places(&self, base: u32) -> [(u32, u32); 2] {
        let (_, unit, words) = FORMS[self.form];
        self.offsets.map(|offset| (base + offset * unit, 4 * u32::from(words)))
    }
}

/// Registers that cases use.
const REGISTERS: u16 = 24;
/// Lanes keep out of each other's places: so many bytes are theirs.
pub(crate) const APART: u32 = 1 << 18;
/// So many cases after which all of LDS is compared, not what they accessed alone.
const EVERY: usize = 50_000;

/// Rewrites cases, and runs them before and after.
struct Checker {
    tools: Tools,
    random: Random,
    before: Probe,
    after: Probe,
    /// Lanes that were compared.
    lanes: usize,
}

/// A wave with memory for all lanes.
pub(crate) fn with_lds(vgprs: u16) -> Probe {
    let mut wave = wave(vgprs).with_lds(LANES * APART as usize / 4);
    fill_lds(&mut wave);
    wave
}

impl Checker {
    fn new(seed: u64) -> Self {
        // Scratch registers are the next ones.
        let wave = || with_lds(2 * REGISTERS);
        Checker { tools: tools(), random: Random(seed), before: wave(), after: wave(), lanes: 0 }
    }

    /// Runs a case so many times, or says why it was refused.
    fn check(&mut self, case: &Case, count: usize) -> Result<(), String> {
        let text = case.text();
        let options = Options::default();
        let (code, leases) = leasing(&self.tools, "ds-two-address", &text, &options, BUDGET)?;
        let original = bytes(&assemble(&self.tools, &text));
        // Exchanges are of whole words; others may be anywhere.
        let aligned = if text.contains("xchg") { !7 } else { !0 };
        let is_leased = |number: u16| {
            leases.iter().any(|it| (it.first..it.first + u16::from(it.count)).contains(&number))
        };
        let Checker { tools, random, before, after, lanes } = self;
        for _ in 0..count {
            fill(before, 0, REGISTERS, || random.next());
            let bases = before.vector_mut(case.address as u16);
            for (lane, address) in bases.iter_mut().enumerate() {
                *address = (lane as u32 * APART + random.below(4096)) & aligned;
            }
            let bases = bases.to_vec();
            copy_vectors(before, after, 2 * REGISTERS);
            before.execute(&original).unwrap();
            let late = Stepped::run(tools, after, &code, Results::Late);
            assert_eq!(late.outstanding(), 0, "{text}");
            for (at, size) in bases.iter().flat_map(|base| case.places(*base)) {
                for at in (at..at + size).step_by(4) {
                    assert_eq!(word(before, at), word(after, at), "{text}: LDS at {at:#x}");
                }
            }
            for number in (0..REGISTERS).filter(|number| !is_leased(*number)) {
                let code = || texts(tools, &code);
                assert!(
                    before.vector(number) == after.vector(number),
                    "{text}: v{number}\n{:?}",
                    code()
                );
            }
            *lanes += LANES;
            assert!(*lanes % (EVERY * LANES) != 0 || before.lds() == after.lds(), "{text}");
        }
        Ok(())
    }
}

/// Every pair of offsets of some forms; exchanges with one place twice are refused.
fn every_pair(forms: std::ops::Range<usize>) {
    let mut checker = Checker::new(12);
    for form in forms {
        let is_exchange = FORMS[form].0.contains("storexchg");
        for (first, second) in (0..256).flat_map(|first| (0..256).map(move |it| (first, it))) {
            let case = Case { form, result: 0, address: 4, data: [6, 8], offsets: [first, second] };
            let checked = checker.check(&case, 1);
            assert_eq!(checked.is_err(), is_exchange && first == second, "{}", case.text());
        }
    }
    assert!(checker.before.lds() == checker.after.lds());
}

// In parts, so that they run side by side.
/// Capability 12.
#[test]
fn every_pair_of_offsets_of_loads() {
    every_pair(0..4);
}

/// Capability 12.
#[test]
fn every_pair_of_offsets_of_stores() {
    every_pair(4..8);
}

/// Capability 12.
#[test]
fn every_pair_of_offsets_of_exchanges() {
    every_pair(8..12);
}

/// Capability 13.
#[test]
fn ten_million_results_that_overlap_what_is_read() {
    let mut checker = Checker::new(13);
    let mut refused = 0;
    while checker.lanes < 10_000_000 {
        let random = &mut checker.random;
        let form = random.below(12) as usize;
        let words = usize::from(FORMS[form].2);
        let mut row = |count: usize| (random.below(5) as usize) * count.max(1);
        let (result, address) = (row(2), row(1) + row(1));
        let data = [row(words), row(words)];
        // Every other time the two places are near each other, and may be one.
        let first = random.below(256);
        let near = if random.below(2) == 0 { random.below(256) } else { first ^ random.below(2) };
        let case = Case { form, result, address, data, offsets: [first, near] };
        match checker.check(&case, 32) {
            Ok(()) => {}
            Err(reason) => {
                assert!(reason.starts_with("overlap: both exchanges"), "{reason}");
                assert_eq!(case.offsets[0], case.offsets[1]);
                refused += 1;
            }
        }
    }
    assert!((1..2_000).contains(&refused), "{refused}");
    assert!(checker.before.lds() == checker.after.lds());
}

/// Capability 14.
#[test]
fn offsets_beyond_16_bits_are_added_to_the_address() {
    let tools = tools();
    let text = "ds_load_2addr_stride64_b64 v[0:3], v4 offset0:128 offset1:255";
    let code = rewrite(&tools, "ds-two-address", text, &Options::default(), BUDGET).unwrap();
    let expected = [
        "v_add_nc_u32_e32 v5, 0x10000, v4",
        "ds_load_b64 v[0:1], v5",
        "ds_load_b64 v[2:3], v5 offset:65024",
        "s_wait_dscnt 0x0",
    ];
    assert_eq!(texts(&tools, &code), expected);
}

/// Capability 15.
#[test]
fn banks() {
    let tools = tools();
    let before = "s_set_vgpr_msb 0x41
        ds_load_2addr_b64 v[254:257], v88 offset0:2 offset1:3";
    let code = rewrite(&tools, "ds-two-address", before, &Options::default(), BUDGET).unwrap();
    let switches: Vec<String> =
        texts(&tools, &code).into_iter().filter(|it| it.starts_with("s_set_vgpr_msb")).collect();
    assert_eq!(switches[1].split_whitespace().nth(1), Some("0x4181"));
    assert_eq!(switches[2].split_whitespace().nth(1), Some("0x8141"));
    let mut wave = with_lds(1024);
    for (lane, address) in wave.vector_mut(344).iter_mut().enumerate() {
        *address = lane as u32 * 64;
    }
    wave.execute(&bytes(&code)).unwrap();
    for lane in 0..LANES {
        let found: Vec<u32> = (510..514).map(|number| wave.vector(number)[lane]).collect();
        let at = lane as u32 * 64 + 16;
        assert_eq!(found, [0, 4, 8, 12].map(|more| word(&wave, at + more)));
    }
}

/// Capability 16.
#[test]
fn hints_around_a_window() {
    let tools = tools();
    let before = "s_delay_alu instid0(SALU_CYCLE_1) | instskip(SKIP_2) | instid1(VALU_DEP_1)
        s_or_b32 s0, s0, s12
        ds_load_2addr_b32 v[2:3], v52 offset1:1
        v_mov_b32_e32 v9, v6
        v_mov_b32_e32 v10, v9";
    let code = rewrite(&tools, "ds-two-address", before, &Options::default(), BUDGET).unwrap();
    let expected = [
        "s_delay_alu instid0(SALU_CYCLE_1)",
        "s_or_b32 s0, s0, s12",
        "ds_load_b32 v2, v52",
        "ds_load_b32 v3, v52 offset:4",
        "s_wait_dscnt 0x0",
        "v_mov_b32_e32 v9, v6",
        "s_delay_alu instid0(VALU_DEP_1)",
        "v_mov_b32_e32 v10, v9",
    ];
    assert_eq!(texts(&tools, &code), expected);
}

/// The accesses that are done after each wait, by their order; those with two addresses count as one.
fn completed(tools: &Tools, code: &[hsaco::isa::Inst], is_split: bool) -> Vec<usize> {
    let mut issued: Vec<usize> = Vec::new();
    let (mut number, mut halves, mut done) = (0, 0, Vec::new());
    for inst in code {
        let text = tools.decoder().text(inst);
        if let Some(most) = text.strip_prefix("s_wait_dscnt ") {
            let most = usize::from_str_radix(most.trim_start_matches("0x"), 16).unwrap();
            let left = &issued[issued.len() - most.min(issued.len())..];
            // What was done stays done.
            let now = left.first().copied().unwrap_or(number);
            done.push(now.max(done.last().copied().unwrap_or_default()));
        } else if text.starts_with("ds_") {
            issued.push(number);
            // In the split code v0 and v1 are one access.
            halves += usize::from(is_split && (text.contains(" v0,") || text.contains(" v1,")));
            if halves != 1 {
                number += 1;
                halves = 0;
            }
        }
    }
    done
}

/// Capability 17.
#[test]
fn precise_waits_complete_the_same_accesses() {
    let (tools, mut random) = (tools(), Random(17));
    let mut options = Options::default();
    options.set("precise-waits").unwrap();
    let mut kept = 0;
    for _ in 0..2_000 {
        let loads = |count: u32, first: u32| -> String {
            (0..count).map(|it| format!("ds_load_b32 v{}, v40\n", first + it)).collect()
        };
        let (before, after) = (random.below(3), random.below(3));
        let waits = [random.below(6), random.below(4)];
        let text = format!(
            "{}ds_load_2addr_b32 v[0:1], v2 offset1:1\n{}s_wait_dscnt {}\nv_nop\ns_wait_dscnt {}\ns_wait_dscnt 0\n",
            loads(before, 10),
            loads(after, 20),
            waits[0],
            waits[1]
        );
        let code = rewrite(&tools, "ds-two-address", &text, &options, BUDGET).unwrap();
        let original = assemble(&tools, &text);
        assert_eq!(completed(&tools, &code, true), completed(&tools, &original, false), "{text}");
        kept += usize::from(code.len() == original.len() + 1);
    }
    assert_eq!(kept, 2_000, "none needs a drain");
}
