//! What kernels take of a device in both files: registers, LDS, scratch, spills, occupancy.

use std::io::Write;

use anyhow::Result;
use hsaco::analysis::demand;
use hsaco::check::{Finding, REGRESSION, Severity, Subject};
use hsaco::object::{CodeObject, Kernel};
use serde::Serialize;

use super::model::ObjectName;
use crate::table::{Align, Cell, Table, count};

/// What is counted of a kernel: its name, the field that it is about, and whether more of it is worse.
const METRICS: [(&str, &str, bool); 7] = [
    ("vgprs", ".vgpr_count", true),
    ("agprs", ".agpr_count", true),
    ("sgprs", ".sgpr_count", true),
    ("lds", ".group_segment_fixed_size", true),
    ("scratch", ".private_segment_fixed_size", true),
    ("spills", ".vgpr_spill_count", true),
    ("occupancy", "waves per SIMD", false),
];

/// The numbers of a kernel, in the order of the table; none where nobody says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Metrics([Option<u64>; METRICS.len()]);

impl Metrics {
    pub(super) fn new(kernel: &Kernel<'_>, object: &CodeObject<'_>) -> Self {
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
#[derive(Serialize)]
pub(super) struct KernelChange {
    pub(super) name: String,
    pub(super) demangled: String,
    pub(super) a: ObjectName,
    pub(super) b: ObjectName,
    resources: Vec<ResourceChange>,
}

/// A number in both.
#[derive(Clone, Copy, Serialize)]
struct ResourceChange {
    name: &'static str,
    a: Option<u64>,
    b: Option<u64>,
    verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Same,
    Better,
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
#[derive(Default)]
pub(super) struct Changes {
    pub(super) kernels: Vec<KernelChange>,
    /// Kernels with the same numbers in both files.
    pub(super) same: usize,
    pub(super) only_a: usize,
    pub(super) only_b: usize,
}

impl KernelChange {
    /// What changed between two kernels; nothing where nothing did.
    pub(super) fn new(
        name: &str,
        (a, b): (ObjectName, ObjectName),
        (old, new): (Metrics, Metrics),
    ) -> Option<Self> {
        let numbers = METRICS.iter().zip(old.0.into_iter().zip(new.0));
        let resources = numbers.map(|(&(name, _, more_is_worse), (a, b))| ResourceChange {
            name,
            a,
            b,
            verdict: Verdict::new(a, b, more_is_worse),
        });
        let demangled = crate::verb::ls::source_name(name.into()).into_owned();
        let change =
            Self { name: name.to_owned(), demangled, a, b, resources: resources.collect() };
        (old != new).then_some(change)
    }

    fn is(&self, verdict: Verdict) -> bool {
        self.resources.iter().any(|it| it.verdict == verdict)
    }

    /// The targets, which are most often one.
    fn targets(&self) -> String {
        let target =
            |name: &ObjectName| name.target.clone().unwrap_or_else(|| "unknown".to_owned());
        let (a, b) = (target(&self.a), target(&self.b));
        if a == b { a } else { format!("{a} -> {b}") }
    }
}

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        self.kernels.is_empty() && self.only_a == 0 && self.only_b == 0
    }

    pub(super) fn regressions(&self) -> usize {
        self.kernels.iter().filter(|it| it.is(Verdict::Worse)).count()
    }

    /// What is worse, as checks find it.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let worse = self.kernels.iter().flat_map(|kernel| {
            let worse = kernel.resources.iter().filter(|it| it.verdict == Verdict::Worse);
            worse.map(move |change| (kernel, change))
        });
        worse.map(|(kernel, change)| finding(kernel, change)).collect()
    }

    pub(super) fn write_text(&self, out: &mut dyn Write, color: bool) -> Result<()> {
        if !self.kernels.is_empty() {
            self.table().write(out, color)?;
        }
        let better = self.kernels.iter().filter(|it| it.is(Verdict::Better)).count();
        let mut parts = vec![
            format!("{} changed", count(self.kernels.len(), "kernel")),
            format!("{} worse in something", self.regressions()),
            format!("{better} better in something"),
            format!("{} the same", self.same),
        ];
        let others = [(self.only_a, "only in A"), (self.only_b, "only in B")];
        let others = others.iter().filter(|(count, _)| *count > 0);
        parts.extend(others.map(|(count, place)| format!("{count} {place}")));
        writeln!(out, "{}", parts.join(", "))?;
        Ok(())
    }

    fn table(&self) -> Table {
        const COLUMNS: [(&str, Align); METRICS.len() + 2] = [
            ("VGPRS", Align::Right),
            ("AGPRS", Align::Right),
            ("SGPRS", Align::Right),
            ("LDS", Align::Right),
            ("SCRATCH", Align::Right),
            ("SPILLS", Align::Right),
            ("OCCUPANCY", Align::Right),
            ("TARGET", Align::Left),
            ("KERNEL", Align::Left),
        ];
        let mut table = Table::new(&COLUMNS);
        for kernel in &self.kernels {
            let mut cells: Vec<String> =
                kernel.resources.iter().map(ResourceChange::shown).collect();
            cells.extend([kernel.targets(), kernel.demangled.clone()]);
            table.row::<{ COLUMNS.len() }>(std::array::from_fn(|at| {
                cells.get(at).map_or(Cell::Unknown, Cell::from)
            }));
        }
        table
    }

    /// A line for each kernel that changed, with all of its numbers.
    pub(super) fn write_csv(&self, out: &mut dyn Write) -> Result<()> {
        let mut titles =
            ["kernel", "demangled", "target_a", "target_b"].map(str::to_owned).to_vec();
        for (name, _, _) in METRICS {
            titles.extend([format!("{name}_a"), format!("{name}_b")]);
        }
        titles.push("worse".to_owned());
        writeln!(out, "{}", titles.join(","))?;
        for kernel in &self.kernels {
            let target = |name: &ObjectName| name.target.clone().unwrap_or_default();
            let names = [kernel.name.clone(), kernel.demangled.clone()];
            let targets = [target(&kernel.a), target(&kernel.b)];
            let number = |it: Option<u64>| it.map_or_else(String::new, |it| it.to_string());
            let numbers = kernel.resources.iter().flat_map(|it| [number(it.a), number(it.b)]);
            let worse = kernel.resources.iter().filter(|it| it.verdict == Verdict::Worse);
            let worse: Vec<&str> = worse.map(|it| it.name).collect();
            let fields = names.into_iter().chain(targets).chain(numbers).chain([worse.join(" ")]);
            let fields: Vec<String> = fields.map(|it| csv_field(&it)).collect();
            writeln!(out, "{}", fields.join(","))?;
        }
        Ok(())
    }
}

