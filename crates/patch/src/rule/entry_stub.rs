//! The first vector memory instruction of a wave.

use hsaco_isa::errata::ENTRY_STUB;

use super::{Example, Requirement, RewriteRule, Stage, Trigger, answer};
use crate::{Answer, Plan, Refusal, Site};

const PREFETCH: &str = "global_prefetch_b8 v0, s[0:1] scope:SCOPE_SE";

pub(super) const RULE: RewriteRule = RewriteRule {
    name: ENTRY_STUB.name,
    summary: "a kernel begins with a vector memory instruction that is in no clause (on request)",
    stage: Stage::Entry,
    requirement: Requirement::Required,
    trigger: Trigger::Entry,
    look: |site| answer(look(site)),
    residual: |_| false,
    examples: &[
        Example::same("EN1", "s_mov_b32 s4, 0"),
        Example::new(
            "EN2",
            "s_mov_b32 s4, 0",
            "global_prefetch_b8 v0, s[0:1] scope:SCOPE_SE\nv_nop\ns_mov_b32 s4, 0",
        )
        .options(|it| it.entry_stub = true),
        Example::same(
            "EN6",
            "global_prefetch_b8 v0, s[0:1] scope:SCOPE_SE\nv_nop\ns_mov_b32 s4, 0",
        )
        .options(|it| it.entry_stub = true),
    ],
    page: include_str!("../../rules/entry-stub.md"),
};

fn look(site: &Site<'_>) -> Result<Answer, Refusal> {
    let begins_with_one = matches!(site.mnemonic(), "global_prefetch_b8" | "global_wb");
    if !site.options().entry_stub || begins_with_one {
        return Ok(Answer::NotMine);
    }
    let prologue = site.assemble_all(&[PREFETCH, "v_nop"])?;
    Ok(Answer::Rewrite(Plan { prologue, ..Plan::default() }))
}
