//! What instructions are translated to: steps, each a call of a function with resolved operands.

use crate::barrier::Barriers;
use crate::grid::GridSync;
use crate::memory::{Hint, View};
use crate::num::Generation;
use crate::revision::Met;
use crate::wave::Wave;

/// What a step does. Unsafe to call, since it may have been compiled for vector instructions of the host.
pub(crate) type Handler<const C: usize> = unsafe fn(&mut Wave<C>, &mut Context<'_>, &Step<C>);

/// One step. What its numbers mean is up to its handler: mostly registers of the vector or the scalar file.
#[derive(Clone, Copy)]
pub(crate) struct Step<const C: usize> {
    pub(crate) run: Handler<C>,
    pub(crate) d: u16,
    pub(crate) a: u16,
    pub(crate) b: u16,
    pub(crate) c: u16,
    pub(crate) e: u16,
    /// The number of its instruction in the block.
    pub(crate) at: u16,
    pub(crate) k: u64,
}

/// What waves of a workgroup share.
pub(crate) struct Context<'m> {
    pub(crate) memory: &'m View,
    /// Barriers of the whole dispatch.
    pub(crate) grid: &'m GridSync,
    /// The allocations that were accessed last.
    pub(crate) hint: Hint,
    pub(crate) lds: Vec<u32>,
    pub(crate) clock: u64,
    pub(crate) barriers: Barriers,
    pub(crate) wide_private: bool,
    /// The errata that waves have met.
    pub(crate) errata: Met,
    /// How the device computes with floats.
    pub(crate) numerics: Generation,
}

impl<'m> Context<'m> {
    /// A workgroup that has its turn.
    pub(crate) fn new(memory: &'m View, grid: &'m GridSync, parked: Parked) -> Self {
        let Parked { hint, lds, clock, barriers, wide_private, numerics } = parked;
        let errata = Met::default();
        Self { memory, grid, hint, lds, clock, barriers, wide_private, errata, numerics }
    }

    /// What is kept of it until its next turn, and the errata that it has met in this one.
    pub(crate) fn park(self) -> (Parked, Met) {
        let Self { hint, lds, clock, barriers, wide_private, numerics, errata, .. } = self;
        (Parked { hint, lds, clock, barriers, wide_private, numerics }, errata)
    }
}

/// What waves of a workgroup share, between its turns.
pub(crate) struct Parked {
    hint: Hint,
    pub(crate) lds: Vec<u32>,
    clock: u64,
    barriers: Barriers,
    wide_private: bool,
    numerics: Generation,
}

impl Parked {
    /// A workgroup of a device with so many words of LDS.
    pub(crate) fn new(lds_words: usize, barriers: Barriers, numerics: Generation) -> Self {
        Self {
            hint: Hint::default(),
            lds: vec![0; lds_words],
            clock: 0,
            barriers,
            wide_private: numerics == Generation::Gfx1250,
            numerics,
        }
    }
}

/// Which vector instructions of the host handlers may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Host {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Those of [`Host::Avx2`] as well.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Host {
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2")
            && std::is_x86_feature_detected!("fma")
            && std::is_x86_feature_detected!("bmi1")
            && std::is_x86_feature_detected!("bmi2")
            && std::is_x86_feature_detected!("lzcnt")
            && std::is_x86_feature_detected!("popcnt")
        {
            let has_avx512 = std::is_x86_feature_detected!("avx512f")
                && std::is_x86_feature_detected!("avx512bw")
                && std::is_x86_feature_detected!("avx512dq")
                && std::is_x86_feature_detected!("avx512vl");
            return if has_avx512 { Self::Avx512 } else { Self::Avx2 };
        }
        Self::Portable
    }

    /// All that this machine can be, for tests.
    #[cfg(test)]
    pub(crate) fn all() -> Vec<Self> {
        #[cfg(target_arch = "x86_64")]
        let known = [Self::Portable, Self::Avx2, Self::Avx512];
        #[cfg(not(target_arch = "x86_64"))]
        let known = [Self::Portable];
        known.into_iter().filter(|it| *it <= Self::detect()).collect()
    }
}

/// Runs steps until one asks to stop.
///
/// Handlers are taken from the set of [`Host::detect`] only.
#[allow(unsafe_code, reason = "calls what may be compiled for vector instructions of the host")]
#[inline]
pub(crate) fn run<const C: usize>(
    steps: &[Step<C>],
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
) -> Option<u16> {
    for step in steps {
        // SAFETY: a handler is unsafe only by its target features. Handlers with features are chosen by
        // `Host::Avx2` and `Host::Avx512` alone, which `Host::detect` returns only where the host has them.
        unsafe { (step.run)(wave, context, step) };
        if wave.stop {
            return Some(step.at);
        }
    }
    None
}
