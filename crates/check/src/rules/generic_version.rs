//! `generic-version`: generic code of the wrong version.

use crate::facts::ObjectFacts;
use crate::finding::{Findings, Subject};
use crate::question::Question;

/// The first ABI version that can say it.
const FIRST_ABI: u8 = 4;

pub(super) fn check(facts: &ObjectFacts<'_>, question: &Question<'_>, findings: &mut Findings) {
    let (Some(target), Some(device)) = (facts.target, question.device) else { return };
    let subject = || Subject::field("e_flags").at(48);
    let version = facts.object.e_flags().generic_version();
    let (made_for, wanted) = (target.processor, device.target.processor);
    if !made_for.is_generic() {
        if version != 0 {
            let message = format!(
                "generic version {version}, and {made_for} is no generic processor: 0 is due"
            );
            findings.warning(subject(), message, "clear the upper 8 bits of e_flags");
        }
        return;
    }
    let needed = match made_for == wanted {
        true => 1,
        false if wanted.generic() == Some(made_for) => wanted.joined_generic_in().unwrap_or(1),
        false => return,
    };
    let abi = facts.object.abi_version();
    if abi.byte() < FIRST_ABI {
        let message =
            format!("{made_for} in code object version {abi}, and generic processors need 6");
        findings.error(subject(), message, "compile with -mcode-object-version=6");
    } else if version < needed {
        let message = format!(
            "generic version {version}, and {} runs {made_for} from version {needed}",
            device.name
        );
        findings.error(subject(), message, "compile with a newer compiler");
    }
}
