//! Columns of text, and numbers as people read them.

use std::borrow::Cow;
use std::io::{self, Write};

use anstyle::Style;
use hsaco_bytes::escape::shown;

use crate::{CellValue, ColumnType, Rows};

/// Where a column's text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// At the beginning.
    Left,
    /// At the end.
    Right,
}

/// What stands in one place of a table.
#[derive(Clone, Copy, Debug)]
pub enum Cell<'a> {
    /// Text.
    Text(&'a str),
    /// A number, in decimal.
    Number(u64),
    /// A number, in hexadecimal.
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

/// A table that knows how wide its columns are. Its cells are small: a listing of a library has a
/// million of them.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    cells: Vec<Stored>,
    /// The text of all cells that are not numbers, one after the other.
    text: Vec<u8>,
}

#[derive(Debug)]
struct Column {
    title: Cow<'static, str>,
    align: Align,
    width: usize,
}

/// A cell before the widths of all columns are known.
#[derive(Clone, Copy, Debug)]
enum Stored {
    /// A number of a column that aligns to the right.
    Number(u32),
    /// Text that ends here; it begins where the text before it ends.
    Text { end: u32 },
}

/// Rows that a part of a table has, when it is made in parts.
pub const ROWS_A_PART: usize = 512;

/// Spaces between columns.
const GAP: usize = 2;

