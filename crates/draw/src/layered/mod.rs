//! Drawings of directed graphs in layers, for control flow.
//!
//! In: the sizes of boxes, the edges between them, and loops. Out: where the boxes go, and for each edge
//! a line of upright and level pieces. Edges go down, but for those that close a cycle, which go back up in
//! a lane to the right of what they enclose. No box overlaps another, and no line runs through a box.
//!
//! One step after the other, a module each: which edges go back (`cycle`), the layer of each box
//! (`layer`), boxes and the bends of long edges in one grid (`grid`), their order from left to right (`order`),
//! their columns (`column`), and the lines (`route`). `nest` says which loops are inside which.

mod column;
mod cycle;
mod grid;
mod layer;
mod nest;
mod order;
mod route;
mod values;

#[cfg(test)]
mod tests;

use cycle::Walk;
use grid::Grid;

/// What to draw. Box 0 is the entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub(crate) boxes: Vec<Size>,
    pub(crate) edges: Vec<Edge>,
    /// Boxes that belong into one column, the first above the second, though no edge joins them.
    pub(crate) pairs: Vec<(usize, usize)>,
    /// Each comes after the one around it.
    pub(crate) loops: Vec<Loop>,
    /// By box: the innermost loop.
    pub(crate) innermost: Vec<Option<usize>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) width: i64,
    pub(crate) height: i64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) x: i64,
    pub(crate) y: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Whether both ends belong into one column if that can be. No box has two such edges on one side.
    pub(crate) is_main: bool,
}

/// A loop: the box through which it is entered, and the number of the loop around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    pub(crate) header: usize,
    pub(crate) parent: Option<usize>,
}

/// Where everything goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drawing {
    /// The upper left corners of the boxes.
    pub(crate) boxes: Vec<Point>,
    /// For each edge the corners of its line, from the lower side of a box to the upper side of a box.
    pub(crate) routes: Vec<Vec<Point>>,
    pub(crate) size: Size,
}

/// Draws a graph; none where long edges have so many bends that they could not be followed.
pub(crate) fn draw(graph: &Graph) -> Option<Drawing> {
    let walk = Walk::new(graph);
    let layers = layer::layers(graph, &walk);
    let mut grid = Grid::new(graph, &walk, &layers)?;
    order::arrange(&mut grid);
    let centers = column::centers(&grid);
    Some(route::drawing(graph, &grid, &centers))
}

impl Graph {
    pub(crate) fn innermost(&self, number: usize) -> Option<usize> {
        self.innermost.get(number).copied().flatten()
    }

    fn parent(&self, number: usize) -> Option<usize> {
        self.loops.get(number).and_then(|it| it.parent)
    }

    /// The numbers of the loops that a box is in, from the innermost on.
    fn around(&self, number: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.innermost(number), |&it| self.parent(it))
    }

    fn is_self_loop(edge: &Edge) -> bool {
        edge.from == edge.to
    }
}
