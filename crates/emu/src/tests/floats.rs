//! Floats on a machine: modes, and what encodings choose of operands and results.

use super::machine::Machine;

/// All denormals kept, DX10_CLAMP and IEEE set.
const KEEP: u32 = 0x3f0;

/// Runs a program on a wave of 32 lanes, of which v0 to v3 and s0 to s3 have the given values, and returns v4 and s4 of
/// lane 0.
fn run(processor: &str, mode: u32, values: [u32; 4], program: &str) -> (u32, u32) {
    let mut machine = Machine::new(processor).mode(mode).lds(vec![0; 1 << 16]);
    for (register, value) in (0..).zip(values) {
        machine = machine.s(register, value).v(register, |_| value);
    }
    let ran = machine.run(program);
    (ran.v(4, 0), ran.s(4))
}

fn vector(processor: &str, mode: u32, values: [u32; 4], program: &str) -> u32 {
    run(processor, mode, values, program).0
}

#[test]
fn rounding_modes_are_those_of_the_register() {
    let (one, tiny) = (0x3f80_0000, 0x2000_0000);
    let sum = |mode: &str| {
        let program = format!("s_round_mode {mode}\nv_add_f32 v4, v0, v1");
        vector("gfx1100", KEEP, [one, tiny, 0, 0], &program)
    };
    assert_eq!(["0x0", "0x1", "0x2", "0x3"].map(sum), [one, one + 1, one, one]);
    let set = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 2), 1\nv_add_f16 v4, v0, v1";
    assert_eq!(vector("gfx942", KEEP, [0x3c00, 1, 0, 0], set), 0x3c01);
    let scalar = "s_round_mode 0x1\ns_add_f32 s4, s0, s1";
    assert_eq!(run("gfx1201", KEEP, [one, tiny, 0, 0], scalar).1, one + 1);
}

#[test]
fn denormals_are_kept_or_flushed_on_either_side() {
    let denormal = 0x0040_0000;
    let product =
        |mode: u32| vector("gfx942", mode, [denormal, 0x4000_0000, 0, 0], "v_mul_f32 v4, v0, v1");
    assert_eq!([0x3c0, 0x3d0, 0x3e0, 0x3f0].map(product), [0, 0x0080_0000, 0, 0x0080_0000]);
    let half = |mode: u32| {
        vector("gfx942", mode, [denormal * 2, 0x3f00_0000, 0, 0], "v_mul_f32 v4, v0, v1")
    };
    assert_eq!([0x3c0, 0x3d0, 0x3e0, 0x3f0].map(half), [0, 0, denormal, denormal]);
}

#[test]
fn nans_are_quiet_as_the_generation_has_it() {
    let signalling = 0x7fa0_0000;
    let max =
        |processor, mode| vector(processor, mode, [signalling, 0, 0, 0], "v_mul_f32 v4, v0, v0");
    assert_eq!(max("gfx1100", 0x3f0), 0x7fe0_0000);
    assert_eq!(max("gfx1100", 0x1f0), signalling);
    assert_eq!(max("gfx1201", 0x0f0), 0x7fe0_0000);
    let clamp =
        |mode| vector("gfx1100", mode, [0x7fc0_0000, 0, 0, 0], "v_add_f32_e64 v4, v0, v0 clamp");
    assert_eq!([0x3f0, 0x2f0].map(clamp), [0, 0x7fc0_0000]);
}

#[test]
fn output_modifiers_work_where_the_mode_allows_them() {
    let twice = |processor, mode| {
        vector(processor, mode, [0x3f80_0000, 0, 0, 0], "v_add_f32_e64 v4, v0, v1 mul:2")
    };
    let (one, two) = (0x3f80_0000, 0x4000_0000);
    assert_eq!(twice("gfx1100", 0x1c0), two);
    assert_eq!([0x3c0, 0x1f0].map(|mode| twice("gfx1100", mode)), [one; 2]);
    assert_eq!(twice("gfx1201", 0x0f0), two);
}

