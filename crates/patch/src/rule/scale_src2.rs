//! The third scale of matrix instructions, which there is none of.

use hsaco_isa::errata::{SCALE_SRC2, THIRD_SCALE, THIRD_SCALE_UNUSED, has_scalar_third_scale};

use super::{Example, Requirement, RewriteRule, Stage, Trigger, answer};
use crate::{Answer, Plan, Refusal, Site};

pub(super) const RULE: RewriteRule = RewriteRule {
    name: SCALE_SRC2.name,
    summary: "the unused third scale of a scaled matrix instruction names a vector register",
    stage: Stage::Site,
    requirement: Requirement::Required,
    trigger: Trigger::Opcodes(SCALE_SRC2.mnemonics),
    look: |site| answer(look(site)),
    residual: |site| is_affected(&site.bytes()),
    examples: &[
        Example::new(
            "SS1",
            ".long cc350000, 00026530, cc330000, 04024110",
            ".long cc350000, 04026530, cc330000, 04024110",
        ),
        Example::same(
            "SS2",
            "v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[16:31], v[32:47], v[0:7], v48, v50",
        ),
    ],
    page: include_str!("../../rules/scale-src2.md"),
};

/// Whether the unused field of a scaled matrix instruction is not as it has to be.
pub(super) fn is_affected(bytes: &[u8]) -> bool {
    has_scalar_third_scale(bytes)
}

/// The instruction with the unused field as it has to be.
pub(super) fn fixed(bytes: &mut [u8]) {
    if let Some(word) = second_word(bytes) {
        let fixed = (word & !THIRD_SCALE | THIRD_SCALE_UNUSED).to_le_bytes();
        bytes.iter_mut().skip(4).zip(fixed).for_each(|(to, from)| *to = from);
    }
}

fn second_word(bytes: &[u8]) -> Option<u32> {
    bytes.get(4..8)?.try_into().ok().map(u32::from_le_bytes)
}

fn look(site: &Site<'_>) -> Result<Answer, Refusal> {
    let mut bytes = site.bytes();
    if !is_affected(&bytes) {
        return Ok(Answer::NotMine);
    }
    fixed(&mut bytes);
    Ok(Answer::Rewrite(Plan::replace(site, vec![site.decode(&bytes)?])))
}
