//! The order of items from left to right: each layer in turn after the layer beside it, by the mean place of
//! what an item is joined to, as long as that makes fewer edges cross.

use super::grid::{Grid, MANY};
use super::values::{Lists, Values};

/// Passes over all layers, down and up in turns.
const PASSES: usize = 16;
/// Passes without fewer crossings after which it is no use to go on.
const PATIENCE: usize = 4;
/// The same for large pictures.
const PASSES_OF_MANY: usize = 2;
/// Parts of a place, so that means are whole numbers.
const PARTS: usize = 1 << 10;

pub(super) fn arrange(grid: &mut Grid) {
    let mut order = Order::new(grid);
    for layer in 0..grid.layers.len() {
        order.place_lanes(grid, layer);
    }
    let mut fewest = order.crossings(grid);
    let mut best = grid.layers.clone();
    let mut tried = 0;
    let passes = if grid.items.len() > MANY { PASSES_OF_MANY } else { PASSES };
    for pass in 0..passes {
        if fewest == 0 || tried == PATIENCE {
            break;
        }
        order.pass(grid, pass % 2 == 0);
        let crossings = order.crossings(grid);
        tried += 1;
        if crossings < fewest {
            (fewest, tried) = (crossings, 0);
            best.clone_from(&grid.layers);
        }
    }
    grid.layers = best;
}

struct Order {
    /// By item: its number from the left.
    place: Values<usize>,
    /// By item: those that edges join it to in the layer above, and below.
    above: Lists<usize>,
    below: Lists<usize>,
}

impl Order {
    fn new(grid: &Grid) -> Self {
        let count = grid.items.len();
        let above = grid.pieces.iter().map(|it| (it.lower, it.upper)).collect();
        let below = grid.pieces.iter().map(|it| (it.upper, it.lower)).collect();
        let mut order = Self {
            place: Values::new(count, 0),
            above: Lists::new(count, above),
            below: Lists::new(count, below),
        };
        for layer in &grid.layers {
            order.number(layer);
        }
        order
    }

    fn number(&mut self, layer: &[usize]) {
        for (place, &item) in layer.iter().enumerate() {
            self.place.set(item, place);
        }
    }

    fn pass(&mut self, grid: &mut Grid, goes_down: bool) {
        let count = grid.layers.len();
        for step in 1..count {
            let layer = if goes_down { step } else { count - 1 - step };
            let place = |item: usize| {
                let beside = if goes_down { self.above.of(item) } else { self.below.of(item) };
                match beside.iter().map(|&it| self.place.at(it) * PARTS).sum::<usize>() {
                    _ if beside.is_empty() => self.place.at(item) * PARTS,
                    sum => sum / beside.len(),
                }
            };
            if let Some(items) = grid.layers.get_mut(layer) {
                items.sort_by_cached_key(|&item| place(item));
            }
            self.place_lanes(grid, layer);
        }
    }

    /// Puts lanes directly to the right of what they enclose, inner ones first.
    fn place_lanes(&mut self, grid: &mut Grid, layer: usize) {
        let Some(items) = grid.layers.get(layer) else { return };
        let (mut lanes, mut rest) = (Vec::new(), Vec::new());
        for &number in items {
            match grid.item(number).lane {
                Some(lane) => lanes.push((lane, number)),
                None => rest.push(number),
            }
        }
        let after = |lane| grid.last_enclosed(lane, &rest);
        let mut placed: Vec<_> = lanes
            .into_iter()
            .map(|(lane, number)| (after(lane).unwrap_or(rest.len()), lane, number))
            .collect();
        placed.sort_unstable();
        let mut placed = placed.into_iter().peekable();
        let mut merged = Vec::with_capacity(items.len());
        for (place, item) in rest.into_iter().enumerate() {
            merged.push(item);
            while let Some((.., lane)) = placed.next_if(|it| it.0 == place) {
                merged.push(lane);
            }
        }
        merged.extend(placed.map(|it| it.2));
        self.number(&merged);
        if let Some(items) = grid.layers.get_mut(layer) {
            *items = merged;
        }
    }

    fn crossings(&self, grid: &Grid) -> usize {
        let mut sum = 0;
        for layers in grid.layers.windows(2) {
            let [upper, lower] = layers else { continue };
            let ends = upper.iter().flat_map(|&item| {
                let mut places: Vec<usize> =
                    self.below.of(item).iter().map(|&it| self.place.at(it)).collect();
                places.sort_unstable();
                places
            });
            sum += inversions(ends, lower.len());
        }
        sum
    }
}

/// How many pairs of numbers below `len` are not in order.
fn inversions(numbers: impl Iterator<Item = usize>, len: usize) -> usize {
    // How many numbers were met, as sums over ranges that are powers of two long (Fenwick).
    let mut met = Values::new(len + 1, 0_usize);
    let (mut count, mut sum) = (0, 0);
    for number in numbers {
        let mut not_above = 0;
        let mut at = number + 1;
        while at > 0 {
            not_above += met.at(at);
            at &= at - 1;
        }
        sum += count - not_above;
        count += 1;
        let mut at = number + 1;
        while at <= len {
            met.set(at, met.at(at) + 1);
            at += at & at.wrapping_neg();
        }
    }
    sum
}
