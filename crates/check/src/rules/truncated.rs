//! `truncated`: what the headers announce is not there.

use hsaco_bytes::{Error, ErrorKind};
use hsaco_container::Container;
use hsaco_elf::relocation::Encoding;
use hsaco_elf::{Elf, SHT_DYNSYM, SHT_NOTE, SHT_SYMTAB};

use crate::facts::Facts;
use crate::finding::{Findings, Severity, Subject};

const SHF_ALLOC: u64 = 2;
const SHT_STRTAB: u32 = 3;

pub(super) fn check(file: &Facts<'_>, findings: &mut Findings) {
    let is_short = |error: &&Error| error.kind() == ErrorKind::Truncated;
    let problems = match &file.object {
        Err(error) if Container::detect(file.bytes).is_some() => std::slice::from_ref(error),
        Err(_) => &[],
        Ok(facts) => facts.object.elf().problems(),
    };
    for problem in problems.iter().filter(is_short) {
        let subject = Subject::field(problem.context()).at(problem.offset());
        let severity = match file.object() {
            Some(object) if !is_needed(object.elf(), problem) => Severity::Warning,
            _ => Severity::Error,
        };
        let (message, help) = describe(problem);
        findings.add(severity, subject, message, help);
    }
}

pub(super) fn describe(error: &Error) -> (String, String) {
    let message = format!("the file ends too early: {}: {}", error.context(), error.detail());
    (message, "copy or download it again, and compare sizes".to_owned())
}

/// Loaders never look at sections that are neither in memory nor tables.
fn is_needed(elf: &Elf<'_>, problem: &Error) -> bool {
    if problem.context() != "section content" {
        return true;
    }
    let mut sections = elf.sections().iter().filter(|it| Some(it.offset) == problem.offset());
    let is_table = |kind| {
        [SHT_SYMTAB, SHT_DYNSYM, SHT_STRTAB, SHT_NOTE].contains(&kind)
            || Encoding::of_section(kind).is_some()
    };
    sections.any(|it| it.flags & SHF_ALLOC != 0 || is_table(it.kind))
}
