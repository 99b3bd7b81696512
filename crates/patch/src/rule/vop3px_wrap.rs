//! Matrix instructions of two encodings, of which the first may be missing.

use hsaco_isa::errata::VOP3PX_WRAP;

use super::{Example, Requirement, RewriteRule, Stage, Trigger, answer};
use crate::{Answer, Plan, Refusal, Site};

/// Scales of one, as the encoding that a scaled matrix instruction begins with.
pub(super) const PREFIX: [u8; 8] = [0x00, 0x00, 0x35, 0xcc, 0x80, 0x00, 0x01, 0x04];

pub(super) const RULE: RewriteRule = RewriteRule {
    name: VOP3PX_WRAP.name,
    summary: "a matrix instruction of mixed formats gets scales of one, so that a trap can go back to it",
    stage: Stage::Site,
    requirement: Requirement::Required,
    trigger: Trigger::Opcodes(VOP3PX_WRAP.mnemonics),
    look: |site| answer(look(site)),
    residual: |_| true,
    examples: &[
        Example::new(
            "VW1",
            ".long cc330010, 04421100",
            ".long cc350000, 04010080, cc330010, 04421100",
        ),
        Example::new(
            "VW2",
            "v_wmma_f32_16x16x128_f8f6f4 v[0:7], v[16:27], v[32:39], v[0:7] matrix_a_fmt:MATRIX_FMT_FP6 matrix_b_fmt:MATRIX_FMT_FP4",
            "v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[16:27], v[32:39], v[0:7], 0, 0 matrix_a_fmt:MATRIX_FMT_FP6 matrix_b_fmt:MATRIX_FMT_FP4",
        ),
        Example::same(
            "VW3",
            "v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[16:31], v[32:47], v[0:7], v48, v50",
        ),
    ],
    page: include_str!("../../rules/vop3px-wrap.md"),
};

fn look(site: &Site<'_>) -> Result<Answer, Refusal> {
    let wrapped = site.decode(&[&PREFIX[..], &site.bytes()].concat())?;
    Ok(Answer::Rewrite(Plan::replace(site, vec![wrapped])))
}
