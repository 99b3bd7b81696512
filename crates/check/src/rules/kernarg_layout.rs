//! `kernarg-layout`: where arguments are said to be.

use hsaco_object::metadata::{Argument, ValueKind};

use crate::facts::KernelFacts;
use crate::finding::Findings;

/// The largest alignment that runtimes give the segment.
const MAX_ALIGNMENT: u64 = 64;

pub(super) fn check(facts: &KernelFacts<'_, '_>, findings: &mut Findings) {
    let Some(said) = facts.said() else { return };
    if let Some(align) =
        said.kernarg_segment_align.filter(|it| !it.is_power_of_two() || *it > MAX_ALIGNMENT)
    {
        let message = format!(
            "the segment is to be aligned to {align}, and powers of two up to {MAX_ALIGNMENT} are \
             possible"
        );
        findings.warning(facts.metadata_field(".kernarg_segment_align"), message, "use 16");
    }
    let mut end = 0_u64;
    for (number, argument) in facts.arguments().iter().enumerate() {
        if findings.is_full() {
            return;
        }
        check_place(facts, number, argument, end, findings);
        check_kind(facts, number, argument, findings);
        end = end.max(argument.offset.saturating_add(argument.size));
    }
    if let Some(size) = said.kernarg_segment_size.filter(|size| end > *size) {
        let message = format!(
            "the arguments end at {end}, and the segment has {size} bytes: {} too few",
            end - size
        );
        let help = format!("allocate {end} bytes, or correct .kernarg_segment_size");
        findings.warning(facts.metadata_field(".kernarg_segment_size"), message, help);
    }
}

/// Arguments stand one after the other.
fn check_place(
    facts: &KernelFacts<'_, '_>,
    number: usize,
    argument: &Argument<'_>,
    end: u64,
    findings: &mut Findings,
) {
    let Argument { offset, size, .. } = *argument;
    if offset < end && size > 0 {
        let message = format!("argument {number} is at {offset}, and those before it end at {end}");
        findings.warning(
            facts.argument_field(number, argument, ".offset"),
            message,
            "compile it again, or correct the offsets",
        );
    }
    if argument.value_kind == ValueKind::GlobalBuffer && (size != 8 || !offset.is_multiple_of(8)) {
        let message = format!(
            "argument {number} is a pointer of {size} bytes at {offset}, and pointers have 8 at a \
             multiple of 8"
        );
        findings.warning(
            facts.argument_field(number, argument, ".offset"),
            message,
            "compile it again, or correct .offset and .size",
        );
    }
}

/// Kinds that are known, of the size that they have.
fn check_kind(
    facts: &KernelFacts<'_, '_>,
    number: usize,
    argument: &Argument<'_>,
    findings: &mut Findings,
) {
    let kind = argument.value_kind;
    if let ValueKind::Other(name) = kind {
        let message =
            format!("argument {number} is of the unknown kind '{name}': no runtime fills it in");
        findings.note(
            facts.argument_field(number, argument, ".value_kind"),
            message,
            "pass its bytes yourself",
        );
    } else if let ValueKind::Hidden(hidden) = kind
        && let Some(size) = hidden.size().filter(|size| u64::from(*size) != argument.size)
    {
        let message = format!(
            "argument {number}, {}, has {} bytes, and runtimes write {size}",
            kind.name(),
            argument.size
        );
        findings.warning(
            facts.argument_field(number, argument, ".size"),
            message,
            "compile it again, or correct .size",
        );
    }
}
