//! LDS instructions with two addresses do what they did: every form, every offset, registers that overlap.

use super::machine::{BUDGET, LANES, Random, Wave, leasing, prepare, rewrite, texts, tools};
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

    /// What the manual says: both places are read, then written, then both results are there.
    pub(crate) fn expected(&self, wave: &Wave, after: &mut Wave) {
        let (name, unit, words) = FORMS[self.form];
        after.clone_from(wave);
        for lane in 0..LANES {
            let base = wave.vgprs[self.address][lane];
            let place = |half: usize, word: usize| {
                base.wrapping_add(self.offsets[half] * unit).wrapping_add(4 * word as u32)
            };
            for half in 0..2 {
                for word in 0..usize::from(words) {
                    let to = self.result + half * usize::from(words) + word;
                    if !name.starts_with("ds_store_") {
                        after.vgprs[to][lane] = wave.word(place(half, word));
                    }
                    if name.starts_with("ds_store") {
                        let value = wave.vgprs[self.data[half] + word][lane];
                        after.set_word(place(half, word), value);
                    }
                }
            }
        }
    }
}

/// Registers that cases use.
const REGISTERS: usize = 24;

/// Rewrites cases, and runs them before and after.
struct Checker {
    tools: Tools,
    random: Random,
    wave: Wave,
    after: Wave,
    /// Lanes that were compared.
    lanes: usize,
}

impl Checker {
    fn new(seed: u64) -> Self {
        // Scratch registers are the next ones.
        let wave = || Wave::with_vgprs(2 * REGISTERS);
        Checker { tools: tools(), random: Random(seed), wave: wave(), after: wave(), lanes: 0 }
    }

    /// Runs a case so many times, or says why it was refused.
    fn check(&mut self, case: &Case, count: usize) -> Result<(), String> {
        let text = case.text();
        let options = Options::default();
        let (code, leases) = leasing(&self.tools, "ds-two-address", &text, &options, BUDGET)?;
        let steps = prepare(&self.tools, &code, 0);
        let is_leased = |number: usize| {
            leases
                .iter()
                .any(|it| (it.first..it.first + u16::from(it.count)).contains(&(number as u16)))
        };
        let Checker { tools, random, wave, after, lanes } = self;
        for _ in 0..count {
            wave.randomize(random, REGISTERS);
            wave.lds.clear();
            // Lanes keep out of each other's places.
            for (lane, address) in wave.vgprs[case.address].iter_mut().enumerate() {
                *address = (lane as u32) << 20 | random.below(4096);
            }
            case.expected(wave, after);
            wave.run(&steps);
            assert_eq!(wave.lds, after.lds, "{text}");
            assert_eq!(wave.under_way, 0, "{text}");
            for number in (0..REGISTERS).filter(|number| !is_leased(*number)) {
                let code = || texts(tools, &code);
                assert!(
                    wave.vgprs[number] == after.vgprs[number],
                    "{text}: v{number}\n{:?}",
                    code()
                );
            }
            *lanes += LANES;
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
    let mut wave = Wave::new();
    wave.vgprs[344] = std::array::from_fn(|lane| lane as u32 * 64);
    wave.run(&prepare(&tools, &code, 0));
    for lane in 0..LANES {
        let found: Vec<u32> = (510..514).map(|number| wave.vgprs[number][lane]).collect();
        let at = lane as u32 * 64 + 16;
        assert_eq!(found, [0, 4, 8, 12].map(|more| wave.word(at + more)));
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
        let original = super::machine::assemble(&tools, &text);
        assert_eq!(completed(&tools, &code, true), completed(&tools, &original, false), "{text}");
        kept += usize::from(code.len() == original.len() + 1);
    }
    assert_eq!(kept, 2_000, "none needs a drain");
}
