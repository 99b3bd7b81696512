//! What became of an object, for people.

use std::fmt;

use hsaco_bytes::escape::shown;

use crate::manifest::{Manifest, Record, Verdict};

/// A manifest as lines: the verdict, then each place, stub, setting and remark.
#[derive(Clone, Copy, Debug)]
pub struct ManifestText<'m> {
    /// What the object is called.
    pub name: &'m str,
    /// What became of it.
    pub manifest: &'m Manifest,
}

impl fmt::Display for ManifestText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, manifest } = *self;
        match &manifest.verdict {
            Verdict::Unchanged(reason) => writeln!(f, "{name}: unchanged: {reason}")?,
            Verdict::Refused => writeln!(f, "{name}: refused")?,
            Verdict::Changed => write_sum(f, name, manifest)?,
        }
        for record in &manifest.records {
            write_record(f, record)?;
        }
        for (site, address) in &manifest.counters {
            writeln!(f, "  {site:#x}: counted at {address:#x}")?;
        }
        for stub in &manifest.stubs {
            let (kernel, rule, pair) = (shown(&stub.kernel), &stub.rule, stub.pair);
            writeln!(f, "  {:#x} {kernel}: {rule} (stub, takes {pair})", stub.address)?;
        }
        for kernel in &manifest.kernels {
            for setting in &kernel.settings {
                let (kernel, name) = (shown(&kernel.name), &setting.name);
                writeln!(f, "  {kernel} {name}: {} -> {}", setting.old, setting.new)?;
            }
        }
        for remark in &manifest.remarks {
            if let Ok(reason) = &remark.said {
                let (function, rule) = (shown(&remark.function), &remark.rule);
                writeln!(f, "  {:#x} {function}: {rule} kept: {reason}", remark.address)?;
            }
        }
        Ok(())
    }
}

fn write_sum(f: &mut fmt::Formatter<'_>, name: &str, manifest: &Manifest) -> fmt::Result {
    let changed = manifest.kernels.iter().filter(|it| it.verdict == Verdict::Changed);
    writeln!(
        f,
        "{name}: changed: {} places, {} of {} kernels, {} bytes more",
        manifest.records.len() + manifest.stubs.len(),
        changed.count(),
        manifest.kernels.len(),
        manifest.sizes.1.saturating_sub(manifest.sizes.0),
    )
}

fn write_record(f: &mut fmt::Formatter<'_>, record: &Record) -> fmt::Result {
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
    writeln!(f, "  {:#x} {function}: {rules} ({place}{taken})", record.site.address)
}
