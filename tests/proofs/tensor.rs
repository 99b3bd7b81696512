//! Tensor loads have an empty mask, and nothing else sees a difference: ten million times, with every mask.

use super::machine::{BUDGET, Random, assemble, bytes, mask, rewrite, texts, tools, wave};
use hsaco::emu::Probe;
use hsaco::isa::Inst;
use hsaco::patch::{Options, RegisterBudget, Tools};

/// Code up to each tensor load, and the register that has its mask.
struct Pieces(Vec<(Vec<u8>, Option<usize>)>);

impl Pieces {
    fn new(tools: &Tools, code: &[Inst]) -> Self {
        let is_load = |inst: &Inst| inst.mnemonic() == "tensor_load_to_lds";
        let piece = |piece: &[Inst]| match piece.split_last().filter(|(last, _)| is_load(last)) {
            Some((load, before)) => (bytes(before), Some(mask(tools, load))),
            None => (bytes(piece), None),
        };
        Pieces(code.split_inclusive(is_load).map(piece).collect())
    }

    /// Runs them, without moving a tile; gives the masks that loads had.
    fn run(&self, wave: &mut Probe, masks: &mut Vec<u32>) {
        masks.clear();
        for (code, mask) in &self.0 {
            wave.execute(code).unwrap();
            masks.extend(mask.map(|register| wave.scalars()[register]));
        }
    }
}

/// Runs code before and after: the masks that loads had, and all that is left in registers that are needed.
fn check(rule: &str, before: &str, needed: &[usize], cluster: u32, count: u32) {
    let tools = tools();
    let code = rewrite(&tools, rule, before, &Options::default(), BUDGET).unwrap();
    let after = Pieces::new(&tools, &code);
    let before = Pieces::new(&tools, &assemble(&tools, before));
    let mut random = Random(u64::from(count));
    let keeps = rule == STRICT && cluster != 0;
    let (mut one, mut other) = (wave(0), wave(0));
    (*one.cluster_mut(), *other.cluster_mut()) = (cluster, cluster);
    let (mut masks, mut found) = (Vec::new(), Vec::new());
    for number in 0..count {
        // The registers that the code reads; of the mask's, every lower half comes up in turn.
        let scalars = &mut one.scalars_mut()[..24];
        scalars.iter_mut().for_each(|it| *it = random.next());
        scalars[4] = scalars[4] & 0xffff_0000 | number & 0xffff;
        other.scalars_mut()[..24].copy_from_slice(scalars);
        *one.scc_mut() = random.below(2) == 1;
        *other.scc_mut() = *one.scc_mut();
        before.run(&mut one, &mut masks);
        after.run(&mut other, &mut found);
        let clear = |mask: u32| if keeps { mask } else { mask & 0xffff_0000 };
        masks.iter_mut().for_each(|mask| *mask = clear(*mask));
        assert_eq!(found, masks);
        assert!(!masks.is_empty());
        assert!(needed.iter().all(|it| one.scalars()[*it] == other.scalars()[*it]));
    }
}

const A0: &str = "tensor-mask";
const STRICT: &str = "tensor-mask-b0";
const DEAD: &str = "tensor_load_to_lds s[0:3], s[4:11]";
const LIVE: &str = "tensor_load_to_lds s[0:3], s[4:11]
    s_mov_b32 s20, s4
    tensor_load_to_lds s[0:3], s[16:23]";
const DEFINED: &str = "s_mov_b32 s4, s12
    s_and_b32 s4, s4, 0xfffcffff
    s_or_b32 s4, s4, s5
    s_and_b32 s4, s4, 0xfff7ffff
    tensor_load_to_lds s[0:3], s[4:11]";

/// Capability 19.
#[test]
fn at_the_definition_one_half_of_a_literal_changes() {
    let tools = tools();
    let code = rewrite(&tools, A0, DEFINED, &Options::default(), BUDGET).unwrap();
    let (before, after) = (bytes(&assemble(&tools, DEFINED)), bytes(&code));
    assert_eq!(before.len(), after.len());
    let changed: Vec<usize> = (0..before.len()).filter(|at| before[*at] != after[*at]).collect();
    // s_mov 4, s_and 8, s_or 4, then the s_and's literal.
    assert_eq!(changed, [20, 21]);
    assert_eq!(after[16..24], [0x04, 0xff, 0x04, 0x8b, 0x00, 0x00, 0xf7, 0xff]);
    check(A0, DEFINED, &[0, 5, 12], 0, 3_500_000);
}

/// Capability 20.
#[test]
fn at_the_load() {
    check(A0, DEAD, &[0, 5, 12], 0, 3_500_000);
    check(A0, LIVE, &[0, 4, 5, 20], 0, 3_500_000);
}

/// Capability 21.
#[test]
fn strict_b0_clears_only_outside_clusters() {
    for cluster in [0, 1, 9, 15] {
        check(STRICT, DEAD, &[0, 5], cluster, 1 << 17);
        check(STRICT, LIVE, &[0, 4, 5, 20], cluster, 1 << 17);
    }
    let scc = "tensor_load_to_lds s[0:3], s[4:11]
        s_cselect_b32 s20, s21, s22
        tensor_load_to_lds s[0:3], s[16:23]";
    check(STRICT, scc, &[0, 5, 20], 0, 1 << 17);
}

/// Capability 21.
#[test]
fn without_a_scalar_register_it_is_refused() {
    let budget = RegisterBudget { unused: Some((106, 256)), ..BUDGET };
    let refusal = rewrite(&tools(), STRICT, DEAD, &Options::default(), budget).unwrap_err();
    assert_eq!(refusal, "no-register: none free of 1 scalar registers (of 106)");
    // At the definition none is needed.
    let code = rewrite(&tools(), A0, DEFINED, &Options::default(), budget).unwrap();
    assert_eq!(texts(&tools(), &code)[3], "s_and_b32 s4, s4, 0xfff70000");
}
