//! Which loops are inside which.

use super::Graph;
use super::values::Values;

/// By loop: its number when loops are counted from the outside in, and that of the next beside it.
pub(super) struct Nest(Values<(usize, usize)>);

impl Nest {
    pub(super) fn new(graph: &Graph) -> Self {
        let mut sizes = Values::new(graph.loops.len(), 1);
        for (number, it) in graph.loops.iter().enumerate().rev() {
            if let Some(parent) = it.parent {
                sizes.set(parent, sizes.at(parent) + sizes.at(number));
            }
        }
        let mut ranges = Values::new(graph.loops.len(), (0, 0));
        // By loop: where the next loop inside it begins.
        let mut next = Values::new(graph.loops.len(), 0);
        let mut outside = 0;
        for (number, it) in graph.loops.iter().enumerate() {
            let first = it.parent.map_or(outside, |parent| next.at(parent));
            let end = first + sizes.at(number);
            ranges.set(number, (first, end));
            next.set(number, first + 1);
            match it.parent {
                Some(parent) => next.set(parent, end),
                None => outside = end,
            }
        }
        Self(ranges)
    }

    /// Whether a loop is another or inside it; what is in no loop is inside none.
    pub(super) fn is_inside(&self, inner: Option<usize>, outer: usize) -> bool {
        let (first, end) = self.0.at(outer);
        inner.is_some_and(|inner| (first..end).contains(&self.0.at(inner).0))
    }
}
