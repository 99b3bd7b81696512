//! Columns: items of layers that follow one another, joined by edges that do not cross, have one center.
//! Then the columns move to where their other edges pull them, as far as there is room.

use std::collections::BTreeMap;

use super::grid::{Grid, Item, MANY, Piece};
use super::values::{Lists, Values, sorted};

/// Room between boxes, between a box and a line, and between lines.
const BETWEEN_BOXES: i64 = 36;
const BESIDE_BOX: i64 = 20;
const BETWEEN_LINES: i64 = 12;
/// Passes over all columns, to the left and to the right in turns.
const PASSES: usize = 12;
/// The same for large pictures.
const PASSES_OF_MANY: usize = 4;

/// The middle of each item.
pub(super) fn centers(grid: &Grid) -> Values<i64> {
    let columns = Columns::new(grid);
    let centers = columns.centers(grid);
    (0..grid.items.len()).map(|it| centers.at(columns.of.at(it))).collect()
}

/// Items that have one center.
struct Columns {
    /// By item.
    of: Values<usize>,
    count: usize,
}

/// A column that another must keep a distance from.
#[derive(Clone, Copy)]
struct Neighbour {
    column: usize,
    distance: i64,
}

impl Columns {
    fn new(grid: &Grid) -> Self {
        let upper = aligned(grid);
        let mut columns = Self { of: Values::new(grid.items.len(), 0), count: 0 };
        for &item in grid.layers.iter().flatten() {
            let column = match upper.at(item) {
                Some(upper) => columns.of.at(upper),
                None => {
                    columns.count += 1;
                    columns.count - 1
                }
            };
            columns.of.set(item, column);
        }
        columns
    }

    fn centers(&self, grid: &Grid) -> Values<i64> {
        let mut pairs = Vec::new();
        for layer in &grid.layers {
            for pair in layer.windows(2) {
                if let &[left, right] = pair {
                    let distance = distance(grid.item(left), grid.item(right));
                    pairs.push((self.of.at(left), self.of.at(right), distance));
                }
            }
        }
        let side = |of: &[(usize, usize, i64)]| {
            let neighbour = |&(own, column, distance): &_| (own, Neighbour { column, distance });
            Lists::new(self.count, of.iter().map(neighbour).collect())
        };
        let to_right = side(&pairs);
        let swapped: Vec<_> = pairs.iter().map(|&(left, right, by)| (right, left, by)).collect();
        let to_left = side(&swapped);
        let after = Lists::new(self.count, pairs.into_iter().map(|it| (it.0, it.1)).collect());
        let order = sorted(self.count, &after);
        let pulls = Lists::new(self.count, self.pulls(grid));
        let mut packing = Packing { to_left, to_right, centers: Values::new(self.count, 0) };
        for &column in &order {
            packing.centers.set(column, packing.leftmost(column));
        }
        let is_large = grid.items.len() > MANY;
        for pass in 0..if is_large { PASSES_OF_MANY } else { PASSES } {
            let mut move_one = |&column: &usize| packing.pull(column, pulls.of(column));
            match pass % 2 {
                0 => order.iter().rev().for_each(&mut move_one),
                _ => order.iter().for_each(&mut move_one),
            }
        }
        packing.centers
    }

    /// Which column each column is pulled to.
    fn pulls(&self, grid: &Grid) -> Vec<(usize, usize)> {
        let mut pulls = Vec::new();
        for piece in &grid.pieces {
            let (upper, lower) = (self.of.at(piece.upper), self.of.at(piece.lower));
            if upper != lower {
                pulls.extend([(upper, lower), (lower, upper)]);
            }
        }
        // A lane keeps close to what is left of it.
        for layer in &grid.layers {
            for pair in layer.windows(2) {
                if let &[left, right] = pair
                    && grid.item(right).lane.is_some()
                {
                    pulls.push((self.of.at(right), self.of.at(left)));
                }
            }
        }
        pulls
    }
}

/// Where the columns are.
struct Packing {
    to_left: Lists<Neighbour>,
    to_right: Lists<Neighbour>,
    centers: Values<i64>,
}

impl Packing {
    fn leftmost(&self, column: usize) -> i64 {
        let bound = |it: &Neighbour| self.centers.at(it.column) + it.distance;
        self.to_left.of(column).iter().map(bound).max().unwrap_or(0)
    }

    fn rightmost(&self, column: usize) -> i64 {
        let bound = |it: &Neighbour| self.centers.at(it.column) - it.distance;
        self.to_right.of(column).iter().map(bound).min().unwrap_or(i64::MAX)
    }

    /// Moves a column to the median of the places it is pulled to.
    fn pull(&mut self, column: usize, pulls: &[usize]) {
        let mut places: Vec<i64> = pulls.iter().map(|&it| self.centers.at(it)).collect();
        let middle = places.len() / 2;
        if places.is_empty() {
            return;
        }
        let (_, &mut wanted, _) = places.select_nth_unstable(middle);
        let least = match self.to_left.of(column) {
            [] => i64::MIN,
            _ => self.leftmost(column),
        };
        self.centers.set(column, wanted.min(self.rightmost(column)).max(least));
    }
}

fn distance(left: Item, right: Item) -> i64 {
    let room = match (left.is_box, right.is_box) {
        (true, true) => BETWEEN_BOXES,
        (false, false) => BETWEEN_LINES,
        _ => BESIDE_BOX,
    };
    (left.width + 1) / 2 + (right.width + 1) / 2 + room
}

/// By item: the one above it that has the same center. Main edges are straight first, then long ones.
fn aligned(grid: &Grid) -> Values<Option<usize>> {
    let mut place = Values::new(grid.items.len(), 0);
    for layer in &grid.layers {
        for (at, &item) in layer.iter().enumerate() {
            place.set(item, at);
        }
    }
    let ends = |it: &Piece| (place.at(it.upper), place.at(it.lower));
    let mut pieces: Vec<&Piece> = grid.pieces.iter().chain(&grid.pairs).collect();
    pieces.sort_by_cached_key(|it| {
        let bends = [it.upper, it.lower].into_iter().filter(|&it| !grid.item(it).is_box).count();
        (!it.is_main, 2 - bends, grid.item(it.upper).layer, ends(it))
    });
    let mut upper = Values::new(grid.items.len(), None);
    // By layer: the pieces below it that are straight.
    let mut straight: Vec<BTreeMap<usize, usize>> = vec![BTreeMap::new(); grid.layers.len()];
    for piece in pieces {
        let Some(straight) = straight.get_mut(grid.item(piece.upper).layer) else { continue };
        let (from, to) = ends(piece);
        let before = straight.range(..=from).next_back();
        let after = straight.range(from..).next();
        let fits = before.is_none_or(|(&above, &below)| above < from && below < to)
            && after.is_none_or(|(&above, &below)| above > from && below > to);
        if fits {
            straight.insert(from, to);
            upper.set(piece.lower, Some(piece.upper));
        }
    }
    upper
}
