//! Rows, kept by column.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::filter::RowFilter;
use crate::order::Order;
use crate::problem::ExpressionProblem;
use crate::value::{CellValue, Column, ColumnType};

/// Rows of some columns.
#[derive(Clone, Debug)]
pub struct Rows {
    columns: Vec<Column>,
    cells: Vec<Cells>,
    len: usize,
}

/// What one column holds, row by row.
#[derive(Clone, Debug)]
enum Cells {
    Bools(Vec<Option<bool>>),
    Numbers(Vec<Option<u64>>),
    Texts(Texts),
}

/// Texts one after the other.
#[derive(Clone, Debug, Default)]
struct Texts {
    text: String,
    /// Where each ends, and whether there is one.
    ends: Vec<(usize, bool)>,
}

impl Texts {
    fn push(&mut self, text: Option<&str>) {
        self.text.push_str(text.unwrap_or_default());
        self.ends.push((self.text.len(), text.is_some()));
    }

    fn get(&self, row: usize) -> Option<&str> {
        let (end, is_there) = *self.ends.get(row)?;
        let start = row.checked_sub(1).and_then(|it| self.ends.get(it)).map_or(0, |it| it.0);
        self.text.get(start..end).filter(|_| is_there)
    }
}

impl Cells {
    fn new(ty: ColumnType) -> Self {
        match ty {
            ColumnType::Bool => Self::Bools(Vec::new()),
            ColumnType::Number | ColumnType::Address => Self::Numbers(Vec::new()),
            ColumnType::Text => Self::Texts(Texts::default()),
        }
    }

    /// Appends a value; one of another type is not known.
    fn push(&mut self, value: &CellValue<'_>) {
        match (self, value) {
            (Self::Bools(cells), CellValue::Bool(it)) => cells.push(Some(*it)),
            (Self::Bools(cells), _) => cells.push(None),
            (Self::Numbers(cells), CellValue::Number(it)) => cells.push(Some(*it)),
            (Self::Numbers(cells), _) => cells.push(None),
            (Self::Texts(cells), CellValue::Text(it)) => cells.push(Some(it)),
            (Self::Texts(cells), _) => cells.push(None),
        }
    }

    fn get(&self, row: usize) -> CellValue<'_> {
        match self {
            Self::Bools(cells) => cells.get(row).copied().flatten().into(),
            Self::Numbers(cells) => cells.get(row).copied().flatten().into(),
            Self::Texts(cells) => cells.get(row).into(),
        }
    }
}

impl Rows {
    /// No rows of these columns.
    #[must_use]
    pub fn new(columns: &[Column]) -> Self {
        let cells = columns.iter().map(|it| Cells::new(it.ty)).collect();
        Self { columns: columns.to_vec(), cells, len: 0 }
    }

    /// The columns.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes that the rows take, more or less.
    #[must_use]
    pub fn size(&self) -> usize {
        let size = |it: &Cells| match it {
            Cells::Bools(cells) => cells.len(),
            Cells::Numbers(cells) => 8 * cells.len(),
            Cells::Texts(cells) => 4 * cells.ends.len() + cells.text.len(),
        };
        self.cells.iter().map(size).sum()
    }

    /// Appends a row: a value for each column, in their order. What is missing is not known.
    pub fn push<'v>(&mut self, values: impl IntoIterator<Item = CellValue<'v>>) {
        let mut values = values.into_iter();
        for cells in &mut self.cells {
            cells.push(&values.next().unwrap_or(CellValue::Null));
        }
        self.len += 1;
    }

    /// What stands in a row and column, by their numbers; null where there is no such place.
    #[must_use]
    pub fn get(&self, row: usize, column: usize) -> CellValue<'_> {
        self.cells.get(column).map_or(CellValue::Null, |it| it.get(row))
    }

    /// One row.
    pub fn row(&self, row: usize) -> impl Iterator<Item = CellValue<'_>> {
        self.cells.iter().map(move |it| it.get(row))
    }

    /// Appends the rows of others that have the same columns.
    pub fn append(&mut self, other: &Self) {
        (0..other.len).for_each(|row| self.push(other.row(row)));
    }

    /// The rows of these numbers, in their order.
    #[must_use]
    pub fn picked(&self, rows: impl IntoIterator<Item = usize>) -> Self {
        let mut picked = Self::new(&self.columns);
        rows.into_iter().for_each(|row| picked.push(self.row(row)));
        picked
    }

    /// The rows that an expression is true of. It was read for the same columns.
    #[must_use]
    pub fn filtered(&self, filter: &RowFilter) -> Self {
        self.picked((0..self.len).filter(|&row| filter.is_true(|column| self.get(row, column))))
    }

    /// The rows in an order. It was read for the same columns.
    #[must_use]
    pub fn sorted(&self, order: &Order) -> Self {
        let mut rows: Vec<usize> = (0..self.len).collect();
        rows.sort_by(|&a, &b| {
            let compare = |column| (self.get(a, column), self.get(b, column));
            order
                .keys()
                .map(|(column, descending)| {
                    let (a, b) = compare(column);
                    order_of(&a, &b, descending)
                })
                .find(|it| it.is_ne())
                .unwrap_or(Ordering::Equal)
        });
        self.picked(rows)
    }

    /// The same rows with these columns only, by number.
    #[must_use]
    pub fn with_columns(&self, columns: &[usize]) -> Self {
        let pick = |&at: &usize| Some((*self.columns.get(at)?, self.cells.get(at)?.clone()));
        let (columns, cells) = columns.iter().filter_map(pick).unzip();
        Self { columns, cells, len: self.len }
    }
}

/// The numbers of columns that a list such as `name,vgprs` names.
///
/// # Errors
/// One of them is not there.
pub fn columns_named(list: &str, columns: &[Column]) -> Result<Vec<usize>, ExpressionProblem> {
    let mut start = 0;
    let mut found = Vec::new();
    for word in list.split(',') {
        let name = word.trim();
        let at = start + word.len() - word.trim_start().len();
        found.push(ExpressionProblem::find_column(list, at, name, columns)?);
        start += word.len() + 1;
    }
    Ok(found)
}

/// How two values compare; what is not known comes last, either way.
fn order_of(a: &CellValue<'_>, b: &CellValue<'_>, descending: bool) -> Ordering {
    let order = match (a, b) {
        (CellValue::Null, CellValue::Null) => return Ordering::Equal,
        (CellValue::Null, _) => return Ordering::Greater,
        (_, CellValue::Null) => return Ordering::Less,
        (CellValue::Bool(a), CellValue::Bool(b)) => a.cmp(b),
        (CellValue::Number(a), CellValue::Number(b)) => a.cmp(b),
        (CellValue::Text(a), CellValue::Text(b)) => Cow::cmp(a, b),
        _ => Ordering::Equal,
    };
    if descending { order.reverse() } else { order }
}
