//! `metadata-invalid`: notes that cannot be read, that break LLVM's rules, or that are not there.

use hsaco_object::ErrorKind;
use hsaco_object::metadata::{Broken, Kernel, path_at, verify_at};
use hsaco_object::note::{NT_AMDGPU_METADATA, Note, OWNER_AMDGPU};

use crate::facts::ObjectFacts;
use crate::finding::{Findings, Severity, Subject};

const HELP: &str = "make the metadata again: compilers and .amdgpu_metadata write it";

pub(super) fn check(facts: &ObjectFacts<'_, '_>, findings: &mut Findings) {
    for note in facts.object.notes() {
        match note {
            Ok(note) if note.is(OWNER_AMDGPU, NT_AMDGPU_METADATA) => {
                check_note(facts, &note, findings)
            }
            Ok(_) => {}
            Err(error) => {
                let subject = Subject::field(".note").at(error.offset());
                let message = format!("a note cannot be read: {}", error.detail());
                findings.error(subject, message, HELP);
            }
        }
    }
    check_merged(facts, findings);
}

/// One document: that it can be read, then that it keeps the rules.
fn check_note(facts: &ObjectFacts<'_, '_>, note: &Note<'_>, findings: &mut Findings) {
    let (severity, broken, what) = match verify_at(note.desc, note.desc_offset) {
        Ok(None) => return,
        Ok(Some(broken)) => (Severity::Warning, broken, "breaks LLVM's rules"),
        Err(error) => (Severity::Error, Broken { error, missing: None }, "cannot be read"),
    };
    let message = format!("the metadata {what}: {}", broken.error.detail());
    findings.add(severity, subject(facts, note, &broken), message, HELP.to_owned());
}

/// The key that is wrong or missing, and the kernel whose it is.
fn subject(facts: &ObjectFacts<'_, '_>, note: &Note<'_>, broken: &Broken) -> Subject {
    let path = |offset| path_at(note.desc, note.desc_offset, offset);
    let offset = broken.error.offset().unwrap_or(note.desc_offset);
    let field = path(offset).unwrap_or_default() + broken.missing.unwrap_or_default();
    if field.is_empty() {
        return Subject::field(".note").at(offset);
    }
    let kernels = facts.index.metadata().kernels();
    let before = kernels.partition_point(|it| it.offset() <= offset).checked_sub(1);
    let is_inside = |it: &&Kernel<'_>| path(it.offset()).is_some_and(|map| field.starts_with(&map));
    let kernel = before.and_then(|at| kernels.get(at)).filter(is_inside);
    let kernel = kernel.map(|it| it.base_name().to_string());
    Subject { kernel, ..Subject::field(field).at(offset) }
}

/// What is wrong with all notes together, and with none.
fn check_merged(facts: &ObjectFacts<'_, '_>, findings: &mut Findings) {
    let metadata = facts.index.metadata();
    for problem in metadata.problems().iter().filter(|it| it.kind() == ErrorKind::Mismatch) {
        let subject = Subject::field("amdhsa.version").at(problem.offset());
        findings.warning(subject, format!("notes disagree: {}", problem.detail()), HELP);
    }
    let kernels = facts.index.kernels();
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
