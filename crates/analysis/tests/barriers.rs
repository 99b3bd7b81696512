//! Missing barriers in a few lines of assembly.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use hsaco_analysis::{Cfg, Stream, Workgroup, missing_barriers, unpaired_barriers};
use hsaco_isa::decoder::DecodeOptions;
use hsaco_isa::{Assembler, Processor};

/// What is found in a workgroup of two waves: the two instructions by number, or half a barrier.
fn found(processor: &str, lines: &str) -> Vec<String> {
    let processor = Processor::from_name(processor).unwrap();
    let assembler = Assembler::new(processor, DecodeOptions::default()).unwrap();
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let bytes = lines.map(|line| {
        let inst = assembler.assemble(line).expect(line);
        inst.bytes().into_iter().take(inst.len()).collect::<Vec<u8>>()
    });
    let bytes = bytes.collect::<Vec<_>>().concat();
    let decoder = assembler.decoder();
    let stream = Stream::decode(decoder, 0, &bytes);
    let cfg = Cfg::new(decoder, &stream);
    let wave = if decoder.is_wave32() { 32 } else { 64 };
    let missing = missing_barriers(decoder, &stream, &cfg, Workgroup { items: 2 * wave, wave });
    let missing = missing.iter().map(|it| {
        format!("{} -> {}: byte {:#x}, waves {:?}", it.first, it.step, it.byte, it.waves)
    });
    let unpaired = unpaired_barriers(decoder, &stream, &cfg);
    missing.chain(unpaired.iter().map(|(step, what)| format!("{step}: {what:?}"))).collect()
}

const NONE: [&str; 0] = [];

#[test]
fn another_waves_bytes_want_a_barrier() {
    let lines = |between: &str, mask: &str| {
        format!(
            "v_lshlrev_b32_e32 v1, 2, v0
            v_xor_b32_e32 v2, {mask}, v1
            ds_write_b32 v1, v0
            {between}
            ds_read_b32 v3, v2
            s_endpgm"
        )
    };
    assert_eq!(found("gfx942", &lines("s_nop 0", "0x100")), ["2 -> 4: byte 0x0, waves [0, 1]"]);
    assert_eq!(found("gfx942", &lines("s_barrier", "0x100")), NONE);
    // The lanes of a wave exchange among themselves.
    assert_eq!(found("gfx942", &lines("s_nop 0", "0x80")), NONE);
    // A register that was loaded may hold anything.
    assert_eq!(found("gfx942", &lines("s_nop 0", "s4")), NONE);
}

#[test]
fn stores_after_loads_want_one_too() {
    let lines = |offset: u32| {
        format!(
            "v_lshlrev_b32_e32 v1, 3, v0
            v_mov_b32_e32 v4, 0
            ds_read_b32 v2, v4 offset:{offset}
            ds_write_b64 v1, v[2:3]
            s_endpgm"
        )
    };
    assert_eq!(found("gfx90a", &lines(516)), ["2 -> 3: byte 0x204, waves [0, 1]"]);
    assert_eq!(found("gfx90a", &lines(1024)), NONE);
    let pair = "v_lshlrev_b32_e32 v1, 2, v0
        v_sub_u32_e32 v2, 0x1fc, v1
        ds_write2_b32 v1, v3, v4 offset1:128
        ds_read2st64_b32 v[6:7], v2 offset0:2 offset1:3
        s_endpgm";
    assert_eq!(found("gfx942", pair), ["2 -> 3: byte 0x200, waves [0, 1]"]);
}

#[test]
fn dual_instructions_are_two() {
    let lines = |between: &str| {
        format!(
            "v_dual_mov_b32 v2, 0x40 :: v_dual_lshlrev_b32 v1, 2, v0
            ds_store_b32 v1, v0
            {between}
            ds_load_b32 v3, v2 offset:64
            s_endpgm"
        )
    };
    assert_eq!(found("gfx1100", &lines("s_nop 0")), ["1 -> 3: byte 0x80, waves [1, 0]"]);
    assert_eq!(found("gfx1100", &lines("s_barrier")), NONE);
}

