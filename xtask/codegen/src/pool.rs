//! Rust expressions, each stored once.

use std::collections::HashMap;

/// Distinct expressions in the order in which they came.
#[derive(Default)]
pub(crate) struct Pool {
    items: Vec<String>,
    numbers: HashMap<String, usize>,
    runs: HashMap<Vec<String>, usize>,
}

impl Pool {
    /// The number of an expression, new or known.
    pub(crate) fn add(&mut self, item: String) -> usize {
        if let Some(number) = self.numbers.get(&item) {
            return *number;
        }
        self.items.push(item.clone());
        self.numbers.insert(item, self.items.len() - 1);
        self.items.len() - 1
    }

    pub(crate) fn find(&self, item: &str) -> Option<usize> {
        self.numbers.get(item).copied()
    }

    /// Where a sequence of expressions stands, and its length.
    pub(crate) fn run(&mut self, items: &[String]) -> (usize, usize) {
        if items.is_empty() {
            return (0, 0);
        }
        let start = self.runs.get(items).copied().unwrap_or_else(|| {
            self.items.extend_from_slice(items);
            self.runs.insert(items.to_vec(), self.items.len() - items.len());
            self.items.len() - items.len()
        });
        (start, items.len())
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn items(&self) -> &[String] {
        &self.items
    }

    pub(crate) fn lines(&self) -> String {
        self.items.iter().map(|item| format!("    {item},\n")).collect()
    }
}
