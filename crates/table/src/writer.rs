//! Rows on their way out: filtered, sorted and in a format.

use std::io::{self, Write};

use crate::filter::RowFilter;
use crate::order::Order;
use crate::problem::ExpressionProblem;
use crate::rows::{Rows, columns_named};
use crate::text::Table;
use crate::value::Column;
use crate::{csv, jsonl, parquet};

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Columns of text, with bold titles if the output takes colour.
    Text {
        /// Whether it does.
        color: bool,
    },
    /// Comma-separated values, with a line of names.
    Csv,
    /// An object on each line.
    Jsonl,
    /// Parquet.
    Parquet,
}

/// What is wanted of a table, as a user typed it.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableView<'w> {
    /// The rows of which this is true.
    pub filter: Option<&'w str>,
    /// In this order.
    pub order: Option<&'w str>,
    /// Only these columns.
    pub columns: Option<&'w str>,
    /// The columns that people are shown who name none.
    pub shown: &'w [&'w str],
}

/// Writes the rows of a table that are view.
///
/// ```
/// use hsaco_table::{Column, Format, Rows, ColumnType, CellValue, TableView, Writer};
/// let columns = [Column::new("name", ColumnType::Text, ""), Column::new("vgprs", ColumnType::Number, "")];
/// let mut rows = Rows::new(&columns);
/// rows.push([CellValue::from("a"), CellValue::from(24_u64)]);
/// rows.push([CellValue::from("b"), CellValue::from(48_u64)]);
/// let view = TableView { filter: Some("vgprs > 30"), columns: Some("name"), ..TableView::default() };
/// let mut writer = Writer::new("ls", &columns, Format::Csv, view)?;
/// let mut out = Vec::new();
/// let rows = writer.select(rows);
/// writer.write(&rows, &mut out)?;
/// assert_eq!((writer.finish(&mut out)?, out.as_slice()), (1, b"name\nb\n".as_slice()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Writer {
    table: &'static str,
    format: Format,
    filter: Option<RowFilter>,
    order: Option<Order>,
    /// By number; none where all are view.
    columns: Option<Vec<usize>>,
    all_columns: Vec<Column>,
    /// Those that are not shown to people where all rows have the same there.
    may_be_left_out: Vec<usize>,
    /// What can be written only when all is there.
    waiting: Rows,
    parquet: Option<parquet::Writer>,
    begun: bool,
    count: usize,
}

/// Columns that say where a row is.
const PLACES: [&str; 3] = ["path", "object", "target"];

impl Writer {
    /// For rows of these columns.
    ///
    /// # Errors
    /// What is wrong with what is view.
    pub fn new(
        table: &'static str,
        columns: &[Column],
        format: Format,
        view: TableView<'_>,
    ) -> Result<Self, ExpressionProblem> {
        let filter = view.filter.map(|it| RowFilter::parse(it, columns)).transpose()?;
        let order = view.order.map(|it| Order::parse(it, columns)).transpose()?;
        let named = view.columns.map(|it| columns_named(it, columns)).transpose()?;
        let mut asked: Vec<usize> = filter.iter().flat_map(RowFilter::columns).collect();
        asked.extend(order.iter().flat_map(Order::columns));
        let is_text = matches!(format, Format::Text { .. });
        let number = |name: &&str| columns.iter().position(|it| it.name == *name);
        let may_be_left_out = match &named {
            None if is_text => {
                PLACES.iter().filter_map(number).filter(|it| !asked.contains(it)).collect()
            }
            _ => Vec::new(),
        };
        let chosen = named.or_else(|| is_text.then(|| shown(view.shown, columns, &asked)));
        Ok(Self {
            table,
            format,
            filter,
            order,
            columns: chosen,
            all_columns: columns.to_vec(),
            may_be_left_out,
            waiting: Rows::new(columns),
            parquet: None,
            begun: false,
            count: 0,
        })
    }

    /// The wanted ones of some rows.
    #[must_use]
    pub fn select(&self, rows: Rows) -> Rows {
        match &self.filter {
            Some(filter) => rows.filtered(filter),
            None => rows,
        }
    }

    /// Takes rows that were selected, and writes what can be written.
    ///
    /// # Errors
    /// The output does.
    pub fn write(&mut self, rows: &Rows, out: &mut dyn Write) -> io::Result<()> {
        self.count += rows.len();
        let is_text = matches!(self.format, Format::Text { .. });
        if is_text || self.order.is_some() {
            self.waiting.append(rows);
            return Ok(());
        }
        self.write_now(rows, out)
    }

    /// Writes the rest, and says how many rows there were.
    ///
    /// # Errors
    /// The output does.
    pub fn finish(mut self, out: &mut dyn Write) -> io::Result<usize> {
        let mut rows = std::mem::replace(&mut self.waiting, Rows::new(&self.all_columns));
        if let Some(order) = &self.order {
            rows = rows.sorted(order);
        }
        match self.format {
            Format::Text { color } => self.write_text(&rows, out, color)?,
            _ => self.write_now(&rows, out)?,
        }
        if let Some(writer) = self.parquet.take() {
            writer.finish(out)?;
        }
        Ok(self.count)
    }

    fn write_now(&mut self, rows: &Rows, out: &mut dyn Write) -> io::Result<()> {
        let rows = match &self.columns {
            Some(columns) => &rows.with_columns(columns),
            None => rows,
        };
        let is_first = !std::mem::replace(&mut self.begun, true);
        match self.format {
            Format::Text { .. } => Ok(()),
            Format::Jsonl => jsonl::write_rows(rows, out),
            Format::Csv => {
                if is_first {
                    csv::write_head(rows.columns(), out)?;
                }
                csv::write_rows(rows, out)
            }
            Format::Parquet => {
                if is_first {
                    self.parquet = Some(parquet::Writer::new(out, rows.columns(), self.table)?);
                }
                self.parquet.as_mut().map_or(Ok(()), |it| it.write(rows, out))
            }
        }
    }

    /// Columns that say the same of all rows say nothing.
    fn write_text(&self, rows: &Rows, out: &mut dyn Write, color: bool) -> io::Result<()> {
        let is_same = |&at: &usize| (1..rows.len()).all(|row| rows.get(row, at) == rows.get(0, at));
        let is_left_out = |at: &usize| self.may_be_left_out.contains(at) && is_same(at);
        let columns = self.columns.iter().flatten().copied();
        let columns: Vec<usize> = columns.filter(|it| !is_left_out(it)).collect();
        match rows.is_empty() {
            true => Ok(()),
            false => Table::of_rows(&rows.with_columns(&columns)).write(out, color),
        }
    }
}

/// What people are shown: some columns, and before the last of them those that were asked for beside.
fn shown(shown: &[&str], columns: &[Column], asked: &[usize]) -> Vec<usize> {
    let number = |name: &&str| columns.iter().position(|it| it.name == *name);
    let mut found: Vec<usize> = shown.iter().filter_map(number).collect();
    let last = found.pop();
    for column in asked {
        if !found.contains(column) && last != Some(*column) {
            found.push(*column);
        }
    }
    found.extend(last);
    found
}
