//! What became of an object, for people.

use std::io::Write;

use anyhow::Result;
use hsaco::patch::{Manifest, Verdict};

use crate::output::Output;
use crate::text::shown;

pub(super) fn write_text(name: &str, manifest: &Manifest, out: &mut Output) -> Result<()> {
    match &manifest.verdict {
        Verdict::Unchanged(reason) => writeln!(out, "{name}: unchanged: {reason}")?,
        Verdict::Refused => writeln!(out, "{name}: refused")?,
        Verdict::Changed => {
            let changed = manifest.kernels.iter().filter(|it| it.verdict == Verdict::Changed);
            writeln!(
                out,
                "{name}: changed: {} places, {} of {} kernels, {} bytes more",
                manifest.records.len() + manifest.stubs.len(),
                changed.count(),
                manifest.kernels.len(),
                manifest.sizes.1.saturating_sub(manifest.sizes.0),
            )?;
        }
    }
    for record in &manifest.records {
        let rules: Vec<&str> = record.rules.iter().map(|(rule, _)| *rule).collect();
        let place = match &record.body {
            Some(body) => {
                format!("{} {:#x}, {}", record.placement.name(), body.address, record.jump.name())
            }
            None => record.placement.name().to_owned(),
        };
        let registers: Vec<String> =
            record.scratch_registers.iter().chain(&record.pair).map(ToString::to_string).collect();
        let taken = if registers.is_empty() {
            String::new()
        } else {
            format!(", takes {}", registers.join(" "))
        };
        writeln!(
            out,
            "  {:#x} {}: {} ({place}{taken})",
            record.site.address,
            shown(&record.function),
            rules.join(", ")
        )?;
    }
    for (site, address) in &manifest.counters {
        writeln!(out, "  {site:#x}: counted at {address:#x}")?;
    }
    for stub in &manifest.stubs {
        writeln!(
            out,
            "  {:#x} {}: {} (stub, takes {})",
            stub.address,
            shown(&stub.kernel),
            stub.rule,
            stub.pair
        )?;
    }
    for kernel in &manifest.kernels {
        for setting in &kernel.settings {
            writeln!(
                out,
                "  {} {}: {} -> {}",
                shown(&kernel.name),
                setting.name,
                setting.old,
                setting.new
            )?;
        }
    }
    for (remark, reason) in
        manifest.remarks.iter().filter_map(|it| Some((it, it.said.as_ref().ok()?)))
    {
        writeln!(
            out,
            "  {:#x} {}: {} kept: {reason}",
            remark.address,
            shown(&remark.function),
            remark.rule
        )?;
    }
    Ok(())
}
