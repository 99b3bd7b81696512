//! The lines of edges: upright through the layers, level between them, where each has a track of its own.

use std::collections::BTreeSet;

use super::grid::Grid;
use super::values::{Lists, Values};
use super::{Drawing, Graph, Point, Size};

/// Room around the drawing.
const MARGIN: i64 = 16;
/// Between two tracks.
const TRACK: i64 = 9;
/// Between a layer and the first track below it, and between the last track and the arrow heads.
const BELOW_LAYER: i64 = 10;
const ABOVE_LAYER: i64 = 18;
/// Between the places of a box where edges begin, and where they end: not the same, for two edges that cross between
/// two columns would lie on one another. And from the corners of the box.
const BETWEEN_STARTS: i64 = 14;
const BETWEEN_ENDS: i64 = 20;
const CORNER: i64 = 10;
/// Upright lines that are closer than this look like one.
const TOO_CLOSE: i64 = 4;

/// A side of the gap between two layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Upper,
    Lower,
}

/// Where an edge comes to a gap, or leaves it.
#[derive(Clone, Copy, Debug)]
struct End {
    x: i64,
    side: Side,
}

/// The way of an edge through a gap.
#[derive(Clone, Copy, Debug)]
struct Hop {
    /// Gap 0 is above the first layer.
    gap: usize,
    from: End,
    to: End,
}

pub(super) fn drawing(graph: &Graph, grid: &Grid, centers: &Values<i64>) -> Drawing {
    let ports = Ports::new(graph, grid, centers);
    let mut hops = Vec::new();
    for edge in 0..graph.edges.len() {
        hops.extend(ports.hops(grid, centers, edge).map(|hop| (edge, hop)));
    }
    let by_gap = hops.iter().enumerate().map(|(number, (_, hop))| (hop.gap, number)).collect();
    let by_gap: Lists<usize> = Lists::new(grid.layers.len() + 1, by_gap);
    let mut tracks = Values::new(hops.len(), 0);
    let counts = (0..=grid.layers.len()).map(|gap| {
        let here: Vec<(usize, Hop)> = by_gap
            .of(gap)
            .iter()
            .filter_map(|&number| Some((number, hops.get(number)?.1)))
            .collect();
        lay_tracks(&here, &mut tracks)
    });
    let levels = Levels::new(graph, grid, counts.collect());
    let mut routes: Vec<Vec<Point>> = vec![Vec::new(); graph.edges.len()];
    for (number, (edge, hop)) in hops.iter().enumerate() {
        if let Some(route) = routes.get_mut(*edge) {
            let y = levels.track(hop.gap, tracks.at(number));
            route.extend([Point { x: hop.from.x, y }, Point { x: hop.to.x, y }]);
        }
    }
    for (edge, route) in graph.edges.iter().zip(&mut routes) {
        add_ends(
            route,
            levels.bottom(graph, grid, edge.from),
            levels.top(grid.item(edge.to).layer),
        );
    }
    let boxes = graph.boxes.iter().enumerate().map(|(number, size)| Point {
        x: centers.at(number) - size.width / 2,
        y: levels.top(grid.item(number).layer),
    });
    let drawing = Drawing {
        boxes: boxes.collect(),
        routes: routes.iter().map(|it| simplified(it)).collect(),
        size: Size { width: 0, height: levels.end },
    };
    moved_into_view(graph, drawing)
}

/// Where the edges of each box begin and end: those that go straight on in the middle, others to both sides.
struct Ports {
    bottom: Values<i64>,
    top: Values<i64>,
}

impl Ports {
    fn new(graph: &Graph, grid: &Grid, centers: &Values<i64>) -> Self {
        let next = |edge: usize, from_end: bool| {
            let chain = grid.chains.get(edge).map(Vec::as_slice).unwrap_or_default();
            // Of an edge that goes back all items are bends.
            let skipped = usize::from(chain.first().is_some_and(|&it| grid.item(it).is_box));
            let mut items = chain.iter();
            let item = if from_end { items.nth_back(skipped) } else { items.nth(skipped) };
            item.map_or(0, |&it| centers.at(it))
        };
        let edges = graph.edges.iter().enumerate();
        let out = edges.clone().map(|(number, it)| (it.from, (next(number, false), number)));
        let into = edges.map(|(number, it)| (it.to, (next(number, true), number)));
        let out = Lists::new(graph.boxes.len(), out.collect());
        let into = Lists::new(graph.boxes.len(), into.collect());
        let mut ports = Self {
            bottom: Values::new(graph.edges.len(), 0),
            top: Values::new(graph.edges.len(), 0),
        };
        for (number, size) in graph.boxes.iter().enumerate() {
            let row = |step| Row { center: centers.at(number), width: size.width, step };
            row(BETWEEN_STARTS).spread(out.of(number), &mut ports.bottom);
            row(BETWEEN_ENDS).spread(into.of(number), &mut ports.top);
        }
        ports
    }

