//! `scratch-needed`: memory that the dispatch has to provide.

use crate::facts::KernelFacts;
use crate::finding::{Findings, Severity};

pub(super) fn check(facts: &KernelFacts<'_, '_>, findings: &mut Findings) {
    let Some(allocation) = facts.allocation() else { return };
    let fixed = allocation.scratch;
    let subject = || facts.descriptor_field("private_segment_fixed_size");
    if allocation.has_dynamic_stack {
        let message = format!(
            "needs {fixed} bytes of scratch for each work-item, and a stack whose depth only run \
             time knows"
        );
        let help = "set private_segment_size in the packet, hipDeviceSetLimit(hipLimitStackSize, …) in HIP";
        findings.exceeds(Severity::Note, subject(), message, help, fixed.into());
    } else if fixed > 0 {
        let message = format!("needs {fixed} bytes of scratch for each work-item");
        let help = "set private_segment_size in the dispatch packet";
        findings.exceeds(Severity::Note, subject(), message, help, fixed.into());
    }
}
