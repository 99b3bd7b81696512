//! Answers of RDNA3 devices: every program of `data/rdna3-hardware.tsv`, run and compared.

use std::collections::BTreeMap;

use super::machine::Machine;
use crate::num::{self, Env, F16, F32};
use crate::wave::scalar;

const TABLE: &str = include_str!("../../data/rdna3-hardware.tsv");

/// Rows of the table.
const ROWS: usize = 705;

/// Programs that do not give the device's answer yet, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "ds.TestDS2AddrStride64.ds_storexchg_2addr_rtn_b32",
        "ds_storexchg_2addr_rtn_b32 is not written",
    ),
    (
        "ds.TestDS2AddrStride64.ds_storexchg_2addr_stride64_rtn_b32",
        "ds_storexchg_2addr_stride64_rtn_b32 is not written",
    ),
    (
        "ds.TestDS2AddrStride64.ds_storexchg_2addr_stride64_rtn_b64_returns_old",
        "ds_storexchg_2addr_stride64_rtn_b64 is not written",
    ),
    ("vinterp.TestVInterp.v_interp_p10_f16_f32", "refused: pixel shaders only"),
    ("vinterp.TestVInterp.v_interp_p10_f32", "refused: pixel shaders only"),
    ("vop1.TestCvtNormF16.cvt_norm_i16_f16_negative", "v_cvt_norm_i16_f16 is not written"),
    ("vop1.TestCvtNormF16.cvt_norm_i16_f16_positive", "v_cvt_norm_i16_f16 is not written"),
    ("vop1.TestCvtNormF16.cvt_norm_i16_f16_zero", "v_cvt_norm_i16_f16 is not written"),
    ("vop1.TestCvtNormF16.cvt_norm_u16_f16_one", "v_cvt_norm_u16_f16 is not written"),
    ("vop1.TestFractEdgeCases.v_fract_f32_inf", "NaNs are those of the host"),
    ("vop1.TestFractEdgeCases.v_fract_f32_nan", "NaNs are those of the host"),
    (
        "vop1.TestPermlane64.v_permlane64_b32_is_nop_in_wave32",
        "v_permlane64_b32 does nothing in waves of 32 lanes",
    ),
    ("vop2.TestF16Ops.v_fmaak_f16_basic", "v_fmaak_f16 is not written"),
    ("vop2.TestF16Ops.v_fmac_f16_basic", "v_fmac_f16 is not written"),
    ("vop2.TestHiHalfOps.v_fma_f16_hi_dest", "v_fma_f16 is not written"),
    ("vop2.TestVop2F16HiHalf.v_fmac_f16_e32_vdst_hi_half", "v_fmac_f16 is not written"),
    ("vop2.TestVop2F16HiHalf.v_fmac_f16_e32_vsrc1_hi_half", "v_fmac_f16 is not written"),
    ("vop3.TestCvtPkInt.cvt_pk_u16_f32_basic", "v_cvt_pk_u16_f32 is not written"),
    ("vop3.TestCvtPkInt.cvt_pk_u8_f32_basic", "v_cvt_pk_u8_f32 is not written"),
    ("vop3.TestCvtPkNorm.cvt_pk_norm_i16_f32_basic", "v_cvt_pk_norm_i16_f32 is not written"),
    ("vop3.TestCvtPkNorm.cvt_pk_norm_u16_f32_basic", "v_cvt_pk_norm_u16_f32 is not written"),
    ("vop3.TestDivFixup.div_fixup_f32_inf_div_inf", "v_div_fixup_f32 is not written"),
    ("vop3.TestDivFixup.div_fixup_f32_inf_div_x", "v_div_fixup_f32 is not written"),
    ("vop3.TestDivFixup.div_fixup_f32_nan_denom", "v_div_fixup_f32 is not written"),
    ("vop3.TestDivFixup.div_fixup_f32_nan_estimate_overflow", "v_div_fixup_f32 is not written"),
    ("vop3.TestDivFixup.div_fixup_f32_nan_estimate_sign", "v_div_fixup_f32 is not written"),
    ("vop3.TestDivFixup.div_fixup_f32_nan_numer", "v_div_fixup_f32 is not written"),
    ("vop3.TestDivFixup.div_fixup_f32_neg_neg", "v_div_fixup_f32 is not written"),
    ("vop3.TestDivFixup.div_fixup_f32_neg_x_div_zero", "v_div_fixup_f32 is not written"),
    ("vop3.TestDivFixup.div_fixup_f32_normal", "v_div_fixup_f32 is not written"),
    ("vop3.TestDivFixup.div_fixup_f32_one_div_inf", "v_div_fixup_f32 is not written"),
    ("vop3.TestDivFixup.div_fixup_f32_sign_propagation", "v_div_fixup_f32 is not written"),
    ("vop3.TestDivFixup.div_fixup_f32_x_div_inf", "v_div_fixup_f32 is not written"),
    ("vop3.TestDivFixup.div_fixup_f32_x_div_zero", "v_div_fixup_f32 is not written"),
    ("vop3.TestDivFixup.div_fixup_f32_zero_div_x", "v_div_fixup_f32 is not written"),
    ("vop3.TestDivFixup.div_fixup_f32_zero_div_zero", "v_div_fixup_f32 is not written"),
    ("vop3.TestDivFixup.v_div_fixup_f32_one_div_neg_inf", "v_div_fixup_f32 is not written"),
    ("vop3.TestDivFmas.div_fmas_f32_no_scale", "v_div_fmas_f32 is not written"),
    ("vop3.TestDivFmas.div_fmas_f32_per_lane_vcc", "v_div_fmas_f32 is not written"),
    ("vop3.TestDivFmas.div_fmas_f32_scale_down", "v_div_fmas_f32 is not written"),
    ("vop3.TestDivFmas.div_fmas_f32_scale_up", "v_div_fmas_f32 is not written"),
    ("vop3.TestDivScale.div_scale_f32_denorm_denom", "v_div_scale_f32 is not written"),
    (
        "vop3.TestDivScale.div_scale_f32_large_exp_diff_scales_denom",
        "v_div_scale_f32 is not written",
    ),
    ("vop3.TestDivScale.div_scale_f32_preserves_input", "v_div_scale_f32 is not written"),
    ("vop3.TestDivScale.div_scale_f32_result_would_be_denorm", "v_div_scale_f32 is not written"),
    ("vop3.TestDivScale.div_scale_f32_tiny_numer_exp_le_23", "v_div_scale_f32 is not written"),
    ("vop3.TestDivScale.div_scale_f32_vcc_zero_multiple_lanes", "v_div_scale_f32 is not written"),
    ("vop3.TestDivScale.div_scale_f32_vcc_zero_single_lane", "v_div_scale_f32 is not written"),
    ("vop3.TestDivScale.div_scale_f32_zero_denom_gives_nan", "v_div_scale_f32 is not written"),
    ("vop3.TestDivScale.div_scale_f32_zero_numer_gives_nan", "v_div_scale_f32 is not written"),
    ("vop3.TestDivScaleF64.div_scale_f64_mixed_vcc_per_lane", "v_div_scale_f64 is not written"),
    (
        "vop3.TestDivScaleF64.div_scale_f64_vcc_per_lane_uniform_input",
        "v_div_scale_f64 is not written",
    ),
    (
        "vop3.TestDivScaleF64.div_scale_f64_vcc_per_lane_varying_input",
        "v_div_scale_f64 is not written",
    ),
    (
        "vop3.TestDivScaleFmasF64Integration.div_scale_then_fmas_multi_lane_tan_pattern",
        "v_div_scale_f64 is not written",
    ),
    ("vop3.TestF16Modifiers.v_fma_f16_inline_const_0_5", "v_fma_f16 is not written"),
    ("vop3.TestF16Modifiers.v_fma_f16_inline_const_1_0", "v_fma_f16 is not written"),
    ("vop3.TestF16Modifiers.v_fma_f16_inline_const_neg_1_0", "v_fma_f16 is not written"),
    ("vop3.TestF16Modifiers.v_fmac_f16_hi_dest", "v_fmac_f16 is not written"),
    ("vop3.TestFMA.v_mullit_f32_basic", "v_mullit_f32 is not written"),
    ("vop3.TestFMA.v_mullit_f32_invalid_guard", "v_mullit_f32 is not written"),
    ("vop3.TestMinMaxF16Vop3.v_max3_f16_basic", "v_max3_f16 is not written"),
    ("vop3.TestMinMaxF16Vop3.v_max3_f16_with_abs", "v_max3_f16 is not written"),
    ("vop3.TestMinMaxF16Vop3.v_maxmin_f16_basic", "v_maxmin_f16 is not written"),
    ("vop3.TestMinMaxF16Vop3.v_med3_f16_basic", "v_med3_f16 is not written"),
    ("vop3.TestMinMaxF16Vop3.v_med3_f16_opsel_hi", "v_med3_f16 is not written"),
    ("vop3.TestMinMaxF16Vop3.v_min3_f16_basic", "v_min3_f16 is not written"),
    ("vop3.TestMinMaxF16Vop3.v_min3_f16_with_neg", "v_min3_f16 is not written"),
    ("vop3.TestMinMaxF16Vop3.v_minmax_f16_basic", "v_minmax_f16 is not written"),
    ("vop3.TestModifierInteractions.omod_ignored", "OMOD does not look at MODE.IEEE"),
    (
        "vop3.TestVOP3ClampCarry.v_add_co_ci_u32_clamp_overflow",
        "clamp of this operation is not written",
    ),
    (
        "vop3.TestVOP3ClampCarry.v_add_co_ci_u32_clamp_overflow_with_carry",
        "clamp of this operation is not written",
    ),
    (
        "vop3.TestVOP3ClampCarry.v_add_co_u32_clamp_no_overflow",
        "clamp of this operation is not written",
    ),
    (
        "vop3.TestVOP3ClampCarry.v_add_co_u32_clamp_overflow",
        "clamp of this operation is not written",
    ),
    (
        "vop3.TestVOP3ClampCarry.v_sub_co_ci_u32_clamp_underflow",
        "clamp of this operation is not written",
    ),
    (
        "vop3.TestVOP3ClampCarry.v_sub_co_u32_clamp_no_underflow",
        "clamp of this operation is not written",
    ),
    (
        "vop3.TestVOP3ClampCarry.v_sub_co_u32_clamp_underflow",
        "clamp of this operation is not written",
    ),
    (
        "vop3.TestVOP3ClampCarry.v_subrev_co_ci_u32_clamp_underflow",
        "clamp of this operation is not written",
    ),
    (
        "vop3.TestVOP3ClampCarry.v_subrev_co_u32_clamp_underflow",
        "clamp of this operation is not written",
    ),
    ("vop3.TestVOP3ClampMAD.v_mad_u16_clamp_overflow", "clamp of this operation is not written"),
    (
        "vop3.TestVOP3ClampMAD.v_mad_u16_clamp_overflow_with_add",
        "clamp of this operation is not written",
    ),
    ("vop3.TestVOP3ClampMAD.v_mad_u16_no_overflow", "clamp of this operation is not written"),
    ("vop3p.TestVOP3P.v_pk_fma_f16_basic", "v_pk_fma_f16 is not written"),
    (
        "vopd.TestVOPDDot2Acc.vopd_dot2acc_f32_f16_basic",
        "refused by the assembler: operands in one bank",
    ),
    (
        "vopd.TestVOPDDot2Acc.vopd_dot2acc_f32_f16_zero_accum",
        "refused by the assembler: operands in one bank",
    ),
    ("vopd.TestVOPDLiterals.vopd_fmaak_f32", "refused by the assembler: operands in one bank"),
    ("vopd.TestVOPDLiterals.vopd_fmamk_f32", "refused by the assembler: operands in one bank"),
];

