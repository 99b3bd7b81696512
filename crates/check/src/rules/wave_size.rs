//! `wave-size`: waves that the processor does not have, or two opinions about them.

use hsaco_isa::target::WaveSize;

use crate::facts::KernelFacts;
use crate::finding::Findings;

pub(super) fn check(facts: &KernelFacts<'_, '_>, findings: &mut Findings) {
    let Some(processor) = facts.object.processor() else { return };
    let sizes = || processor.limits().wave_sizes().map(|it| u64::from(it.lanes()));
    let has = |lanes: u64| sizes().any(|size| size == lanes);
    let only = || sizes().map(|size| size.to_string()).collect::<Vec<_>>().join(" or ");
    let described = facts.wave().map(WaveSize::lanes).map(u64::from);
    let said = facts.said().and_then(|it| it.wavefront_size);
    let help = "compile it for this processor";
    if let Some(lanes) = described.filter(|lanes| !has(*lanes)) {
        let message = format!(
            "the descriptor asks for waves of {lanes}, and {processor} has waves of {}",
            only()
        );
        findings.error(facts.descriptor_field("enable_wavefront_size32"), message, help);
    } else if let Some(lanes) = said.filter(|lanes| !has(*lanes)) {
        let message =
            format!("the metadata says waves of {lanes}, and {processor} has waves of {}", only());
        findings.warning(facts.metadata_field(".wavefront_size"), message, help);
    } else if let (Some(lanes), Some(said)) = (described, said)
        && lanes != said
    {
        let message =
            format!("the descriptor asks for waves of {lanes}, and the metadata says {said}");
        let help = "the descriptor decides; callers that go by the metadata count lanes wrongly";
        findings.warning(facts.descriptor_field("enable_wavefront_size32"), message, help);
    }
}
