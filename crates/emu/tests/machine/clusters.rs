//! Workgroups in clusters, which gfx1250 has.

use crate::support::{How, Kernel};
use hsaco_emu::ErrorKind;

/// The number of the workgroup in s6, four times that in v0, the address of a buffer in s[4:5].
const BEGIN: &str = "s_load_b64 s[4:5], s[0:1], 0x0
    s_and_b32 s6, ttmp6, 15
    s_bfe_u32 s7, ttmp6, 0x4000c
    s_add_co_i32 s7, s7, 1
    s_mul_i32 s7, s7, ttmp9
    s_add_co_i32 s6, s6, s7
    s_lshl_b32 s8, s6, 2
    v_mov_b32_e32 v0, s8\n";

/// Each workgroup stores its number and 100, and meets the others.
const MEET: &str = "s_add_co_i32 s9, s6, 0x64
    v_mov_b32_e32 v1, s9
    global_store_b32 v0, v1, s[4:5]
    s_barrier_signal -3
    s_barrier_wait 0xfffd\n";

fn how(workgroups: u32, cluster: u32, threads: usize) -> How {
    How { workgroups, items: 32, threads, cluster, ..How::default() }
}

#[test]
fn workgroups_of_a_cluster_meet() {
    let code = format!(
        "{BEGIN}{MEET}v_xor_b32_e32 v2, 4, v0
        global_load_b32 v3, v2, s[4:5]
        global_store_b32 v0, v3, s[4:5] offset:64
        s_endpgm"
    );
    for threads in [1, 2] {
        let mut kernel = Kernel::new("gfx1250", &code);
        let buffer = kernel.buffer(128);
        kernel.run(&[buffer], how(8, 4, threads)).unwrap();
        assert_eq!(kernel.words(buffer, 8), [100, 101, 102, 103, 104, 105, 106, 107]);
        assert_eq!(kernel.words(buffer + 64, 8), [101, 100, 103, 102, 105, 104, 107, 106]);
    }
}

#[test]
fn a_workgroup_that_ends_is_not_waited_for() {
    let code = format!(
        "{BEGIN}s_cmp_eq_u32 s6, 1
        s_cbranch_scc1 @end
        {MEET}end:
        s_endpgm"
    );
    let mut kernel = Kernel::new("gfx1250", &code);
    let buffer = kernel.buffer(64);
    kernel.run(&[buffer], how(3, 3, 1)).unwrap();
    assert_eq!(kernel.words(buffer, 3), [100, 0, 102]);
}

#[test]
fn a_cluster_that_waits_for_ever_is_stopped() {
    let mut kernel = Kernel::new("gfx1250", "s_barrier_wait 0xfffd\ns_endpgm");
    let error = kernel.run(&[], how(4, 2, 1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Barrier, "{error}");
    // Outside of clusters it does nothing.
    kernel.run(&[], how(4, 1, 1)).unwrap();
}

#[test]
fn a_load_is_for_those_that_ask_for_it() {
    let code = |mask: u32| {
        format!(
            "{BEGIN}s_mov_b32 m0, {mask}
            v_mov_b32_e32 v2, 0
            cluster_load_b32 v3, v2, s[4:5]
            global_store_b32 v0, v3, s[4:5] offset:16
            s_endpgm"
        )
    };
    for (mask, runs) in [(3, true), (0, true), (1, false)] {
        let mut kernel = Kernel::new("gfx1250", &code(mask));
        let buffer = kernel.buffer(64);
        kernel.device.memory.write(buffer, &7_u32.to_le_bytes()).unwrap();
        match kernel.run(&[buffer], how(2, 2, 1)) {
            Ok(_) => assert_eq!(kernel.words(buffer + 16, 2), [7, 7]),
            Err(error) => assert_eq!((error.kind(), runs), (ErrorKind::Unsupported, false)),
        }
    }
}

#[test]
fn clusters_that_are_not_possible_are_refused() {
    for (target, workgroups, cluster, says) in [
        ("gfx1201", 2, 2, "gfx1201 has no clusters"),
        ("gfx1250", 17, 17, "a cluster of 17,1,1 workgroups; 1 to 16 are possible"),
        ("gfx1250", 3, 2, "[3, 1, 1] workgroups are no whole clusters of [2, 1, 1]"),
    ] {
        let mut kernel = Kernel::new(target, "s_endpgm");
        let error = kernel.run(&[], how(workgroups, cluster, 1)).unwrap_err();
        assert_eq!((error.kind(), error.detail()), (ErrorKind::Setup, says));
    }
}
