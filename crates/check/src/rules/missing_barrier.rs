//! `missing-barrier`: accesses of LDS by two waves that no barrier separates, and half a barrier.

use crate::facts::KernelFacts;
use crate::finding::Findings;

pub(super) fn check(facts: &KernelFacts<'_, '_>, findings: &mut Findings) {
    let Some((function, faults)) = facts.object.code().and_then(|it| it.barriers(facts.kernel))
    else {
        return;
    };
    faults.iter().for_each(|fault| super::tell(facts, &function, fault, findings));
}
