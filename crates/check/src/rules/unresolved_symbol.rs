//! `unresolved-symbol`: a place that waits for an address that is never given.

use hsaco_elf::symbol::SymbolTable;

use crate::facts::ObjectFacts;
use crate::finding::{Findings, Subject};

/// `R_AMDGPU_RELATIVE64`, which has no symbol.
const RELATIVE64: u32 = 13;

pub(super) fn check(facts: &ObjectFacts<'_>, findings: &mut Findings) {
    let elf = facts.object.elf();
    let (relocations, _) = facts.relocations();
    let mut dynamic = relocations.iter().filter(|it| it.section.is_none()).peekable();
    if dynamic.peek().is_none() {
        return;
    }
    let Ok(Some(symbols)) = SymbolTable::find_dynamic(elf) else { return };
    let mut told = std::collections::BTreeSet::new();
    for relocation in dynamic.filter(|it| it.kind.0 != RELATIVE64 && it.symbol != 0) {
        let Ok(symbol) = symbols.symbol(relocation.symbol) else { continue };
        if symbol.is_defined() || !told.insert(relocation.symbol) {
            continue;
        }
        let (name, kind, addend) = (symbol.name, relocation.kind, relocation.addend);
        let silent = match addend {
            0 => String::new(),
            addend => {
                format!(" + {addend}, which ROCr accepts and turns into the address {addend:#x}")
            }
        };
        let message = format!(
            "'{name}' is not defined, and {kind} at {:#x} needs it{silent}",
            relocation.offset
        );
        let subject = Subject::field(name.to_string()).at(elf.file_offset(relocation.offset));
        let help = "link the object that defines it, or load that one first";
        findings.error(subject, message, help);
    }
}
