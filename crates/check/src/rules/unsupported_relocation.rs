//! `unsupported-relocation`: what the loader would have to patch and does not.

use std::collections::BTreeMap;

use hsaco_elf::relocation::{Encoding, Relocation};
use hsaco_elf::symbol::{STT_AMDGPU_HSA_KERNEL, STT_FUNC, STT_NOTYPE, STT_OBJECT, SymbolTable};

use crate::facts::ObjectFacts;
use crate::finding::{Findings, Subject};

/// What ROCr applies: ABS32_LO, ABS32_HI, ABS64, ABS32, RELATIVE64.
const APPLIED: [u32; 5] = [1, 2, 3, 6, 13];
const RELATIVE64: u32 = 13;

pub(super) fn check(facts: &ObjectFacts<'_>, findings: &mut Findings) {
    let elf = facts.object.elf();
    let (relocations, problems) = facts.relocations();
    for problem in problems {
        let subject = Subject::field("relocations").at(problem.offset());
        findings.error(subject, problem.detail().to_owned(), "link it again");
    }
    check_tables(relocations, findings);
    let symbols = SymbolTable::find_dynamic(elf).ok().flatten();
    for relocation in relocations.iter().filter(|it| it.section.is_none()) {
        let place = relocation.offset;
        let kind = relocation.kind;
        let subject = || Subject::field(kind.to_string()).at(elf.file_offset(place));
        let is_loaded = elf.loads().any(|load| {
            place.checked_sub(load.address).is_some_and(|into| into < load.memory_size)
        });
        if !APPLIED.contains(&kind.0) {
            let message = format!(
                "{kind} at {place:#x}, and the loader applies ABS32, ABS64 and RELATIVE64 only"
            );
            findings.error(
                subject(),
                message,
                "link it with ld.lld -shared, without options that keep such relocations",
            );
        } else if !is_loaded {
            let message = format!("{kind} at {place:#x}, which is in no loaded segment");
            findings.error(subject(), message, "link it again");
        } else if kind.0 != RELATIVE64
            && let Some(Ok(symbol)) = symbols.map(|it| it.symbol(relocation.symbol))
            && ![STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_AMDGPU_HSA_KERNEL].contains(&symbol.kind)
        {
            let message = format!(
                "{kind} at {place:#x} for a symbol of type {}, which the loader refuses",
                symbol.kind
            );
            findings.error(subject(), message, "refer to data or functions");
        }
    }
}

/// ROCr reads sections of type RELA and no other (`GElfImage::pullElf` of `amd_elf_image.cpp`).
fn check_tables(relocations: &[Relocation<'_>], findings: &mut Findings) {
    let mut unread: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    let dynamic = relocations.iter().filter(|it| it.section.is_none());
    for relocation in dynamic.filter(|it| it.encoding != Encoding::Rela) {
        unread.entry(relocation.encoding.name()).or_insert((0, relocation.offset)).0 += 1;
    }
    for (table, (count, first)) in unread {
        let message = format!(
            "{count} relocations, the first at {first:#x}, are in a {table} table, and the loader \
             reads RELA only"
        );
        let help = "link it without --pack-dyn-relocs and -z rel";
        findings.error(Subject::field(table), message, help);
    }
}
