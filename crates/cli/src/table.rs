//! Columns of text, and numbers as people read them.

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

/// A table that knows how wide its columns are. The text of all cells is one run of bytes: a
/// listing of a library has a million cells.
pub(crate) struct Table {
    columns: Vec<Column>,
    text: Vec<u8>,
    cells: Vec<Extent>,
}

struct Column {
    title: &'static str,
    align: Align,
    width: usize,
}

/// Where a cell's text ends, and how many columns of a terminal it takes.
struct Extent {
    end: u32,
    width: u32,
}

/// Rows that a part of a table has, when it is made in parts.
pub(crate) const ROWS_A_PART: usize = 512;

impl Table {
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Self {
        let column =
            |&(title, align): &(&'static str, Align)| Column { title, align, width: title.len() };
        Self { columns: columns.iter().map(column).collect(), text: Vec::new(), cells: Vec::new() }
    }

    /// Adds a row of one cell for each column.
    pub(crate) fn row<const N: usize>(&mut self, cells: [Cell<'_>; N]) {
        debug_assert_eq!(N, self.columns.len());
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            let width = push_cell(&mut self.text, cell);
            column.width = column.width.max(width);
            let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
            self.cells.push(Extent { end: small(self.text.len()), width: small(width) });
        }
    }

    /// Bytes that the rows are likely to take.
    pub(crate) fn size(&self) -> usize {
        let rows = self.cells.len() / self.columns.len().max(1);
        let width: usize = self.columns.iter().map(|it| it.width.min(64) + 2).sum();
        rows * width
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Writes titles and rows; the titles in bold where the output takes colour.
    pub(crate) fn write(&self, out: &mut dyn Write, color: bool) -> io::Result<()> {
        Self::write_parts(std::slice::from_ref(self), out, color)
    }

    /// Writes the rows of several tables of the same columns as one table.
    pub(crate) fn write_parts(parts: &[Self], out: &mut dyn Write, color: bool) -> io::Result<()> {
        let Some(first) = parts.first() else {
            return Ok(());
        };
        let widest =
            |at: usize| parts.iter().filter_map(|it| Some(it.columns.get(at)?.width)).max();
        let widths: Vec<usize> = (0..first.columns.len()).filter_map(widest).collect();
        let style = if color { Style::new().bold() } else { Style::new() };
        let mut titles = Vec::new();
        let cells = first.columns.iter().map(|it| (it.title.as_bytes(), it.title.len()));
        first.push_line(&mut titles, &widths, cells);
        writeln!(out, "{style}{}{style:#}", String::from_utf8_lossy(&titles))?;
        for lines in parts.iter().map(|part| part.lines(&widths)) {
            out.write_all(&lines)?;
        }
        Ok(())
    }

    fn lines(&self, widths: &[usize]) -> Vec<u8> {
        let mut lines = Vec::with_capacity(self.size());
        let mut start = 0;
        for row in self.cells.chunks(self.columns.len()) {
            let cells = row.iter().map(|cell| {
                let text = self.text.get(start..cell.end as usize).unwrap_or_default();
                start = cell.end as usize;
                (text, cell.width as usize)
            });
            self.push_line(&mut lines, widths, cells);
            lines.push(b'\n');
        }
        lines
    }

    fn push_line<'a>(
        &self,
        line: &mut Vec<u8>,
        widths: &[usize],
        cells: impl Iterator<Item = (&'a [u8], usize)>,
    ) {
        let last = self.columns.len().saturating_sub(1);
        let columns = self.columns.iter().zip(widths);
        for (at, ((text, width), (column, widest))) in cells.zip(columns).enumerate() {
            let gap = widest.saturating_sub(width);
            let between = if at == 0 { 0 } else { 2 };
            match column.align {
                Align::Right => {
                    push_spaces(line, between + gap);
                    line.extend_from_slice(text);
                }
                Align::Left => {
                    push_spaces(line, between);
                    line.extend_from_slice(text);
                    push_spaces(line, if at == last { 0 } else { gap });
                }
            }
        }
    }
}

/// Appends a cell's text and says how wide it is.
fn push_cell(text: &mut Vec<u8>, cell: Cell<'_>) -> usize {
    let start = text.len();
    match cell {
        Cell::Unknown => text.push(b'-'),
        Cell::Number(number) => push_number(text, number),
        Cell::Hex(number) => {
            // Writing to memory cannot fail.
            let _ = write!(text, "{number:#x}");
        }
        Cell::Text(it) if it.is_ascii() && !it.bytes().any(|byte| byte.is_ascii_control()) => {
            text.extend_from_slice(it.as_bytes());
        }
        // One line for each row, whatever bytes a file holds.
        Cell::Text(it) => {
            let it = it.replace(char::is_control, "\u{fffd}");
            text.extend_from_slice(it.as_bytes());
            return it.chars().count();
        }
    }
    text.len() - start
}

/// A number in decimal; formatting machinery is the larger part of a listing's time otherwise.
fn push_number(text: &mut Vec<u8>, number: u64) {
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
    text.extend_from_slice(digits.get(digits.len() - used..).unwrap_or_default());
}

fn push_spaces(text: &mut Vec<u8>, count: usize) {
    text.resize(text.len() + count, b' ');
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
