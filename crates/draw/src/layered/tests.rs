use hsaco_tests::random::Random;

use super::*;

/// Boxes of one size, edges as pairs; an edge to the next number is main.
fn graph(count: usize, edges: &[(usize, usize)]) -> Graph {
    let edge = |&(from, to): &(usize, usize)| Edge { from, to, is_main: to == from + 1 };
    Graph {
        boxes: vec![Size { width: 100, height: 40 }; count],
        edges: edges.iter().map(edge).collect(),
        innermost: vec![None; count],
        ..Graph::default()
    }
}

/// Code of loops and conditions, one inside the other, as a compiler makes it.
struct Structured {
    random: Random,
    graph: Graph,
    around: Option<usize>,
}

impl Structured {
    fn graph(seed: u64, count: usize) -> Graph {
        let mut made = Self { random: Random::new(seed), graph: Graph::default(), around: None };
        let mut last = made.add();
        while made.graph.boxes.len() < count {
            last = made.statement(last, 6);
        }
        made.graph
    }

    fn add(&mut self) -> usize {
        let size = Size {
            width: 60 + 2 * self.random.below(150) as i64,
            height: 20 + self.random.below(300) as i64,
        };
        self.graph.boxes.push(size);
        self.graph.innermost.push(self.around);
        self.graph.boxes.len() - 1
    }

    fn join(&mut self, from: usize, to: usize) {
        self.graph.edges.push(Edge { from, to, is_main: to == from + 1 });
    }

    fn next(&mut self, from: usize) -> usize {
        let next = self.add();
        self.join(from, next);
        next
    }

    /// Adds code after a box; the box it ends with.
    fn statement(&mut self, from: usize, depth: usize) -> usize {
        if depth == 0 {
            return self.next(from);
        }
        match self.random.below(4) {
            0 => self.condition(from, depth - 1),
            1 => self.choice(from, depth - 1),
            2 => self.repetition(from, depth - 1),
            _ => {
                let middle = self.statement(from, depth - 1);
                self.statement(middle, depth - 1)
            }
        }
    }

    fn condition(&mut self, from: usize, depth: usize) -> usize {
        let body = self.statement(from, depth);
        let after = self.next(body);
        self.join(from, after);
        after
    }

    fn choice(&mut self, from: usize, depth: usize) -> usize {
        let one = self.statement(from, depth);
        let other = self.statement(from, depth);
        let after = self.next(other);
        self.join(one, after);
        after
    }

    fn repetition(&mut self, from: usize, depth: usize) -> usize {
        let outside = self.around;
        let number = self.graph.loops.len();
        self.graph.loops.push(Loop { header: self.graph.boxes.len(), parent: outside });
        self.around = Some(number);
        let header = self.next(from);
        let end = if self.random.below(3) == 0 { header } else { self.statement(header, depth) };
        self.join(end, header);
        self.around = outside;
        let after = self.add();
        let leaves = if self.random.below(2) == 0 { header } else { end };
        self.join(leaves, after);
        after
    }
}

/// Edges from anywhere to anywhere, and no loops known.
fn chaotic(seed: u64, count: usize) -> Graph {
    let mut random = Random::new(seed);
    let mut edges = Vec::new();
    for from in 0..count {
        for _ in 0..random.below(3) {
            edges.push((from, random.below(count)));
        }
        if random.below(4) > 0 && from + 1 < count {
            edges.push((from, from + 1));
        }
    }
    let mut graph = graph(count, &edges);
    for size in &mut graph.boxes {
        size.height = 10 + random.below(100) as i64;
        size.width = 40 + random.below(200) as i64;
    }
    graph
}

fn drawn(graph: &Graph) -> Drawing {
    draw(graph).expect("small enough")
}

/// Holds a drawing to what the module promises.
fn check(graph: &Graph) -> Drawing {
    let drawing = drawn(graph);
    assert_eq!(drawing, drawn(graph), "another time, another drawing");
    let boxes: Vec<(Point, Size)> =
        drawing.boxes.iter().copied().zip(graph.boxes.iter().copied()).collect();
    for (at, (a, a_size)) in boxes.iter().enumerate() {
        assert!(a.x >= 0 && a.y >= 0, "box {at} begins outside");
        assert!(a.x + a_size.width <= drawing.size.width, "box {at} is too far right");
        assert!(a.y + a_size.height <= drawing.size.height, "box {at} is too far down");
        for (number, (b, b_size)) in boxes.iter().enumerate().skip(at + 1) {
            let apart = a.x + a_size.width <= b.x
                || b.x + b_size.width <= a.x
                || a.y + a_size.height <= b.y
                || b.y + b_size.height <= a.y;
            assert!(apart, "boxes {at} and {number} overlap");
        }
    }
    for (edge, route) in graph.edges.iter().zip(&drawing.routes) {
        check_ends(*edge, route, &boxes);
        for pair in route.windows(2) {
            check_line(*edge, pair[0], pair[1], &boxes);
        }
    }
    drawing
}

fn check_ends(edge: Edge, route: &[Point], boxes: &[(Point, Size)]) {
    let (first, last) = (route[0], route[route.len() - 1]);
    let ((from, from_size), (to, to_size)) = (boxes[edge.from], boxes[edge.to]);
    assert_eq!(first.y, from.y + from_size.height, "{edge:?} does not begin below its box");
    assert_eq!(last.y, to.y, "{edge:?} does not end above its box");
    assert!((from.x..from.x + from_size.width).contains(&first.x), "{edge:?}");
    assert!((to.x..to.x + to_size.width).contains(&last.x), "{edge:?}");
    assert!(route[1].y > first.y, "{edge:?} does not begin downwards");
    assert!(route[route.len() - 2].y < last.y, "{edge:?} does not end downwards");
}

