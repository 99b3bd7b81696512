//! `user-sgprs`: what the launch puts into scalar registers, and how many it says it does.

use hsaco_object::descriptor::KernelDescriptor;

use crate::facts::KernelFacts;
use crate::finding::{Findings, Severity};
use crate::question::Question;

/// Registers that each bit of the properties stands for, lowest bit first.
const WIDTHS: [u32; 7] = [4, 2, 2, 2, 2, 2, 1];
const FIELD: &str = "user_sgpr_count";

pub(super) fn check(facts: &KernelFacts<'_, '_>, question: &Question<'_>, findings: &mut Findings) {
    let Some((descriptor, generation)) = facts.described() else { return };
    let Some(limits) = question.register_limits else { return };
    let count = descriptor.user_sgprs(generation);
    let preloaded = match limits.kernarg_preload {
        true => u32::from(descriptor.kernarg_preload_length()),
        // `reserved-bits` says that there is none.
        false => 0,
    };
    let enabled = enabled(descriptor);
    let (total, most) = (enabled + preloaded, limits.max_user_sgprs);
    if count <= most && total <= count {
        return;
    }
    let sum = match preloaded {
        0 => format!("{enabled} are enabled"),
        _ => format!("{enabled} are enabled and {preloaded} preloaded"),
    };
    let subject = facts.descriptor_field(FIELD);
    let help = "let the assembler count: leave out .amdhsa_user_sgpr_count";
    if count > most {
        let message = format!("{count} user SGPRs, and the hardware fills {most} at most ({sum})");
        findings.exceeds(Severity::Error, subject, message, help, u64::from(count - most));
    } else {
        let message = format!("{count} user SGPRs, and {sum}: {} are not filled in", total - count);
        findings.exceeds(Severity::Error, subject, message, help, u64::from(total - count));
    }
}

/// Registers that the properties ask for.
fn enabled(descriptor: KernelDescriptor) -> u32 {
    let properties = descriptor.kernel_code_properties;
    let widths = WIDTHS.iter().enumerate().filter(|(bit, _)| properties >> bit & 1 == 1);
    widths.map(|(_, width)| width).sum()
}
