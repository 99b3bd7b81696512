//! `undecodable-code`: words that the processor does not know as instructions.

use crate::facts::KernelFacts;
use crate::finding::{Findings, Subject};

pub(super) fn check(facts: &KernelFacts<'_, '_>, findings: &mut Findings) {
    let (Some(code), Some(processor)) = (facts.object.code(), facts.object.processor()) else {
        return;
    };
    let Some(bad) = facts.undecodable() else { return };
    let elf = facts.object.object.elf();
    let word = elf.at_address(bad.address, 4).and_then(|it| it.first_chunk()).copied();
    let word = u32::from_le_bytes(word.unwrap_or_default());
    let subject = Subject {
        address: Some(bad.address),
        field: Some(".text".into()),
        ..facts.subject().at(elf.file_offset(bad.address))
    };
    let function = code.name(bad.function);
    let message = format!(
        "{word:#010x} at {:#x} in {function} is no instruction of {processor}",
        bad.address
    );
    findings.error(
        subject,
        message,
        "assemble it for this processor; hsaco disasm shows what is around it",
    );
}
