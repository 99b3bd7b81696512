//! Sanitizers: programs with one fault each, what is found, and silence where it is mended.

use expect_test::{Expect, expect};
use hsaco_emu::{FaultKind, Sanitizer};

use crate::support::Kernel;

/// The faults of a program, a line each: kind, distance from the start of the code, wave, lanes, message.
struct Found {
    text: String,
}

/// How a program is launched.
#[derive(Clone, Copy)]
struct Launch {
    target: &'static str,
    items: u32,
    lds: u32,
    scratch: u32,
    buffer: u64,
}

const WAVE: Launch = Launch { target: "gfx942", items: 64, lds: 0, scratch: 0, buffer: 256 };

fn found(kinds: &[FaultKind], launch: Launch, lines: &str) -> Found {
    let mut kernel = Kernel::with(launch.target, lines, |descriptor| {
        descriptor.group_segment_fixed_size = launch.lds;
        descriptor.private_segment_fixed_size = launch.scratch;
    });
    let buffer = kernel.buffer(launch.buffer);
    let start = kernel.code;
    let sanitizer = Sanitizer::new(kinds).with_name(buffer..buffer + launch.buffer, "the buffer");
    // What ends a program is among the faults.
    let _ = kernel.dispatch(&[buffer], launch.items).with_sanitizer(&sanitizer).run();
    let mut text = String::new();
    for fault in sanitizer.faults() {
        let at = &fault.at;
        let level = if fault.is_certain { "error" } else { "warning" };
        text += &format!(
            "{level} {} {:#x} wave {} lanes {:#x}: {}",
            fault.kind,
            at.address - start,
            at.wave,
            at.lanes,
            fault.message
        );
        if let Some(before) = &fault.before {
            let at = &before.at;
            text += &format!(
                "; {} {:#x} `{}` wave {}",
                before.what,
                at.address - start,
                at.instruction,
                at.wave
            );
        }
        text += "\n";
    }
    Found { text: text.replace(&format!("{:x}", buffer >> 16), "BUFFER") }
}

fn check(kinds: &[FaultKind], launch: Launch, lines: &str, expected: &Expect) {
    expected.assert_eq(&found(kinds, launch, lines).text);
}

fn is_silent(launch: Launch, lines: &str) {
    let text = found(&FaultKind::ALL, launch, lines).text;
    assert!(text.is_empty(), "{text}");
}

/// Item n stores its number to word n.
const STORE: &str = "s_load_dwordx2 s[4:5], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    global_store_dword v1, v0, s[4:5]
    s_endpgm";

