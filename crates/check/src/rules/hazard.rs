//! `hazard`: instructions that stand closer together than the processor allows.

use crate::facts::KernelFacts;
use crate::finding::Findings;

pub(super) fn check(facts: &KernelFacts<'_, '_>, findings: &mut Findings) {
    super::tell_faults("hazard", facts, findings, |faults| &faults.hazards);
}
