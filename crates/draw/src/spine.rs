//! Which blocks of a picture belong below one another in one column: what runs when nothing special does.
//!
//! A block comes under one of the blocks before it, if possible under one that is in the column of its
//! dominator, so that the code after a condition or a loop stands where the code before it stood.

use crate::flow::{Block, EdgeKind, Graph};

/// An edge between cards.
pub(crate) struct Wire {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) kind: EdgeKind,
}

/// The answer.
pub(crate) struct Spine {
    /// By edge: whether both ends are in one column.
    pub(crate) is_main: Vec<bool>,
    /// Blocks in one column that no edge joins: the end of a loop, and what follows the loop.
    pub(crate) pairs: Vec<(usize, usize)>,
}

impl Spine {
    pub(crate) fn new(graph: &Graph, wires: &[Wire]) -> Self {
        let mut into: Vec<Vec<usize>> = vec![Vec::new(); graph.blocks.len()];
        for (number, wire) in wires.iter().enumerate() {
            if let Some(list) = into.get_mut(wire.to).filter(|_| wire.from < wire.to) {
                list.push(number);
            }
        }
        let mut search = Search {
            graph,
            wires,
            places: Vec::with_capacity(graph.blocks.len()),
            lowest: Vec::new(),
            found: Self { is_main: vec![false; wires.len()], pairs: Vec::new() },
        };
        for (number, edges) in into.iter().enumerate() {
            search.place(number, edges);
        }
        search.found
    }
}

/// Where a block stands.
#[derive(Clone, Copy)]
struct Place {
    column: usize,
    /// Whether a block stands below it.
    is_covered: bool,
}

struct Search<'s> {
    graph: &'s Graph,
    wires: &'s [Wire],
    /// Of the blocks so far.
    places: Vec<Place>,
    /// By column: the last block.
    lowest: Vec<usize>,
    found: Spine,
}

impl Search<'_> {
    fn place(&mut self, number: usize, edges: &[usize]) {
        let edge = edges.iter().copied().filter(|&it| self.is_free(it));
        if let Some(edge) = edge.min_by_key(|&it| self.rank(number, it)) {
            if let Some(is_main) = self.found.is_main.get_mut(edge) {
                *is_main = true;
            }
            let above = self.wires.get(edge).map_or(0, |it| it.from);
            return self.put_below(above, number);
        }
        match self.end_of_loop(number) {
            Some(above) => {
                self.found.pairs.push((above, number));
                self.put_below(above, number);
            }
            None => {
                self.places.push(Place { column: self.lowest.len(), is_covered: false });
                self.lowest.push(number);
            }
        }
    }

    fn put_below(&mut self, above: usize, number: usize) {
        let Some(place) = self.places.get_mut(above) else { return };
        place.is_covered = true;
        let column = place.column;
        self.places.push(Place { column, is_covered: false });
        if let Some(lowest) = self.lowest.get_mut(column) {
            *lowest = number;
        }
    }

    /// Whether a block can stand below the one that an edge comes from.
    fn is_free(&self, edge: usize) -> bool {
        let Some(from) = self.wires.get(edge).map(|it| it.from) else { return false };
        self.block(from).is_some_and(|it| it.is_reached)
            && self.places.get(from).is_some_and(|it| !it.is_covered)
    }

    /// The smaller the better.
    fn rank(&self, number: usize, edge: usize) -> (bool, u8, usize) {
        let wire = self.wires.get(edge);
        let from = wire.map_or(0, |it| it.from);
        let column = self.places.get(from).map(|it| it.column);
        let kind = match wire.map(|it| it.kind) {
            Some(EdgeKind::FallThrough | EdgeKind::NotTaken) => 0,
            Some(EdgeKind::Jump) => 1,
            _ => 2,
        };
        (column != self.column_of_dominator(number), kind, number - from)
    }

    fn column_of_dominator(&self, number: usize) -> Option<usize> {
        self.places.get(self.block(number)?.dominator?).map(|it| it.column)
    }

    /// The last block in the column of a dominator, if it is in a loop that this block is not in.
    fn end_of_loop(&self, number: usize) -> Option<usize> {
        let lowest = *self.lowest.get(self.column_of_dominator(number)?)?;
        let left = self.block(lowest)?.innermost?;
        let stays = self.graph.loops.get(left)?.blocks.binary_search(&number).is_ok();
        (!stays).then_some(lowest)
    }

    fn block(&self, number: usize) -> Option<&Block> {
        self.graph.blocks.get(number)
    }
}
