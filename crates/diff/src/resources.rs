//! What kernels take of a device in both files: registers, LDS, scratch, spills, occupancy.

use hsaco_analysis::demand;
use hsaco_object::{CodeObject, Kernel};

use crate::model::{ObjectName, source_name};

/// What is counted of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// The field that it is about.
    pub field: &'static str,
    more_is_worse: bool,
}

impl Metric {
    const fn new(name: &'static str, field: &'static str, more_is_worse: bool) -> Self {
        Self { name, field, more_is_worse }
    }
}

/// All that is counted, in the order of a kernel's numbers.
pub const METRICS: [Metric; 7] = [
    Metric::new("vgprs", ".vgpr_count", true),
    Metric::new("agprs", ".agpr_count", true),
    Metric::new("sgprs", ".sgpr_count", true),
    Metric::new("lds", ".group_segment_fixed_size", true),
    Metric::new("scratch", ".private_segment_fixed_size", true),
    Metric::new("spills", ".vgpr_spill_count", true),
    Metric::new("occupancy", "waves per SIMD", false),
];

/// The numbers of a kernel, in the order of the table; none where the object does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Metrics([Option<u64>; METRICS.len()]);

impl Metrics {
    pub(crate) fn new(kernel: &Kernel<'_>, object: &CodeObject<'_>) -> Self {
        let processor = object.target().id().map(|it| it.processor);
        let generation = object.target().generation();
        let (resources, _) = kernel.resources(generation);
        let said = kernel.metadata().and_then(|it| it.decode().ok());
        let spills = said.and_then(|it| match (it.sgpr_spill_count, it.vgpr_spill_count) {
            (None, None) => None,
            (scalar, vector) => Some(scalar.unwrap_or(0).saturating_add(vector.unwrap_or(0))),
        });
        let demand = generation.and_then(|generation| demand(kernel, generation));
        let occupancy = processor.zip(demand).and_then(|(processor, demand)| {
            processor.limits().occupancy(&demand).map(|it| u64::from(it.waves))
        });
        let resources = [
            resources.vgprs,
            resources.agprs,
            resources.sgprs,
            resources.lds,
            resources.scratch,
            spills,
            occupancy,
        ];
        Self(resources)
    }
}

/// A kernel of which some number is another now.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct KernelChange {
    /// As the symbol has it.
    pub name: String,
    /// As in the source, if that can be known.
    pub demangled: String,
    /// The object that has it in the first file.
    pub a: ObjectName,
    /// The object that has it in the second file.
    pub b: ObjectName,
    /// In the order of [`METRICS`].
    pub resources: Vec<ResourceChange>,
}

/// A number in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ResourceChange {
    /// Of the metric.
    pub name: &'static str,
    /// In the first.
    pub a: Option<u64>,
    /// In the second.
    pub b: Option<u64>,
    /// What that means.
    pub verdict: Verdict,
}

/// What another number means for a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum Verdict {
    /// It is the same number.
    Same,
    /// The kernel takes less, or has more waves.
    Better,
    /// The kernel takes more, or has fewer waves.
    Worse,
    /// One of the files does not say.
    Unknown,
}

impl Verdict {
    fn new(a: Option<u64>, b: Option<u64>, more_is_worse: bool) -> Self {
        match (a, b) {
            (a, b) if a == b => Self::Same,
            (Some(a), Some(b)) if (b > a) == more_is_worse => Self::Worse,
            (Some(_), Some(_)) => Self::Better,
            _ => Self::Unknown,
        }
    }
}

/// All that changed of what kernels take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Kernels of both files with other numbers.
    pub kernels: Vec<KernelChange>,
    /// Kernels with the same numbers in both files.
    pub same: usize,
    /// Kernels of the first file only.
    pub only_a: usize,
    /// Kernels of the second file only.
    pub only_b: usize,
}

impl KernelChange {
    /// What changed between two kernels; nothing where nothing did.
    pub(crate) fn new(
        name: &str,
        (a, b): (ObjectName, ObjectName),
        (old, new): (Metrics, Metrics),
    ) -> Option<Self> {
        let numbers = METRICS.iter().zip(old.0.into_iter().zip(new.0));
        let resources = numbers.map(|(metric, (a, b))| ResourceChange {
            name: metric.name,
            a,
            b,
            verdict: Verdict::new(a, b, metric.more_is_worse),
        });
        let demangled = source_name(name);
        let change =
            Self { name: name.to_owned(), demangled, a, b, resources: resources.collect() };
        (old != new).then_some(change)
    }

    /// Whether some number has changed so.
    #[must_use]
    pub fn is(&self, verdict: Verdict) -> bool {
        self.resources.iter().any(|it| it.verdict == verdict)
    }

    /// The targets, which are most often one.
    #[must_use]
    pub fn targets(&self) -> String {
        let target =
            |name: &ObjectName| name.target.clone().unwrap_or_else(|| "unknown".to_owned());
        let (a, b) = (target(&self.a), target(&self.b));
        if a == b { a } else { format!("{a} -> {b}") }
    }
}

impl Changes {
    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty() && self.only_a == 0 && self.only_b == 0
    }

    /// How many kernels are worse in something.
    #[must_use]
    pub fn regressions(&self) -> usize {
        self.kernels.iter().filter(|it| it.is(Verdict::Worse)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_registers_are_worse_and_more_waves_are_better() {
        let judge = |a, b, more_is_worse| Verdict::new(a, b, more_is_worse);
        assert_eq!(judge(Some(42), Some(128), true), Verdict::Worse);
        assert_eq!(judge(Some(128), Some(42), true), Verdict::Better);
        assert_eq!(judge(Some(8), Some(4), false), Verdict::Worse);
        assert_eq!(judge(Some(4), Some(8), false), Verdict::Better);
        assert_eq!(judge(None, Some(8), false), Verdict::Unknown);
        assert_eq!(judge(None, None, true), Verdict::Same);
    }
}