impl Table {
    /// A table with these titles.
    #[must_use]
    pub fn new(columns: &[(&'static str, Align)]) -> Self {
        Self::of(columns.iter().map(|&(title, align)| (title.into(), align)))
    }

    fn of(columns: impl Iterator<Item = (Cow<'static, str>, Align)>) -> Self {
        let column = |(title, align): (Cow<'static, str>, Align)| {
            let width = title.len();
            Column { title, align, width }
        };
        Self { columns: columns.map(column).collect(), cells: Vec::new(), text: Vec::new() }
    }

    /// All rows and columns of others; titles are the names in capitals.
    #[must_use]
    pub fn of_rows(rows: &Rows) -> Self {
        let title = |it: &crate::Column| {
            let align = if it.ty == ColumnType::Number { Align::Right } else { Align::Left };
            (Cow::Owned(it.name.to_uppercase().replace('_', " ")), align)
        };
        let mut table = Self::of(rows.columns().iter().map(title));
        for row in 0..rows.len() {
            let values: Vec<CellValue<'_>> = rows.row(row).collect();
            table.row_of(&values.iter().zip(rows.columns()).map(cell_of).collect::<Vec<_>>());
        }
        table
    }

    /// A table with these titles between `|`; columns whose title begins with `>` align to the right.
    #[must_use]
    pub fn titled(titles: &'static str) -> Self {
        let column = |title: &'static str| match title.strip_prefix('>') {
            Some(title) => (title, Align::Right),
            None => (title, Align::Left),
        };
        Self::new(&titles.split('|').map(column).collect::<Vec<_>>())
    }

    /// Makes room for rows, and for so many bytes of text in all of them.
    pub fn reserve(&mut self, rows: usize, text: usize) {
        self.cells.reserve(rows.saturating_mul(self.columns.len()));
        self.text.reserve(text);
    }

    /// Adds a row of one cell for each column.
    pub fn row<const N: usize>(&mut self, cells: [Cell<'_>; N]) {
        self.row_of(&cells);
    }

    /// The same, where only the run knows how many columns there are.
    pub fn row_of(&mut self, cells: &[Cell<'_>]) {
        debug_assert_eq!(cells.len(), self.columns.len());
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            let (stored, width) = match small_number(cell, column.align) {
                Some(number) => (Stored::Number(number), digits(number)),
                None => {
                    let (end, width) = push_cell(&mut self.text, cell);
                    (Stored::Text { end }, width)
                }
            };
            column.width = column.width.max(width);
            self.cells.push(stored);
        }
    }

    /// Bytes that the rows are likely to take.
    fn size(&self) -> usize {
        let rows = self.cells.len() / self.columns.len().max(1);
        let width: usize = self.columns.iter().map(|it| it.width.min(64) + GAP).sum();
        rows * width
    }

    /// Whether it has no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Writes titles and rows; the titles in bold where the output takes colour.
    ///
    /// # Errors
    /// The output does.
    pub fn write(&self, out: &mut dyn Write, color: bool) -> io::Result<()> {
        let mut lines = Vec::new();
        Self::push_parts(std::slice::from_ref(self), &mut lines, color);
        out.write_all(&lines)
    }

    /// Appends the rows of several tables of the same columns as one table.
    pub fn push_parts(parts: &[Self], out: &mut Vec<u8>, color: bool) {
        let Some(first) = parts.first() else { return };
        let widest =
            |at: usize| parts.iter().filter_map(|it| Some(it.columns.get(at)?.width)).max();
        let widths: Vec<usize> = (0..first.columns.len()).filter_map(widest).collect();
        let style = if color { Style::new().bold() } else { Style::new() };
        out.reserve(parts.iter().map(Self::size).sum());
        // Writing to memory cannot fail.
        let _ = write!(out, "{style}");
        first.push_titles(out, &widths);
        let _ = writeln!(out, "{style:#}");
        for part in parts {
            part.push_rows(out, &widths);
        }
    }

    fn push_titles(&self, out: &mut Vec<u8>, widths: &[usize]) {
        for (at, (column, width)) in self.columns.iter().zip(widths).enumerate() {
            self.push_text(out, at, *width, column.title.as_bytes());
        }
    }

    fn push_rows(&self, out: &mut Vec<u8>, widths: &[usize]) {
        let mut start = 0;
        for row in self.cells.chunks(self.columns.len()) {
            for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
                match *cell {
                    Stored::Number(number) => push_number(out, gap_before(at) + width, number),
                    Stored::Text { end } => {
                        let text = self.text.get(start..end as usize).unwrap_or_default();
                        start = end as usize;
                        self.push_text(out, at, *width, text);
                    }
                }
            }
            out.push(b'\n');
        }
    }

    /// Appends the text of a cell in column `at`. What is left of a line is not filled up.
    fn push_text(&self, out: &mut Vec<u8>, at: usize, width: usize, text: &[u8]) {
        push_spaces(out, gap_before(at));
        let is_last = at + 1 == self.columns.len();
        match self.columns.get(at).map(|it| it.align) {
            Some(Align::Right) => {
                push_spaces(out, width.saturating_sub(columns_of(text)));
                out.extend_from_slice(text);
            }
            _ if is_last => out.extend_from_slice(text),
            _ => {
                out.extend_from_slice(text);
                push_spaces(out, width.saturating_sub(columns_of(text)));
            }
        }
    }
}

fn cell_of<'a>((value, column): (&'a CellValue<'_>, &crate::Column)) -> Cell<'a> {
    match value {
        CellValue::Null => Cell::Unknown,
        CellValue::Bool(true) => Cell::Text("yes"),
        CellValue::Bool(false) => Cell::Text("no"),
        CellValue::Number(it) if column.ty == ColumnType::Address => Cell::Hex(*it),
        CellValue::Number(it) => Cell::Number(*it),
        CellValue::Text(it) => Cell::Text(it),
    }
}

fn gap_before(column: usize) -> usize {
    if column == 0 { 0 } else { GAP }
}

/// How many columns of a terminal a text takes.
fn columns_of(text: &[u8]) -> usize {
    match text.is_ascii() {
        true => text.len(),
        false => String::from_utf8_lossy(text).chars().count(),
    }
}

/// The number of a cell that need not become text before it is written.
fn small_number(cell: &Cell<'_>, align: Align) -> Option<u32> {
    match (cell, align) {
        (Cell::Number(number), Align::Right) => u32::try_from(*number).ok(),
        _ => None,
    }
}

fn digits(number: u32) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

/// Appends a cell's text, and says where it ends and how wide it is.
fn push_cell(text: &mut Vec<u8>, cell: &Cell<'_>) -> (u32, usize) {
    let start = text.len();
    // Writing to memory cannot fail.
    let _ = match *cell {
        Cell::Unknown => write!(text, "-"),
        Cell::Number(number) => write!(text, "{number}"),
        Cell::Hex(number) => write!(text, "{number:#x}"),
        Cell::Text(it) if is_printable_ascii(it) => text.write_all(it.as_bytes()),
        // One line for each row, whatever bytes a file holds.
        Cell::Text(it) => write!(text, "{}", shown(it)),
    };
    let width = text.get(start..).map_or(0, columns_of);
    (u32::try_from(text.len()).unwrap_or(u32::MAX), width)
}

/// Looks at every byte, as that is faster than to stop at the first that is not.
fn is_printable_ascii(text: &str) -> bool {
    text.bytes().fold(true, |all, byte| all & matches!(byte, b' '..=b'~'))
}

/// Appends a number in decimal, with spaces before it to fill `width` columns; formatting machinery
/// is the larger part of a listing's time otherwise.
#[inline]
fn push_number(out: &mut Vec<u8>, width: usize, number: u32) {
    const ROOM: usize = size_of::<u128>();
    push_spaces(out, width.saturating_sub(ROOM));
    let width = width.min(ROOM);
    // The text is made in a register, its first character lowest: bytes that are stored one by one
    // and copied together make the processor wait.
    let mut field = u128::from_le_bytes([b' '; ROOM]);
    let (mut rest, mut spaces) = (number, width);
    loop {
        field = (field << 8) | u128::from(b'0' + u8::try_from(rest % 10).unwrap_or(0));
        rest /= 10;
        spaces = spaces.saturating_sub(1);
        if rest == 0 {
            break;
        }
    }
    let aligned = field.rotate_left(8 * u32::try_from(spaces).unwrap_or(0));
    let end = out.len() + width;
    out.extend_from_slice(&aligned.to_le_bytes());
    out.truncate(end);
}

fn push_spaces(text: &mut Vec<u8>, count: usize) {
    text.resize(text.len() + count, b' ');
}

/// Bytes in the unit that keeps three digits.
#[must_use]
pub fn human_size(bytes: u64) -> String {
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
