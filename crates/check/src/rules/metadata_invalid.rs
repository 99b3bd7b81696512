//! `metadata-invalid`: notes that cannot be read, that break LLVM's rules, or that are not there.

use hsaco_object::metadata::{path_at, verify_at};
use hsaco_object::note::{NT_AMDGPU_METADATA, Note, OWNER_AMDGPU};
use hsaco_object::{Error, ErrorKind};

use crate::facts::ObjectFacts;
use crate::finding::{Findings, Severity, Subject};

const HELP: &str = "make the metadata again: compilers and .amdgpu_metadata write it";

pub(super) fn check(facts: &ObjectFacts<'_, '_>, findings: &mut Findings) {
    for note in facts.object.notes() {
        match note {
            Ok(note) if note.is(OWNER_AMDGPU, NT_AMDGPU_METADATA) => check_note(&note, findings),
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
fn check_note(note: &Note<'_>, findings: &mut Findings) {
    let (severity, error, what) = match verify_at(note.desc, note.desc_offset) {
        Ok(Ok(())) => return,
        Err(error) => (Severity::Error, error, "cannot be read"),
        Ok(Err(error)) => (Severity::Warning, error, "breaks LLVM's rules"),
    };
    let message = format!("the metadata {what}: {}", error.detail());
    findings.add(severity, subject(note, &error), message, HELP.to_owned());
}

/// The key at the place of an error.
fn subject(note: &Note<'_>, error: &Error) -> Subject {
    let path = error.offset().and_then(|offset| path_at(note.desc, note.desc_offset, offset));
    Subject::field(path.unwrap_or_else(|| ".note".to_owned())).at(error.offset())
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
        _ => format!("{unsaid} of {} kernels are not in the metadata: HIP does not find them", kernels.len()),
    };
    findings.warning(subject, message, HELP);
}
