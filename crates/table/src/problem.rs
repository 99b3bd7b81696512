//! What is wrong with an expression, and where.

use std::fmt;

use crate::value::Column;

/// What is wrong with a text that a user typed, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionProblem {
    message: String,
    text: String,
    /// In bytes.
    start: usize,
    end: usize,
}

impl ExpressionProblem {
    pub(crate) fn new(
        text: &str,
        place: std::ops::Range<usize>,
        message: impl Into<String>,
    ) -> Self {
        Self { message: message.into(), text: text.to_owned(), start: place.start, end: place.end }
    }

    /// The first byte that is wrong.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.start
    }

    /// The number of the column of this name, which stands at `at` of a text.
    pub(crate) fn find_column(
        text: &str,
        at: usize,
        name: &str,
        columns: &[Column],
    ) -> Result<usize, Self> {
        let found = columns.iter().position(|it| it.name == name);
        found.ok_or_else(|| {
            let distance = |it: &&Column| strsim::damerau_levenshtein(it.name, name);
            let nearest = columns.iter().min_by_key(distance).filter(|it| distance(it) <= 3);
            let hint = match nearest {
                Some(it) => format!("did you mean '{}'?", it.name),
                None => {
                    let names: Vec<&str> = columns.iter().map(|it| it.name).collect();
                    format!("there are {}", names.join(", "))
                }
            };
            let message = format!("there is no column '{name}'; {hint}");
            Self::new(text, at..at + name.len(), message)
        })
    }
}

impl fmt::Display for ExpressionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let characters = |end: usize| self.text.get(..end).map_or(0, |it| it.chars().count());
        let (start, end) = (characters(self.start), characters(self.end));
        let marks = "^".repeat(end.saturating_sub(start).max(1));
        write!(f, "{}\n  {}\n  {:start$}{marks}", self.message, self.text, "")
    }
}

impl std::error::Error for ExpressionProblem {}
