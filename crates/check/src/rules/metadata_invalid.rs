//! `metadata-invalid`: notes that cannot be read, that break LLVM's rules, or that are not there.

use hsaco_bytes::{Error, ErrorKind};
use hsaco_elf::note::Note;
use hsaco_object::metadata::{Broken, Kernel, path_at};

use crate::facts::{BrokenNote, ObjectFacts};
use crate::finding::{Findings, Subject};

const HELP: &str = "make the metadata again: compilers and .amdgpu_metadata write it";

pub(super) fn check(facts: &ObjectFacts<'_>, findings: &mut Findings) {
    for broken in facts.broken_notes() {
        match broken {
            BrokenNote::Note(error) => {
                let subject = Subject::field(".note").at(error.offset());
                let message = format!("a note cannot be read: {}", error.detail());
                findings.error(subject, message, HELP);
            }
            BrokenNote::Metadata(note, error) => {
                let message = format!("the metadata cannot be read: {}", error.detail());
                findings.error(subject(facts, note, error, ""), message, HELP);
            }
            BrokenNote::Rules(note, Broken { error, missing }) => {
                let message = format!("the metadata breaks LLVM's rules: {}", error.detail());
                let subject = subject(facts, note, error, missing.unwrap_or_default());
                findings.warning(subject, message, HELP);
            }
        }
    }
    check_merged(facts, findings);
}

/// The key that is wrong or missing, and the kernel whose it is.
fn subject(facts: &ObjectFacts<'_>, note: &Note<'_>, error: &Error, missing: &str) -> Subject {
    let path = |offset| path_at(note.desc, note.desc_offset, offset);
    let offset = error.offset().unwrap_or(note.desc_offset);
    let field = path(offset).unwrap_or_default() + missing;
    if field.is_empty() {
        return Subject::field(".note").at(offset);
    }
    let kernels = facts.index().metadata().kernels();
    let before = kernels.partition_point(|it| it.offset() <= offset).checked_sub(1);
    let is_inside = |it: &&Kernel<'_>| path(it.offset()).is_some_and(|map| field.starts_with(&map));
    let kernel = before.and_then(|at| kernels.get(at)).filter(is_inside);
    let kernel = kernel.map(|it| it.base_name().to_string());
    Subject { kernel, ..Subject::field(field).at(offset) }
}

/// What is wrong with all notes together, and with none.
fn check_merged(facts: &ObjectFacts<'_>, findings: &mut Findings) {
    let metadata = facts.index().metadata();
    for problem in metadata.problems().iter().filter(|it| it.kind() == ErrorKind::Mismatch) {
        let subject = Subject::field("amdhsa.version").at(problem.offset());
        findings.warning(subject, format!("notes disagree: {}", problem.detail()), HELP);
    }
    let kernels = facts.index().kernels();
    let unsaid = kernels.iter().filter(|kernel| kernel.metadata().is_none()).count();
    let is_broken = findings.found.iter().any(|it| it.rule == findings.rule);
    if unsaid == 0 || is_broken || facts.object.is_v2() {
        return;
    }
    let subject = match (metadata.documents(), kernels.iter().find(|it| it.metadata().is_none())) {
        (1.., Some(kernel)) => {
            Subject { kernel: Some(kernel.name().to_string()), ..Subject::field("amdhsa.kernels") }
        }
        _ => Subject::field("amdhsa.kernels"),
    };
    let message = match metadata.documents() {
        0 => format!("no metadata note, and {unsaid} kernels: HIP finds none of them"),
        _ => format!(
            "{unsaid} of {} kernels are not in the metadata: HIP does not find them",
            kernels.len()
        ),
    };
    findings.warning(subject, message, HELP);
}
