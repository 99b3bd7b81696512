//! `feature-mismatch`: the right processor with other settings.

use hsaco_isa::target::{Feature, Setting};

use crate::facts::ObjectFacts;
use crate::finding::{Findings, Subject};
use crate::question::Question;

pub(super) fn check(facts: &ObjectFacts<'_>, question: &Question<'_>, findings: &mut Findings) {
    let (Some(target), Some(device)) = (facts.target, question.asked) else { return };
    let (made_for, wanted) = (target.processor, device.target.processor);
    if made_for != wanted && wanted.generic() != Some(made_for) {
        return;
    }
    for feature in Feature::ALL {
        let (object, setting) = (target.setting(feature), device.target.setting(feature));
        let is_pinned = matches!(object, Setting::On | Setting::Off);
        if !is_pinned || setting == Setting::Any || setting == object {
            continue;
        }
        let has = match setting {
            Setting::Unsupported => "has no such setting".to_owned(),
            _ => format!("has it {setting}"),
        };
        let message =
            format!("compiled with {feature} {object}, and the device {} {has}", device.name);
        let help = match setting {
            Setting::Unsupported => format!("compile for {made_for} without {feature}"),
            _ => {
                let sign = if setting == Setting::On { '+' } else { '-' };
                format!(
                    "compile for {made_for}:{feature}{sign}, or without {feature} for both settings"
                )
            }
        };
        findings.error(Subject::field("e_flags").at(48), message, help);
    }
}
