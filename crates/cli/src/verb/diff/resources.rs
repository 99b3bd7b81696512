//! What changed of what kernels take of a device, for people.

use std::io::Write;

use anyhow::Result;
use hsaco::bytes::number::count;
use hsaco::diff::{Changes, METRICS, ResourceChange, Trend};

use crate::table::{Cell, Table};

pub(super) fn write_text(changes: &Changes, out: &mut dyn Write, color: bool) -> Result<()> {
    if !changes.kernels.is_empty() {
        table(changes).write(out, color)?;
    }
    let better = changes.kernels.iter().filter(|it| it.is(Trend::Better)).count();
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

fn shown(change: &ResourceChange) -> String {
    let text = |it: Option<u64>| it.map_or_else(|| "-".to_owned(), |it| it.to_string());
    match change.verdict {
        Trend::Same => text(change.b),
        _ => format!("{} -> {}", text(change.a), text(change.b)),
    }
}
