//! Barriers of workgroups, whole and split, and named ones.

use super::machine::{ALL, M0, Machine};
use crate::error::ErrorKind;

/// Each wave stores its number, meets the others, and reads what the next one has stored.
fn exchange(target: &str, meet: &str) {
    let is_old = target.starts_with("gfx9") || target.starts_with("gfx10");
    let (read, write) =
        if is_old { ("ds_read_b32", "ds_write_b32") } else { ("ds_load_b32", "ds_store_b32") };
    let mut machine = Machine::new(target)
        .waves(4)
        .lds(vec![0; 1024])
        .of_wave(0, |wave, lane| (wave * 64 + lane % 64) as u32 * 4 % 1024)
        .of_wave(1, |wave, lane| (wave * 100 + lane) as u32)
        .of_wave(2, |wave, lane| ((wave + 1) % 4 * 64 + lane % 64) as u32 * 4 % 1024);
    let program = format!("{write} v0, v1\n{meet}\n{read} v3, v2\n{meet}\n{write} v2, v3\n{meet}");
    let ran = machine.run(&program);
    for wave in 0..4 {
        for lane in 0..machine.lanes() {
            assert_eq!(ran.wave(wave).v(3, lane), ((wave + 1) % 4 * 100 + lane) as u32, "{target}");
        }
    }
}

#[test]
fn waves_meet() {
    for target in ALL {
        match target {
            "gfx1201" | "gfx1250" => exchange(target, "s_barrier_signal -1\ns_barrier_wait 0xffff"),
            _ => exchange(target, "s_barrier"),
        }
    }
}

#[test]
fn the_first_wave_that_signals_is_told() {
    let program = "s_barrier_signal_isfirst -1\ns_cselect_b32 s4, 1, 0\ns_barrier_wait 0xffff";
    for target in ["gfx1201", "gfx1250"] {
        let ran = Machine::new(target).waves(3).run(program);
        let first: Vec<u32> = (0..3).map(|wave| ran.wave(wave).s(4)).collect();
        assert_eq!(first.iter().sum::<u32>(), 1, "{target} {first:?}");
    }
}

#[test]
fn single_waves_and_other_barriers_do_not_wait() {
    for target in ["gfx1201", "gfx1250"] {
        Machine::new(target)
            .run("s_barrier_wait 0xffff\ns_barrier_signal -1\ns_barrier_wait 0xffff");
    }
    // No cluster, no trap handler.
    let program = "s_barrier_signal -3\ns_barrier_wait 0xfffd\ns_barrier_wait 0xfffe";
    Machine::new("gfx1250").waves(2).run(program);
}

#[test]
fn waves_that_wait_for_ever_are_found() {
    let error = Machine::new("gfx1201").waves(2).try_run("s_barrier_wait 0xffff").err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Barrier);
}

#[test]
fn named_barriers_are_for_as_many_as_they_say() {
    // Barrier 2 is for all three waves, which M0 says when they signal.
    let program = "s_mov_b32 m0, 0x30002\n\
                   s_barrier_join 2\n\
                   s_barrier_signal -1\n\
                   s_barrier_wait 0xffff\n\
                   ds_store_b32 v0, v1\n\
                   s_barrier_signal m0\n\
                   s_barrier_wait 1\n\
                   ds_load_b32 v3, v2\n\
                   s_get_barrier_state s5, 2";
    let mut machine = Machine::new("gfx1250")
        .waves(3)
        .named_barriers(4)
        .lds(vec![0; 512])
        .of_wave(0, |wave, lane| (wave * 32 + lane % 32) as u32 * 4)
        .of_wave(1, |wave, lane| (wave * 100 + lane) as u32)
        .of_wave(2, |wave, lane| ((wave + 1) % 3 * 32 + lane % 32) as u32 * 4);
    let ran = machine.run(program);
    for wave in 0..3 {
        assert_eq!(ran.wave(wave).v(3, 7), ((wave + 1) % 3 * 100 + 7) as u32);
        assert_eq!(ran.wave(wave).s(5) & 0x0f00_07f1, 1 << 24 | 3 << 4 | 1);
    }
    // One that is not there does nothing; leaving says whether it was the last.
    let program = "s_barrier_signal 3\ns_barrier_join 3\ns_barrier_wait 3";
    Machine::new("gfx1250").waves(2).run(program);
    let program = "s_mov_b32 m0, 0x10001\ns_barrier_init m0\ns_barrier_join 1\ns_barrier_leave";
    let ran = Machine::new("gfx1250").waves(2).named_barriers(4).s(M0, 0).run(program);
    assert!(ran.wave(0).scc);
}

#[test]
fn a_workgroup_of_gfx1250_reads_that_it_is_in_no_cluster() {
    let read = |field: &str| {
        Machine::new("gfx1250")
            .try_run(&format!("s_mov_b32 s4, 7\ns_getreg_b32 s4, hwreg({field})"))
    };
    assert_eq!(read("HW_REG_IB_STS2, 6, 4").unwrap().s(4), 0);
    // What else is there is not modelled.
    assert!(read("HW_REG_IB_STS2, 0, 4").is_err());
}
