//! `resource-closure`: what a kernel calls runs with the registers that the kernel was given.

use hsaco_analysis::Resource;

use crate::facts::KernelFacts;
use crate::finding::{Findings, Severity};

pub(super) fn check(facts: &KernelFacts<'_, '_>, findings: &mut Findings) {
    let (Some(code), Some(allocation)) = (facts.object.code(), facts.allocation) else { return };
    let Some(needs) = code.needs(facts.kernel, allocation.wave) else { return };
    for short in allocation.shortages(&needs) {
        let route = &needs.of(short.resource).route;
        let (severity, doubt) = match short.resource {
            // What the stack needs is worked out from how its pointer moves.
            Resource::Scratch => (Severity::Warning, ""),
            _ if code.is_called(route) => (Severity::Error, ""),
            _ => (Severity::Warning, ", if that is what an indirect call calls"),
        };
        let (what, allocated, needed) = (short.resource.name(), short.allocated, short.needed);
        let by = code.names(route);
        let message = format!("{what}: {allocated} allocated, {needed} needed by {by}{doubt}");
        let help = "compile caller and callee together, or raise what the descriptor allocates";
        findings.add(severity, facts.descriptor_field(field(short.resource)), message, help.to_owned());
    }
}

fn field(resource: Resource) -> &'static str {
    match resource {
        Resource::Vgprs => "granulated_workitem_vgpr_count",
        Resource::Agprs => "accum_offset",
        Resource::Sgprs => "granulated_wavefront_sgpr_count",
        Resource::Scratch => "private_segment_fixed_size",
    }
}