    fn hops(&self, grid: &Grid, centers: &Values<i64>, edge: usize) -> impl Iterator<Item = Hop> {
        let chain = grid.chains.get(edge).map(Vec::as_slice).unwrap_or_default();
        let (first, last) = (self.bottom.at(edge), self.top.at(edge));
        let x = |item: usize| centers.at(item);
        let layer = |item: Option<&usize>| item.map_or(0, |&it| grid.item(it).layer);
        let goes_back = chain.first().is_some_and(|&it| grid.item(it).lane.is_some());
        let mut hops = Vec::with_capacity(chain.len() + 1);
        let hop = |gap, from, from_side, to, to_side| Hop {
            gap,
            from: End { x: from, side: from_side },
            to: End { x: to, side: to_side },
        };
        use Side::{Lower, Upper};
        if goes_back {
            let (bottom, top) = (chain.first(), chain.last());
            let at = |item: Option<&usize>| item.map_or(0, |&it| x(it));
            hops.push(hop(layer(bottom) + 1, first, Upper, at(bottom), Upper));
            let up = chain.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?)));
            hops.extend(
                up.map(|(low, high)| hop(grid.item(low).layer, x(low), Lower, x(high), Upper)),
            );
            hops.push(hop(layer(top), at(top), Lower, last, Lower));
            return hops.into_iter();
        }
        let end = chain.len().saturating_sub(2);
        for (at, pair) in chain.windows(2).enumerate() {
            let from = if at == 0 { first } else { pair.first().map_or(0, |&it| x(it)) };
            let to = if at == end { last } else { pair.last().map_or(0, |&it| x(it)) };
            hops.push(hop(layer(pair.last()), from, Upper, to, Lower));
        }
        hops.into_iter()
    }
}

/// The places on one side of a box.
struct Row {
    center: i64,
    width: i64,
    step: i64,
}

impl Row {
    /// Gives edges their places, in the order of where they go.
    fn spread(&self, edges: &[(i64, usize)], ports: &mut Values<i64>) {
        let mut edges = edges.to_vec();
        edges.sort_unstable();
        let count = i64::try_from(edges.len()).unwrap_or(i64::MAX);
        let straight = edges.iter().position(|it| it.0 == self.center);
        let middle = straight.map_or((count - 1) / 2, |at| i64::try_from(at).unwrap_or(0));
        let widest = middle.max(count - 1 - middle).max(1);
        let step = self.step.min((self.width / 2 - CORNER).max(0) / widest);
        for (at, (_, edge)) in (0..).zip(edges) {
            ports.set(edge, self.center + (at - middle) * step);
        }
    }
}

impl Hop {
    fn is_straight(&self) -> bool {
        self.from.x == self.to.x && self.from.side != self.to.side
    }

    fn range(&self) -> (i64, i64) {
        (self.from.x.min(self.to.x), self.from.x.max(self.to.x))
    }

    fn ends(&self) -> [End; 2] {
        [self.from, self.to]
    }

    /// Which hops are above which, so that few cross: turns at the side they are on, inner ones further out; of
    /// those to the right the rightmost first, of those to the left the leftmost.
    fn rank(&self) -> (u8, i64) {
        let (left, right) = self.range();
        match (self.from.side, self.to.side) {
            (Side::Upper, Side::Upper) => (0, right - left),
            (Side::Lower, Side::Lower) => (2, left - right),
            _ => {
                let upper = if self.from.side == Side::Upper { self.from } else { self.to };
                (1, if upper.x == left { -upper.x } else { upper.x })
            }
        }
    }
}

/// Gives the hops of one gap their tracks; how many there are.
fn lay_tracks(hops: &[(usize, Hop)], tracks: &mut Values<usize>) -> usize {
    let mut bent: Vec<(usize, Hop)> =
        hops.iter().filter(|(_, hop)| !hop.is_straight()).copied().collect();
    bent.sort_by_key(|(number, hop)| (hop.rank(), *number));
    let mut skyline = Skyline::default();
    for at in ordered(&bent) {
        if let Some((number, hop)) = bent.get(at) {
            let (left, right) = hop.range();
            tracks.set(*number, skyline.add(left - TOO_CLOSE, right + TOO_CLOSE));
        }
    }
    skyline.height
}

/// The order of hops such that where one comes from above and another leaves downwards at the same place,
/// the lines do not lie on one another.
fn ordered(hops: &[(usize, Hop)]) -> Vec<usize> {
    let ends = |side: Side| {
        let hops = hops.iter().enumerate();
        let ends = hops.flat_map(|(at, (_, hop))| hop.ends().map(|end| (end, at)));
        let mut ends: Vec<(i64, usize)> =
            ends.filter(|(end, _)| end.side == side).map(|(end, at)| (end.x, at)).collect();
        ends.sort_unstable();
        ends
    };
    let lower = ends(Side::Lower);
    let mut pairs = Vec::new();
    for (x, upper) in ends(Side::Upper) {
        let start = lower.partition_point(|it| it.0 <= x - TOO_CLOSE);
        let close = lower.iter().skip(start).take_while(|it| it.0 < x + TOO_CLOSE);
        pairs.extend(close.filter(|it| it.1 != upper).map(|it| (upper, it.1)));
    }
    let mut waits_for = Values::new(hops.len(), 0_usize);
    for &(_, below) in &pairs {
        waits_for.set(below, waits_for.at(below) + 1);
    }
    let below = Lists::new(hops.len(), pairs);
    let mut waiting: BTreeSet<(usize, usize)> =
        (0..hops.len()).map(|at| (waits_for.at(at), at)).collect();
    let mut order = Vec::with_capacity(hops.len());
    while let Some((_, at)) = waiting.pop_first() {
        order.push(at);
        for &later in below.of(at) {
            let count = waits_for.at(later);
            if waiting.remove(&(count, later)) {
                waits_for.set(later, count.saturating_sub(1));
                waiting.insert((count.saturating_sub(1), later));
            }
        }
    }
    order
}