/// MODE of all programs: denormals of f32 flushed, others kept, DX10_CLAMP and IEEE set.
const MODE: u32 = 0x3c0;

struct Row<'t> {
    name: &'t str,
    target: &'t str,
    lanes: usize,
    ulp: u32,
    program: &'t str,
    expected: &'t str,
}

impl<'t> Row<'t> {
    fn parse(line: &'t str) -> Self {
        let mut columns = line.split('\t');
        let mut next = || columns.next().unwrap();
        let [name, target, lanes, ulp, program, expected] = std::array::from_fn(|_| next());
        let [lanes, ulp] = [lanes, ulp].map(|it| it.parse().unwrap());
        Self { name, target, lanes: lanes as usize, ulp, program, expected }
    }

    fn run(&self) -> Result<(), String> {
        let mut machine = Machine::<4>::new(self.target, self.lanes, MODE);
        let data = machine.memory.allocate(64 << 10).map_err(|it| it.to_string())?;
        let pointer = machine.memory.allocate(8).map_err(|it| it.to_string())?;
        machine.memory.write(pointer, &data.to_le_bytes()).map_err(|it| it.to_string())?;
        for (number, wave) in machine.waves.iter_mut().enumerate() {
            wave.set_pair(80, pointer);
            for lane in 0..32 {
                wave.v[255].set_lane(lane, (number * 32 + lane) as u32);
            }
        }
        machine.run(self.program)?;
        let failed: Vec<String> = self
            .expected
            .split(' ')
            .filter_map(|text| Expectation::parse(text).check(&machine, self.ulp).err())
            .collect();
        if failed.is_empty() { Ok(()) } else { Err(failed.join(", ")) }
    }
}

