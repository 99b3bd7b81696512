//! For GitHub Actions: workflow commands that become annotations.

use std::io::Write;

use anyhow::Result;
use hsaco::check::Severity;

use super::super::model::{FileResult, Shown};
use crate::text::shown;

pub(super) fn write(out: &mut dyn Write, files: &[FileResult]) -> Result<()> {
    for file in files {
        for (device, shown) in file.findings().filter(|(_, it)| it.is_new()) {
            write_one(out, file, device.device.as_deref(), shown)?;
        }
    }
    Ok(())
}

fn write_one(
    out: &mut dyn Write,
    file: &FileResult,
    device: Option<&str>,
    shown: &Shown,
) -> Result<()> {
    let finding = &shown.finding;
    let command = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let place = match &shown.source {
        Some(source) => format!("file={},line={}", property(&source.file), source.line),
        None => format!("file={}", property(&file.name)),
    };
    let on = device.map_or_else(String::new, |name| format!("on {name}: "));
    let about = file.about(shown);
    let message = data(&format!("{on}{about}{}\nhelp: {}", finding.message, finding.help));
    writeln!(out, "::{command} {place},title={}::{message}", property(finding.rule))?;
    Ok(())
}

/// Text of a message: a line cannot end in it.
fn data(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(shown).collect();
    lines.join("\n").replace('%', "%25").replace('\n', "%0A")
}

/// Text of a property, which commas and colons end.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
