//! Matrix products that A0 has no instruction for.

use hsaco_isa::errata::WMMA_SPLIT;
use hsaco_isa::model::{OperandValue, Register};

use super::{Example, Requirement, RewriteRule, Stage, Trigger, answer};
use crate::body::{Body, Role, part, unsupported, vgprs_near};
use crate::matrix::{self, Product, format};
use crate::{Answer, Plan, Refusal, RefusalKind, ScratchRegisters, Site};

const SCALED: &str = "v_wmma_scale_f32_16x16x128_f8f6f4";

/// Products of 128 columns: their names, how the two matrices are encoded, and whether the sum is of halves.
const K128: [(&str, (i64, i64), bool); 8] = [
    ("v_wmma_f32_16x16x128_fp8_fp8", (format::FP8, format::FP8), false),
    ("v_wmma_f32_16x16x128_fp8_bf8", (format::FP8, format::BF8), false),
    ("v_wmma_f32_16x16x128_bf8_fp8", (format::BF8, format::FP8), false),
    ("v_wmma_f32_16x16x128_bf8_bf8", (format::BF8, format::BF8), false),
    ("v_wmma_f16_16x16x128_fp8_fp8", (format::FP8, format::FP8), true),
    ("v_wmma_f16_16x16x128_fp8_bf8", (format::FP8, format::BF8), true),
    ("v_wmma_f16_16x16x128_bf8_fp8", (format::BF8, format::FP8), true),
    ("v_wmma_f16_16x16x128_bf8_bf8", (format::BF8, format::BF8), true),
];

pub(super) const RULE: RewriteRule = RewriteRule {
    name: WMMA_SPLIT.name,
    summary: "matrix products of 128 bytes and of 32 rows become those that A0 has",
    stage: Stage::Site,
    requirement: Requirement::Required,
    trigger: Trigger::Opcodes(WMMA_SPLIT.mnemonics),
    look: |site| answer(look(site)),
    residual: |_| true,
    examples: EXAMPLES,
    page: include_str!("../../rules/wmma-split.md"),
};

fn look(site: &Site<'_>) -> Result<Answer, Refusal> {
    let k128 = K128.iter().find(|(name, ..)| *name == site.mnemonic());
    let mut scratch = site.scratch_registers();
    let code = match k128 {
        Some((_, formats, false)) => {
            // Operands keep their roles and their banks.
            let mut body = Body::as_encoded(site);
            Product::of(site, &body, *formats)?.emit(&mut body, SCALED)?;
            body.finish()?
        }
        Some((_, formats, true)) => halves_of_sums(site, &mut scratch, *formats)?,
        None => {
            let mut body = Body::new(site)?;
            let halves = Product::of(site, &body, (format::FP4, format::FP4))?.halves();
            let run = |body: &mut Body<'_, '_>, _: &mut ScratchRegisters<'_>, half: &Product| {
                half.emit(body, SCALED)
            };
            matrix::both(&mut body, &mut scratch, halves, run)?;
            body.finish()?
        }
    };
    Ok(Answer::Rewrite(Plan::replace(site, code).taking(scratch)))
}

/// A sum in 16 bits is made in 32 and rounded once.
fn halves_of_sums(
    site: &Site<'_>,
    scratch: &mut ScratchRegisters<'_>,
    formats: (i64, i64),
) -> Result<Vec<hsaco_isa::Inst>, Refusal> {
    if !site.view().keeps_denormals() {
        let detail = "numbers are converted from and to 16 bits, where MODE may have denormals flushed; \
                      the product keeps them";
        return Err(Refusal::new(RefusalKind::Unsupported, detail));
    }
    let mut body = Body::new(site)?;
    let product = Product::of(site, &body, formats)?;
    let sums = vgprs_near(scratch, 8, 2, &product.d)?;
    let c = match product.c {
        OperandValue::Register(row) => {
            widen(&mut body, &row, &sums)?;
            OperandValue::Register(sums)
        }
        OperandValue::Integer(0) => product.c,
        OperandValue::Float(bits) => splat(&mut body, bits as u16, &sums)?,
        _ => return Err(unsupported(site, "which halves an integer stands for is not known")),
    };
    Product { d: sums, c, ..product }.emit(&mut body, SCALED)?;
    matrix::distance(&mut body)?;
    for at in 0..product.d.count {
        let operands = [
            (Role::Destination, part(&product.d, at, 1)),
            (Role::First, part(&sums, 2 * at, 1)),
            (Role::Second, part(&sums, 2 * at + 1, 1)),
        ];
        body.emit("v_cvt_pk_f16_f32 @, @, @", &operands)?;
    }
    body.finish()
}