/// What is known of a register: `v2[0]:f16>>16&0xffff~0x4300/0.05`.
struct Expectation<'t> {
    text: &'t str,
    register: &'t str,
    float: &'t str,
    shift: u32,
    mask: u64,
    /// The value, and how far off it may be.
    value: &'t str,
    tolerance: Option<f64>,
}

fn number(text: &str) -> u64 {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).unwrap(),
        None => text.parse().unwrap(),
    }
}

impl<'t> Expectation<'t> {
    fn parse(text: &'t str) -> Self {
        let (left, value, tolerance) = match text.split_once('~') {
            Some((left, right)) => {
                let (value, tolerance) = right.split_once('/').unwrap();
                (left, value, Some(tolerance.parse().unwrap()))
            }
            None => {
                let (left, value) = text.split_once('=').unwrap();
                (left, value, None)
            }
        };
        let (left, mask) = left.split_once('&').map_or((left, u64::MAX), |(l, m)| (l, number(m)));
        let (left, shift) = left.split_once(">>").map_or((left, 0), |(l, s)| (l, number(s)));
        let (register, float) = left.split_once(':').unwrap_or((left, ""));
        Self { text, register, float, shift: shift as u32, mask, value, tolerance }
    }

    fn read(&self, machine: &Machine<4>) -> u64 {
        let first = &machine.waves[0];
        match self.register {
            "vcc" => first.pair(scalar::VCC),
            "vcc_lo" => first.s[usize::from(scalar::VCC)].into(),
            "exec_lo" => first.s[usize::from(scalar::EXEC)].into(),
            "scc" => first.scc.into(),
            name => match name.strip_prefix('v') {
                Some(rest) => {
                    let (register, lane) = rest.strip_suffix(']').unwrap().split_once('[').unwrap();
                    let [register, lane] = [register, lane].map(|it| number(it) as usize);
                    machine.waves[lane / 32].v[register].lane(lane % 32).into()
                }
                None => first.s[number(name.strip_prefix('s').unwrap()) as usize].into(),
            },
        }
    }

