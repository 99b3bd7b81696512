//! Conversions with a scale, held against ml_dtypes; tables of small elements; sums of differences.

use super::machine::{Machine, Ran};
use crate::error::ErrorKind;

/// What ml_dtypes makes of numbers; `scaled-conversions.py` beside it makes the file.
const ANSWERS: &str = include_str!("../../data/scaled-conversions.tsv");

struct Answer {
    operand: u32,
    /// The float whose exponent is the scale.
    scale: u32,
    result: u32,
}

fn answers(to: &str, from: &str) -> Vec<Answer> {
    let of = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [its_to, its_from, operand, scale, result] = fields[..] else { panic!("{line}") };
        let number = |text| u32::from_str_radix(text, 16).unwrap();
        let scale: i32 = scale.parse().unwrap();
        let answer = Answer {
            operand: number(operand),
            scale: (scale + 127).cast_unsigned() << 23,
            result: number(result),
        };
        (its_to == to && its_from == from).then_some(answer)
    };
    let found: Vec<_> = ANSWERS.lines().skip(1).filter_map(of).collect();
    assert!(found.len() > 30, "{to} {from}");
    found
}

/// Bits of elements.
fn width(name: &str) -> usize {
    match name {
        "f32" => 32,
        "f16" | "bf16" => 16,
        "fp8" | "bf8" => 8,
        "fp6" | "bf6" => 6,
        _ => 4,
    }
}

/// Elements that are all the same, as a word of their registers.
fn repeated(element: u32, width: usize, word: usize) -> u32 {
    (0..32).fold(0, |all, bit| all | (element >> ((word * 32 + bit) % width) & 1) << bit)
}

/// The element of a number among those that a result has.
fn element(ran: &Ran, lane: usize, width: usize, number: usize) -> u32 {
    (0..width).fold(0, |all, bit| {
        let at = number * width + bit;
        all | (ran.v(at / 32, lane) >> (at % 32) & 1) << bit
    })
}

/// Runs an instruction with all elements of v[16..] the same, the scale in v1, and looks at all results in v0 and on.
fn check(target: &str, text: &str, to: &str, from: &str, count: usize) {
    for answers in answers(to, from).chunks(32) {
        let at = |lane: usize| &answers[lane % answers.len()];
        let byte = |lane: usize| if text.contains("scalef32") { 0 } else { at(lane).scale >> 23 };
        let mut machine = Machine::new(target).v(1, |lane| at(lane).scale | byte(lane));
        if text.contains("v_cvt_scale_") {
            // One scale for all: those of lanes 16 apart have to be the same.
            machine = Machine::new(target).v(1, |_| answers[0].scale >> 23);
        }
        for word in 0..32 {
            machine =
                machine.v(16 + word, |lane| repeated(at(lane).operand, width(from), word.into()));
        }
        let ran = machine.run(text);
        for lane in 0..32 {
            let answer = at(lane);
            if text.contains("v_cvt_scale_") && answer.scale != answers[0].scale {
                continue;
            }
            for number in 0..count {
                let found = element(&ran, lane, width(to), number);
                let (operand, scale) = (answer.operand, answer.scale >> 23);
                assert_eq!(found, answer.result, "{target} {text}: {operand:x} scale {scale}");
            }
        }
    }
}

#[test]
fn narrowing_is_as_ml_dtypes_has_it() {
    for to in ["fp8", "bf8"] {
        check("gfx950", &format!("v_cvt_scalef32_pk_{to}_f32 v0, v16, v17, v1"), to, "f32", 2);
        for from in ["f16", "bf16"] {
            check("gfx950", &format!("v_cvt_scalef32_pk_{to}_{from} v0, v16, v1"), to, from, 2);
        }
    }
    check("gfx950", "v_cvt_scalef32_pk_fp4_f32 v0, v16, v17, v1", "fp4", "f32", 2);
    for from in ["f16", "bf16"] {
        check("gfx950", &format!("v_cvt_scalef32_pk_fp4_{from} v0, v16, v1"), "fp4", from, 2);
    }
    for to in ["fp6", "bf6"] {
        let text = format!("v_cvt_scalef32_2xpk16_{to}_f32 v[2:7], v[16:31], v[32:47], v1");
        let moved: String =
            (0..6).map(|at| format!("\nv_mov_b32_e32 v{at}, v{}", at + 2)).collect();
        check("gfx950", &(text + &moved), to, "f32", 32);
        for from in ["f16", "bf16"] {
            let text = format!("v_cvt_scalef32_pk32_{to}_{from} v[2:7], v[16:31], v1{moved}");
            check("gfx950", &text, to, from, 32);
        }
    }
}

