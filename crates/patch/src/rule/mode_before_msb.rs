//! Two writes of MODE in a row.

use hsaco_isa::errata::MODE_BEFORE_MSB;

use super::{Example, Requirement, RewriteRule, Stage, Trigger, answer};
use crate::{Answer, Edit, Plan, Refusal, Site};

/// The bits of a first word that say that it is `s_setreg_b32` or `s_setreg_imm32_b32`.
const SETREG: u32 = 0xff80_0000;

pub(super) const RULE: RewriteRule = RewriteRule {
    name: MODE_BEFORE_MSB.name,
    summary: "s_nop between s_setreg of MODE and s_set_vgpr_msb",
    stage: Stage::Site,
    requirement: Requirement::Required,
    trigger: Trigger::Look(&[(SETREG, 0xb900_0000), (SETREG, 0xb980_0000)], may_be),
    look: |site| answer(look(site)),
    residual: is_affected,
    examples: &[
        Example::new(
            "MM1",
            "s_setreg_b32 hwreg(HW_REG_WAVE_MODE, 0, 8), s0
             s_set_vgpr_msb 0x41
             s_set_vgpr_msb 0",
            "s_setreg_b32 hwreg(HW_REG_WAVE_MODE, 0, 8), s0
             s_nop 0
             s_set_vgpr_msb 0x41
             s_set_vgpr_msb 0",
        ),
        Example::new(
            "MM2",
            "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 0, 4), 0x3
             s_set_vgpr_msb 0",
            "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 0, 4), 0x3
             s_nop 0
             s_set_vgpr_msb 0",
        ),
        Example::same(
            "MM3",
            "s_setreg_b32 hwreg(HW_REG_WAVE_SCHED_MODE), s0
             s_set_vgpr_msb 0",
        ),
    ],
    page: include_str!("../../rules/mode-before-msb.md"),
};

/// Whether the words are `s_setreg_b32` or `s_setreg_imm32_b32`, and `s_set_vgpr_msb` behind it.
fn may_be(code: &[u8]) -> bool {
    let upper = |at: usize| Some(u16::from_le_bytes(code.get(at + 2..at + 4)?.try_into().ok()?));
    let next = match upper(0).map(|upper| upper & 0xff80) {
        Some(0xb900) => 4,
        Some(0xb980) => 8,
        _ => return false,
    };
    upper(next) == Some(0xbf86)
}

fn is_affected(site: &Site<'_>) -> bool {
    let next = site.view().stream().inst(site.step() + 1);
    let decoder = site.view().decoder();
    site.inst().is_some_and(|inst| MODE_BEFORE_MSB.affects(decoder, &inst, next.as_ref()))
}

fn look(site: &Site<'_>) -> Result<Answer, Refusal> {
    let step = site.step() + 1;
    let Some(next) = site.view().stream().inst(step).filter(|_| is_affected(site)) else {
        return Ok(Answer::NotMine);
    };
    let code = vec![site.assemble("s_nop 0")?, next];
    Ok(Answer::Rewrite(Plan::edit(Edit { first: step, count: 1, code })))
}
