//! `target-mismatch`: code of another processor.

use hsaco_isa::Processor;

use crate::facts::ObjectFacts;
use crate::finding::{Findings, Subject};
use crate::question::Question;

pub(super) fn check(facts: &ObjectFacts<'_>, question: &Question<'_>, findings: &mut Findings) {
    let (Some(target), Some(device)) = (facts.target, question.asked) else { return };
    let (made_for, wanted) = (target.processor, device.target.processor);
    if made_for == wanted || wanted.generic() == Some(made_for) {
        return;
    }
    let why = match made_for.is_generic() {
        true => {
            let members: Vec<&str> = made_for.members().map(Processor::name).collect();
            format!("{made_for} stands for {}", members.join(", "))
        }
        false => "exact processors do not run each other's code".to_owned(),
    };
    let message = format!("compiled for {made_for}, and the device is {wanted}: {why}");
    findings.error(Subject::field("e_flags").at(48), message, advice(wanted));
}

pub(super) fn advice(wanted: Processor) -> String {
    match wanted.generic() {
        Some(generic) => format!("compile for {wanted} or {generic}"),
        None => format!("compile for {wanted}"),
    }
}
