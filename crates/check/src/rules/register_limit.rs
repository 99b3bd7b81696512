//! `register-limit`: more registers than a wave can have, or fewer than it was compiled for.
//!
//! Where metadata announce more than the descriptor allocates, the code decides which of them is wrong: the one case
//! in which a rule that needs no code looks at some.

use hsaco_analysis::{Resource, Shortage};
use hsaco_isa::target::{AccVgprs, Limits};

use crate::facts::KernelFacts;
use crate::finding::{Findings, Severity};
use crate::question::Question;

/// Scalar registers besides the numbered ones, which counts include: VCC, FLAT_SCRATCH, XNACK_MASK.
const SPECIAL_SGPRS: u32 = 6;
/// Scalar registers are allocated in blocks of so many, or of half as many.
const SGPR_GRANULE: u32 = 16;

pub(super) fn check(facts: &KernelFacts<'_, '_>, question: &Question<'_>, findings: &mut Findings) {
    let Some(limits) = question.register_limits else { return };
    check_limits(facts, question, limits, findings);
    check_allocated(facts, findings);
    check_accum_offset(facts, findings);
}

/// Whether the device has as many.
fn check_limits(
    facts: &KernelFacts<'_, '_>,
    question: &Question<'_>,
    limits: &Limits,
    findings: &mut Findings,
) {
    let device = question.device.map_or("", |it| &it.name);
    let allocated = facts.allocation().map(|it| u64::from(it.vgprs));
    let said = facts.said();
    let vgprs = said.and_then(|it| it.vgpr_count);
    let most = u64::from(limits.max_vgprs);
    let too_many = |count: u64, what: &str| {
        format!(
            "{what} {count} VGPRs, and a wave on {device} has {most} at most: {} too many",
            count - most
        )
    };
    let help = "compile with fewer registers: __launch_bounds__, or .amdhsa_next_free_vgpr";
    if let Some(count) = allocated.filter(|count| *count > most) {
        let subject = facts.descriptor_field("granulated_workitem_vgpr_count");
        findings.exceeds(
            Severity::Error,
            subject,
            too_many(count, "allocates"),
            help,
            count - most,
        );
    } else if let Some(count) = vgprs.filter(|count| *count > most) {
        let subject = facts.metadata_field(".vgpr_count");
        findings.exceeds(Severity::Error, subject, too_many(count, "declares"), help, count - most);
    }
    let agprs = said.and_then(|it| it.agpr_count);
    let most = match limits.acc_vgprs {
        AccVgprs::None => 0,
        AccVgprs::Separate => u64::from(limits.max_vgprs),
        AccVgprs::Unified => u64::from(limits.max_vgprs) / 2,
    };
    if let Some(count) = agprs.filter(|count| *count > most) {
        let message = format!("declares {count} AGPRs, and a wave on {device} has {most} at most");
        let subject = facts.metadata_field(".agpr_count");
        findings.exceeds(
            Severity::Warning,
            subject,
            message,
            "compile it for this processor",
            count - most,
        );
    }
    check_sgprs(facts, question, limits, findings);
}

/// Whether the hardware can allocate as many scalar registers as the descriptor says. It does not read the metadata's
/// count, and where every wave has all of them, nor the descriptor's.
fn check_sgprs(
    facts: &KernelFacts<'_, '_>,
    question: &Question<'_>,
    limits: &Limits,
    findings: &mut Findings,
) {
    let device = question.device.map_or("", |it| &it.name);
    let most = (limits.max_sgprs + SPECIAL_SGPRS).next_multiple_of(SGPR_GRANULE);
    let allocated = facts.allocation().and_then(|it| it.sgprs);
    if let Some(count) = allocated.filter(|count| *count > most) {
        let message = format!(
            "allocates {count} SGPRs, and a wave on {device} has {most} at most, special ones \
             included"
        );
        let subject = facts.descriptor_field("granulated_wavefront_sgpr_count");
        findings.exceeds(
            Severity::Warning,
            subject,
            message,
            "lower .amdhsa_next_free_sgpr",
            u64::from(count - most),
        );
    }
}

/// Whether the descriptor allocates what the metadata announce; if not, whether the code needs it.
fn check_allocated(facts: &KernelFacts<'_, '_>, findings: &mut Findings) {
    let (Some(allocation), Some(said)) = (facts.allocation(), facts.said()) else { return };
    let Some(declared) = said.vgpr_count.filter(|count| *count > u64::from(allocation.vgprs))
    else {
        return;
    };
    let mut short = facts.shortages().into_iter().flat_map(|it| &it.short);
    let short = short.find(|short| is_vector(short));
    let allocated = allocation.vgprs;
    let subject = facts.descriptor_field("granulated_workitem_vgpr_count");
    let message =
        format!("the descriptor allocates {allocated} VGPRs, and the metadata declares {declared}");
    match short {
        Some(short) => {
            let message =
                format!("{message}; the code uses {} {}", short.needed, short.resource.name());
            let excess = u64::from(short.needed - short.allocated);
            findings.exceeds(
                Severity::Error,
                subject,
                message,
                "raise .amdhsa_next_free_vgpr",
                excess,
            );
        }
        None => {
            let excess = declared - u64::from(allocated);
            findings.exceeds(
                Severity::Warning,
                subject,
                message,
                "let the compiler write both",
                excess,
            );
        }
    }
}

fn is_vector(short: &Shortage) -> bool {
    matches!(short.resource, Resource::Vgprs | Resource::Agprs)
}

/// Accumulation registers begin within what is allocated.
fn check_accum_offset(facts: &KernelFacts<'_, '_>, findings: &mut Findings) {
    let Some((descriptor, generation)) = facts.described() else { return };
    let Some(first) = descriptor.accum_offset(generation) else { return };
    let allocated = descriptor.vgprs(generation);
    // The field counts in fours, the allocation in eights, so that an offset ends within the last eight at most.
    if first > allocated {
        let message =
            format!("AGPRs begin at register {first}, and {allocated} VGPRs are allocated");
        findings.warning(
            facts.descriptor_field("accum_offset"),
            message,
            "lower .amdhsa_accum_offset",
        );
    }
}
