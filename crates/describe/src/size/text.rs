//! The bytes of files for people: sums within sums, and kernels that have the same code.

use std::io::{Result, Write};

use hsaco_bytes::number::{count, grouped};
use hsaco_object::layout::{Duplicate, Piece};
use hsaco_table::text::{Cell, Table};

use super::{Key, Sizes, Sum, saved, saved_within_targets, targets};
use crate::names::Names;

/// How bytes are summed up and shown.
#[derive(Clone, Debug)]
pub struct SizeStyle {
    /// What they are grouped by, outermost first.
    pub keys: Vec<Key>,
    /// The most rows of a group; the others are one.
    pub top: usize,
    /// How names are shown.
    pub names: Names,
}

impl<'a> Sizes<'a> {
    /// Writes what the bytes of a file are for, with or without colours for a terminal.
    pub fn write(&self, style: &SizeStyle, out: &mut impl Write, color: bool) -> Result<()> {
        let layout = self.layout;
        let keys: Vec<_> = style.keys.iter().map(|it| it.name()).collect();
        writeln!(out, "{}: {} bytes by {}", self.path, grouped(layout.size), keys.join(", "))?;
        let pieces = self.pieces(&layout.pieces);
        // Of a file that is compressed, a filter leaves only what is inflated.
        if !pieces.is_empty() || layout.inflated.is_empty() {
            self.write_sums(&pieces, layout.size, style, out, color)?;
        }
        if layout.inflated.is_empty() {
            return Ok(());
        }
        let size = layout.inflated.iter().map(|it| it.size).sum();
        let mut targets: Vec<_> =
            layout.inflated.iter().flat_map(|it| &it.targets).map(String::as_str).collect();
        targets.sort_unstable();
        targets.dedup();
        let payloads = count(layout.inflated.len(), "compressed bundle");
        let (inflated, targets) = (grouped(size), targets.join(", "));
        writeln!(out, "\n{payloads} ({targets}): {inflated} bytes inflated")?;
        let pieces: Vec<_> =
            layout.inflated.iter().flat_map(|it| self.pieces(&it.pieces)).collect();
        self.write_sums(&pieces, size, style, out, color)
    }

    /// Writes the table of pieces that are all or part of `size` bytes.
    fn write_sums(
        &self,
        pieces: &[&'a Piece],
        size: u64,
        style: &SizeStyle,
        out: &mut impl Write,
        color: bool,
    ) -> Result<()> {
        let sum = self.sum(&style.keys, pieces);
        let mut rows = SumTable { table: Table::titled(">BYTES|>PERCENT|WHAT"), size, style };
        rows.add_inner(&sum, 0);
        let total = match self.wanted.is_all() {
            true => "TOTAL".to_owned(),
            false => format!("TOTAL of what was asked for, of {} bytes", grouped(size)),
        };
        rows.add(sum.bytes, &total);
        writeln!(out)?;
        rows.table.write(out, color)
    }

    /// Writes which kernels have the same code, and what one copy of each would save.
    pub fn write_duplicates(
        &self,
        duplicates: &[Duplicate],
        style: &SizeStyle,
        out: &mut impl Write,
        color: bool,
    ) -> Result<()> {
        if duplicates.is_empty() {
            return writeln!(out, "{}: no kernels with the same code", self.path);
        }
        let all: u64 = duplicates.iter().map(saved).sum();
        let within: u64 = duplicates.iter().map(saved_within_targets).sum();
        writeln!(
            out,
            "{}: {} of kernels with the same code; one copy of each would save {} bytes, {} of them within one target\n",
            self.path,
            count(duplicates.len(), "group"),
            grouped(all),
            grouped(within),
        )?;
        duplicate_table(duplicates, style).write(out, color)
    }
}

fn duplicate_table(duplicates: &[Duplicate], style: &SizeStyle) -> Table {
    let mut table = Table::titled(">SAVES|>CODE|>COPIES|>TARGETS|KERNEL");
    for duplicate in duplicates.iter().take(style.top) {
        table.row([
            (&grouped(saved(duplicate))).into(),
            (&grouped(duplicate.size)).into(),
            duplicate.kernels.len().into(),
            targets(duplicate).into(),
            (&names(duplicate, style.names)).into(),
        ]);
    }
    let others = duplicates.get(style.top..).unwrap_or_default();
    if !others.is_empty() {
        table.row([
            (&grouped(others.iter().map(saved).sum())).into(),
            Cell::Unknown,
            others.iter().map(|it| it.kernels.len()).sum::<usize>().into(),
            Cell::Unknown,
            (&format!("[{}]", count(others.len(), "other"))).into(),
        ]);
    }
    table
}

/// The name of the first kernel, and how many other names there are.
fn names(duplicate: &Duplicate, style: Names) -> String {
    let mut names: Vec<&str> = duplicate.kernels.iter().map(|it| &*it.name).collect();
    let first = names.first().map(|name| style.of((*name).into()).into_owned()).unwrap_or_default();
    names.sort_unstable();
    names.dedup();
    match names.len() {
        0 | 1 => first,
        several => format!("{first} [and {}]", count(several - 1, "other name")),
    }
}

/// A table of sums within sums.
struct SumTable<'s> {
    table: Table,
    /// What a hundred percent is.
    size: u64,
    style: &'s SizeStyle,
}

impl SumTable<'_> {
    fn add(&mut self, bytes: u64, text: &str) {
        let percent = percent(bytes, self.size);
        self.table.row([(&grouped(bytes)).into(), (&percent).into(), text.into()]);
    }

    fn add_inner(&mut self, sum: &Sum<'_>, depth: usize) {
        let SizeStyle { top, names, .. } = *self.style;
        let parts = sum.parts();
        let indent = "  ".repeat(depth);
        for (label, part) in parts.iter().take(top) {
            let text = label.text(names);
            self.add(part.bytes, &format!("{indent}{text}"));
            // One part of the same name says nothing more.
            let inner = part.parts();
            let alike = inner.len() == 1 && inner.iter().all(|(it, _)| it.text(names) == text);
            if !alike {
                self.add_inner(part, depth + 1);
            }
        }
        let others = parts.get(top..).unwrap_or_default();
        if !others.is_empty() {
            let bytes = others.iter().map(|(_, part)| part.bytes).sum();
            self.add(bytes, &format!("{indent}[{}]", count(others.len(), "other")));
        }
    }
}

/// `12.3%`, cut and not rounded, so that only all of it is a hundred.
fn percent(part: u64, whole: u64) -> String {
    let thousandths = u128::from(part) * 1000 / u128::from(whole.max(1));
    format!("{}.{}%", thousandths / 10, thousandths % 10)
}
