//! `descriptor-missing`: a kernel that the loader cannot find.

use crate::facts::{KernelFacts, Other};
use crate::finding::Findings;

/// Bytes and alignment of a descriptor.
const SIZE: u64 = 64;

pub(super) fn check(facts: &KernelFacts<'_, '_>, findings: &mut Findings) {
    let Some(symbol) = facts.kernel.descriptor_symbol() else {
        return check_absent(facts, findings);
    };
    if facts.kernel.v2_header().is_some() {
        return;
    }
    let subject = || facts.subject();
    let (name, address) = (symbol.name, symbol.value);
    if facts.descriptor().is_none() {
        let message = format!(
            "its descriptor {name} is at {address:#x}, of which the loaded segments do not hold \
             {SIZE} bytes"
        );
        findings.error(subject(), message, "link it again");
    } else if !address.is_multiple_of(SIZE) {
        let message =
            format!("its descriptor {name} is at {address:#x}, which is no multiple of {SIZE}");
        findings.error(subject(), message, "align it: .p2align 6");
    } else if symbol.size != SIZE {
        let message = format!(
            "its descriptor {name} has size {}, and descriptors have {SIZE} bytes",
            symbol.size
        );
        findings.warning(subject(), message, "let .amdhsa_kernel write it, or set .size");
    }
}

/// No symbol: perhaps one of that name is something else.
fn check_absent(facts: &KernelFacts<'_, '_>, findings: &mut Findings) {
    let Some(metadata) = facts.kernel.metadata() else { return };
    let wanted = match metadata.symbol() {
        Some(symbol) => symbol.to_string(),
        None => format!("{}.kd", metadata.name()),
    };
    let instead = match facts.object.other(wanted.as_str().into()) {
        Some(Other::Function(_)) => "is a function, and should be data",
        Some(Other::External) => "is not defined",
        Some(Other::Variable) => "is data of another size than 64 bytes",
        None => "is not in the symbol table",
    };
    let message = format!("its descriptor {wanted} {instead}");
    findings.error(
        facts.metadata_field(".symbol"),
        message,
        "let .amdhsa_kernel write it, and keep the symbol when stripping",
    );
}