#[test]
fn atomics_do_not_race_with_each_other() {
    let lines = |second: &str| {
        format!(
            "v_mov_b32_e32 v1, 0
            ds_add_u32 v1, v0
            {second}
            s_endpgm"
        )
    };
    assert_eq!(found("gfx942", &lines("ds_or_b32 v1, v0")), NONE);
    assert_eq!(found("gfx942", &lines("ds_read_b32 v2, v1")).len(), 1);
}

/// Only those lanes count that are enabled, and those waves that get there.
#[test]
fn masks_and_branches_are_followed() {
    let lines = |compare: &str| {
        format!(
            "v_mov_b32_e32 v1, 0
            {compare}
            s_and_saveexec_b64 s[0:1], vcc
            s_cbranch_execz 2
            ds_write_b32 v1, v0
            s_or_b64 exec, exec, s[0:1]
            v_cmp_gt_u32_e32 vcc, 64, v0
            s_and_saveexec_b64 s[0:1], vcc
            s_cbranch_execz 2
            ds_read_b32 v2, v1
            s_endpgm"
        )
    };
    assert_eq!(found("gfx942", &lines("v_cmp_gt_u32_e32 vcc, 64, v0")), NONE);
    let other = lines("v_cmp_lt_u32_e32 vcc, 63, v0");
    assert_eq!(found("gfx942", &other), ["4 -> 9: byte 0x0, waves [1, 0]"]);
    // Which lanes are enabled is not known, and then it is where all of them are again.
    let unknown = lines("v_cmp_gt_u32_e32 vcc, s4, v0");
    assert_eq!(found("gfx942", &unknown), NONE);
    let restored = "v_mov_b32_e32 v1, 0
        v_cmp_gt_u32_e32 vcc, s4, v0
        s_and_saveexec_b64 s[0:1], vcc
        s_cbranch_execz 1
        v_mov_b32_e32 v3, 0
        s_or_b64 exec, exec, s[0:1]
        ds_write_b32 v1, v0
        ds_read_b32 v2, v1
        s_endpgm";
    assert_eq!(found("gfx942", restored), ["6 -> 7: byte 0x0, waves [1, 0]"]);
    let uniform = "v_mov_b32_e32 v1, 0
        v_readfirstlane_b32 s2, v0
        s_cmp_lg_u32 s2, 0
        s_cbranch_scc1 4
        ds_write_b32 v1, v0
        ds_read_b32 v2, v1
        s_endpgm";
    assert_eq!(found("gfx942", uniform), NONE);
}

#[test]
fn rounds_of_a_loop_are_apart_by_a_barrier() {
    let lines = |end: &str| {
        format!(
            "v_lshlrev_b32_e32 v1, 2, v0
            v_xor_b32_e32 v2, 0x80, v1
            ds_store_b32 v1, v0
            s_barrier
            ds_load_b32 v3, v2
            {end}
            s_cbranch_scc1 0xfff9
            s_endpgm"
        )
    };
    assert_eq!(found("gfx1100", &lines("s_nop 0")), ["4 -> 2: byte 0x0, waves [1, 0]"]);
    assert_eq!(found("gfx1100", &lines("s_barrier")), NONE);
}

#[test]
fn halves_of_barriers_belong_together() {
    let lines = |first: &str, second: &str| {
        format!(
            "{first}
            {second}
            s_barrier_signal -1
            s_barrier_wait -1
            s_endpgm"
        )
    };
    let [signal, wait, nop] = ["s_barrier_signal -1", "s_barrier_wait -1", "s_nop 0"];
    assert_eq!(found("gfx1201", &lines(signal, wait)), NONE);
    assert_eq!(found("gfx1201", &lines(nop, wait)), ["1: Wait"]);
    assert_eq!(found("gfx1250", &lines(signal, nop)), ["2: Signal"]);
    assert_eq!(found("gfx1201", "s_barrier_signal -1\ns_endpgm"), ["1: End"]);
    // Only one of two paths signals.
    let path = "s_cbranch_scc1 1
        s_barrier_signal -1
        s_barrier_wait -1
        s_endpgm";
    assert_eq!(found("gfx1201", path), ["2: Wait"]);
}
