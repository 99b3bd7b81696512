//! `unknown-target`: a machine number without a name.

use crate::facts::ObjectFacts;
use crate::finding::{Findings, Severity, Subject};
use crate::question::Question;

pub(super) fn check(facts: &ObjectFacts<'_>, question: &Question<'_>, findings: &mut Findings) {
    if facts.target.is_some() {
        return;
    }
    let subject = Subject::field("e_flags").at(48);
    let mach = facts.object.e_flags().mach();
    let (severity, message) = match question.asked {
        Some(device) => {
            let wanted = device.target.processor.mach();
            let name = &device.name;
            (
                Severity::Error,
                format!("made for machine {mach:#x}, and {name} is machine {wanted:#x}"),
            )
        }
        None => (
            Severity::Warning,
            format!("made for machine {mach:#x}, which is not known: limits are not checked"),
        ),
    };
    findings.add(severity, subject, message, "compile for a processor of this device".to_owned());
}
