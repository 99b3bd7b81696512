//! What changed of what kernels take of a device, for people, tables and checks.

use std::io::Write;

use anyhow::Result;
use hsaco::analysis::Metric;
use hsaco::check::{Finding, REGRESSION, Severity, Subject};
use hsaco::diff::{Changes, KernelChange, METRICS, ObjectName, ResourceChange, Verdict};

use crate::table::{Cell, Table, count};

/// What is worse, as checks find it.
pub(super) fn findings(changes: &Changes) -> Vec<Finding> {
    let worse = changes.kernels.iter().flat_map(|kernel| {
        let worse = kernel.resources.iter().filter(|it| it.verdict == Verdict::Worse);
        worse.map(move |change| (kernel, change))
    });
    worse.map(|(kernel, change)| finding(kernel, change)).collect()
}

pub(super) fn write_text(changes: &Changes, out: &mut dyn Write, color: bool) -> Result<()> {
    if !changes.kernels.is_empty() {
        table(changes).write(out, color)?;
    }
    let better = changes.kernels.iter().filter(|it| it.is(Verdict::Better)).count();
    let mut parts = vec![
        format!("{} changed", count(changes.kernels.len(), "kernel")),
        format!("{} worse in something", changes.regressions()),
        format!("{better} better in something"),
        format!("{} the same", changes.same),
    ];
    let others = [(changes.only_a, "only in A"), (changes.only_b, "only in B")];
    let others = others.iter().filter(|(count, _)| *count > 0);
    parts.extend(others.map(|(count, place)| format!("{count} {place}")));
    writeln!(out, "{}", parts.join(", "))?;
    Ok(())
}

fn table(changes: &Changes) -> Table {
    let titles = ">VGPRS|>AGPRS|>SGPRS|>LDS|>SCRATCH|>SPILLS|>OCCUPANCY|TARGET|KERNEL";
    let mut table = Table::titled(titles);
    for kernel in &changes.kernels {
        let mut cells: Vec<String> = kernel.resources.iter().map(shown).collect();
        cells.extend([kernel.targets(), kernel.demangled.clone()]);
        table.row::<{ METRICS.len() + 2 }>(std::array::from_fn(|at| {
            cells.get(at).map_or(Cell::Unknown, Cell::from)
        }));
    }
    table
}

/// A line for each kernel that changed, with all of its numbers.
pub(super) fn write_csv(changes: &Changes, out: &mut dyn Write) -> Result<()> {
    let mut titles = ["kernel", "demangled", "target_a", "target_b"].map(str::to_owned).to_vec();
    for name in METRICS.map(Metric::name) {
        titles.extend([format!("{name}_a"), format!("{name}_b")]);
    }
    titles.push("worse".to_owned());
    writeln!(out, "{}", titles.join(","))?;
    for kernel in &changes.kernels {
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

fn shown(change: &ResourceChange) -> String {
    let text = |it: Option<u64>| it.map_or_else(|| "-".to_owned(), |it| it.to_string());
    match change.verdict {
        Verdict::Same => text(change.b),
        _ => format!("{} -> {}", text(change.a), text(change.b)),
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
    let metric = Metric::from_name(change.name);
    Finding {
        rule: REGRESSION.name,
        severity: Severity::Error,
        subject: Subject {
            object: Some(kernel.b.index),
            kernel: Some(kernel.name.clone()),
            field: metric.map(|it| it.field().into()),
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
    fn fields_of_csv_are_quoted_where_they_must_be() {
        assert_eq!(csv_field("add(int, \"x\")"), "\"add(int, \"\"x\"\")\"");
        assert_eq!(csv_field("add"), "add");
    }
}
