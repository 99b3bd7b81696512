//! Columns to sort by: `-vgprs,name`.

use crate::problem::ExpressionProblem;
use crate::value::Column;

/// The columns that rows are sorted by, the first first.
///
/// ```
/// use hsaco_table::{Column, Order, ColumnType};
/// let columns = [Column::new("name", ColumnType::Text, ""), Column::new("vgprs", ColumnType::Number, "")];
/// assert!(Order::parse("-vgprs,name", &columns).is_ok());
/// let problem = Order::parse("-vgprs,nam", &columns).unwrap_err();
/// assert_eq!(problem.to_string(), "there is no column 'nam'; did you mean 'name'?\n  -vgprs,nam\n         ^^^");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order(Vec<(usize, bool)>);

impl Order {
    /// Reads columns between commas; after a `-` the largest comes first.
    ///
    /// # Errors
    /// One of them is not there.
    pub fn parse(text: &str, columns: &[Column]) -> Result<Self, ExpressionProblem> {
        let mut start = 0;
        let mut keys = Vec::new();
        for word in text.split(',') {
            let blanks = word.len() - word.trim_start().len();
            let name = word.trim();
            let (name, descending) = match name.strip_prefix('-') {
                Some(name) => (name, true),
                None => (name, false),
            };
            let at = start + blanks + usize::from(descending);
            keys.push((ExpressionProblem::find_column(text, at, name, columns)?, descending));
            start += word.len() + 1;
        }
        Ok(Self(keys))
    }

    /// The number of each column, and whether the largest comes first.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (usize, bool)> + '_ {
        self.0.iter().copied()
    }

    /// The numbers of the columns.
    pub fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().map(|it| it.0)
    }
}
