//! `kernel-not-found`: a name that no kernel has.

use crate::facts::ObjectFacts;
use crate::finding::{Findings, Subject};
use crate::nearest::nearest;

pub(super) fn check(facts: &ObjectFacts<'_, '_>, findings: &mut Findings) {
    let kernels = facts.index.kernels();
    for wanted in &facts.checker.kernels {
        if kernels.iter().any(|kernel| wanted.is(kernel)) {
            continue;
        }
        let mut names: Vec<String> = kernels.iter().map(|it| it.name().to_string()).collect();
        names.extend(kernels.iter().filter_map(|it| hsaco_object::demangle(it.name())));
        let near = nearest(&wanted.name, names.iter().map(String::as_str));
        let help = match near.is_empty() {
            true => "the object has no kernels".to_owned(),
            false => format!("nearest: {}", near.join(", ")),
        };
        let subject = Subject { kernel: Some(wanted.name.clone()), ..Subject::field(".symbol") };
        let message = format!("no kernel of this name among {}", kernels.len());
        findings.error(subject, message, help);
    }
}
