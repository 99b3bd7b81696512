//! Boxes and the bends of edges, layer by layer.

use super::cycle::Walk;
use super::nest::Nest;
use super::values::Values;
use super::{Edge, Graph};

/// Items of a picture that is too large to be looked at closely.
pub(super) const MANY: usize = 1 << 15;
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
    loops: Nest,
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
            loops: Nest::new(graph),
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
        let closes = lane.closes?;
        let is_enclosed = |it: usize| self.loops.is_inside(self.item(it).inside, closes);
        items.iter().rposition(|&it| is_enclosed(it))
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
        let goes_to = graph.innermost(edge.to);
        let inside = graph.around(edge.from).find(|&it| self.loops.is_inside(goes_to, it));
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