#[test]
fn small_floats_are_chosen_by_byte() {
    // 1.0 in the second byte: FNUZ on gfx942, OCP on gfx1201.
    let sdwa = "v_cvt_f32_fp8_sdwa v4, v0 src0_sel:BYTE_1";
    assert_eq!(vector("gfx942", KEEP, [0x0000_4000, 0, 0, 0], sdwa), 0x3f80_0000);
    let by_byte = "v_cvt_f32_fp8_e64 v4, v0 byte_sel:2";
    assert_eq!(vector("gfx1201", KEEP, [0x0038_0000, 0, 0, 0], by_byte), 0x3f80_0000);
    let (one, two) = (0x3f80_0000, 0x4000_0000);
    let pack = "v_mov_b32 v4, -1\nv_cvt_pk_fp8_f32 v4, v0, v1 op_sel:[0,0,1]";
    assert_eq!(vector("gfx942", KEEP, [one, two, 0, 0], pack), 0x4840_ffff);
    let stochastic = "v_mov_b32 v4, -1\nv_cvt_sr_fp8_f32 v4, v0, v2 op_sel:[0,0,1,0]";
    assert_eq!(vector("gfx942", KEEP, [one, two, 0, 0], stochastic), 0xffff_40ff);
    let stochastic = "v_mov_b32 v4, -1\nv_cvt_sr_fp8_f32 v4, v0, v2 byte_sel:3";
    assert_eq!(vector("gfx1201", KEEP, [one, two, 0, 0], stochastic), 0x38ff_ffff);
    let unpack = "v_cvt_pk_f32_bf8_sdwa v[4:5], v0 src0_sel:WORD_1";
    assert_eq!(vector("gfx950", KEEP, [0x4038_0000, 0, 0, 0], unpack), 0x3f00_0000);
}

#[test]
fn scalar_results_of_the_vector_unit_do_not_need_exec() {
    let program = "s_mov_b32 exec_lo, 0\nv_s_exp_f32 s4, -s0";
    assert_eq!(run("gfx1201", KEEP, [0x4000_0000, 0, 0, 0], program).1, 0x3e80_0000);
}

#[test]
fn sums_in_lds_flush_by_the_mode() {
    let program = "ds_write_b32 v2, v0\nds_add_rtn_f32 v4, v2, v1\nds_read_b32 v4, v2\ns_waitcnt 0";
    let sum = |mode| vector("gfx942", mode, [1, 2, 0, 0], &format!("s_mov_b64 exec, 1\n{program}"));
    assert_eq!([0x3f0, 0x3c0].map(sum), [3, 0]);
}

#[test]
fn packed_bf16_ignores_rounding_and_denormals_of_the_mode() {
    // 1 and a bit too small for bf16; a denormal. The mode rounds up and flushes.
    let values = [0x0001_3f80, 0x0001_2000, 0, 0];
    assert_eq!(vector("gfx1250", 0x305, values, "v_pk_add_bf16 v4, v0, v1"), 0x0002_3f80);
    let values = [0x3f80_0001, 0x3f80_8000, 0, 0];
    assert_eq!(vector("gfx950", 0x3f5, values, "v_cvt_pk_bf16_f32 v4, v0, v1"), 0x3f80_3f80);
    // Too large for bf16, where FP16_OVFL is set.
    let values = [0x7f7f_7f7f, 0x7f7f_7f7f, 0, 0];
    assert_eq!(vector("gfx1250", 0x0080_03f0, values, "v_pk_add_bf16 v4, v0, v1"), 0x7f7f_7f7f);
}

#[test]
fn sums_of_unsigned_parts_are_clamped_as_signed_numbers() {
    let clamped = |c| {
        vector(
            "gfx1100",
            KEEP,
            [0x0101_0101, 0x0101_0101, c, 0],
            "v_dot4_i32_iu8 v4, v0, v1, v2 clamp",
        )
    };
    assert_eq!([u32::MAX, 0x7fff_ffff].map(clamped), [3, 0x7fff_ffff]);
}

#[test]
fn a_product_that_is_zero_by_rule_is_added() {
    let fma = |mode, third| {
        let values = [0, 0x7f80_0000, third, 0];
        vector("gfx1100", mode, values, "v_fma_dx9_zero_f32 v4, v0, v1, v2")
    };
    assert_eq!(fma(KEEP, 0x8000_0000), 0);
    assert_eq!([0x3d0, 0x3e0, KEEP].map(|mode| fma(mode, 3)), [0, 0, 3]);
}

#[test]
fn denormals_of_bf16_follow_those_of_f32() {
    let widened = |mode| vector("gfx950", mode, [0x19, 0, 0, 0], "v_cvt_f32_bf16 v4, v0");
    assert_eq!([0x330, 0x3c0].map(widened), [0x0019_0000, 0]);
    let narrowed =
        |mode| vector("gfx950", mode, [0x0019_0000, 0, 0, 0], "v_cvt_pk_bf16_f32 v4, v0, v1");
    assert_eq!([0x330, 0x3c0, 0x3d0].map(narrowed), [0x19, 0, 0]);
}
