//! `metadata-descriptor-mismatch`: two statements of one number.

use crate::facts::KernelFacts;
use crate::finding::Findings;

pub(super) fn check(facts: &KernelFacts<'_, '_>, findings: &mut Findings) {
    let (Some(descriptor), Some(said)) = (facts.descriptor(), facts.said()) else { return };
    let numbers = [
        (
            "group_segment_fixed_size",
            Some(descriptor.group_segment_fixed_size),
            said.group_segment_fixed_size,
        ),
        (
            "private_segment_fixed_size",
            Some(descriptor.private_segment_fixed_size),
            said.private_segment_fixed_size,
        ),
        // Hand-written descriptors leave this at 0, which says nothing.
        ("kernarg_size", descriptor.kernarg_segment_size(), said.kernarg_segment_size),
        (
            "uses_dynamic_stack",
            Some(u32::from(descriptor.uses_dynamic_stack())),
            said.uses_dynamic_stack.map(u64::from),
        ),
    ];
    for (field, described, said) in numbers {
        let (Some(described), Some(said)) = (described, said) else { continue };
        if u64::from(described) != said {
            let message =
                format!("the descriptor says {field} {described}, and the metadata says {said}");
            let help =
                "the hardware goes by the descriptor, HIP by the metadata: make both say the same";
            findings.warning(facts.descriptor_field(field), message, help);
        }
    }
}
