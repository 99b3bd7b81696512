//! For people: what is wrong first, then where, the source line, and what to do.

use std::fmt;

use anstyle::{AnsiColor, Style};
use hsaco_bytes::escape::shown;
use hsaco_bytes::number::count;

use crate::REGRESSION;
use crate::finding::{Severity, Subject};
use crate::result::{DeviceResult, FileResult, ObjectInfo, Shown, Standing};

/// Findings as paragraphs, and a line for each file and device.
#[derive(Clone, Copy, Debug)]
pub struct Text<'r> {
    /// What was found.
    pub files: &'r [FileResult],
    /// Whether findings say on which device.
    pub names_devices: bool,
    /// Whether a terminal shows it.
    pub color: bool,
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for file in self.files {
            for (device, found) in file.findings().filter(|(_, it)| it.is_told()) {
                let device = device.device.as_deref().filter(|_| self.names_devices);
                write_finding(f, file, device, found, self.color)?;
            }
        }
        for file in self.files {
            for device in &file.devices {
                write_summary(f, file, device)?;
            }
            for object in &file.objects {
                write_probe(f, file, object)?;
            }
        }
        Ok(())
    }
}

fn write_finding(
    f: &mut fmt::Formatter<'_>,
    file: &FileResult,
    device: Option<&str>,
    found: &Shown,
    color: bool,
) -> fmt::Result {
    let finding = &found.finding;
    let style = if color { style(finding.severity) } else { Style::new() };
    let kernel = found.kernel().map_or_else(String::new, |name| format!("{}: ", shown(&name)));
    let device = device.map_or_else(String::new, |name| format!("on {name}: "));
    writeln!(
        f,
        "{style}{}[{}]{style:#}: {device}{kernel}{}",
        finding.severity,
        finding.rule,
        shown(&finding.message)
    )?;
    writeln!(f, "  in {}{}", shown(&file.place(found)), shown(&place(&finding.subject)))?;
    match found.standing {
        Standing::Worse if !is_comparison(found) => {
            writeln!(f, "  baseline: known, and worse than it was")?;
        }
        Standing::Better if !is_comparison(found) => {
            writeln!(f, "  baseline: known, and better than it was")?;
        }
        _ => {}
    }
    if let Some(source) = &found.source {
        writeln!(f, "  from {}:{}", shown(&source.file), source.line)?;
        if let Some(line) = &source.text {
            writeln!(f, "  {:>5} | {}", source.line, shown(line))?;
        }
    }
    if !finding.help.is_empty() {
        writeln!(f, "  help: {}", shown(&finding.help))?;
    }
    writeln!(f)
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
fn is_comparison(found: &Shown) -> bool {
    found.finding.rule == REGRESSION.name
}

/// One line of a file against a device.
fn write_summary(
    f: &mut fmt::Formatter<'_>,
    file: &FileResult,
    device: &DeviceResult,
) -> fmt::Result {
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
    writeln!(f, "{}{on}: {objects}{others}: {verdict}", shown(&file.name))?;
    Ok(())
}

/// What the machine's own runtime says, beside what we do.
fn write_probe(f: &mut fmt::Formatter<'_>, file: &FileResult, object: &ObjectInfo) -> fmt::Result {
    let Some(answer) = &object.probe else { return Ok(()) };
    let ours = file.devices.iter().all(|it| it.count(Severity::Error) == 0);
    let ours = if ours { "pass" } else { "errors" };
    let name = &file.name;
    writeln!(f, "{name}, object {}: hsaco says {ours}; probe: {answer}", object.number)?;
    Ok(())
}
