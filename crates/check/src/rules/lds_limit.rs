//! `lds-limit`: more LDS than a workgroup can have.

use crate::facts::KernelFacts;
use crate::finding::{Findings, Severity};
use crate::question::Question;

pub(super) fn check(facts: &KernelFacts<'_, '_>, question: &Question<'_>, findings: &mut Findings) {
    let Some(device) = question.device else { return };
    let limit = u64::from(device.limits.lds_bytes);
    let dynamic = question.launch.dynamic_lds;
    let described = facts.allocation().map(|it| u64::from(it.lds));
    let said = facts.said().and_then(|it| it.group_segment_fixed_size);
    let Some(fixed) = described.max(said) else { return };
    let needed = fixed.saturating_add(dynamic);
    if needed <= limit {
        return;
    }
    let subject = match described == Some(fixed) {
        true => facts.descriptor_field("group_segment_fixed_size"),
        false => facts.metadata_field(".group_segment_fixed_size"),
    };
    let sum = if dynamic == 0 {
        String::new()
    } else {
        format!(" ({fixed} of its own and {dynamic} of the launch)")
    };
    let made_for = facts.object.target.map(|target| target.processor);
    let own = made_for.filter(|it| *it != device.target.processor);
    let own = own.map_or_else(String::new, |it| {
        format!("; {it}, which it is compiled for, has {}", it.limits().lds_bytes)
    });
    let message = format!(
        "needs {needed} bytes of LDS{sum}, and a workgroup on {} has {limit}: {} too many{own}",
        device.name,
        needed - limit
    );
    findings.exceeds(
        Severity::Error,
        subject,
        message,
        "use smaller tiles, or another device",
        needed - limit,
    );
}
