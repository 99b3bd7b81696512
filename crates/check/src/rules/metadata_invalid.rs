//! `metadata-invalid`: notes that cannot be read, that break LLVM's rules, or that are not there.

use hsaco_bytes::{Error, ErrorKind};
use hsaco_elf::note::Note;
use hsaco_object::metadata::{Broken, Kernel, path_at};

use crate::facts::{BrokenNote, KernelFacts, ObjectFacts};
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
            // What cannot be read is told as that.
            BrokenNote::Rules(_, Broken { error, .. }) if is_unread(facts, error) => {}
            BrokenNote::Rules(note, Broken { error, missing }) => {
                let message = format!("the metadata breaks LLVM's rules: {}", error.detail());
                let subject = subject(facts, note, error, missing.unwrap_or_default());
                findings.warning(subject, message, HELP);
            }
        }
    }
    for kernel in facts.kernels() {
        check_kernel(&kernel, findings);
    }
    check_merged(facts, findings);
}

/// Whether an error is why what is said of a kernel cannot be read.
fn is_unread(facts: &ObjectFacts<'_>, error: &Error) -> bool {
    facts.kernels().filter_map(|it| it.unsaid()).any(|it| it.offset() == error.offset())
}

/// What is said of a kernel and cannot be read: launching it, or packing its arguments, is refused.
fn check_kernel(facts: &KernelFacts<'_, '_>, findings: &mut Findings) {
    let (Some(error), Some(said)) = (facts.unsaid(), facts.kernel.metadata()) else { return };
    let key = error.offset().and_then(|it| path_at(said.bytes(), said.offset(), it));
    let subject = Subject {
        kernel: Some(facts.kernel.name().to_string()),
        ..Subject::field(said.path() + &key.unwrap_or_default()).at(error.offset())
    };
    let message = format!("what the metadata says of it cannot be read: {}", error.detail());
    findings.error(subject, message, HELP);
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
