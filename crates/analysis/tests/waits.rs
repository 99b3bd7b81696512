//! Missing waits and hazards in a few lines of assembly.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use hsaco_analysis::{Certainty, Cfg, Stream, hazards, missing_waits};
use hsaco_isa::decoder::DecodeOptions;
use hsaco_isa::{Assembler, Processor};

fn code(assembler: &Assembler, lines: &str) -> Vec<u8> {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let bytes = lines.map(|line| {
        let inst = assembler.assemble(line).expect(line);
        inst.bytes().into_iter().take(inst.len()).collect::<Vec<u8>>()
    });
    bytes.collect::<Vec<_>>().concat()
}

fn certainty(it: &Certainty) -> String {
    match it {
        Certainty::Always => "always".to_owned(),
        Certainty::OnPath(blocks) => format!("on a path of {} blocks", blocks.len()),
        Certainty::ByAddress => "by address".to_owned(),
        Certainty::ByOrder => "by order".to_owned(),
    }
}

/// What both walks find in code: the two instructions by number, what is wanted, and how certain it is.
fn found(processor: &str, lines: &str) -> Vec<String> {
    let processor = Processor::from_name(processor).unwrap();
    let assembler = Assembler::new(processor, DecodeOptions::default()).unwrap();
    let bytes = code(&assembler, lines);
    let decoder = assembler.decoder();
    let stream = Stream::decode(decoder, 0, &bytes);
    let cfg = Cfg::new(decoder, &stream);
    let waits = missing_waits(decoder, &stream, &cfg).into_iter().map(|it| {
        let (counter, value) = (it.counter.name(), it.value);
        let certainty = certainty(&it.certainty);
        format!("{} -> {}: {} {counter} {value} {certainty}", it.operation, it.step, it.register)
    });
    let hazards = hazards(decoder, &stream, &cfg).into_iter().map(|it| {
        let (name, distance, needed) = (it.demand.hazard.name, it.distance, it.demand.needed);
        let certainty = certainty(&it.certainty);
        format!("{} -> {}: {name} {distance} of {needed} {certainty}", it.first, it.step)
    });
    waits.chain(hazards).collect()
}

#[test]
fn loads_complete_in_order() {
    let loads = "global_load_dword v0, v4, s[0:1]
        global_load_dword v1, v4, s[0:1]
        global_load_dword v2, v4, s[0:1]\n";
    let used = format!("{loads} s_waitcnt vmcnt(1)\n v_add_f32_e32 v3, v0, v1\n s_endpgm");
    assert_eq!(found("gfx942", &used), [""; 0]);
    let early = format!("{loads} s_waitcnt vmcnt(2)\n v_add_f32_e32 v3, v0, v1\n s_endpgm");
    assert_eq!(found("gfx942", &early), ["1 -> 4: v1 vmcnt 1 always"]);
}

#[test]
fn stores_share_a_counter_with_loads_up_to_gfx9() {
    let lines = |load: &str, store: &str| {
        format!("{load}\n {store}\n s_waitcnt vmcnt(1)\n v_mov_b32_e32 v3, v0\n s_endpgm")
    };
    let old = lines("global_load_dword v0, v4, s[0:1]", "global_store_dword v4, v5, s[0:1]");
    assert_eq!(found("gfx942", &old), [""; 0]);
    let new = lines("global_load_b32 v0, v4, s[0:1]", "global_store_b32 v4, v5, s[0:1]");
    assert_eq!(found("gfx1100", &new), ["0 -> 3: v0 vmcnt 0 always"]);
}

#[test]
fn scalar_loads_complete_in_any_order() {
    let lines = "s_load_dword s0, s[4:5], 0x0
        s_load_dword s1, s[4:5], 0x4
        s_waitcnt lgkmcnt(1)
        s_add_u32 s2, s0, 1
        s_endpgm";
    assert_eq!(found("gfx942", lines), ["0 -> 3: s0 lgkmcnt 0 always"]);
    // What LDS returns is not delayed by them.
    let lines = "ds_read_b32 v0, v4
        s_load_dword s1, s[4:5], 0x4
        ds_read_b32 v1, v4
        s_waitcnt lgkmcnt(1)
        v_mov_b32_e32 v2, v0
        s_endpgm";
    assert_eq!(found("gfx942", lines), [""; 0]);
}

