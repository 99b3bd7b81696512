//! `workgroup-limit`: workgroups of a size that the device or the kernel does not allow.

use crate::facts::KernelFacts;
use crate::finding::{Findings, Severity};
use crate::question::Question;

pub(super) fn check(facts: &KernelFacts<'_, '_>, question: &Question<'_>, findings: &mut Findings) {
    let Some(device) = question.device else { return };
    let limit = u64::from(device.limits.max_workgroup);
    check_declared(facts, limit, findings);
    check_launch(facts, question, limit, findings);
}

/// What the metadata say of every launch.
fn check_declared(facts: &KernelFacts<'_, '_>, limit: u64, findings: &mut Findings) {
    let Some(said) = facts.said() else { return };
    let most = said.max_flat_workgroup_size;
    if let Some(most) = most.filter(|most| *most > limit) {
        let message = format!(
            "declares workgroups of up to {most} work-items, and devices run {limit} at most"
        );
        let subject = facts.metadata_field(".max_flat_workgroup_size");
        findings.exceeds(
            Severity::Warning,
            subject,
            message,
            "lower __launch_bounds__",
            most - limit,
        );
    }
    let Some(required) =
        said.reqd_workgroup_size.filter(|sizes| sizes.iter().all(|size| *size > 0))
    else {
        return;
    };
    let items = required.into_iter().fold(1, u64::saturating_mul);
    let subject = || facts.metadata_field(".reqd_workgroup_size");
    let shown = shown(required);
    if items > limit {
        let message = format!(
            "requires workgroups of {shown}, {items} work-items, and devices run {limit} at most"
        );
        findings.exceeds(
            Severity::Error,
            subject(),
            message,
            "require a smaller workgroup",
            items - limit,
        );
    } else if let Some(most) = most.filter(|most| items > *most) {
        let message = format!(
            "requires workgroups of {shown}, {items} work-items, and declares {most} at most"
        );
        findings.exceeds(
            Severity::Warning,
            subject(),
            message,
            "make .max_flat_workgroup_size as large",
            items - most,
        );
    }
}

/// What is known of this launch.
fn check_launch(
    facts: &KernelFacts<'_, '_>,
    question: &Question<'_>,
    limit: u64,
    findings: &mut Findings,
) {
    let launch = question.launch;
    let (Some(sizes), Some(items)) = (launch.workgroup, launch.work_items()) else { return };
    let sizes = sizes.map(u64::from);
    let shown = shown(sizes);
    let said = facts.said();
    let most = said.and_then(|it| it.max_flat_workgroup_size);
    let required =
        said.and_then(|it| it.reqd_workgroup_size).filter(|it| it.iter().all(|size| *size > 0));
    if sizes.contains(&0) {
        let message = format!("launched with workgroups of {shown}: a dimension is 0");
        findings.error(
            facts.absent_field("workgroup_size"),
            message,
            "use 1 for dimensions that are not used",
        );
    } else if items > limit || sizes.iter().any(|size| *size > limit) {
        let message = format!(
            "launched with workgroups of {shown}, {items} work-items, and devices run {limit} at \
             most"
        );
        findings.error(
            facts.absent_field("workgroup_size"),
            message,
            "launch more, smaller workgroups",
        );
    } else if let Some(most) = most.filter(|most| items > *most) {
        let message = format!(
            "launched with workgroups of {shown}, {items} work-items, and compiled for {most} at \
             most"
        );
        let help = "launch smaller workgroups, or compile with larger __launch_bounds__";
        findings.error(facts.metadata_field(".max_flat_workgroup_size"), message, help);
    } else if let Some(required) = required.filter(|required| *required != sizes) {
        let message = format!(
            "launched with workgroups of {shown}, and compiled for {} only",
            self::shown(required)
        );
        findings.error(facts.metadata_field(".reqd_workgroup_size"), message, "launch that size");
    }
}

fn shown(sizes: [u64; 3]) -> String {
    sizes.map(|size| size.to_string()).join("x")
}
