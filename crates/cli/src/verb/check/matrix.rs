//! Which devices can run what: a row for each device.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use hsaco::check::Severity;
use hsaco::check::result::{DeviceResult, FileResult};

use crate::table::{Cell, Table};
use hsaco::bytes::escape::shown;

/// A table for each file; devices that refuse it for the same reason share a line below it.
pub(super) fn write(out: &mut dyn Write, files: &[FileResult], color: bool) -> Result<()> {
    for (number, file) in files.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        write_file(out, file, color)?;
    }
    Ok(())
}

fn write_file(out: &mut dyn Write, file: &FileResult, color: bool) -> Result<()> {
    let (run, refuse): (Vec<_>, Vec<_>) =
        file.devices.iter().partition(|it| it.count(Severity::Error) == 0);
    writeln!(out, "{}: {} of {} devices run it", shown(&file.name), run.len(), file.devices.len())?;
    if !run.is_empty() {
        writeln!(out)?;
        let mut table = Table::titled("DEVICE|>OBJECTS|>WARNINGS");
        for device in run {
            table.row([
                Cell::from(name(device)),
                Cell::from(device.objects),
                Cell::from(device.count(Severity::Warning)),
            ]);
        }
        table.write(out, color)?;
    }
    let mut reasons: BTreeMap<Vec<&str>, Vec<&str>> = BTreeMap::new();
    for device in refuse {
        reasons.entry(rules(device)).or_default().push(name(device));
    }
    for (rules, devices) in reasons {
        writeln!(out, "\n{}: {}", rules.join(", "), devices.join(" "))?;
    }
    Ok(())
}

fn name(device: &DeviceResult) -> &str {
    device.device.as_deref().unwrap_or_default()
}

/// The rules by which a device refuses a file.
fn rules(device: &DeviceResult) -> Vec<&str> {
    let errors = device.findings.iter().filter(|it| it.finding.severity == Severity::Error);
    let mut rules: Vec<&str> = errors.map(|it| it.finding.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    rules
}
