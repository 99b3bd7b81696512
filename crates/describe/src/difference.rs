//! What is different between two objects, as text.

use std::fmt::{self, Write as _};

use anstyle::{AnsiColor, Style};
use hsaco_bytes::escape::shown;
use hsaco_bytes::number::count;
use hsaco_diff::{DiffLine, FieldValue, FunctionDiff, ObjectDiff, ObjectName, Side, ValueChange};

/// What is different between two objects, with or without colours for a terminal; nothing if nothing is.
#[must_use]
pub fn text(object: &ObjectDiff, color: bool) -> String {
    let mut writer = Writer::new(color);
    if !object.is_empty() {
        // Writing to a string cannot fail.
        let _ = writer.object(object);
    }
    writer.out
}

/// The text, and its colours.
struct Writer {
    out: String,
    removed: Style,
    added: Style,
    bold: Style,
}

impl Writer {
    fn new(color: bool) -> Self {
        let plain = Style::new();
        let (removed, added, bold) = match color {
            true => (AnsiColor::Red.on_default(), AnsiColor::Green.on_default(), plain.bold()),
            false => (plain, plain, plain),
        };
        Self { out: String::new(), removed, added, bold }
    }

    fn object(&mut self, object: &ObjectDiff) -> fmt::Result {
        let bold = self.bold;
        let out = &mut self.out;
        let name = |it: &ObjectName| {
            let target = it.target.as_deref().unwrap_or("unknown");
            format!("object {} ({target})", it.index)
        };
        let (a, b) = (object.a.as_ref().map(name), object.b.as_ref().map(name));
        match (a, b) {
            (Some(a), Some(b)) if a == b => writeln!(out, "{bold}{a}{bold:#}")?,
            (Some(a), Some(b)) => writeln!(out, "{bold}{a} and {b}{bold:#}")?,
            (Some(a), None) => return writeln!(out, "{bold}{a}{bold:#}: only in A"),
            (None, Some(b)) => return writeln!(out, "{bold}{b}{bold:#}: only in B"),
            (None, None) => return Ok(()),
        }
        self.changes("", &object.header)?;
        for function in &object.functions {
            self.function(function)?;
        }
        let out = &mut self.out;
        if object.identical != 0 {
            writeln!(out, "the same in both: {}", count(object.identical, "function"))?;
        }
        Ok(())
    }

    fn function(&mut self, function: &FunctionDiff) -> fmt::Result {
        let bold = self.bold;
        let out = &mut self.out;
        let kind = if function.kernel { "kernel" } else { "function" };
        write!(out, "{kind} {bold}{}{bold:#}: ", shown(&function.demangled))?;
        match function.found_in {
            Side::OnlyA => return writeln!(out, "only in A"),
            Side::OnlyB => return writeln!(out, "only in B"),
            Side::Both => {}
        }
        match (function.removed, function.added) {
            (Some(0), Some(0)) => writeln!(out, "the same instructions{}", encoded(function))?,
            (Some(removed), Some(added)) => {
                let removed = count(removed, "instruction");
                writeln!(out, "{removed} removed, {added} added{}", encoded(function))?;
            }
            _ => writeln!(out, "instructions not compared")?,
        }
        self.changes("", &function.metadata)?;
        self.changes("descriptor ", &function.descriptor)?;
        self.changes("argument ", &function.arguments)?;
        let lines = || function.hunks.iter().flatten();
        let width = |address: fn(&DiffLine) -> Option<u64>| {
            lines().filter_map(address).map(|it| format!("{it:x}").len()).max().unwrap_or(1)
        };
        let widths = (width(|it| it.a), width(|it| it.b));
        for (hunk, number) in function.hunks.iter().zip(0..) {
            if number != 0 {
                writeln!(self.out, "  ...")?;
            }
            hunk.iter().try_for_each(|line| self.line(line, widths))?;
        }
        Ok(())
    }

    fn changes(&mut self, what: &str, changes: &[ValueChange]) -> fmt::Result {
        for change in changes {
            let text = |value: &FieldValue| match value {
                FieldValue::None => Ok("none".to_owned()),
                FieldValue::Text(text) => Ok(text.clone()),
                value => serde_json::to_string(value).map_err(|_| fmt::Error),
            };
            writeln!(
                self.out,
                "  {what}{}: {} -> {}",
                change.name,
                text(&change.a)?,
                text(&change.b)?
            )?;
        }
        Ok(())
    }

    fn line(&mut self, line: &DiffLine, (a, b): (usize, usize)) -> fmt::Result {
        let (sign, style) = match (line.a, line.b) {
            (Some(_), None) => ('-', self.removed),
            (None, Some(_)) => ('+', self.added),
            _ => (' ', Style::new()),
        };
        let place = |address: Option<u64>| address.map_or(String::new(), |it| format!("{it:x}"));
        let (left, right) = (place(line.a), place(line.b));
        writeln!(self.out, "{style}{sign} {left:>a$} {right:>b$}  {}{style:#}", line.text)
    }
}

/// What to say of instructions that have the same text and other bytes.
fn encoded(function: &FunctionDiff) -> String {
    match function.reencoded.unwrap_or(0) {
        0 => String::new(),
        number => format!(", {number} encoded otherwise"),
    }
}
