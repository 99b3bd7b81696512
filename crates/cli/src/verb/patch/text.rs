//! What became of an object, for people.

use std::io::Write;

use anyhow::Result;
use hsaco::patch::{Manifest, Record, Verdict};

use crate::output::Output;
use crate::text::shown;

pub(super) fn write_text(name: &str, manifest: &Manifest, out: &mut Output) -> Result<()> {
    match &manifest.verdict {
        Verdict::Unchanged(reason) => writeln!(out, "{name}: unchanged: {reason}")?,
        Verdict::Refused => writeln!(out, "{name}: refused")?,
        Verdict::Changed => write_sum(name, manifest, out)?,
    }
    for record in &manifest.records {
        write_record(record, out)?;
    }
    for (site, address) in &manifest.counters {
        writeln!(out, "  {site:#x}: counted at {address:#x}")?;
    }
    for stub in &manifest.stubs {
        let (kernel, rule, pair) = (shown(&stub.kernel), &stub.rule, stub.pair);
        writeln!(out, "  {:#x} {kernel}: {rule} (stub, takes {pair})", stub.address)?;
    }
    for kernel in &manifest.kernels {
        for setting in &kernel.settings {
            let (kernel, name) = (shown(&kernel.name), &setting.name);
            writeln!(out, "  {kernel} {name}: {} -> {}", setting.old, setting.new)?;
        }
    }
    for remark in &manifest.remarks {
        if let Ok(reason) = &remark.said {
            let (function, rule) = (shown(&remark.function), &remark.rule);
            writeln!(out, "  {:#x} {function}: {rule} kept: {reason}", remark.address)?;
        }
    }
    Ok(())
}

fn write_sum(name: &str, manifest: &Manifest, out: &mut Output) -> Result<()> {
    let changed = manifest.kernels.iter().filter(|it| it.verdict == Verdict::Changed);
    writeln!(
        out,
        "{name}: changed: {} places, {} of {} kernels, {} bytes more",
        manifest.records.len() + manifest.stubs.len(),
        changed.count(),
        manifest.kernels.len(),
        manifest.sizes.1.saturating_sub(manifest.sizes.0),
    )?;
    Ok(())
}

fn write_record(record: &Record, out: &mut Output) -> Result<()> {
    let rules: Vec<&str> = record.rules.iter().map(|(rule, _)| *rule).collect();
    let placement = record.placement.name();
    let place = match &record.body {
        Some(body) => format!("{placement} {:#x}, {}", body.address, record.jump.name()),
        None => placement.to_owned(),
    };
    let registers = record.scratch_registers.iter().chain(&record.pair);
    let registers: Vec<String> = registers.map(ToString::to_string).collect();
    let taken = match registers.is_empty() {
        true => String::new(),
        false => format!(", takes {}", registers.join(" ")),
    };
    let (function, rules) = (shown(&record.function), rules.join(", "));
    writeln!(out, "  {:#x} {function}: {rules} ({place}{taken})", record.site.address)?;
    Ok(())
}
