//! Boxes and the bends of edges, layer by layer.

use super::cycle::Walk;
use super::values::Values;
use super::{Edge, Graph};

/// More bends than this make no picture, and would take long.
const MOST_BENDS: usize = 1 << 20;

/// A place in a layer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Item {
    pub(super) layer: usize,
    pub(super) width: i64,
    /// True for a box, false for the place where an edge passes the layer.
    pub(super) is_box: bool,
    /// For a place where an edge goes back up: the loop that it closes, if it is one.
    pub(super) lane: Option<Lane>,
    /// The innermost loop of the box, or of both ends of the edge.
    inside: Option<usize>,
    /// Where the item is at first: what was met first is left.
    start: (usize, usize),
}

/// Edges that go back up, from the innermost out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lane {
    /// How many layers it passes.
    pub(super) span: usize,
    pub(super) edge: usize,
    closes: Option<usize>,
}

/// A piece of an edge between two layers that follow one another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) upper: usize,
    pub(super) lower: usize,
    pub(super) is_main: bool,
}

/// Items by layer, and the edges as chains of them. The boxes come first in number.
pub(super) struct Grid {
    pub(super) items: Vec<Item>,
    /// From left to right.
    pub(super) layers: Vec<Vec<usize>>,
    /// By edge, in its direction: a box, bends, a box; of an edge that goes back, the bends only.
    pub(super) chains: Vec<Vec<usize>>,
    pub(super) pieces: Vec<Piece>,
    /// What belongs into one column and is joined by nothing.
    pub(super) pairs: Vec<Piece>,
    /// By loop: its number when loops are counted from the outside in, and that of the next beside it.
    loops: Values<(usize, usize)>,
}

impl Grid {
    pub(super) fn new(graph: &Graph, walk: &Walk, layers: &Values<usize>) -> Option<Self> {
        let count = (0..graph.boxes.len()).map(|it| layers.at(it) + 1).max().unwrap_or(0);
        let mut grid = Self {
            items: Vec::new(),
            layers: vec![Vec::new(); count],
            chains: Vec::with_capacity(graph.edges.len()),
            pieces: Vec::new(),
            pairs: pairs(graph, layers),
            loops: nesting(graph),
        };
        for (number, size) in graph.boxes.iter().enumerate() {
            grid.add(Item {
                layer: layers.at(number),
                width: size.width,
                is_box: true,
                lane: None,
                inside: graph.innermost(number),
                start: (walk.place(number), 0),
            });
        }
        for (number, edge) in graph.edges.iter().enumerate() {
            let chain = match walk.goes_back(number) || Graph::is_self_loop(edge) {
                true => grid.add_lane(graph, layers, number, edge),
                false => grid.add_bends(graph, walk, layers, edge),
            };
            grid.chains.push(chain);
            if grid.items.len() > graph.boxes.len() + MOST_BENDS {
                return None;
            }
        }
        for layer in &mut grid.layers {
            let items = &grid.items;
            layer.sort_by_key(|&it| items.get(it).map(|it| it.start));
        }
        Some(grid)
    }

    pub(super) fn item(&self, number: usize) -> Item {
        self.items.get(number).copied().unwrap_or_default()
    }

    /// The last of some items that a lane encloses.
    pub(super) fn last_enclosed(&self, lane: Lane, items: &[usize]) -> Option<usize> {
        let (first, end) = self.loops.at(lane.closes?);
        let is_enclosed = |&it: &usize| {
            self.item(it).inside.is_some_and(|it| (first..end).contains(&self.loops.at(it).0))
        };
        items.iter().rposition(is_enclosed)
    }

    fn add(&mut self, item: Item) -> usize {
        let number = self.items.len();
        if let Some(layer) = self.layers.get_mut(item.layer) {
            layer.push(number);
        }
        self.items.push(item);
        number
    }

    /// The chain of an edge that goes down.
    fn add_bends(
        &mut self,
        graph: &Graph,
        walk: &Walk,
        layers: &Values<usize>,
        edge: &Edge,
    ) -> Vec<usize> {
        let outer: Vec<usize> = graph.around(edge.to).collect();
        let inside = graph.around(edge.from).find(|it| outer.contains(it));
        let start = (walk.place(edge.to), 1);
        let mut chain = vec![edge.from];
        for layer in layers.at(edge.from) + 1..layers.at(edge.to) {
            let bend = Item { layer, width: 0, is_box: false, lane: None, inside, start };
            chain.push(self.add(bend));
        }
        chain.push(edge.to);
        for pair in chain.windows(2) {
            if let &[upper, lower] = pair {
                self.pieces.push(Piece { upper, lower, is_main: edge.is_main });
            }
        }
        chain
    }

    /// The chain of an edge that goes back up.
    fn add_lane(
        &mut self,
        graph: &Graph,
        layers: &Values<usize>,
        number: usize,
        edge: &Edge,
    ) -> Vec<usize> {
        let (top, bottom) = (layers.at(edge.to), layers.at(edge.from));
        let header = |it: &usize| graph.loops.get(*it).is_some_and(|it| it.header == edge.to);
        let closes = graph.innermost(edge.to).filter(header);
        let lane = Lane { span: bottom.saturating_sub(top), edge: number, closes };
        let inside = closes;
        let start = (usize::MAX, number);
        let mut chain: Vec<usize> = Vec::new();
        for layer in (top..=bottom).rev() {
            let item = Item { layer, width: 0, is_box: false, lane: Some(lane), inside, start };
            let upper = self.add(item);
            if let Some(&lower) = chain.last() {
                self.pieces.push(Piece { upper, lower, is_main: false });
            }
            chain.push(upper);
        }
        chain
    }
}

/// The pairs that are in layers that follow one another.
fn pairs(graph: &Graph, layers: &Values<usize>) -> Vec<Piece> {
    let pairs = graph.pairs.iter().map(|&(upper, lower)| Piece { upper, lower, is_main: true });
    pairs.filter(|it| layers.at(it.upper) + 1 == layers.at(it.lower)).collect()
}

/// Counts loops from the outside in.
fn nesting(graph: &Graph) -> Values<(usize, usize)> {
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
    ranges
}
