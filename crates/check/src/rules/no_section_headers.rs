//! `no-section-headers`: nothing but segments.

use crate::facts::ObjectFacts;
use crate::finding::{Findings, Subject};

pub(super) fn check(facts: &ObjectFacts<'_>, findings: &mut Findings) {
    if !facts.object.elf().sections().is_empty() {
        return;
    }
    let message = "no section headers, and the loader finds symbols and relocations by them";
    let help = "keep section headers: llvm-strip without --strip-sections";
    findings.error(Subject::field("e_shnum").at(60), message.to_owned(), help);
}
