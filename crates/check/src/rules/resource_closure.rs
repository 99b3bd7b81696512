//! `resource-closure`: a kernel and what it calls run with the registers that the kernel was given.

use hsaco_analysis::{Allocation, Resource};

use crate::code::{Code, Shortages};
use crate::facts::KernelFacts;
use crate::finding::{Findings, Severity};

pub(super) fn check(facts: &KernelFacts<'_, '_>, findings: &mut Findings) {
    let (Some(code), Some(allocation)) = (facts.object.code(), facts.allocation()) else { return };
    let Some(shortages) = facts.shortages() else { return };
    check_totals(facts, code, &allocation, shortages, findings);
    if let Some((overlap, route)) = &shortages.overlap {
        let by = code.names(route);
        let message = format!("{overlap} (in {by})");
        let help = format!(
            "if that is not on purpose, raise .amdhsa_accum_offset to {}",
            overlap.vgprs.next_multiple_of(4)
        );
        let excess = u64::from(overlap.vgprs - overlap.accum_offset);
        let subject = facts.descriptor_field("accum_offset");
        findings.exceeds(Severity::Warning, subject, message, help, excess);
    }
}

/// Whether as much is allocated as code uses.
fn check_totals(
    facts: &KernelFacts<'_, '_>,
    code: &Code<'_>,
    allocation: &Allocation,
    shortages: &Shortages,
    findings: &mut Findings,
) {
    for short in &shortages.short {
        let route = &short.way;
        let (severity, doubt) = match short.resource {
            // What the stack needs is worked out from how its pointer moves.
            Resource::Scratch => (Severity::Warning, ""),
            _ if code.is_called(route) => (Severity::Error, ""),
            _ => (Severity::Warning, ", if that is what an indirect call calls"),
        };
        let (what, allocated, needed) = (short.resource.name(), short.allocated, short.needed);
        let of_total = match (short.resource, allocation.accum_offset) {
            (Resource::Agprs, Some(first)) => {
                format!(" ({} in all, accum_offset is {first})", allocation.vgprs)
            }
            _ => String::new(),
        };
        let by = code.names(route);
        let message =
            format!("{what}: {allocated} allocated{of_total}, {needed} needed by {by}{doubt}");
        let (field, directive) = field(short.resource);
        let help = match route.len() {
            0 | 1 => format!("raise {directive} to what the code uses"),
            _ => format!("compile caller and callee together, or raise {directive}"),
        };
        let excess = u64::from(needed - allocated);
        findings.exceeds(severity, facts.descriptor_field(field), message, help, excess);
    }
}

/// The field of the descriptor that allocates a resource, and the directive that sets it.
fn field(resource: Resource) -> (&'static str, &'static str) {
    match resource {
        Resource::Vgprs | Resource::Agprs => {
            ("granulated_workitem_vgpr_count", ".amdhsa_next_free_vgpr")
        }
        Resource::Sgprs => ("granulated_wavefront_sgpr_count", ".amdhsa_next_free_sgpr"),
        Resource::Scratch => ("private_segment_fixed_size", ".amdhsa_private_segment_fixed_size"),
    }
}
