//! `metadata-target-mismatch`: `amdhsa.target` is not what the header says.

use hsaco_isa::TargetId;
use hsaco_isa::target::{Feature, Setting};

use crate::facts::ObjectFacts;
use crate::finding::{Findings, Subject};

pub(super) fn check(facts: &ObjectFacts<'_>, findings: &mut Findings) {
    let (Some(said), Some(target)) = (facts.index().metadata().target(), facts.target) else {
        return;
    };
    let text = said.to_str_lossy();
    let agrees = text.parse::<TargetId>().is_ok_and(|said| agree(said, target));
    if !agrees {
        let message = format!("the metadata says '{text}', and e_flags say {target}");
        let help = "loaders go by e_flags; compile it again, or set amdhsa.target";
        findings.warning(Subject::field("amdhsa.target"), message, help);
    }
}

/// The same processor, and settings that do not differ; text cannot tell "any" from "unsupported".
fn agree(said: TargetId, target: TargetId) -> bool {
    let pinned = |setting| matches!(setting, Setting::On | Setting::Off);
    let same = |feature| {
        let (said, is) = (said.setting(feature), target.setting(feature));
        said == is || !pinned(said) && !pinned(is)
    };
    said.processor == target.processor && Feature::ALL.into_iter().all(same)
}