fn check_line(edge: Edge, a: Point, b: Point, boxes: &[(Point, Size)]) {
    assert!(a.x == b.x || a.y == b.y, "{edge:?} slants");
    for (number, (corner, size)) in boxes.iter().enumerate() {
        let meets = a.x.min(b.x) < corner.x + size.width
            && a.x.max(b.x) > corner.x
            && a.y.min(b.y) < corner.y + size.height
            && a.y.max(b.y) > corner.y;
        assert!(!meets, "{edge:?} runs through box {number}");
    }
}

fn center(drawing: &Drawing, graph: &Graph, number: usize) -> i64 {
    drawing.boxes[number].x + graph.boxes[number].width / 2
}

#[test]
fn nothing_is_drawn_as_nothing() {
    let drawing = check(&Graph::default());
    assert_eq!(drawing.boxes, []);
}

#[test]
fn a_chain_is_one_column() {
    let mut graph = graph(5, &[(0, 1), (1, 2), (2, 3), (3, 4)]);
    for (size, width) in graph.boxes.iter_mut().zip([100, 60, 240, 80, 120]) {
        size.width = width;
    }
    let drawing = check(&graph);
    let centers: Vec<i64> = (0..5).map(|it| center(&drawing, &graph, it)).collect();
    assert_eq!(centers, [centers[0]; 5]);
    assert!(drawing.routes.iter().all(|route| route.len() == 2));
}

#[test]
fn what_is_skipped_stays_in_its_column() {
    let graph = graph(4, &[(0, 1), (1, 2), (0, 2), (2, 3)]);
    let drawing = check(&graph);
    let centers: Vec<i64> = (0..4).map(|it| center(&drawing, &graph, it)).collect();
    assert_eq!(centers, [centers[0]; 4]);
}

#[test]
fn a_loop_closes_to_the_right_of_its_boxes() {
    let mut graph = graph(4, &[(0, 1), (1, 2), (2, 1), (2, 3)]);
    graph.loops = vec![Loop { header: 1, parent: None }];
    graph.innermost = vec![None, Some(0), Some(0), None];
    let drawing = check(&graph);
    let right = |number: usize| drawing.boxes[number].x + graph.boxes[number].width;
    let lane = drawing.routes[2].iter().map(|it| it.x).max().unwrap();
    assert!(lane > right(1) && lane > right(2));
}

#[test]
fn what_follows_a_loop_is_below_it() {
    let mut graph = graph(4, &[(0, 1), (1, 2), (2, 1), (1, 3)]);
    graph.loops = vec![Loop { header: 1, parent: None }];
    graph.innermost = vec![None, Some(0), Some(0), None];
    let drawing = check(&graph);
    assert!(drawing.boxes[3].y > drawing.boxes[2].y);
}

#[test]
fn pairs_stand_in_one_column() {
    let mut graph = graph(4, &[(0, 1), (1, 2), (2, 1), (1, 3)]);
    graph.loops = vec![Loop { header: 1, parent: None }];
    graph.innermost = vec![None, Some(0), Some(0), None];
    graph.pairs = vec![(2, 3)];
    let drawing = check(&graph);
    let centers: Vec<i64> = (0..4).map(|it| center(&drawing, &graph, it)).collect();
    assert_eq!(centers, [centers[0]; 4]);
}

#[test]
fn edges_to_oneself_and_twice_are_drawn() {
    let drawing = check(&graph(2, &[(0, 0), (0, 1), (0, 1), (1, 1), (1, 0)]));
    assert_ne!(drawing.routes[1], drawing.routes[2]);
}

#[test]
fn edges_of_one_box_have_places_of_their_own() {
    let drawing = check(&graph(4, &[(0, 1), (0, 2), (0, 3)]));
    let mut starts: Vec<i64> = drawing.routes.iter().map(|it| it[0].x).collect();
    starts.dedup();
    assert_eq!(starts.len(), 3);
}

/// Two columns whose edges change sides, in both directions at once.
#[test]
fn edges_that_cross_between_columns_do_not_lie_on_one_another() {
    let mut graph = graph(5, &[(0, 1), (1, 2), (0, 3), (3, 4), (1, 4), (3, 2)]);
    graph.edges[2].is_main = false;
    let drawing = check(&graph);
    let upright = |edge: usize| {
        let pairs = drawing.routes[edge].windows(2).filter(|it| it[0].x == it[1].x);
        pairs.map(|it| (it[0].x, it[0].y, it[1].y)).collect::<Vec<_>>()
    };
    for (x, top, bottom) in upright(4) {
        let meets =
            |&(other, from, to): &(i64, i64, i64)| other == x && from.max(top) < to.min(bottom);
        assert!(!upright(5).iter().any(meets));
    }
}

#[test]
fn any_graph_is_drawn() {
    for (seed, count) in (0..300).zip((1..60).cycle()) {
        check(&chaotic(seed, count));
        check(&Structured::graph(seed, count));
    }
}

#[test]
fn numbers_that_stand_for_nothing_do_no_harm() {
    let mut graph = graph(2, &[(0, 7), (9, 1), (0, 1)]);
    graph.innermost = vec![Some(5)];
    graph.loops = vec![Loop { header: 8, parent: Some(3) }];
    drawn(&graph);
}

#[test]
fn a_thousand_blocks_are_drawn() {
    check(&Structured::graph(1, 1000));
    check(&chaotic(1, 1000));
}