/// The halves of some registers, each in a register of its own.
fn widen(body: &mut Body<'_, '_>, from: &Register, to: &Register) -> Result<(), Refusal> {
    for at in 0..from.count {
        let (low, high) = (part(to, 2 * at, 1), part(to, 2 * at + 1, 1));
        let packed = part(from, at, 1);
        let shifted = [(Role::Destination, high), (Role::Second, packed)];
        body.emit("v_lshrrev_b32_e32 @, 16, @", &shifted)?;
        for (to, from) in [(low, packed), (high, high)] {
            let operands = [(Role::Destination, to), (Role::First, from)];
            body.emit("v_cvt_f32_f16_e64 @, @", &operands)?;
        }
    }
    Ok(())
}

/// A constant of 16 bits as one of 32: itself where there is such a constant, else in registers.
fn splat(body: &mut Body<'_, '_>, half: u16, to: &Register) -> Result<OperandValue, Refusal> {
    // All constants are normal numbers.
    let sign = u32::from(half & 0x8000) << 16;
    let bits = sign | (u32::from(half & 0x7fff) << 13).wrapping_add(112 << 23);
    let is_power = half & 0x3ff == 0;
    if is_power {
        return Ok(OperandValue::Float(bits.into()));
    }
    for at in 0..to.count {
        let line = format!("v_mov_b32_e32 @, {bits:#x}");
        body.emit(&line, &[(Role::Destination, part(to, at, 1))])?;
    }
    Ok(OperandValue::Register(*to))
}

