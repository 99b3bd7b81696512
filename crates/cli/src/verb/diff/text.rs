//! What is different, for people.

use hsaco::bytes::number::count;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use hsaco::diff::{DiffLine, FieldValue, FunctionDiff, ObjectDiff, ObjectName, Side, ValueChange};

use crate::output::Output;
use crate::text::shown;

/// Where the text goes, and its colours.
pub(super) struct Writer<'o> {
    out: &'o mut Output,
    removed: Style,
    added: Style,
    bold: Style,
    is_first: bool,
}

impl<'o> Writer<'o> {
    pub(super) fn new(out: &'o mut Output) -> Self {
        let plain = Style::new();
        let (removed, added, bold) = match out.color() {
            true => (AnsiColor::Red.on_default(), AnsiColor::Green.on_default(), plain.bold()),
            false => (plain, plain, plain),
        };
        Self { out, removed, added, bold, is_first: true }
    }

    /// Writes what is different between two objects, if anything is.
    pub(super) fn write(&mut self, object: &ObjectDiff) -> io::Result<()> {
        if object.is_empty() {
            return Ok(());
        }
        if !std::mem::take(&mut self.is_first) {
            writeln!(self.out)?;
        }
        self.object(object)
    }

    fn object(&mut self, object: &ObjectDiff) -> io::Result<()> {
        let bold = self.bold;
        let out = &mut *self.out;
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
        let out = &mut *self.out;
        if object.identical != 0 {
            writeln!(out, "the same in both: {}", count(object.identical, "function"))?;
        }
        Ok(())
    }

    fn function(&mut self, function: &FunctionDiff) -> io::Result<()> {
        let bold = self.bold;
        let out = &mut *self.out;
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

    fn changes(&mut self, what: &str, changes: &[ValueChange]) -> io::Result<()> {
        for change in changes {
            let text = |value: &FieldValue| match value {
                FieldValue::None => Ok("none".to_owned()),
                FieldValue::Text(text) => Ok(text.clone()),
                value => serde_json::to_string(value),
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

    fn line(&mut self, line: &DiffLine, (a, b): (usize, usize)) -> io::Result<()> {
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
