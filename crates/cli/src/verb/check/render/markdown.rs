//! For comments and summaries: a table.

use std::io::Write;

use anyhow::Result;

use crate::text::shown;
use crate::verb::ls::source_name;

use super::super::model::FileResult;

pub(super) fn write(out: &mut dyn Write, files: &[FileResult]) -> Result<()> {
    let mut rows = files
        .iter()
        .flat_map(|file| file.findings().map(move |(device, shown)| (file, device, shown)))
        .filter(|(_, _, shown)| shown.is_told())
        .peekable();
    if rows.peek().is_none() {
        writeln!(out, "No findings.")?;
        return Ok(());
    }
    writeln!(out, "| severity | rule | file | device | kernel | what | help |")?;
    writeln!(out, "|---|---|---|---|---|---|---|")?;
    for (file, device, shown) in rows {
        let finding = &shown.finding;
        let kernel = finding.subject.kernel.as_deref().map(|name| source_name(name.into()));
        let cells = [
            finding.severity.name().to_owned(),
            code(finding.rule),
            code(&file.place(shown)),
            device.device.as_deref().map_or_else(String::new, code),
            kernel.map_or_else(String::new, |name| code(&name)),
            escaped(&finding.message),
            escaped(&finding.help),
        ];
        writeln!(out, "| {} |", cells.join(" | "))?;
    }
    Ok(())
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
