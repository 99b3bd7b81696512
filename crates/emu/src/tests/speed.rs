//! What vector float instructions cost: `cargo test -p hsaco-emu speed -- --ignored --nocapture`.

use std::time::Instant;

use super::machine::Machine;

/// Nanoseconds of one instruction of 64 lanes, all of them on.
fn cost(instruction: &str, mode: u32) -> f64 {
    const BODY: usize = 120;
    const LOOPS: usize = 5000;
    const TURNS: usize = 5;
    let mut machine = Machine::new("gfx942").mode(mode).s(0, LOOPS as u32);
    for register in 0..8 {
        let value = |lane| 1.0 + (usize::from(register) * 64 + lane) as f32 / 1024.0;
        machine = machine.v(register, |lane| value(lane).to_bits());
    }
    let code = machine.code_bytes(instruction) * BODY;
    let back = (code + 8) / 4 + 1;
    let text = format!("{instruction}\n").repeat(BODY);
    let text =
        format!("{text}s_sub_u32 s0, s0, 1\ns_cmp_lg_u32 s0, 0\ns_cbranch_scc1 {}", 65536 - back);
    let turn = || {
        let start = Instant::now();
        machine.run(&text);
        start.elapsed().as_nanos()
    };
    // The quickest turn: others on the same core are not counted.
    let quickest = std::iter::repeat_with(turn).take(TURNS).min().unwrap();
    quickest as f64 / (BODY * LOOPS) as f64
}

#[test]
#[ignore = "prints times"]
fn of_vector_floats() {
    for mode in [0x3f0, 0x3c0, 0x3ff] {
        for instruction in [
            "v_add_u32 v4, v5, v6",
            "v_add_f32 v4, v5, v6",
            "v_fma_f32 v4, v5, v6, v7",
            "v_max_f32 v4, v5, v6",
            "v_cmp_lt_f32 vcc, v5, v6",
            "v_fma_f64 v[4:5], v[4:5], v[6:7], v[2:3]",
            "v_pk_add_f16 v4, v5, v6",
            "v_cvt_f16_f32 v4, v5",
            "v_exp_f32 v4, v5",
            "v_log_f32 v4, v5",
            "v_rcp_f32 v4, v5",
        ] {
            let result = std::panic::catch_unwind(|| cost(instruction, mode));
            println!("{mode:#x} {instruction}: {:.1} ns", result.unwrap_or(f64::NAN));
        }
    }
}
