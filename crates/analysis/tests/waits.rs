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
        Certainty::Unless(doubt) => format!("unless {}", doubt.name()),
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
fn a_counter_that_is_full_waits_by_itself() {
    let lines = |loads: usize| {
        let loads = "ds_read_b32 v1, v4\n".repeat(loads);
        format!("ds_read_b32 v0, v4\n {loads} v_mov_b32_e32 v2, v0\n s_endpgm")
    };
    // lgkmcnt has four bits on gfx9, and six from gfx10 on.
    assert_eq!(found("gfx942", &lines(14)), ["0 -> 15: v0 lgkmcnt 14 always"]);
    assert_eq!(found("gfx942", &lines(15)), [""; 0]);
    assert_eq!(found("gfx1030", &lines(15)), ["0 -> 16: v0 lgkmcnt 15 always"]);
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

/// Of distances that the manuals demand and shipped kernels do not keep.
const SHIPPED: &str = "unless the hardware waits by itself, as shipped kernels suggest";

#[test]
fn what_may_be_passed_over_is_in_doubt() {
    let lines = |skip: &str| {
        format!(
            "{skip}
            global_load_dword v0, v4, s[0:1]
            v_mov_b32_e32 v1, v0
            v_readfirstlane_b32 s0, v5
            v_readlane_b32 s1, v5, s0
            s_endpgm"
        )
    };
    assert_eq!(
        found("gfx942", &lines("s_nop 0")),
        ["1 -> 2: v0 vmcnt 0 always", "3 -> 4: sgpr-lane-select 0 of 4 always"]
    );
    let doubt = "unless s_setvskip has one of the two passed over";
    assert_eq!(
        found("gfx942", &lines("s_setvskip s0, 0")),
        [format!("1 -> 2: v0 vmcnt 0 {doubt}"), format!("3 -> 4: sgpr-lane-select 0 of 4 {doubt}")]
    );
}

#[test]
fn carries_and_masks_need_no_distance() {
    // "VALU reads SGPR as carry-in: 0" (CDNA3 manual, 4.5); as a constant: 2.
    let lines = |second: &str| format!("v_cmp_u_f32_e64 s[2:3], v0, v0\n {second}\n s_endpgm");
    let of = |second: &str| found("gfx942", &lines(second));
    assert_eq!(of("v_cndmask_b32_e64 v1, v2, v3, s[2:3]"), [""; 0]);
    assert_eq!(of("v_addc_co_u32_e64 v1, vcc, v2, v3, s[2:3]"), [""; 0]);
    let constant = [format!("0 -> 1: valu-sgpr-valu 0 of 2 {SHIPPED}")];
    assert_eq!(of("v_mov_b32_e32 v1, s2"), constant);
    assert_eq!(of("v_add_u32_e32 v1, s2, v3"), constant);
}

#[test]
fn dpp_needs_a_distance_where_it_moves_lanes() {
    let lines = |second: &str| format!("v_mov_b32_e32 v1, v0\n {second}\n s_endpgm");
    let of = |second: &str| found("gfx90a", &lines(second));
    let lanes = "quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf";
    assert_eq!(of(&format!("v_mov_b32_dpp v1, v2 {lanes}")), [""; 0]);
    let read = [format!("0 -> 1: vgpr-dpp 0 of 2 {SHIPPED}")];
    assert_eq!(of(&format!("v_mov_b32_dpp v2, v1 {lanes}")), read);
    assert_eq!(of(&format!("v_add_f32_dpp v2, v1, v3 {lanes}")), read);
    assert_eq!(of(&format!("v_add_f32_dpp v2, v3, v1 {lanes}")), [""; 0]);
}

#[test]
fn matrix_instructions_in_between_take_their_time() {
    let lines = |between: &str| {
        format!(
            "v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], v[0:3]
            {between}
            v_mov_b32_e32 v20, v0
            s_endpgm"
        )
    };
    let other = "v_mfma_f32_16x16x16_f16 v[4:7], v[8:9], v[10:11], v[4:7]";
    let doubt = "unless the matrix instructions between them take long enough";
    assert_eq!(found("gfx942", &lines(other)), [format!("0 -> 2: mfma-read 1 of 7 {doubt}")]);
    assert_eq!(found("gfx942", &lines("s_nop 5")), [format!("0 -> 2: mfma-read 6 of 7 {SHIPPED}")]);
    assert_eq!(found("gfx942", &lines("s_nop 6")), [""; 0]);
    // Another way has none in between.
    let branch = format!("s_cbranch_scc1 2\n {other}");
    assert_eq!(found("gfx942", &lines(&branch)), [format!("0 -> 3: mfma-read 1 of 7 {SHIPPED}")]);
}

#[test]
fn the_mode_of_gfx1250_decides_what_runs_beside_what() {
    let doubt = "unless the hardware holds the wave back, as it may while SCHED_MODE bit 2 is 0";
    let root = "v_rcp_f32_e32 v0, v1\n v_mul_f32_e32 v2, v0, v3\n s_endpgm";
    assert_eq!(found("gfx1250", root), [format!("0 -> 1: trans-use 0 of 1 {doubt}")]);
    let product = "v_wmma_f32_16x16x32_f16 v[0:7], v[8:15], v[16:23], v[0:7]";
    let read = format!("{product}\n v_mov_b32_e32 v40, v1\n s_endpgm");
    assert_eq!(found("gfx1250", &read), [format!("0 -> 1: wmma-read 0 of 4 {doubt}")]);
    // Factors are waited for in no mode.
    let next = "v_wmma_f32_16x16x32_f16 v[24:31], v[0:7], v[16:23], v[24:31]";
    let factor = format!("{product}\n {next}\n s_endpgm");
    assert_eq!(found("gfx1250", &factor), ["0 -> 1: wmma-factor 0 of 5 always"]);
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