/// For each stretch of a gap, how many tracks are taken there.
#[derive(Default)]
struct Skyline {
    /// Where a stretch begins, and its height; the last goes on for ever.
    steps: std::collections::BTreeMap<i64, usize>,
    height: usize,
}

impl Skyline {
    /// Puts a line on top of what is there; its track.
    fn add(&mut self, left: i64, right: i64) -> usize {
        let height_at = |steps: &std::collections::BTreeMap<i64, usize>, x: i64| {
            steps.range(..=x).next_back().map_or(0, |it| *it.1)
        };
        let before = height_at(&self.steps, left);
        let after = height_at(&self.steps, right);
        let track = self.steps.range(left..=right).map(|it| *it.1).max().unwrap_or(0).max(before);
        let covered: Vec<i64> = self.steps.range(left..=right).map(|it| *it.0).collect();
        for x in covered {
            self.steps.remove(&x);
        }
        self.steps.insert(left, track + 1);
        self.steps.insert(right, after);
        self.height = self.height.max(track + 1);
        track
    }
}

/// The heights of layers and gaps.
struct Levels {
    /// By layer: its upper edge. By gap: its first track.
    tops: Values<i64>,
    first_tracks: Values<i64>,
    end: i64,
}

impl Levels {
    fn new(graph: &Graph, grid: &Grid, tracks: Vec<usize>) -> Self {
        let mut levels =
            Self { tops: Values::default(), first_tracks: Values::default(), end: MARGIN };
        for (gap, count) in tracks.into_iter().enumerate() {
            let is_outside = gap == 0 || gap == grid.layers.len();
            levels.first_tracks.push(levels.end + BELOW_LAYER);
            let room = TRACK * i64::try_from(count).unwrap_or(0);
            levels.end += match is_outside && count == 0 {
                true => 0,
                false => BELOW_LAYER + room + ABOVE_LAYER,
            };
            let Some(layer) = grid.layers.get(gap) else { break };
            levels.tops.push(levels.end);
            let heights = layer.iter().filter_map(|&it| graph.boxes.get(it)).map(|it| it.height);
            levels.end += heights.max().unwrap_or(0);
        }
        levels.end += MARGIN;
        levels
    }

    fn track(&self, gap: usize, track: usize) -> i64 {
        self.first_tracks.at(gap) + TRACK * i64::try_from(track).unwrap_or(0)
    }

    fn top(&self, layer: usize) -> i64 {
        self.tops.at(layer)
    }

    fn bottom(&self, graph: &Graph, grid: &Grid, number: usize) -> i64 {
        self.top(grid.item(number).layer) + graph.boxes.get(number).map_or(0, |it| it.height)
    }
}

/// From the lower side of a box, and to the upper side of one.
fn add_ends(route: &mut Vec<Point>, bottom: i64, top: i64) {
    let (Some(&first), Some(&last)) = (route.first(), route.last()) else { return };
    route.insert(0, Point { y: bottom, ..first });
    route.push(Point { y: top, ..last });
}

/// Without corners at which a line goes straight on.
fn simplified(route: &[Point]) -> Vec<Point> {
    let mut corners: Vec<Point> = Vec::with_capacity(route.len());
    for &point in route {
        if corners.last() == Some(&point) {
            continue;
        }
        if let [.., before, last] = corners.as_slice() {
            let is_upright = before.x == last.x && last.x == point.x;
            let is_level = before.y == last.y && last.y == point.y;
            if is_upright || is_level {
                corners.pop();
            }
        }
        corners.push(point);
    }
    corners
}

/// Moves all of it so that the leftmost part is at the margin.
fn moved_into_view(graph: &Graph, mut drawing: Drawing) -> Drawing {
    let rights = drawing.boxes.iter().zip(&graph.boxes).map(|(it, size)| it.x + size.width);
    let corners = drawing.routes.iter().flatten().map(|it| it.x);
    let right = rights.chain(corners.clone()).max().unwrap_or(0);
    let left = drawing.boxes.iter().map(|it| it.x).chain(corners).min().unwrap_or(0);
    let points = drawing.boxes.iter_mut().chain(drawing.routes.iter_mut().flatten());
    points.for_each(|it| it.x += MARGIN - left);
    drawing.size.width = right - left + 2 * MARGIN;
    drawing
}
