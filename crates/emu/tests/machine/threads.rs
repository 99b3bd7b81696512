//! Workgroups on threads: the same results, no torn values, and an end for those that wait for each other.

use crate::support::{How, Kernel};
use hsaco_emu::{ErrorKind, Limits};

/// How often each case is run on several threads.
const THREADS: [usize; 3] = [1, 2, 4];

#[test]
fn results_do_not_depend_on_threads_or_seed() {
    // Item n of workgroup w stores n * w + w at its own place, and adds it to a sum.
    let code = "s_load_dwordx4 s[4:7], s[0:1], 0x0
        v_and_b32_e32 v0, 0x3ff, v0
        v_mul_lo_u32 v1, v0, s2
        v_add_u32_e32 v1, s2, v1
        s_lshl_b32 s8, s2, 8
        v_add_u32_e32 v2, s8, v0
        v_lshlrev_b32_e32 v2, 2, v2
        global_store_dword v2, v1, s[4:5]
        v_mov_b32_e32 v3, 0
        global_atomic_add v3, v1, s[6:7]
        s_barrier
        s_endpgm";
    let mut seen = None;
    for threads in THREADS {
        for seed in [0, 1, 7] {
            let mut kernel = Kernel::new("gfx942", code);
            let (out, sum) = (kernel.buffer(256 * 40 * 4), kernel.buffer(4));
            let limits = Limits { seed, ..How::default().limits };
            let how = How { workgroups: 40, items: 256, threads, limits, cluster: 1 };
            let outcome = kernel.run(&[out, sum], how).unwrap();
            assert_eq!((outcome.waves, outcome.instructions), (160, 160 * 12));
            assert_eq!(outcome.mnemonics["s_barrier"].1, 160);
            let result = (kernel.words(out, 256 * 40), kernel.words(sum, 1));
            assert_eq!(result.0[256 * 39 + 255], 255 * 39 + 39);
            assert_eq!(seen.get_or_insert_with(|| result.clone()), &result);
        }
    }
}

#[test]
fn a_workgroup_that_waits_for_a_later_one_ends() {
    // All workgroups but the last spin until the last has stored a flag.
    let code = "s_load_dwordx4 s[4:7], s[0:1], 0x0
        s_cmp_eq_u32 s2, s6
        s_cbranch_scc1 @last
        again:
        s_load_dword s8, s[4:5], 0x0
        s_cmp_eq_u32 s8, 0
        s_cbranch_scc1 @again
        s_endpgm
        last:
        v_mov_b32_e32 v0, 0
        v_mov_b32_e32 v1, 1
        global_store_dword v0, v1, s[4:5]
        s_endpgm";
    for threads in THREADS {
        let mut kernel = Kernel::new("gfx942", code);
        let flag = kernel.buffer(4);
        let limits = Limits { instructions: 500_000_000, ..Limits::default() };
        let how = How { workgroups: 100, threads, limits, ..How::default() };
        kernel.run(&[flag, 99], how).unwrap();
        assert_eq!(kernel.words(flag, 1), [1]);
    }
}

#[test]
fn pairs_are_not_torn() {
    // Workgroup 0 stores a pair of equal words over and over; the others load pairs and count those that differ.
    let code = "s_load_dwordx4 s[4:7], s[0:1], 0x0
        v_mov_b32_e32 v0, 0
        s_mov_b32 s9, 0
        s_cmp_eq_u32 s2, 0
        s_cbranch_scc0 @load
        store:
        v_mov_b32_e32 v2, s9
        v_mov_b32_e32 v3, s9
        global_store_dwordx2 v0, v[2:3], s[4:5]
        s_add_u32 s9, s9, 1
        s_cmp_lt_u32 s9, 0x4000
        s_cbranch_scc1 @store
        s_endpgm
        load:
        global_load_dwordx2 v[2:3], v0, s[4:5]
        v_cmp_ne_u32_e32 vcc, v2, v3
        v_mov_b32_e32 v4, 1
        s_and_saveexec_b64 s[10:11], vcc
        global_atomic_add v0, v4, s[6:7]
        s_mov_b64 exec, s[10:11]
        s_add_u32 s9, s9, 1
        s_cmp_lt_u32 s9, 0x4000
        s_cbranch_scc1 @load
        s_endpgm";
    let mut kernel = Kernel::new("gfx942", code);
    let (pair, torn) = (kernel.buffer(8), kernel.buffer(4));
    let how = How { workgroups: 4, threads: 4, items: 1, ..How::default() };
    kernel.run(&[pair, torn], how).unwrap();
    assert_eq!(kernel.words(pair, 2), [0x3fff; 2]);
    assert_eq!(kernel.words(torn, 1), [0]);
}

#[test]
fn halves_of_a_word_are_not_lost() {
    // Each item adds one to its own byte, half or word, next to those of another workgroup.
    let code = "s_load_dwordx2 s[4:5], s[0:1], 0x0
        v_mov_b32_e32 v0, s2
        s_mov_b32 s9, 0
        again:
        global_load_ubyte v1, v0, s[4:5]
        v_add_u32_e32 v1, 1, v1
        global_store_byte v0, v1, s[4:5]
        s_add_u32 s9, s9, 1
        s_cmp_lt_u32 s9, 0x40ff
        s_cbranch_scc1 @again
        s_endpgm";
    let mut kernel = Kernel::new("gfx942", code);
    let bytes = kernel.buffer(8);
    let how = How { workgroups: 4, threads: 4, items: 1, ..How::default() };
    kernel.run(&[bytes], how).unwrap();
    assert_eq!(kernel.words(bytes, 1), [0xffff_ffff]);
}

#[test]
fn an_error_on_one_thread_stops_all() {
    let code = "s_cmp_eq_u32 s2, 3
        s_cbranch_scc0 @forever
        s_trap 2
        forever:
        s_branch @forever
        s_endpgm";
    let mut kernel = Kernel::new("gfx942", code);
    let limits = Limits { instructions: u64::MAX, ..Limits::default() };
    let how = How { workgroups: 8, threads: 2, limits, ..How::default() };
    let error = kernel.run(&[], how).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Trap);
    assert_eq!(error.location().unwrap().workgroup, [3, 0, 0]);
}
