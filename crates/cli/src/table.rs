//! Columns of text, and numbers as people read them.

use std::io::{self, Write};

use anstyle::Style;

/// Where a column's text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A table that is measured when it is written.
pub(crate) struct Table {
    columns: Vec<(&'static str, Align)>,
    cells: Vec<String>,
}

impl Table {
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Self {
        Self { columns: columns.to_vec(), cells: Vec::new() }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        debug_assert_eq!(N, self.columns.len());
        self.cells.extend(cells);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut widths: Vec<usize> = self.columns.iter().map(|(title, _)| title.len()).collect();
        for row in self.cells.chunks(widths.len()) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let bold = Style::new().bold();
        write!(out, "{bold}")?;
        let titles = self.columns.iter().map(|&(title, _)| title);
        self.line(out, titles, &widths)?;
        writeln!(out, "{bold:#}")?;
        for row in self.cells.chunks(widths.len()) {
            self.line(out, row.iter().map(String::as_str), &widths)?;
            writeln!(out)?;
        }
        Ok(())
    }

    fn line<'a>(
        &self,
        out: &mut dyn Write,
        cells: impl Iterator<Item = &'a str>,
        widths: &[usize],
    ) -> io::Result<()> {
        let last = widths.len().saturating_sub(1);
        for (at, ((cell, &width), &(_, align))) in cells.zip(widths).zip(&self.columns).enumerate()
        {
            let gap = if at == 0 { "" } else { "  " };
            match align {
                Align::Right => write!(out, "{gap}{cell:>width$}")?,
                Align::Left if at == last => write!(out, "{gap}{cell}")?,
                Align::Left => write!(out, "{gap}{cell:<width$}")?,
            }
        }
        Ok(())
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
}
