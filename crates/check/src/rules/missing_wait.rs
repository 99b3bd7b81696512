//! `missing-wait`: a register that is used before what it is loaded from has arrived.

use crate::facts::KernelFacts;
use crate::finding::Findings;

pub(super) fn check(facts: &KernelFacts<'_, '_>, findings: &mut Findings) {
    super::tell_faults("missing-wait", facts, findings, |faults| &faults.waits);
}
