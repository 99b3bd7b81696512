//! Instructions that are not known for sure to be affected.

use hsaco_isa::errata::DEFERRED;

use super::{Example, Requirement, RewriteRule, Stage, Trigger};
use crate::Answer;

pub(super) const RULE: RewriteRule = RewriteRule {
    name: DEFERRED.name,
    summary: "sleeps and barrier states stay, and are named in the manifest",
    stage: Stage::Site,
    requirement: Requirement::Optional,
    trigger: Trigger::Opcodes(DEFERRED.mnemonics),
    look: |_| Answer::Keep("rocjitsu warns of it on A0 and leaves it"),
    residual: |_| false,
    examples: &[
        Example::same("DF1", "s_sleep 1\ns_sleep_var s0\ns_monitor_sleep 1"),
        Example::same("DF2", "s_get_barrier_state s0, -1"),
    ],
    page: include_str!("../../rules/deferred.md"),
};
