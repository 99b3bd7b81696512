//! For people: what is wrong first, then where, the source line, and what to do.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use hsaco::check::result::{DeviceResult, FileResult, ObjectInfo, Shown, Standing};
use hsaco::check::{REGRESSION, Severity, Subject};

use crate::table::count;
use crate::text;

pub(super) fn write(
    out: &mut dyn Write,
    files: &[FileResult],
    names_devices: bool,
    color: bool,
) -> Result<()> {
    for file in files {
        for (device, shown) in file.findings().filter(|(_, it)| it.is_told()) {
            let device = device.device.as_deref().filter(|_| names_devices);
            write_finding(out, file, device, shown, color)?;
        }
    }
    for file in files {
        for device in &file.devices {
            write_summary(out, file, device)?;
        }
        for object in &file.objects {
            write_probe(out, file, object)?;
        }
    }
    Ok(())
}

fn write_finding(
    out: &mut dyn Write,
    file: &FileResult,
    device: Option<&str>,
    shown: &Shown,
    color: bool,
) -> Result<()> {
    let finding = &shown.finding;
    let style = if color { style(finding.severity) } else { Style::new() };
    let kernel =
        shown.kernel().map_or_else(String::new, |name| format!("{}: ", text::shown(&name)));
    let device = device.map_or_else(String::new, |name| format!("on {name}: "));
    writeln!(
        out,
        "{style}{}[{}]{style:#}: {device}{kernel}{}",
        finding.severity,
        finding.rule,
        text::shown(&finding.message)
    )?;
    writeln!(
        out,
        "  in {}{}",
        text::shown(&file.place(shown)),
        text::shown(&place(&finding.subject))
    )?;
    match shown.standing {
        Standing::Worse if !is_comparison(shown) => {
            writeln!(out, "  baseline: known, and worse than it was")?;
        }
        Standing::Better if !is_comparison(shown) => {
            writeln!(out, "  baseline: known, and better than it was")?;
        }
        _ => {}
    }
    if let Some(source) = &shown.source {
        writeln!(out, "  from {}:{}", text::shown(&source.file), source.line)?;
        if let Some(line) = &source.text {
            writeln!(out, "  {:>5} | {}", source.line, text::shown(line))?;
        }
    }
    if !finding.help.is_empty() {
        writeln!(out, "  help: {}", text::shown(&finding.help))?;
    }
    writeln!(out)?;
    Ok(())
}

fn style(severity: Severity) -> Style {
    let color = match severity {
        Severity::Error => AnsiColor::Red,
        Severity::Warning => AnsiColor::Yellow,
        Severity::Note => AnsiColor::Cyan,
    };
    Style::new().fg_color(Some(color.into())).bold()
}

fn place(subject: &Subject) -> String {
    match (&subject.field, subject.offset) {
        (Some(field), Some(offset)) => format!(", {field} at offset {offset:#x}"),
        (Some(field), None) => format!(", {field}"),
        (None, Some(offset)) => format!(", at offset {offset:#x}"),
        (None, None) => String::new(),
    }
}

/// Whether it is about a kernel that was compared with the baseline.
fn is_comparison(shown: &Shown) -> bool {
    shown.finding.rule == REGRESSION.name
}

/// One line of a file against a device.
fn write_summary(out: &mut dyn Write, file: &FileResult, device: &DeviceResult) -> Result<()> {
    let on = device.device.as_deref().map_or_else(String::new, |name| format!(" on {name}"));
    let others = match device.skipped {
        0 => String::new(),
        skipped => format!(", {skipped} for other devices"),
    };
    let objects = count(device.objects, "object");
    let counts = [Severity::Error, Severity::Warning, Severity::Note]
        .map(|severity| (device.count(severity), severity.name()));
    let mut parts: Vec<String> = counts
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, name)| count(*number, name))
        .collect();
    let known = device.findings.iter().filter(|it| !it.is_new() && !is_comparison(it)).count();
    if known > 0 {
        parts.push(format!("{known} of the baseline"));
    }
    if device.better > 0 {
        parts.push(format!("{} better than the baseline", count(device.better, "kernel")));
    }
    if device.hidden > 0 {
        parts.push(format!("{} not shown (--notes)", count(device.hidden, "note")));
    }
    let is_clear =
        counts.iter().all(|(number, name)| *number == 0 || *name == Severity::Note.name());
    if device.is_empty() {
        parts.push("nothing was checked".to_owned());
    } else if is_clear && known == 0 {
        let device = device.device.as_deref();
        parts.insert(
            0,
            device.map_or("nothing is wrong".to_owned(), |name| format!("runs on {name}")),
        );
    }
    let verdict = parts.join(", ");
    writeln!(out, "{}{on}: {objects}{others}: {verdict}", text::shown(&file.name))?;
    Ok(())
}

/// What the machine's own runtime says, beside what we do.
fn write_probe(out: &mut dyn Write, file: &FileResult, object: &ObjectInfo) -> Result<()> {
    let Some(answer) = &object.probe else { return Ok(()) };
    let ours = file.devices.iter().all(|it| it.count(Severity::Error) == 0);
    let ours = if ours { "pass" } else { "errors" };
    let name = &file.name;
    writeln!(out, "{name}, object {}: hsaco says {ours}; probe: {answer}", object.number)?;
    Ok(())
}