#[test]
fn widening_is_as_ml_dtypes_has_it() {
    for from in ["fp8", "bf8"] {
        for (to, last) in [("f32", "v[2:3]"), ("f16", "v2"), ("bf16", "v2")] {
            let text =
                format!("v_cvt_scalef32_pk_{to}_{from} {last}, v16, v1\nv_mov_b32_e32 v0, v2");
            check("gfx950", &text, to, from, 1);
        }
        let text = format!("v_cvt_scalef32_f32_{from} v0, v16, v1 op_sel:[1,1]");
        check("gfx950", &text, "f32", from, 1);
    }
    for to in ["f32", "f16", "bf16"] {
        let last = if to == "f32" { "v[2:3]" } else { "v2" };
        let text = format!(
            "v_cvt_scalef32_pk_{to}_fp4 {last}, v16, v1 op_sel:[1,0,0]\nv_mov_b32_e32 v0, v2"
        );
        check("gfx950", &text, to, "fp4", 1);
        for from in ["fp6", "bf6"] {
            let last = if to == "f32" { 55 } else { 39 };
            let text = format!(
                "v_cvt_scalef32_pk32_{to}_{from} v[24:{last}], v[16:21], v1\nv_mov_b32_e32 v0, v{last}"
            );
            check("gfx950", &text, to, from, 1);
        }
    }
}

#[test]
fn gfx1250_converts_eight_and_sixteen_at_once() {
    for (from, registers) in [("f32", 8), ("f16", 4), ("bf16", 4)] {
        let last = 15 + registers;
        for (to, result) in [("fp8", "v[2:3]"), ("bf8", "v[2:3]"), ("fp4", "v2")] {
            let text = format!(
                "v_cvt_scalef32_pk8_{to}_{from} {result}, v[16:{last}], v1\nv_mov_b32_e32 v0, v2\nv_mov_b32_e32 v1, v3"
            );
            check("gfx1250", &text, to, from, if to == "fp4" { 8 } else { 4 });
        }
        let last = 15 + registers * 2;
        for to in ["fp6", "bf6"] {
            let text = format!(
                "v_cvt_scalef32_pk16_{to}_{from} v[2:4], v[16:{last}], v1\nv_mov_b32_e32 v0, v2\nv_mov_b32_e32 v1, v3"
            );
            check("gfx1250", &text, to, from, 8);
        }
    }
    for to in ["f32", "f16", "bf16"] {
        let registers = if to == "f32" { 8 } else { 4 };
        for (from, source) in [("fp8", "v[16:17]"), ("bf8", "v[16:17]"), ("fp4", "v16")] {
            let last = 23 + registers;
            let text = format!(
                "v_cvt_scale_pk8_{to}_{from} v[24:{last}], {source}, v1\nv_mov_b32_e32 v0, v{last}"
            );
            check("gfx1250", &text, to, from, 1);
        }
        for from in ["fp6", "bf6"] {
            let last = 23 + registers * 2;
            let text = format!(
                "v_cvt_scale_pk16_{to}_{from} v[24:{last}], v[16:18], v1\nv_mov_b32_e32 v0, v{last}"
            );
            check("gfx1250", &text, to, from, 1);
        }
    }
}

#[test]
fn a_seed_decides_between_two_neighbours() {
    // 1.0625 lies between 1 and 1.125 of fp8, half way.
    let machine = |seed: u32| {
        Machine::new("gfx950").v(16, |_| 0x3f88_0000).v(17, move |_| seed).v(1, |_| 0x3f80_0000)
    };
    let text = "v_cvt_scalef32_sr_fp8_f32 v0, v16, v17, v1 op_sel:[0,0,1,0]";
    for (seed, code) in [(0, 0x38), (0x7fff_ffff, 0x38), (0x8000_0000, 0x39), (u32::MAX, 0x39)] {
        let ran = machine(seed).v(0, |_| 0x1122_3344).run(text);
        assert_eq!(ran.v(0, 5), 0x1122_0044 | code << 8, "{seed:x}");
    }
    // The second of two takes the next random number: 0xc0000000 becomes 0x800000c5.
    let both = Machine::new("gfx950").v(16, |_| 0x3fa0_0000).v(17, |_| 0x3fa0_0000);
    let ran = both.v(18, |_| 0x6000_0000).v(1, |_| 0x3f80_0000);
    let ran = { ran }.run("v_cvt_scalef32_sr_pk_fp4_f32 v0, v[16:17], v18, v1");
    assert_eq!(ran.v(0, 0) & 0xff, 0x32);
}

