//! What kernels take of a device in both files: registers, LDS, scratch, spills, occupancy.

use hsaco_analysis::{Metric, Metrics};
use hsaco_object::{CodeObject, Kernel};

use crate::name::{ObjectName, source_name};

/// What is compared, in the order of a kernel's numbers.
pub const METRICS: [Metric; 7] = [
    Metric::Vgprs,
    Metric::Agprs,
    Metric::Sgprs,
    Metric::Lds,
    Metric::Scratch,
    Metric::Spills,
    Metric::Occupancy,
];

/// The numbers of a kernel, in the order of the table; none where the object does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbers([Option<u64>; METRICS.len()]);

impl Numbers {
    pub(crate) fn new(kernel: &Kernel<'_>, object: &CodeObject<'_>) -> Self {
        let processor = object.target().id().map(|it| it.processor);
        let limits = processor.map(hsaco_isa::Processor::limits);
        let metrics = Metrics::of(kernel, object.target().generation(), limits);
        Self(METRICS.map(|it| metrics.get(it)))
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
    pub verdict: Trend,
}

/// What another number means for a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum Trend {
    /// It is the same number.
    Same,
    /// The kernel takes less, or has more waves.
    Better,
    /// The kernel takes more, or has fewer waves.
    Worse,
    /// One of the files does not say.
    Unknown,
}

impl Trend {
    fn new(metric: Metric, a: Option<u64>, b: Option<u64>) -> Self {
        match (a, b) {
            (a, b) if a == b => Self::Same,
            (Some(a), Some(b)) if metric.is_worse(a, b) => Self::Worse,
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
        (old, new): (Numbers, Numbers),
    ) -> Option<Self> {
        let numbers = METRICS.iter().zip(old.0.into_iter().zip(new.0));
        let resources = numbers.map(|(metric, (a, b))| ResourceChange {
            name: metric.name(),
            a,
            b,
            verdict: Trend::new(*metric, a, b),
        });
        let demangled = source_name(name);
        let change =
            Self { name: name.to_owned(), demangled, a, b, resources: resources.collect() };
        (old != new).then_some(change)
    }

    /// Whether some number has changed so.
    #[must_use]
    pub fn is(&self, verdict: Trend) -> bool {
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
        self.kernels.iter().filter(|it| it.is(Trend::Worse)).count()
    }
}

impl Changes {
    /// A line of comma-separated values for each kernel that changed, with all of its numbers.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut titles =
            ["kernel", "demangled", "target_a", "target_b"].map(str::to_owned).to_vec();
        for name in METRICS.map(Metric::name) {
            titles.extend([format!("{name}_a"), format!("{name}_b")]);
        }
        titles.push("worse".to_owned());
        let mut text = titles.join(",") + "\n";
        for kernel in &self.kernels {
            text += &kernel.csv_fields().map(|it| csv_field(&it)).collect::<Vec<_>>().join(",");
            text.push('\n');
        }
        text
    }
}

impl KernelChange {
    fn csv_fields(&self) -> impl Iterator<Item = String> {
        let target = |name: &ObjectName| name.target.clone().unwrap_or_default();
        let names = [self.name.clone(), self.demangled.clone()];
        let targets = [target(&self.a), target(&self.b)];
        let number = |it: Option<u64>| it.map_or_else(String::new, |it| it.to_string());
        let numbers = self.resources.iter().flat_map(move |it| [number(it.a), number(it.b)]);
        let worse = self.resources.iter().filter(|it| it.verdict == Trend::Worse);
        let worse: Vec<&str> = worse.map(|it| it.name).collect();
        names.into_iter().chain(targets).chain(numbers).chain([worse.join(" ")])
    }
}

/// A field as RFC 4180 has it: in quotes, where anything in it could end it.
fn csv_field(text: &str) -> String {
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_registers_are_worse_and_more_waves_are_better() {
        let vgprs = |a, b| Trend::new(Metric::Vgprs, a, b);
        let waves = |a, b| Trend::new(Metric::Occupancy, a, b);
        assert_eq!(vgprs(Some(42), Some(128)), Trend::Worse);
        assert_eq!(vgprs(Some(128), Some(42)), Trend::Better);
        assert_eq!(waves(Some(8), Some(4)), Trend::Worse);
        assert_eq!(waves(Some(4), Some(8)), Trend::Better);
        assert_eq!(waves(None, Some(8)), Trend::Unknown);
        assert_eq!(vgprs(None, None), Trend::Same);
    }

    #[test]
    fn fields_of_csv_are_quoted_where_they_must_be() {
        assert_eq!(csv_field("add(int, \"x\")"), "\"add(int, \"\"x\"\")\"");
        assert_eq!(csv_field("add"), "add");
    }
}
