//! `no-symbol-table`: kernels are there, and the loader does not see them.

use hsaco_elf::{SHT_DYNSYM, SHT_SYMTAB};

use crate::facts::ObjectFacts;
use crate::finding::{Findings, Subject};

pub(super) fn check(facts: &ObjectFacts<'_>, findings: &mut Findings) {
    let sections = facts.object.elf().sections();
    let has = |kind| sections.iter().any(|section| section.kind == kind);
    if sections.is_empty() || has(SHT_SYMTAB) || facts.index().kernels().is_empty() {
        return;
    }
    let kernels = facts.index().kernels().len();
    let left = if has(SHT_DYNSYM) { ", only .dynsym" } else { "" };
    let message = format!(
        "no .symtab{left}: ROCr lists no symbols of this object, and {kernels} kernels are in it"
    );
    let help = "do not strip it, or set LOADER_USE_DYNSYM=1 where it is loaded";
    findings.warning(Subject::field(".symtab"), message, help);
}