    fn float(&self, bits: u64) -> f64 {
        f64::from(f32::from_bits(match self.float {
            "f16" => num::convert::<F16, F32>(bits as u16, Env::IEEE, Env::IEEE),
            _ => bits as u32,
        }))
    }

    fn check(&self, machine: &Machine<4>, ulp: u32) -> Result<(), String> {
        let found = self.read(machine) >> self.shift & self.mask;
        let holds = match (self.float, self.value) {
            ("", value) => found == number(value),
            (_, "nan") => self.float(found).is_nan(),
            // Of either sign.
            (_, "inf") => self.float(found).is_infinite(),
            (_, value) => {
                let value = number(value);
                let distance = (self.float(found) - self.float(value)).abs();
                distance <= self.tolerance.unwrap_or(0.0) || found.abs_diff(value) <= u64::from(ulp)
            }
        };
        if holds { Ok(()) } else { Err(format!("{}, found {found:#x}", self.text)) }
    }
}

#[test]
fn programs_give_what_devices_gave() {
    let rows: Vec<Row<'_>> =
        TABLE.lines().filter(|line| !line.starts_with('#')).map(Row::parse).collect();
    assert_eq!(rows.len(), ROWS);
    let failed: BTreeMap<&str, String> =
        rows.iter().filter_map(|row| Some((row.name, row.run().err()?))).collect();
    let is_excepted = |name: &str| EXCEPTIONS.iter().any(|(other, _)| *other == name);
    let wrong: Vec<String> = failed
        .iter()
        .filter(|(name, _)| !is_excepted(name))
        .map(|(name, why)| format!("{name}: {why}"))
        .collect();
    assert!(wrong.is_empty(), "{} of {ROWS} differ:\n{}", wrong.len(), wrong.join("\n"));
    let passing: Vec<&str> =
        EXCEPTIONS.iter().map(|(name, _)| *name).filter(|it| !failed.contains_key(it)).collect();
    assert!(passing.is_empty(), "no exceptions any more: {}", passing.join(" "));
}
