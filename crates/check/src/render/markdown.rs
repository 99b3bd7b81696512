//! For comments and summaries: a table.

use hsaco_bytes::escape::shown;
use std::fmt;

use crate::result::{DeviceResult, FileResult, Shown};

/// Findings as rows of a table, without those that the baseline has.
#[derive(Clone, Copy, Debug)]
pub struct Markdown<'r> {
    /// What was found.
    pub files: &'r [FileResult],
}

impl fmt::Display for Markdown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = self
            .files
            .iter()
            .flat_map(|file| file.findings().map(move |(device, shown)| (file, device, shown)))
            .filter(|(_, _, shown)| shown.is_told())
            .peekable();
        if rows.peek().is_none() {
            return writeln!(f, "No findings.");
        }
        writeln!(f, "| severity | rule | file | device | kernel | what | help |")?;
        writeln!(f, "|---|---|---|---|---|---|---|")?;
        for (file, device, shown) in rows {
            writeln!(f, "| {} |", cells(file, device, shown).join(" | "))?;
        }
        Ok(())
    }
}

fn cells(file: &FileResult, device: &DeviceResult, shown: &Shown) -> [String; 7] {
    let finding = &shown.finding;
    [
        finding.severity.name().to_owned(),
        code(finding.rule),
        code(&file.place(shown)),
        device.device.as_deref().map_or_else(String::new, code),
        shown.kernel().map_or_else(String::new, |name| code(&name)),
        escaped(&finding.message),
        escaped(&finding.help),
    ]
}

/// Text in which nothing is markup; the fence is longer than any run of backquotes in it.
fn code(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if longest > 0 { " " } else { "" };
    format!("{fence}{pad}{}{pad}{fence}", flat(text).replace('|', "\\|"))
}

fn escaped(text: &str) -> String {
    let escape = |letter: char| match letter {
        '|' | '<' | '>' | '*' | '_' | '`' | '[' | ']' | '\\' => format!("\\{letter}"),
        letter => letter.to_string(),
    };
    flat(text).chars().map(escape).collect()
}

fn flat(text: &str) -> String {
    shown(&text.replace(['\n', '\r'], " ")).into_owned()
}
