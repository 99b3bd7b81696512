//! `entry-invalid`: the first instruction is not where it can run.

use crate::facts::{KernelFacts, Other};
use crate::finding::Findings;

/// The hardware takes addresses of programs without their lower eight bits.
const ALIGNMENT: u64 = 256;
const FIELD: &str = "kernel_code_entry_byte_offset";

pub(super) fn check(facts: &KernelFacts<'_, '_>, findings: &mut Findings) {
    if facts.descriptor().is_none() && facts.kernel.v2_header().is_none() {
        return;
    }
    let subject = || facts.descriptor_field(FIELD);
    let Some(entry) = described(facts) else {
        let message = "its entry is no address: it lies before the start of memory or past its end";
        return findings.error(subject(), message.to_owned(), "link it again");
    };
    let elf = facts.object.object.elf();
    let is_code = elf.loads().any(|load| {
        load.is_executable()
            && entry.checked_sub(load.address).is_some_and(|into| into < load.file_size)
    });
    if !is_code {
        let message = format!("its entry {entry:#x} is in no executable segment");
        findings.error(
            subject(),
            message,
            "link it again; the descriptor's field is relative to the descriptor",
        );
    } else if !entry.is_multiple_of(ALIGNMENT) {
        let message = format!(
            "its entry {entry:#x} is no multiple of {ALIGNMENT}: the hardware starts at {:#x}",
            entry & !0xff
        );
        findings.error(subject(), message, "align the code: .p2align 8");
    } else if let Some(named) = named_entry(facts).filter(|named| *named != entry) {
        let message =
            format!("its entry is {entry:#x}, and the function of its name is at {named:#x}");
        findings.warning(
            subject(),
            message,
            "the descriptor decides; see that it is of this kernel",
        );
    }
}

/// Where the descriptor says that code begins.
fn described(facts: &KernelFacts<'_, '_>) -> Option<u64> {
    let from = facts.kernel.descriptor_address()?;
    match (facts.descriptor(), facts.kernel.v2_header()) {
        (Some(descriptor), _) => descriptor.entry(from),
        (None, Some(header)) => header.entry(from),
        (None, None) => None,
    }
}

/// Where the function of the kernel's name is, if that is not the entry.
fn named_entry(facts: &KernelFacts<'_, '_>) -> Option<u64> {
    if facts.kernel.entry_section().is_some() {
        return None;
    }
    match facts.object.other(facts.kernel.name())? {
        Other::Function(address) => Some(address),
        Other::External | Other::Variable => None,
    }
}