#[test]
fn a_wait_on_one_of_two_paths_is_not_enough() {
    let lines = "global_load_dword v0, v4, s[0:1]
        s_cbranch_scc1 1
        s_waitcnt vmcnt(0)
        v_mov_b32_e32 v1, v0
        s_endpgm";
    assert_eq!(found("gfx942", lines), ["0 -> 3: v0 vmcnt 0 on a path of 2 blocks"]);
}

#[test]
fn loads_on_both_paths_are_certain() {
    let lines = "s_cbranch_scc1 3
        global_load_dword v0, v4, s[0:1]
        s_branch 2
        global_load_dword v0, v5, s[0:1]
        v_mov_b32_e32 v1, v0
        s_endpgm";
    let found = found("gfx942", lines);
    assert!(found.iter().all(|it| it.ends_with("always")) && !found.is_empty(), "{found:?}");
}

#[test]
fn a_loop_carries_what_it_loads_to_its_top() {
    let lines = "v_mov_b32_e32 v1, v0
        global_load_dword v0, v4, s[0:1]
        s_cbranch_scc1 65532
        s_endpgm";
    assert_eq!(found("gfx942", lines), ["1 -> 0: v0 vmcnt 0 on a path of 2 blocks"]);
}

#[test]
fn flat_accesses_have_two_counters() {
    let lines = |wait: &str| {
        format!("flat_load_dword v0, v[4:5]\n {wait}\n v_mov_b32_e32 v1, v0\n s_endpgm")
    };
    assert_eq!(found("gfx942", &lines("s_nop 0")), ["0 -> 2: v0 vmcnt 0 always"]);
    let one = found("gfx942", &lines("s_waitcnt vmcnt(0)"));
    assert_eq!(one, ["0 -> 2: v0 lgkmcnt 0 by address"]);
    assert_eq!(found("gfx942", &lines("s_waitcnt vmcnt(0) lgkmcnt(0)")), [""; 0]);
}

#[test]
fn loads_of_gfx12_may_land_in_any_order() {
    let lines = "global_load_b32 v0, v4, s[0:1]
        global_load_b32 v0, v5, s[0:1]
        s_wait_loadcnt 0x0
        v_mov_b32_e32 v1, v0
        s_endpgm";
    assert_eq!(found("gfx1201", lines), ["0 -> 1: v0 loadcnt 0 by order"]);
    assert_eq!(
        found("gfx1100", &lines.replace("s_wait_loadcnt 0x0", "s_waitcnt vmcnt(0)")),
        [""; 0]
    );
}

#[test]
fn hazards_reach_over_edges() {
    let lines = "s_cbranch_scc1 1
        v_readfirstlane_b32 s0, v0
        v_readlane_b32 s1, v1, s0
        s_endpgm";
    let lane = "1 -> 2: sgpr-lane-select 0 of 4 on a path of 2 blocks";
    assert_eq!(found("gfx90a", lines), [lane]);
    let overwritten = "v_readfirstlane_b32 s0, v0
        s_mov_b32 s0, 3
        v_readlane_b32 s1, v1, s0
        s_endpgm";
    assert_eq!(found("gfx90a", overwritten), [""; 0]);
}

/// Callees of gfx1250 return with no upper bits of register numbers, as those of LLVM do: which registers are meant is known.
#[test]
fn vector_registers_are_known_after_a_call() {
    let lines = "s_swap_pc_i64 s[30:31], s[4:5]
        global_load_b32 v0, v4, s[0:1]
        v_mov_b32_e32 v1, v0
        s_endpgm";
    assert_eq!(found("gfx1250", lines), ["1 -> 2: v0 loadcnt 0 always"]);
}
