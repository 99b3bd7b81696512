//! Which edges close a cycle.

use super::Graph;
use super::values::{Lists, Values};

/// A walk over all boxes, from the entry on, main edges first.
pub(super) struct Walk {
    /// By edge: whether it goes to a box from which the walk came, or to its own.
    goes_back: Values<bool>,
    /// By box: how many boxes were met before it.
    place: Values<usize>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Visit {
    #[default]
    Never,
    OnTheWay,
    Over,
}

impl Walk {
    pub(super) fn new(graph: &Graph) -> Self {
        let count = graph.boxes.len();
        let mut out: Vec<(usize, usize)> =
            graph.edges.iter().enumerate().map(|(number, edge)| (edge.from, number)).collect();
        let is_main = |number: usize| graph.edges.get(number).is_some_and(|edge| edge.is_main);
        out.sort_by_key(|&(_, number)| !is_main(number));
        let out = Lists::new(count, out);
        let mut walk =
            Self { goes_back: Values::new(graph.edges.len(), false), place: Values::new(count, 0) };
        let mut visits = Values::new(count, Visit::Never);
        let mut met = 0;
        for start in 0..count {
            if visits.at(start) == Visit::Never {
                walk.from(start, graph, &out, &mut visits, &mut met);
            }
        }
        walk
    }

    fn from(
        &mut self,
        start: usize,
        graph: &Graph,
        out: &Lists<usize>,
        visits: &mut Values<Visit>,
        met: &mut usize,
    ) {
        // Boxes on the way, each with how many of its edges were followed.
        let mut path = vec![(start, 0)];
        while let Some((from, followed)) = path.last_mut() {
            if *followed == 0 && visits.at(*from) == Visit::Never {
                visits.set(*from, Visit::OnTheWay);
                self.place.set(*from, *met);
                *met += 1;
            }
            let Some(&edge) = out.of(*from).get(*followed) else {
                visits.set(*from, Visit::Over);
                path.pop();
                continue;
            };
            *followed += 1;
            let Some(to) = graph.edges.get(edge).map(|it| it.to) else { continue };
            match visits.at(to) {
                Visit::Never => path.push((to, 0)),
                Visit::OnTheWay => self.goes_back.set(edge, true),
                Visit::Over => {}
            }
        }
    }

    pub(super) fn goes_back(&self, edge: usize) -> bool {
        self.goes_back.at(edge)
    }

    pub(super) fn place(&self, number: usize) -> usize {
        self.place.at(number)
    }
}