#[test]
fn scales_that_the_manual_does_not_settle_are_refused() {
    let text = "v_cvt_scale_pk8_f32_fp8 v[24:31], v[16:17], v1";
    let error = Machine::new("gfx1250").v(1, |lane| lane as u32).try_run(text).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let text = format!("{text} scale_sel:1");
    let error = Machine::new("gfx1250").try_run(&text).err().unwrap();
    assert!(error.detail().contains("scale_sel"), "{error}");
}

#[test]
fn an_infinity_that_is_scaled_is_a_nan_where_numbers_saturate() {
    let text = "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 23, 1), 1
        v_cvt_scalef32_pk8_bf8_f32 v[2:3], v[16:23], v1";
    let machine = Machine::new("gfx1250").v(1, |_| 0x3f80_0000);
    let ran = { machine.v(16, |_| 0x7f80_0000).v(17, |_| 0x7f00_0000) }.run(text);
    assert_eq!(ran.v(2, 0) & 0xffff, 0x7b7f);
}

#[test]
fn sixteen_elements_come_out_of_a_table() {
    let machine = || {
        Machine::new("gfx1250")
            .v(16, |_| 0x0f0e_0d0c)
            .v(17, |_| 0xfedc_ba98)
            .v(18, |_| 0x0302_0100)
            .v(19, |_| 0x0706_0504)
            .v(20, |_| 0x7654_3210)
            .v(21, |_| 0xfedc_ba98)
    };
    let ran = machine().run("v_perm_pk16_b8_u4 v[0:3], v[16:17], v[18:19], v[20:21]");
    let found: Vec<u32> = (0..4).map(|at| ran.v(at, 7)).collect();
    assert_eq!(found, [0x0302_0100, 0x0706_0504, 0x0f0e_0d0c, 0xfedc_ba98]);
    // 96 bits as sixteen numbers of six: in order, they are the table itself.
    let ran = machine().run("v_perm_pk16_b6_u4 v[0:2], v16, v[18:19], v[20:21]");
    let found: Vec<u32> = (0..3).map(|at| ran.v(at, 7)).collect();
    assert_eq!(found, [0x0302_0100, 0x0706_0504, 0x0f0e_0d0c]);
}

#[test]
fn differences_are_summed_up_four_times() {
    for target in super::machine::ALL {
        let mut machine = Machine::new(target).v(16, |_| 0x0403_0201).v(17, |_| 0x0807_0605);
        machine = machine.v(18, |_| 0x0a00_0a0a);
        for at in 0..4 {
            machine = machine.v(20 + at, |_| 100 * u32::from(at));
        }
        let ran = machine.run("v_mqsad_u32_u8 v[0:3], v[16:17], v18, v[20:23]");
        let sums: Vec<u32> = (0..4).map(|at| ran.v(at, 1)).collect();
        // Bytes 0, 1 and 3 of each four: 10 less these.
        assert_eq!(sums, [23, 120, 217, 314], "{target}");
    }
}

#[test]
fn e5m3_has_no_sign() {
    let machine = Machine::new("gfx1250").v(1, |_| (-1f32).to_bits()).v(2, |_| 1e6f32.to_bits());
    let ran =
        { machine }.run("v_cvt_pk_fp8_f32 v0.l, v1, v2 clamp\nv_cvt_f32_fp8_e64 v3, v2 clamp");
    assert_eq!(ran.v(0, 0), 0xff00);
}

#[test]
fn several_registers_of_a_source_are_vector_registers() {
    // Encodings that no assembler makes: scalar registers and constants where six, sixteen and four registers are read.
    for (target, code) in [
        // v_cvt_scalef32_pk32_f32_fp6 v[5:36], ttmp[0:7] and 1.0, v2
        ("gfx950", ".long 0xd2560005, 0x0002046f"),
        ("gfx950", ".long 0xd2560005, 0x000204f2"),
        // v_cvt_scalef32_2xpk16_fp6_f32 v[0:5], v[16:31], s[4:19], v1
        ("gfx950", ".long 0xd2520000, 0x04040910"),
        // v_mqsad_u32_u8 v[0:3], v[4:5], v6, 1.0 and s[4:7]
        ("gfx942", ".long 0xd1e70000, 0x03ca0d04"),
        ("gfx942", ".long 0xd1e70000, 0x00120d04"),
    ] {
        let error = Machine::new(target).try_run(code).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{code}");
    }
}
