//! For GitHub Actions: workflow commands that become annotations.

use hsaco_bytes::escape::shown;
use std::fmt;

use crate::finding::Severity;
use crate::result::{FileResult, Shown};

/// New findings as annotations.
#[derive(Clone, Copy, Debug)]
pub struct Github<'r> {
    /// What was found.
    pub files: &'r [FileResult],
}

impl fmt::Display for Github<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for file in self.files {
            for (device, shown) in file.findings().filter(|(_, it)| it.is_new()) {
                write_one(f, file, device.device.as_deref(), shown)?;
            }
        }
        Ok(())
    }
}

fn write_one(
    out: &mut fmt::Formatter<'_>,
    file: &FileResult,
    device: Option<&str>,
    shown: &Shown,
) -> fmt::Result {
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
    writeln!(out, "::{command} {place},title={}::{message}", property(finding.rule))
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
