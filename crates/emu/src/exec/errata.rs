//! What stepping A0 of gfx1250 does wrong: steps before the instructions that meet an erratum.

use hsaco_isa::errata::{self, WMMA_SLOTS};

use crate::error::ErrorKind;
use crate::revision::{Effect, MODELS, number_of};
use crate::step::{Context, Step};
use crate::wave::{Wave, lanes};

/// The erratum `e` is met at the address `k`.
pub(crate) fn meet<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    context.errata.record(step.k, step.e);
    if let Some(model) = MODELS.get(usize::from(step.e))
        && model.effect == Effect::Hang
    {
        let detail = format!("{}: {} on stepping A0", model.erratum.name, model.detail);
        wave.fail(ErrorKind::Erratum, 0, detail);
    }
}

/// It is met where `s[a]` has one of the bits `d << c`.
pub(crate) fn meet_with_bits<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    if wave.s[usize::from(step.a)] & u32::from(step.d) << step.c != 0 {
        meet(wave, context, step);
    }
}

/// It is met where `v[a]` is no multiple of `c` in some lane.
pub(crate) fn meet_misaligned<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    let addresses = &wave.v[usize::from(step.a)];
    let size = u32::from(step.c.max(1));
    if lanes(wave.active).any(|lane| !addresses.lane(lane).is_multiple_of(size)) {
        meet(wave, context, step);
    }
}

/// It is met where no vector memory instruction has run.
pub(crate) fn meet_at_first<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    if !wave.errata.has_accessed {
        meet(wave, context, step);
    }
}

/// A vector memory instruction runs.
pub(crate) fn access<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, _: &Step<C>) {
    wave.errata.has_accessed = true;
}

/// A matrix instruction runs: forgets the one before.
pub(crate) fn forget<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, _: &Step<C>) {
    wave.errata.matrix.clear();
    wave.errata.slots = 0;
}

/// `b` registers from `a` on are those of an integer matrix instruction.
pub(crate) fn remember<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    wave.errata.matrix.push((step.a, step.b));
}

/// A vector instruction that writes `b` registers from `a` on; `c` is 1 for the first of its results.
pub(crate) fn write_near_matrix<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    if wave.errata.slots >= WMMA_SLOTS || wave.errata.matrix.is_empty() {
        return;
    }
    let overlaps = |(first, count): &(u16, u16)| *first < step.a + step.b && step.a < first + count;
    if wave.errata.matrix.iter().any(overlaps) {
        context.errata.record(step.k, number_of(&errata::WMMA_HAZARD));
    }
    wave.errata.slots += step.c as u8;
}
