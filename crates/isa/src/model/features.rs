//! LLVM's features of a processor.

use super::generated::CONDITIONS;
use super::generated::{FEATURES, TARGETS};
use super::options::DecodeOptions;
use super::table::Condition;
use crate::target::{Processor, WaveSize};

/// The number of a feature, for the compiler to look up: it refuses names that LLVM does not have.
pub(crate) const fn feature(name: &str) -> u8 {
    let mut number = 0;
    while !is_same(FEATURES[number], name) {
        number += 1;
    }
    number as u8
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// The features of a processor under its settings.
#[derive(PartialEq, Eq)]
pub(crate) struct Features([bool; FEATURES.len()]);

impl Features {
    pub(crate) fn of(processor: Processor, options: DecodeOptions) -> Option<Self> {
        let target = TARGETS.iter().find(|target| target.name == processor.name())?;
        let mut features = Features([false; FEATURES.len()]);
        for number in target.features {
            features.set(*number, true);
        }
        if let Some(on) = options.real_true16 {
            let on = on && features.has(const { feature("FeatureTrue16BitInsts") });
            features.set(const { feature("FeatureRealTrue16Insts") }, on);
        }
        // From gfx10 on a processor has both.
        if !features.has(const { feature("FeatureWavefrontSize64") }) {
            let wave64 = options.wave_size == Some(WaveSize::Wave64);
            features.set(const { feature("FeatureWavefrontSize32") }, !wave64);
            features.set(const { feature("FeatureWavefrontSize64") }, wave64);
        }
        let has_tables = features.has(const { feature("FeatureGCN3Encoding") })
            || features.has(const { feature("FeatureGFX10Insts") });
        has_tables.then_some(features)
    }

    fn set(&mut self, number: u8, on: bool) {
        if let Some(feature) = self.0.get_mut(usize::from(number)) {
            *feature = on;
        }
    }

    pub(crate) fn has(&self, number: u8) -> bool {
        self.0.get(usize::from(number)).is_some_and(|on| *on)
    }

    pub(super) fn any(&self, numbers: &[u8]) -> bool {
        numbers.is_empty() || numbers.iter().any(|number| self.has(*number))
    }

    pub(crate) fn fulfil(&self, condition: &Condition) -> bool {
        let mut rest = CONDITIONS.get(usize::from(condition.0)..).unwrap_or_default().iter();
        let count = rest.next().copied().unwrap_or(0);
        let mut holds = |wanted: bool| {
            let count = rest.next().copied().unwrap_or(0);
            let numbers = rest.by_ref().take(count.into());
            numbers.fold(true, |all, number| all & (self.has(*number) == wanted))
        };
        (0..count).any(|_| holds(true) & holds(false))
    }
}
