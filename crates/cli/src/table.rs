//! Columns of text, and numbers as people read them.

use std::fmt::Write as _;
use std::io::{self, Write};

use anstyle::Style;

/// Where a column's text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// What stands in one place of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cell<'a> {
    Text(&'a str),
    Number(u64),
    Hex(u64),
    /// Not known.
    Unknown,
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Cell<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl From<Option<u64>> for Cell<'_> {
    fn from(number: Option<u64>) -> Self {
        number.map_or(Self::Unknown, Self::Number)
    }
}

impl From<u64> for Cell<'_> {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<usize> for Cell<'_> {
    fn from(number: usize) -> Self {
        Self::Number(number as u64)
    }
}

/// A table that knows how wide its columns are. The text of all cells is one string.
pub(crate) struct Table {
    columns: Vec<Column>,
    text: String,
    ends: Vec<usize>,
}

struct Column {
    title: &'static str,
    align: Align,
    width: usize,
}

impl Table {
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Self {
        let column = |&(title, align): &(&'static str, Align)| Column {
            title,
            align,
            width: title.chars().count(),
        };
        Self {
            columns: columns.iter().map(column).collect(),
            text: String::new(),
            ends: Vec::new(),
        }
    }

    /// Adds a row of one cell for each column.
    pub(crate) fn row<const N: usize>(&mut self, cells: [Cell<'_>; N]) {
        debug_assert_eq!(N, self.columns.len());
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            let start = self.text.len();
            push_cell(&mut self.text, cell);
            let added = self.text.get(start..).unwrap_or_default();
            let width = if added.is_ascii() { added.len() } else { added.chars().count() };
            column.width = column.width.max(width);
            self.ends.push(self.text.len());
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Writes titles and rows; the titles in bold where the output takes colour.
    pub(crate) fn write(&self, out: &mut dyn Write, color: bool) -> io::Result<()> {
        let mut line = String::new();
        let style = if color { Style::new().bold() } else { Style::new() };
        self.push_line(&mut line, self.columns.iter().map(|it| it.title));
        writeln!(out, "{style}{line}{style:#}")?;
        let mut start = 0;
        for ends in self.ends.chunks(self.columns.len()) {
            line.clear();
            let cells = ends.iter().map(|&end| {
                let cell = self.text.get(start..end).unwrap_or_default();
                start = end;
                cell
            });
            self.push_line(&mut line, cells);
            line.push('\n');
            out.write_all(line.as_bytes())?;
        }
        Ok(())
    }

    fn push_line<'a>(&self, line: &mut String, cells: impl Iterator<Item = &'a str>) {
        let last = self.columns.len().saturating_sub(1);
        for (at, (cell, column)) in cells.zip(&self.columns).enumerate() {
            if at > 0 {
                line.push_str("  ");
            }
            let width = if cell.is_ascii() { cell.len() } else { cell.chars().count() };
            let gap = column.width.saturating_sub(width);
            match column.align {
                Align::Right => {
                    push_spaces(line, gap);
                    line.push_str(cell);
                }
                Align::Left => {
                    line.push_str(cell);
                    push_spaces(line, if at == last { 0 } else { gap });
                }
            }
        }
    }
}

fn push_cell(text: &mut String, cell: Cell<'_>) {
    match cell {
        Cell::Unknown => text.push('-'),
        Cell::Number(number) => push_number(text, number),
        // Writing to a string cannot fail.
        Cell::Hex(number) => drop(write!(text, "{number:#x}")),
        // One line for each row, whatever bytes a file holds.
        Cell::Text(it) if it.contains(char::is_control) => {
            text.push_str(&it.replace(char::is_control, "\u{fffd}"));
        }
        Cell::Text(it) => text.push_str(it),
    }
}

/// A number in decimal; formatting machinery is the larger part of a listing's time otherwise.
fn push_number(text: &mut String, number: u64) {
    let mut digits = [0_u8; 20];
    let mut rest = number;
    let mut used = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
        used += 1;
        if rest == 0 {
            break;
        }
    }
    let digits = digits.get(digits.len() - used..).unwrap_or_default();
    text.extend(digits.iter().map(|&digit| char::from(digit)));
}

fn push_spaces(text: &mut String, count: usize) {
    const SPACES: &str = "                                ";
    let mut left = count;
    while left > 0 {
        let part = SPACES.get(..left.min(SPACES.len())).unwrap_or(SPACES);
        text.push_str(part);
        left -= part.len();
    }
}

/// `1 kernel`, `2 kernels`, `88,697 kernels`.
pub(crate) fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(number as u64))
}

/// Digits in groups of three.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes in the unit that keeps three digits.
pub(crate) fn human_size(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut tenths = u128::from(bytes) * 10 / 1024;
    let mut unit = 0;
    while tenths >= 10_240 && unit + 1 < units.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, units.get(unit).unwrap_or(&""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(1, "kernel"), "1 kernel");
        assert_eq!(count(88_697, "kernel"), "88,697 kernels");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(human_size(1023), "1023 B");
        assert_eq!(human_size(1_310_496_488), "1.2 GiB");
    }

    #[test]
    fn columns_line_up_and_a_row_is_a_line() {
        let mut table =
            Table::new(&[("N", Align::Right), ("NAME", Align::Left), ("X", Align::Left)]);
        table.row([Cell::Number(u64::MAX), "a\nb".into(), Cell::Hex(255)]);
        table.row([Cell::Number(0), "Stra\u{df}e".into(), Cell::Unknown]);
        let mut out = Vec::new();
        table.write(&mut out, false).unwrap();
        let expected = "                   N  NAME    X\n\
                        18446744073709551615  a\u{fffd}b     0xff\n                   0  Stra\u{df}e  -\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