impl ResourceChange {
    fn shown(&self) -> String {
        let text = |it: Option<u64>| it.map_or_else(|| "-".to_owned(), |it| it.to_string());
        match self.verdict {
            Verdict::Same => text(self.b),
            _ => format!("{} -> {}", text(self.a), text(self.b)),
        }
    }
}

/// A field as RFC 4180 has it: in quotes, where anything in it could end it.
fn csv_field(text: &str) -> String {
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

fn finding(kernel: &KernelChange, change: &ResourceChange) -> Finding {
    let number = |it: Option<u64>| it.unwrap_or_default();
    let (a, b) = (number(change.a), number(change.b));
    let verb = if b > a { "rose" } else { "fell" };
    let row = METRICS.iter().find(|(name, ..)| *name == change.name);
    Finding {
        rule: REGRESSION.name,
        severity: Severity::Error,
        subject: Subject {
            object: Some(kernel.b.index),
            kernel: Some(kernel.name.clone()),
            field: row.map(|(_, field, _)| (*field).into()),
            ..Subject::default()
        },
        message: format!("{} {verb} from {a} to {b} ({})", change.name, kernel.targets()),
        help: "compare its code: hsaco diff -k NAME".to_owned(),
        excess: Some(a.abs_diff(b)),
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

    #[test]
    fn fields_of_csv_are_quoted_where_they_must_be() {
        assert_eq!(csv_field("add(int, \"x\")"), "\"add(int, \"\"x\"\")\"");
        assert_eq!(csv_field("add"), "add");
    }
}
