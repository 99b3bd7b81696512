//! The layer of each box: below all from which an edge goes down to it, and below every loop that was left on
//! the way.

use super::Graph;
use super::cycle::Walk;
use super::nest::Nest;
use super::values::{Lists, Values, sorted};

pub(super) fn layers(graph: &Graph, walk: &Walk) -> Values<usize> {
    // Where cycles are not loops, what is below a loop may also be above it.
    with_loops(graph, walk).or_else(|| longest_paths(graph, walk, Vec::new())).unwrap_or_default()
}

/// Each loop has an end, a thing of its own that is in the layer of its lowest box. The ends come after the
/// boxes in number.
fn with_loops(graph: &Graph, walk: &Walk) -> Option<Values<usize>> {
    let nest = Nest::new(graph);
    let end = |number: usize| graph.boxes.len() + number;
    let mut pairs = Vec::new();
    for number in 0..graph.boxes.len() {
        pairs.extend(graph.innermost(number).map(|inner| (number, end(inner))));
    }
    for (number, inner) in graph.loops.iter().enumerate() {
        pairs.extend(inner.parent.map(|outer| (end(number), end(outer))));
    }
    for (number, edge) in graph.edges.iter().enumerate() {
        if !walk.goes_back(number) {
            pairs.extend(
                outermost_left(graph, &nest, edge.from, edge.to).map(|it| (end(it), edge.to)),
            );
        }
    }
    longest_paths(graph, walk, pairs)
}

/// The outermost loop that an edge leaves.
fn outermost_left(graph: &Graph, nest: &Nest, from: usize, to: usize) -> Option<usize> {
    let goes_to = graph.innermost(to);
    graph.around(from).take_while(|&it| !nest.is_inside(goes_to, it)).last()
}

/// The most edges from the top to each box; none where there is a cycle. The pairs more than the edges order
/// boxes and ends.
fn longest_paths(
    graph: &Graph,
    walk: &Walk,
    mut pairs: Vec<(usize, usize)>,
) -> Option<Values<usize>> {
    let count = graph.boxes.len() + graph.loops.len();
    let down = graph.edges.iter().enumerate().filter(|(number, _)| !walk.goes_back(*number));
    pairs.extend(down.map(|(_, edge)| (edge.from, edge.to)));
    let below = Lists::new(count, pairs);
    let order = sorted(count, &below);
    let mut layers = Values::new(count, 0);
    for &above in &order {
        for &number in below.of(above) {
            let is_box = number < graph.boxes.len();
            let least = layers.at(above) + usize::from(is_box);
            layers.set(number, layers.at(number).max(least));
        }
    }
    (order.len() == count).then_some(layers)
}
