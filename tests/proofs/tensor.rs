//! Tensor loads have an empty mask, and nothing else sees a difference: ten million times, with every mask.

use super::machine::{BUDGET, Random, Wave, prepare, rewrite, texts, tools};
use hsaco::patch::{Options, RegisterBudget};

/// Runs code before and after: the masks that loads had, and all that is left in registers that are needed.
fn check(rule: &str, before: &str, needed: &[usize], cluster: u32, count: u32) {
    let tools = tools();
    let code = rewrite(&tools, rule, before, &Options::default(), BUDGET).unwrap();
    let after = prepare(&tools, &code, 0);
    let before = prepare(&tools, &super::machine::assemble(&tools, before), 0);
    let mut random = Random(u64::from(count));
    let keeps = rule == STRICT && cluster != 0;
    let (mut one, mut other) = (Wave::with_vgprs(0), Wave::with_vgprs(0));
    (one.cluster, other.cluster) = (cluster, cluster);
    for number in 0..count {
        // The registers that the code reads; of the mask's, every lower half comes up in turn.
        one.sgprs[..24].iter_mut().for_each(|it| *it = random.next());
        one.sgprs[4] = one.sgprs[4] & 0xffff_0000 | number & 0xffff;
        one.scc = random.below(2) == 1;
        (other.sgprs, other.scc) = (one.sgprs, one.scc);
        one.masks.clear();
        other.masks.clear();
        one.run(&before);
        other.run(&after);
        let clear = |mask: u32| if keeps { mask } else { mask & 0xffff_0000 };
        one.masks.iter_mut().for_each(|mask| *mask = clear(*mask));
        assert_eq!(other.masks, one.masks);
        assert!(needed.iter().all(|it| one.sgprs[*it] == other.sgprs[*it]));
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
    let bytes = |code: &[hsaco::isa::Inst]| {
        let mut bytes = Vec::new();
        code.iter().for_each(|inst| inst.encode(&mut bytes));
        bytes
    };
    let code = rewrite(&tools, A0, DEFINED, &Options::default(), BUDGET).unwrap();
    let (before, after) = (bytes(&super::machine::assemble(&tools, DEFINED)), bytes(&code));
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
