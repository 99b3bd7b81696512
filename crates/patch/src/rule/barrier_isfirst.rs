//! The first wave at a barrier.

use hsaco_isa::errata::{BARRIER_ISFIRST, CLUSTER_BARRIER};
use hsaco_isa::model::OperandValue;

use super::{Example, Requirement, RewriteRule, Stage, Trigger, answer};
use crate::{Answer, Plan, Refusal, RefusalKind, Site};

/// Where the opcode is in the encoding, and what it becomes.
const OPCODE: usize = 1;
const SIGNAL: u8 = 0x4e;

pub(super) const RULE: RewriteRule = RewriteRule {
    name: BARRIER_ISFIRST.name,
    summary: "s_barrier_signal_isfirst of the cluster's barrier becomes s_barrier_signal",
    stage: Stage::Site,
    requirement: Requirement::Required,
    trigger: Trigger::Opcodes(BARRIER_ISFIRST.mnemonics),
    look: |site| answer(look(site)),
    residual: is_affected,
    examples: &[
        Example::same("BA1", "s_barrier_signal_isfirst -1"),
        Example::new("BA1-every", "s_barrier_signal_isfirst -1", ".long be804ec1")
            .options(|it| it.every_isfirst = true),
        Example::new("BA2", "s_barrier_signal_isfirst -3", ".long be804ec3"),
        Example::refused(
            "BA2-needed",
            "s_barrier_signal_isfirst -3\ns_cbranch_scc1 0",
            "still-needed: SCC",
        ),
        Example::same("BA3", "s_barrier_wait -1\ns_barrier_wait -3"),
        Example::same("BA-m0", "s_barrier_signal_isfirst m0"),
    ],
    page: include_str!("../../rules/barrier-isfirst.md"),
};

fn is_affected(site: &Site<'_>) -> bool {
    let barrier = site.operand("src0");
    match barrier {
        // Named barriers are in M0, never the cluster's.
        Some(OperandValue::Register(_)) => false,
        _ => site.options().every_isfirst || barrier == Some(CLUSTER_BARRIER),
    }
}

fn look(site: &Site<'_>) -> Result<Answer, Refusal> {
    if !is_affected(site) {
        return Ok(Answer::Keep("only the cluster's barrier is affected"));
    }
    if site.is_scc_needed() {
        let detail = match site.view().opacity() {
            Some(why) => format!("SCC tells the first wave, and may be read later: {why}"),
            None => "SCC tells the first wave, and is read before it is written again".to_owned(),
        };
        return Err(Refusal::new(RefusalKind::StillNeeded, detail));
    }
    let mut bytes = site.bytes();
    bytes.get_mut(OPCODE).into_iter().for_each(|opcode| *opcode = SIGNAL);
    Ok(Answer::Rewrite(Plan::replace(site, vec![site.decode(&bytes)?])))
}
