//! `waves-do-not-fit`: the waves of a workgroup run together or not at all.

use hsaco_isa::target::Limits;

use crate::facts::KernelFacts;
use crate::finding::{Findings, Severity};
use crate::question::Question;

pub(super) fn check(facts: &KernelFacts<'_, '_>, question: &Question<'_>, findings: &mut Findings) {
    let (Some(limits), Some(allocation)) = (question.register_limits, facts.allocation()) else {
        return;
    };
    let Some(on_simd) =
        limits.waves_with_vgprs(allocation.wave, allocation.vgprs).filter(|it| *it > 0)
    else {
        // `register-limit` and `wave-size` say why not even one fits.
        return;
    };
    let Some((severity, items, whose)) = workgroup(facts, question) else { return };
    if is_split(facts, limits) {
        return;
    }
    let simds = simds(limits, allocation.cu_mode);
    let lanes = u64::from(allocation.wave.lanes());
    let room = u64::from(on_simd * simds);
    let waves = items.div_ceil(lanes);
    if waves <= room {
        return;
    }
    let vgprs = allocation.vgprs;
    let message = format!(
        "{whose} of {items} work-items are {waves} waves, and {room} of them have room with \
         {vgprs} VGPRs each: {on_simd} on each of {simds} SIMDs"
    );
    let help = format!("use workgroups of {} at most, or fewer registers", room * lanes);
    let subject = facts.descriptor_field("granulated_workitem_vgpr_count");
    findings.exceeds(severity, subject, message, help, waves - room);
}

/// The work-items that a workgroup has, for certain or at most, and who says it.
fn workgroup(
    facts: &KernelFacts<'_, '_>,
    question: &Question<'_>,
) -> Option<(Severity, u64, &'static str)> {
    if let Some(items) = question.launch.work_items() {
        return Some((Severity::Error, items, "workgroups"));
    }
    let said = facts.said()?;
    let required =
        said.reqd_workgroup_size.map(|sizes| sizes.into_iter().fold(1, u64::saturating_mul));
    if let Some(items) = required.filter(|items| *items > 0) {
        return Some((Severity::Error, items, "the required workgroups"));
    }
    let most = said.max_flat_workgroup_size?;
    Some((Severity::Warning, most, "the largest declared workgroups"))
}

/// Whether the waves of a workgroup may run on several compute units.
fn is_split(facts: &KernelFacts<'_, '_>, limits: &Limits) -> bool {
    const TG_SPLIT: u32 = 1 << 16;
    limits.tgsplit && facts.descriptor().is_some_and(|it| it.compute_pgm_rsrc3 & TG_SPLIT != 0)
}

/// SIMDs that a workgroup's waves share.
fn simds(limits: &Limits, cu_mode: bool) -> u32 {
    if limits.wgp_mode && !cu_mode { limits.simds_per_cu * 2 } else { limits.simds_per_cu }
}