#[test]
fn what_is_behind_a_buffer_is_found() {
    is_silent(WAVE, STORE);
    let short = Launch { buffer: 200, ..WAVE };
    check(
        &[FaultKind::Memory],
        short,
        STORE,
        &expect![[r#"
        error memory 0x10 wave 0 lanes 0xfffc000000000000: writes 4 bytes at 0xBUFFER10c8: 0 bytes behind the buffer, which has 200 bytes
    "#]],
    );
    // What is not looked for is not told: the program stops, as it does without a sanitizer.
    check(&[FaultKind::Wait], short, STORE, &expect![[""]]);
}

#[test]
fn scalar_loads_are_looked_at() {
    let lines = "s_load_dwordx2 s[4:5], s[0:1], 0x0
        s_waitcnt lgkmcnt(0)
        s_load_dwordx4 s[8:11], s[4:5], 0xf8
        s_waitcnt lgkmcnt(0)
        v_mov_b32_e32 v1, s8
        v_lshlrev_b32_e32 v0, 2, v0
        global_store_dword v0, v1, s[4:5]
        s_endpgm";
    check(
        &FaultKind::ALL,
        WAVE,
        lines,
        &expect![[r#"
            error memory 0xc wave 0 lanes 0x0: reads 16 bytes at 0xBUFFER10f8: 8 of them behind the buffer, which has 256 bytes
        "#]],
    );
}

#[test]
fn what_is_behind_lds_is_found() {
    let lines = "v_lshlrev_b32_e32 v1, 2, v0
        ds_write_b32 v1, v0
        s_waitcnt lgkmcnt(0)
        ds_read2_b32 v[2:3], v1 offset1:1
        s_waitcnt lgkmcnt(0)
        s_endpgm";
    check(
        &[FaultKind::Memory],
        Launch { lds: 256, ..WAVE },
        lines,
        &expect![[r#"
        warning memory 0x10 wave 0 lanes 0x8000000000000000: reads 4 bytes at 0x100 of LDS, which has 256
    "#]],
    );
    check(
        &[FaultKind::Memory],
        Launch { lds: 128, ..WAVE },
        lines,
        &expect![[r#"
        error memory 0x4 wave 0 lanes 0xffffffff00000000: writes 4 bytes at 0x80 of LDS, which has 128
        warning memory 0x10 wave 0 lanes 0xffffffff80000000: reads 4 bytes at 0x80 of LDS, which has 128
    "#]],
    );
    is_silent(Launch { lds: 260, ..WAVE }, lines);
}

#[test]
fn what_is_behind_the_frame_is_found() {
    let lines = "scratch_store_dword off, v0, off offset:12
        scratch_load_dword v1, off, off offset:16
        s_waitcnt vmcnt(0)
        s_endpgm";
    check(
        &[FaultKind::Memory],
        Launch { scratch: 16, ..WAVE },
        lines,
        &expect![[r#"
        error memory 0x8 wave 0 lanes 0xffffffffffffffff: reads 4 bytes at 0x10 of a lane's scratch memory, which has 16
    "#]],
    );
    is_silent(Launch { scratch: 20, ..WAVE }, lines);
}

#[test]
fn freed_memory_is_named() {
    let mut kernel = Kernel::new("gfx942", STORE);
    let buffer = kernel.buffer(256);
    assert!(kernel.device.memory.free(buffer));
    let sanitizer =
        Sanitizer::new(&[FaultKind::Memory]).with_name(buffer..buffer + 256, "the buffer");
    kernel.dispatch(&[buffer], 64).with_sanitizer(&sanitizer).run().unwrap();
    let [fault] = &sanitizer.faults()[..] else { panic!() };
    let wanted = format!("writes 4 bytes at {buffer:#x}: the buffer, which was freed");
    assert_eq!(fault.message, wanted);
}

/// Two waves put their numbers into LDS, and read what the other one put there.
fn exchange(between: &str) -> String {
    format!(
        "v_lshlrev_b32_e32 v1, 2, v0
        v_xor_b32_e32 v2, 0x100, v1
        ds_write_b32 v1, v0
        {between}
        ds_read_b32 v3, v2
        s_waitcnt lgkmcnt(0)
        s_endpgm"
    )
}

const GROUP: Launch = Launch { items: 128, lds: 512, ..WAVE };

#[test]
fn a_race_in_lds_is_found() {
    check(
        &[FaultKind::Race],
        GROUP,
        &exchange("s_nop 0"),
        &expect![[r#"
            error race 0xc wave 1 lanes 0x1: writes 0x100 of LDS, and nothing orders that with another wave; read by 0x18 `ds_read_b32 v3, v2` wave 0
            error race 0x18 wave 1 lanes 0x1: reads 0x0 of LDS, and nothing orders that with another wave; written by 0xc `ds_write_b32 v1, v0` wave 0
        "#]],
    );
    check(
        &[FaultKind::Race],
        GROUP,
        &exchange("s_barrier"),
        &expect![[r#"
            error race 0x18 wave 1 lanes 0x1: reads 0x0 of LDS, and nothing orders that with another wave; written by 0xc `ds_write_b32 v1, v0` wave 0
        "#]],
    );
    is_silent(GROUP, &exchange("s_waitcnt lgkmcnt(0)\ns_barrier"));
}

/// A barrier orders what came before it, and nothing of what the first waves do until the next one.
#[test]
fn a_race_between_two_barriers_is_found() {
    let lines = exchange("s_nop 0");
    let (body, _) = lines.rsplit_once("s_endpgm").unwrap();
    let lines = format!("s_barrier\n{body}\ns_barrier\ns_endpgm");
    check(
        &[FaultKind::Race],
        GROUP,
        &lines,
        &expect![[r#"
            error race 0x10 wave 0 lanes 0x2: writes 0x4 of LDS, and nothing orders that with another wave; read by 0x1c `ds_read_b32 v3, v2` wave 1
            error race 0x1c wave 0 lanes 0x1: reads 0x100 of LDS, and nothing orders that with another wave; written by 0x10 `ds_write_b32 v1, v0` wave 1
        "#]],
    );
}

/// A loop around compare-and-swap begins with a guess; what is loaded for another reason is a race.
#[test]
fn a_guess_before_compare_and_swap_is_no_race() {
    // Two workgroups load from one place and change it, or another.
    let run = |changed: &str| {
        let lines = format!(
            "s_load_dwordx2 s[4:5], s[0:1], 0x0
            s_lshl_b32 s2, s2, 2
            v_mov_b32_e32 v0, s2
            v_sub_u32_e32 v1, 4, v0
            s_mov_b64 exec, 1
            s_waitcnt lgkmcnt(0)
            global_load_dword v3, {changed}, s[4:5]
            s_waitcnt vmcnt(0)
            v_add_u32_e32 v2, 1, v3
            global_atomic_cmpswap v1, v[2:3], s[4:5]
            s_endpgm"
        );
        let mut kernel = Kernel::new("gfx942", &lines);
        let buffer = kernel.buffer(8);
        let sanitizer = Sanitizer::new(&[FaultKind::Race]);
        kernel.dispatch_of(&[buffer], 2, 64).with_sanitizer(&sanitizer).run().unwrap();
        sanitizer.faults().len()
    };
    assert_eq!(run("v1"), 0);
    assert_eq!(run("v0"), 1);
}

#[test]
fn a_race_between_workgroups_is_found() {
    // Work-item 0 of each workgroup puts the workgroup's number where all do.
    let lines = |store: &str| {
        format!(
            "s_load_dwordx2 s[4:5], s[0:1], 0x0
            v_mov_b32_e32 v1, 0
            v_mov_b32_e32 v2, s2
            s_mov_b64 exec, 1
            s_waitcnt lgkmcnt(0)
            {store}
            s_endpgm"
        )
    };
    let run = |store: &str| {
        let mut kernel = Kernel::new("gfx942", &lines(store));
        let buffer = kernel.buffer(4);
        let sanitizer = Sanitizer::new(&FaultKind::ALL);
        kernel.dispatch_of(&[buffer], 3, 64).with_sanitizer(&sanitizer).run().unwrap();
        sanitizer.faults()
    };
    let [fault] = &run("global_store_dword v1, v2, s[4:5]")[..] else { panic!() };
    let before = fault.before.as_ref().unwrap();
    assert_eq!((fault.kind, fault.times), (FaultKind::Race, 2));
    assert_eq!((before.at.workgroup, fault.at.workgroup), ([0; 3], [1, 0, 0]));
    assert!(run("global_atomic_add v1, v2, s[4:5]").is_empty());
    // The same value in any order.
    assert!(run("global_store_dword v1, v1, s[4:5]").is_empty());
}

#[test]
fn a_missing_wait_is_found() {
    let lines = |wait: &str| {
        format!(
            "s_load_dwordx2 s[4:5], s[0:1], 0x0
            v_lshlrev_b32_e32 v1, 2, v0
            s_waitcnt lgkmcnt(0)
            global_load_dword v2, v1, s[4:5]
            global_load_dword v3, v1, s[4:5]
            {wait}
            v_add_u32_e32 v2, 1, v2
            s_waitcnt vmcnt(0)
            global_store_dword v1, v2, s[4:5]
            s_endpgm"
        )
    };
    check(
        &FaultKind::ALL,
        WAVE,
        &lines("s_waitcnt vmcnt(2)"),
        &expect![[r#"
        error wait 0x24 wave 0 lanes 0xffffffffffffffff: reads v2, which is not loaded yet: it needs vmcnt at 1 or less; issued by 0x10 `global_load_dword v2, v1, s[4:5]` wave 0
    "#]],
    );
    is_silent(WAVE, &lines("s_waitcnt vmcnt(1)"));
}

#[test]
fn scalar_loads_come_back_in_any_order() {
    let lines = |wait: &str| {
        format!(
            "s_load_dword s4, s[0:1], 0x0
            s_load_dword s5, s[0:1], 0x4
            {wait}
            s_add_u32 s6, s4, s4
            s_endpgm"
        )
    };
    check(
        &FaultKind::ALL,
        WAVE,
        &lines("s_waitcnt lgkmcnt(1)"),
        &expect![[r#"
        error wait 0x14 wave 0 lanes 0x0: reads s4, which is not loaded yet: it needs lgkmcnt at 0 or less; issued by 0x0 `s_load_dword s4, s[0:1], 0x0` wave 0
    "#]],
    );
    is_silent(WAVE, &lines("s_waitcnt lgkmcnt(0)"));
}

#[test]
fn overwriting_what_is_loaded_is_found() {
    let lines = "s_load_dwordx2 s[4:5], s[0:1], 0x0
        v_lshlrev_b32_e32 v1, 2, v0
        s_waitcnt lgkmcnt(0)
        global_load_dword v2, v1, s[4:5]
        v_mov_b32_e32 v2, 0
        s_waitcnt vmcnt(0)
        s_endpgm";
    check(
        &[FaultKind::Wait],
        WAVE,
        lines,
        &expect![[r#"
        error wait 0x18 wave 0 lanes 0xffffffffffffffff: overwrites v2, into which an operation still loads: it needs vmcnt at 0 or less; issued by 0x10 `global_load_dword v2, v1, s[4:5]` wave 0
    "#]],
    );
}

#[test]
fn waves_that_meet_at_different_barriers_are_told() {
    // The first wave goes through one barrier more.
    let lines = "v_readfirstlane_b32 s4, v0
        s_cmp_lg_u32 s4, 0
        s_cbranch_scc1 @others
        s_barrier
        others:
        s_barrier
        s_endpgm";
    check(
        &[FaultKind::Barrier],
        GROUP,
        lines,
        &expect![[r#"
        warning barrier 0x10 wave 1 lanes 0x0: waves meet at different barriers; another wave of the workgroup has come to 0xc `s_barrier` wave 0
    "#]],
    );
    is_silent(GROUP, "s_barrier\ns_barrier\ns_endpgm");
}

#[test]
fn waves_that_wait_for_ever_are_told() {
    let launch = Launch { target: "gfx1201", items: 64, ..WAVE };
    check(
        &[FaultKind::Barrier],
        launch,
        "s_barrier_wait 0xffff\ns_endpgm",
        &expect![[r#"
        error barrier 0x0 wave 0 lanes 0xffffffff: 2 of 2 waves wait at a barrier that not all of them have signalled
    "#]],
    );
    let twice = "s_barrier_signal -1\ns_barrier_signal -1\ns_barrier_wait 0xffff\ns_endpgm";
    check(
        &[FaultKind::Barrier],
        launch,
        twice,
        &expect![[r#"
        error barrier 0x4 wave 0 lanes 0x0: signals the barrier twice without waiting: it counts as two waves; signalled by 0x0 `s_barrier_signal -1` wave 0
    "#]],
    );
    is_silent(launch, "s_barrier_signal -1\ns_barrier_wait 0xffff\ns_endpgm");
}

#[test]
fn undefined_values_are_told_where_they_matter() {
    let lines = |first: &str| {
        format!(
            "s_load_dwordx2 s[4:5], s[0:1], 0x0
            v_lshlrev_b32_e32 v1, 2, v0
            {first}
            s_waitcnt lgkmcnt(0)
            v_add_u32_e32 v2, v2, v0
            global_store_dword v1, v2, s[4:5]
            s_endpgm"
        )
    };
    check(
        &FaultKind::ALL,
        WAVE,
        &lines("s_nop 0"),
        &expect![[r#"
        error init 0x18 wave 0 lanes 0xffffffffffffffff: v2 was never written, and is stored; first read by 0x14 `v_add_u32_e32 v2, v2, v0` wave 0
    "#]],
    );
    is_silent(WAVE, &lines("v_mov_b32_e32 v2, 0"));
    let branch = "s_cmp_eq_u32 s7, 0
        s_cbranch_scc1 0
        s_endpgm";
    check(
        &FaultKind::ALL,
        WAVE,
        branch,
        &expect![[r#"
        error init 0x4 wave 0 lanes 0x0: s7 was never written, and decides a branch; first read by 0x0 `s_cmp_eq_u32 s7, 0` wave 0
    "#]],
    );
    let address = "s_load_dword s4, s[6:7], 0x0
        s_endpgm";
    check(
        &[FaultKind::Init],
        WAVE,
        address,
        &expect![[r#"
        error init 0x0 wave 0 lanes 0x0: s[6:7] was never written, and is used as an address
    "#]],
    );
    let mask = "v_cmp_eq_u32_e32 vcc, 0, v5
        s_and_saveexec_b64 s[4:5], vcc
        s_endpgm";
    check(
        &FaultKind::ALL,
        WAVE,
        mask,
        &expect![[r#"
        error init 0x4 wave 0 lanes 0x0: v5 was never written, and decides which lanes run; first read by 0x0 `v_cmp_eq_u32_e32 vcc, 0, v5` wave 0
    "#]],
    );
}

#[test]
fn undefined_lds_and_scratch_memory_are_followed() {
    let lines = |first: &str| {
        format!(
            "s_load_dwordx2 s[4:5], s[0:1], 0x0
            v_lshlrev_b32_e32 v1, 2, v0
            {first}
            s_waitcnt lgkmcnt(0)
            ds_read_b32 v2, v1
            s_waitcnt lgkmcnt(0)
            scratch_store_dword off, v2, off
            s_waitcnt vmcnt(0)
            scratch_load_dword v3, off, off
            s_waitcnt vmcnt(0)
            global_store_dword v1, v3, s[4:5]
            s_endpgm"
        )
    };
    let launch = Launch { lds: 256, scratch: 16, ..WAVE };
    check(&FaultKind::ALL, launch, &lines("ds_write_b16 v1, v0"), &expect![[""]]);
    check(
        &FaultKind::ALL,
        launch,
        &lines("s_nop 0"),
        &expect![[r#"
        error init 0x38 wave 0 lanes 0xffffffffffffffff: LDS at 0x0 was never written, and is stored; first read by 0x14 `ds_read_b32 v2, v1` wave 0
    "#]],
    );
    is_silent(launch, &lines("ds_write_b32 v1, v0"));
}

#[test]
fn undefined_values_that_do_not_matter_are_not_told() {
    // What is masked away, what other lanes have, and what goes through lanes that are switched off.
    let lines = "s_load_dwordx2 s[4:5], s[0:1], 0x0
        v_lshlrev_b32_e32 v1, 2, v0
        v_and_b32_e32 v2, 0, v9
        v_or_b32_e32 v2, v2, v0
        v_add_u32_e32 v10, v11, v12
        s_mov_b64 s[8:9], exec
        s_mov_b64 exec, 0xffff
        v_mov_b32_e32 v3, v0
        s_mov_b64 exec, -1
        v_mov_b32_e32 v4, v3
        s_waitcnt lgkmcnt(0)
        v_writelane_b32 v5, s4, 7
        s_mov_b64 exec, 0xff
        v_add_u32_e32 v2, v2, v4
        v_readlane_b32 s10, v5, 7
        global_store_dword v1, v2, s[4:5]
        s_endpgm";
    is_silent(WAVE, lines);
    // A row shifted by one: lane 0 keeps what it had.
    let moved = |old: &str| {
        format!(
            "s_load_dwordx2 s[4:5], s[0:1], 0x0
            v_lshlrev_b32_e32 v1, 2, v0
            {old}
            s_nop 1
            v_mov_b32_dpp v2, v0 row_shr:1 row_mask:0xf bank_mask:0xf
            s_waitcnt lgkmcnt(0)
            global_store_dword v1, v2, s[4:5]
            s_endpgm"
        )
    };
    is_silent(WAVE, &moved("v_mov_b32_e32 v2, 0"));
    check(
        &[FaultKind::Init],
        WAVE,
        &moved("s_nop 0"),
        &expect![[r#"
        error init 0x20 wave 0 lanes 0x1000100010001: v2 was never written, and is stored; first read by 0x14 `v_mov_b32_dpp v2, v0 row_shr:1 row_mask:0xf bank_mask:0xf` wave 0
    "#]],
    );
}

/// As `check --code` has it: what is read is what the last instruction before it wrote.
#[test]
fn what_was_overwritten_is_no_hazard() {
    let lines = |between: &str| {
        format!(
            "v_readfirstlane_b32 s6, v0
            {between}
            v_and_or_b32 v1, v0, 63, s6
            s_endpgm"
        )
    };
    let kinds = &[FaultKind::Hazard];
    assert!(!found(kinds, WAVE, &lines("s_nop 0")).text.is_empty());
    assert_eq!(found(kinds, WAVE, &lines("s_and_b32 s6, s6, 0xc0")).text, "");
}

/// As `check --code` has it: of sixteen accesses of LDS the first is complete.
#[test]
fn a_counter_that_is_full_waits_by_itself() {
    let lines = |stores: usize| {
        format!(
            "v_lshlrev_b32_e32 v1, 2, v0
            ds_read_b32 v2, v1
            {}v_mov_b32_e32 v3, v2
            s_endpgm",
            "ds_write_b32 v1, v0\n".repeat(stores)
        )
    };
    let launch = Launch { lds: 256, ..WAVE };
    assert!(!found(&[FaultKind::Wait], launch, &lines(14)).text.is_empty());
    assert_eq!(found(&[FaultKind::Wait], launch, &lines(15)).text, "");
}
