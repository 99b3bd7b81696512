//! Clauses of memory instructions.

use hsaco_isa::errata::CLAUSE;

use super::{Example, Requirement, RewriteRule, Stage, Trigger, answer};
use crate::{Answer, Plan};

pub(super) const RULE: RewriteRule = RewriteRule {
    name: CLAUSE.name,
    summary: "s_clause becomes s_nop: memory instructions are issued one by one",
    stage: Stage::Site,
    requirement: Requirement::Required,
    trigger: Trigger::Opcodes(CLAUSE.mnemonics),
    look: |site| {
        answer(site.assemble("s_nop 0").map(|nop| Answer::Rewrite(Plan::replace(site, vec![nop]))))
    },
    residual: |_| true,
    examples: &[
        Example::new(
            "CL1",
            "s_clause 0x1
             global_load_b32 v10, v[2:3], off scope:SCOPE_DEV
             global_load_b32 v11, v[2:3], off offset:4 scope:SCOPE_SYS",
            "s_nop 0
             global_load_b32 v10, v[2:3], off scope:SCOPE_DEV
             global_load_b32 v11, v[2:3], off offset:4 scope:SCOPE_SYS",
        ),
        Example::new(
            "CL2",
            "global_load_b32 v9, v[2:3], off
             s_clause 0x1
             global_load_b32 v10, v[2:3], off
             global_load_b32 v11, v[2:3], off offset:4",
            "global_load_b32 v9, v[2:3], off
             s_nop 0
             global_load_b32 v10, v[2:3], off
             global_load_b32 v11, v[2:3], off offset:4",
        ),
    ],
    page: include_str!("../../rules/clause.md"),
};