const EXAMPLES: &[Example] = &[
    Example::new(
        "WS1",
        "v_wmma_f32_16x16x128_fp8_fp8 v[16:23], v[0:15], v[8:23], 1.0",
        "v_wmma_scale_f32_16x16x128_f8f6f4 v[16:23], v[0:15], v[8:23], 1.0, 0, 0",
    ),
    Example::new(
        "WS2",
        "v_wmma_f32_16x16x128_bf8_bf8 v[24:31], v[0:15], v[8:23], v[24:31] neg_lo:[0,0,1]",
        "v_wmma_scale_f32_16x16x128_f8f6f4 v[24:31], v[0:15], v[8:23], v[24:31], 0, 0 matrix_a_fmt:MATRIX_FMT_BF8 matrix_b_fmt:MATRIX_FMT_BF8 neg_lo:[0,0,1]",
    ),
    Example::new(
        "WS3",
        "v_wmma_f16_16x16x128_fp8_bf8 v[20:23], v[0:15], v[8:23], v[20:23] neg_hi:[0,0,1]",
        concat!(
            "v_lshrrev_b32_e32 v25, 16, v20
             v_cvt_f32_f16_e64 v24, v20
             v_cvt_f32_f16_e64 v25, v25
             v_lshrrev_b32_e32 v27, 16, v21
             v_cvt_f32_f16_e64 v26, v21
             v_cvt_f32_f16_e64 v27, v27
             v_lshrrev_b32_e32 v29, 16, v22
             v_cvt_f32_f16_e64 v28, v22
             v_cvt_f32_f16_e64 v29, v29
             v_lshrrev_b32_e32 v31, 16, v23
             v_cvt_f32_f16_e64 v30, v23
             v_cvt_f32_f16_e64 v31, v31
             v_wmma_scale_f32_16x16x128_f8f6f4 v[24:31], v[0:15], v[8:23], v[24:31], 0, 0 matrix_b_fmt:MATRIX_FMT_BF8 neg_hi:[0,0,1]",
            eight_nops!(),
            "v_cvt_pk_f16_f32 v20, v24, v25
             v_cvt_pk_f16_f32 v21, v26, v27
             v_cvt_pk_f16_f32 v22, v28, v29
             v_cvt_pk_f16_f32 v23, v30, v31",
        ),
    ),
    Example::new(
        "WS3-constant",
        "v_wmma_f16_16x16x128_bf8_bf8 v[20:23], v[0:15], v[24:39], 0.5",
        concat!(
            "v_wmma_scale_f32_16x16x128_f8f6f4 v[40:47], v[0:15], v[24:39], 0.5, 0, 0 matrix_a_fmt:MATRIX_FMT_BF8 matrix_b_fmt:MATRIX_FMT_BF8",
            eight_nops!(),
            "v_cvt_pk_f16_f32 v20, v40, v41
             v_cvt_pk_f16_f32 v21, v42, v43
             v_cvt_pk_f16_f32 v22, v44, v45
             v_cvt_pk_f16_f32 v23, v46, v47",
        ),
    ),
    Example::refused(
        "WS3-denormals",
        "s_denorm_mode 0
         v_wmma_f16_16x16x128_fp8_fp8 v[20:23], v[0:15], v[24:39], v[20:23]
         v_wmma_f16_16x16x128_bf8_fp8 v[20:23], v[0:15], v[24:39], v[20:23]",
        "unsupported: numbers are converted from and to 16 bits, where MODE may have denormals flushed",
    ),
    Example::refused(
        "WS3-denormals-field",
        "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 4, 4), 0x3
         v_wmma_f16_16x16x128_fp8_fp8 v[20:23], v[0:15], v[24:39], 0",
        "unsupported: numbers are converted from and to 16 bits",
    ),
    Example::new(
        "WS3-mode",
        "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 0, 6), 0x30
         v_wmma_f16_16x16x128_fp8_fp8 v[20:23], v[0:15], v[24:39], 0",
        concat!(
            "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 0, 6), 0x30
             v_wmma_scale_f32_16x16x128_f8f6f4 v[40:47], v[0:15], v[24:39], 0, 0, 0",
            eight_nops!(),
            "v_cvt_pk_f16_f32 v20, v40, v41
             v_cvt_pk_f16_f32 v21, v42, v43
             v_cvt_pk_f16_f32 v22, v44, v45
             v_cvt_pk_f16_f32 v23, v46, v47",
        ),
    ),
    Example::new(
        "WS4",
        "v_wmma_f32_16x16x128_fp8_fp8 v[40:47], v[0:15], v[8:23], v[40:47] matrix_a_reuse
         v_wmma_f32_16x16x128_bf8_fp8 v[48:55], v[0:15], v[8:23], v[48:55] matrix_b_reuse",
        "v_wmma_scale_f32_16x16x128_f8f6f4 v[40:47], v[0:15], v[8:23], v[40:47], 0, 0
         v_wmma_scale_f32_16x16x128_f8f6f4 v[48:55], v[0:15], v[8:23], v[48:55], 0, 0 matrix_a_fmt:MATRIX_FMT_BF8",
    ),
    Example::new(
        "WS5",
        "v_wmma_f32_32x16x128_f4 v[64:79], v[0:15], v[2:9], 1.0",
        "v_wmma_scale_f32_16x16x128_f8f6f4 v[64:71], v[0:7], v[2:9], 1.0, 0, 0 matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4
         v_wmma_scale_f32_16x16x128_f8f6f4 v[72:79], v[8:15], v[2:9], 1.0, 0, 0 matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4",
    ),
    Example::new(
        "WS6",
        "v_wmma_f32_32x16x128_f4 v[80:95], v[0:15], v[2:9], v[80:95] neg_lo:[0,0,1]",
        "v_wmma_scale_f32_16x16x128_f8f6f4 v[80:87], v[0:7], v[2:9], v[80:87], 0, 0 matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4 neg_lo:[0,0,1]
         v_wmma_scale_f32_16x16x128_f8f6f4 v[88:95], v[8:15], v[2:9], v[88:95], 0, 0 matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4 neg_lo:[0,0,1]",
    ),
    Example::new(
        "WS6-swapped",
        "v_wmma_f32_32x16x128_f4 v[8:23], v[0:15], v[24:31], 0",
        "v_wmma_scale_f32_16x16x128_f8f6f4 v[16:23], v[8:15], v[24:31], 0, 0, 0 matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4
         v_wmma_scale_f32_16x16x128_f8f6f4 v[8:15], v[0:7], v[24:31], 0, 0, 0 matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4",
    ),
    Example::new(
        "WS6-comgr",
        "v_wmma_f32_32x16x128_f4 v[4:19], v[0:15], v[2:9], v[4:19]",
        "v_wmma_scale_f32_16x16x128_f8f6f4 v[12:19], v[8:15], v[2:9], v[12:19], 0, 0 matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4
         v_wmma_scale_f32_16x16x128_f8f6f4 v[4:11], v[0:7], v[2:9], v[4:11], 0, 0 matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4",
    ),
    Example::new(
        "WS6-overlap",
        "v_wmma_f32_32x16x128_f4 v[0:15], v[16:31], v[4:11], 0",
        concat!(
            "v_wmma_scale_f32_16x16x128_f8f6f4 v[32:39], v[16:23], v[4:11], 0, 0, 0 matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4
             v_wmma_scale_f32_16x16x128_f8f6f4 v[8:15], v[24:31], v[4:11], 0, 0, 0 matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4",
            eight_nops!(),
            "v_mov_b32_e32 v0, v32
             v_mov_b32_e32 v1, v33
             v_mov_b32_e32 v2, v34
             v_mov_b32_e32 v3, v35
             v_mov_b32_e32 v4, v36
             v_mov_b32_e32 v5, v37
             v_mov_b32_e32 v6, v38
             v_mov_b32_e32 v7, v39",
        ),
    ),
    Example::new(
        "WS7",
        "s_set_vgpr_msb 0
         v_wmma_f32_16x16x128_fp8_fp8 v[162:169], v[250:265], v[114:129], 0",
        "s_set_vgpr_msb 0
         v_wmma_scale_f32_16x16x128_f8f6f4 v[162:169], v[250:265], v[114:129], 0, 0, 0",
    ),
    Example::new(
        "WS7-rows",
        "v_wmma_f32_32x16x128_f4 v[64:79], v[250:265], v[2:9], 0",
        "v_wmma_scale_f32_16x16x128_f8f6f4 v[64:71], v[250:257], v[2:9], 0, 0, 0 matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4
         s_wait_xcnt 0x0
         s_set_vgpr_msb 1
         v_wmma_scale_f32_16x16x128_f8f6f4 v[72:79], v[2:9], v[2:9], 0, 0, 0 matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4
         s_set_vgpr_msb 0x100",
    ),
    Example::same("WS8", "v_wmma_f32_16x16x32_f16 v[16:23], v[0:7], v[8:15], v[16:23]"),
    Example::new("WS9", ".long cc810010, 1c423100", ".long cc350000, 04010080, cc330010, 0c423100"),
    Example::new(
        "WS10",
        "v_wmma_scale_f32_32x16x128_f4 v[96:111], v[16:31], v[32:39], v[48:63], s4, 0",
        "v_wmma_scale_f32_16x16x128_f8f6f4 v[96:103], v[16:23], v[32:39], v[48:55], s4, 0 matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4
         v_wmma_scale_f32_16x16x128_f8f6f4 v[104:111], v[24:31], v[32:39], v[56:63], s4, 0 matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4 matrix_a_scale:MATRIX_SCALE_ROW1",
    ),
];
