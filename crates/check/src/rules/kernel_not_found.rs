//! `kernel-not-found`: a name that no kernel has.

use crate::facts::ObjectFacts;
use crate::finding::{Findings, Subject};
use crate::nearest::nearest;
use crate::question::Question;

pub(super) fn check(facts: &ObjectFacts<'_>, question: &Question<'_>, findings: &mut Findings) {
    for wanted in question.kernels {
        if facts.kernels().any(|kernel| wanted.is(&kernel)) {
            continue;
        }
        let mangled: Vec<String> = facts.kernels().map(|it| it.kernel.name().to_string()).collect();
        let written = facts.kernels().filter_map(|it| it.source_name());
        let near = nearest(&wanted.name, mangled.iter().map(String::as_str).chain(written));
        let help = match near.is_empty() {
            true => "the object has no kernels".to_owned(),
            false => format!("nearest: {}", near.join(", ")),
        };
        let subject = Subject { kernel: Some(wanted.name.clone()), ..Subject::field(".symbol") };
        let message = format!("no kernel of this name among {}", mangled.len());
        findings.error(subject, message, help);
    }
}
