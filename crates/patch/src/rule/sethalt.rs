//! Halts.

use hsaco_isa::errata::SETHALT;

use super::{Example, Requirement, RewriteRule, Stage, Trigger, answer};
use crate::{Answer, Plan};

pub(super) const RULE: RewriteRule = RewriteRule {
    name: SETHALT.name,
    summary: "s_sethalt becomes s_nop: no halt comes between a scale and its matrix instruction",
    stage: Stage::Site,
    requirement: Requirement::Required,
    trigger: Trigger::Opcodes(SETHALT.mnemonics),
    look: |site| {
        answer(site.assemble("s_nop 0").map(|nop| Answer::Rewrite(Plan::replace(site, vec![nop]))))
    },
    residual: |_| true,
    examples: &[
        Example::new("SH1", "s_sethalt 1", "s_nop 0"),
        Example::new(
            "SH2",
            "s_sethalt 1
             v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[16:31], v[32:47], v[0:7], v48, v50",
            "s_nop 0
             v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[16:31], v[32:47], v[0:7], v48, v50",
        ),
        Example::new("SH3", "s_sethalt 0\ns_sethalt 0x42", "s_nop 0\ns_nop 0"),
        Example::same("SH4", "s_nop 0\nv_mov_b32_e32 v0, v1"),
    ],
    page: include_str!("../../rules/sethalt.md"),
};
