//! The control flow of large functions at a glance: chains of blocks as one small box each, loops as frames.

use std::fmt::{self, Write};

use hsaco_bytes::escape::Xml;

use crate::collapse::Collapsed;
use crate::flow::{EdgeKind, Graph, counted, label};
use crate::layered::{self, Point, Size};
use crate::outside::outsides;
use crate::svg::{self, kinds_of, legend_width, shortened, text_width};

const WIDTH: i64 = 136;
const HEIGHT: i64 = 40;
/// Of a place outside.
const PILL: i64 = 20;
/// Characters of its name.
const LONG: usize = 18;
/// Between a frame and what is in it; a frame around others is larger by as much for each.
const MARGIN: i64 = 9;
/// Where the band of classes stands in a box.
const BAND: (i64, i64) = (26, 8);
/// From the top of the picture to the drawing.
const TITLE: i64 = 84;

/// How many instructions of which class some blocks have.
pub type Bands<'b> = &'b dyn Fn(&[usize]) -> Vec<(&'static str, u64)>;

/// Where everything of a small picture goes.
///
/// ```
/// use hsaco_analysis::Code;
/// use hsaco_draw::Graph;
/// use hsaco_object::CodeObject;
/// # let file = std::fs::read("../../tests/fixtures/flow.co")?;
/// let code = Code::of(&CodeObject::parse(&file)?)?;
/// let kernel = code.functions().as_slice().first().ok_or("no code")?;
/// let graph = Graph::new(&code.decoder(kernel), code.functions(), kernel);
/// let overview = graph.overview().ok_or("too many edges")?;
/// let blocks: usize = overview.nodes.iter().map(|it| it.blocks.len()).sum();
/// assert_eq!(blocks, graph.blocks.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Overview {
    /// Of the picture.
    pub width: i64,
    /// Of the picture.
    pub height: i64,
    /// Chains of blocks, in the order of their addresses.
    pub nodes: Vec<OverviewNode>,
    /// Places outside of the function.
    pub outsides: Vec<OverviewOutside>,
    /// From node to node; numbers from that of nodes on are places outside.
    pub edges: Vec<OverviewEdge>,
    /// Loops, outer ones first. One that cannot be framed without what is not in it has none.
    pub frames: Vec<OverviewFrame>,
}

/// A place in a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rectangle {
    /// Of its left side.
    pub x: i64,
    /// Of its upper side.
    pub y: i64,
    /// From left to right.
    pub width: i64,
    /// From top to bottom.
    pub height: i64,
}

/// A chain of blocks.
#[derive(Clone, Debug)]
pub struct OverviewNode {
    /// By number.
    pub blocks: Vec<usize>,
    /// Where it goes.
    pub place: Rectangle,
}

/// A place outside of the function.
#[derive(Clone, Debug)]
pub struct OverviewOutside {
    /// Its name.
    pub words: String,
    /// Where it goes.
    pub place: Rectangle,
}

/// A line.
#[derive(Clone, Debug)]
pub struct OverviewEdge {
    /// By number.
    pub from: usize,
    /// By number.
    pub to: usize,
    /// How one comes after the other.
    pub kind: EdgeKind,
    /// Its corners.
    pub points: Vec<(i64, i64)>,
}

/// A loop.
#[derive(Clone, Debug)]
pub struct OverviewFrame {
    /// By number.
    pub ring: usize,
    /// Where it goes.
    pub place: Rectangle,
}

impl Rectangle {
    fn around(points: impl Iterator<Item = (i64, i64)>) -> Option<Self> {
        let bounds = points.fold(None, |bounds, (x, y)| {
            let (left, top, right, bottom) = bounds.unwrap_or((x, y, x, y));
            Some((left.min(x), top.min(y), right.max(x), bottom.max(y)))
        });
        let (x, y, right, bottom) = bounds?;
        Some(Self { x, y, width: right - x, height: bottom - y })
    }

    fn corners(self) -> [(i64, i64); 2] {
        [(self.x, self.y), (self.x + self.width, self.y + self.height)]
    }

    fn grown(self, by: i64) -> Self {
        let Self { x, y, width, height } = self;
        Self { x: x - by, y: y - by, width: width + 2 * by, height: height + 2 * by }
    }

    fn meets(self, other: Self) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }
}

impl Graph {
    /// Where everything of a small picture goes; none where edges have so many bends that they could not be followed.
    #[must_use]
    pub fn overview(&self) -> Option<Overview> {
        let Collapsed { graph, members } = Collapsed::new(self);
        let outsides = outsides(&graph);
        let wires = svg::wires(&graph, &outsides);
        let words: Vec<String> = outsides.iter().map(|it| shortened(&it.words, LONG)).collect();
        let pill = |it: &String| Size { width: pill_width(it), height: PILL };
        let boxes = graph.blocks.iter().map(|_| Size { width: WIDTH, height: HEIGHT });
        let boxes: Vec<Size> = boxes.chain(words.iter().map(pill)).collect();
        let drawing = layered::draw(&svg::to_lay_out(&graph, boxes.clone(), &wires))?;
        let place = |(&Point { x, y }, size): (&Point, &Size)| Rectangle {
            x,
            y,
            width: size.width,
            height: size.height,
        };
        let mut places = drawing.boxes.iter().zip(&boxes).map(place);
        let nodes = members.into_iter().zip(places.by_ref());
        let nodes: Vec<OverviewNode> =
            nodes.map(|(blocks, place)| OverviewNode { blocks, place }).collect();
        let outsides =
            words.into_iter().zip(places).map(|(words, place)| OverviewOutside { words, place });
        let edges = wires.iter().zip(&drawing.routes).map(|(wire, route)| OverviewEdge {
            from: wire.from,
            to: wire.to,
            kind: wire.kind,
            points: route.iter().map(|it| (it.x, it.y)).collect(),
        });
        let mut overview = Overview {
            width: drawing.size.width,
            height: drawing.size.height,
            nodes,
            outsides: outsides.collect(),
            edges: edges.collect(),
            frames: Vec::new(),
        };
        overview.frames = overview.frames(&graph);
        Some(overview)
    }

    /// A small picture that needs nothing from elsewhere; `bands` says of some blocks how many instructions of which class
    /// they have.
    #[must_use]
    pub fn overview_svg(&self, bands: Bands<'_>) -> Option<String> {
        let overview = self.overview()?;
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = Picture { graph: self, overview: &overview, bands }.write(&mut out);
        Some(out)
    }
}

fn pill_width(words: &str) -> i64 {
    let width = text_width(words.chars().count()) + 2 * MARGIN;
    width + width % 2
}

impl Overview {
    /// The frames of loops that nothing else would stand in.
    fn frames(&self, graph: &Graph) -> Vec<OverviewFrame> {
        let mut inside = vec![0_i64; graph.loops.len()];
        for (number, it) in graph.loops.iter().enumerate().rev() {
            let own = inside.get(number).copied().unwrap_or(0);
            if let Some(place) = it.parent.and_then(|parent| inside.get_mut(parent)) {
                *place = (*place).max(own + 1);
            }
        }
        let numbered = graph.loops.iter().zip(inside).enumerate();
        let frames = numbered.filter_map(|(ring, (it, inside))| {
            let place = self.frame_around(&it.blocks, MARGIN + inside * MARGIN / 2)?;
            Some(OverviewFrame { ring, place })
        });
        frames.collect()
    }

    fn frame_around(&self, nodes: &[usize], margin: i64) -> Option<Rectangle> {
        let is_inside = |it: &usize| nodes.binary_search(it).is_ok();
        let boxes = nodes.iter().filter_map(|&it| self.nodes.get(it));
        let edges = self.edges.iter().filter(|it| is_inside(&it.from) && is_inside(&it.to));
        let corners = boxes.flat_map(|it| it.place.corners());
        let corners = corners.chain(edges.flat_map(|it| it.points.iter().copied()));
        let place = Rectangle::around(corners)?.grown(margin);
        let mut others = self.nodes.iter().enumerate().filter(|(number, _)| !is_inside(number));
        let is_alone = !others.any(|(_, it)| it.place.meets(place));
        is_alone.then_some(place)
    }
}

/// A small picture that is being written.
struct Picture<'p> {
    graph: &'p Graph,
    overview: &'p Overview,
    bands: Bands<'p>,
}

impl Picture<'_> {
    fn write(&self, out: &mut String) -> fmt::Result {
        let Self { graph, overview, .. } = self;
        let kinds = kinds_of(&overview.edges.iter().map(|it| it.kind));
        let all: Vec<usize> = (0..graph.blocks.len()).collect();
        let classes = (self.bands)(&all);
        let margin = 2 * MARGIN;
        let width = (overview.width + 2 * margin)
            .max(svg::title_width(graph))
            .max(32 + legend_width(&kinds))
            .max(32 + band_legend_width(&classes));
        let height = overview.height + TITLE + 2 * margin;
        svg::write_head(out, graph, (width, height), &kinds)?;
        write_band_legend(out, &classes)?;
        let left = (width - overview.width) / 2;
        writeln!(out, "<g transform=\"translate({left} {})\">", TITLE + margin)?;
        for frame in &overview.frames {
            self.write_frame(out, frame)?;
        }
        for edge in &overview.edges {
            self.write_edge(out, edge)?;
        }
        for node in &overview.nodes {
            self.write_node(out, node)?;
        }
        for outside in &overview.outsides {
            let Rectangle { x, y, width, height } = outside.place;
            write!(out, "<rect class=\"box\" x=\"{x}\" y=\"{y}\" width=\"{width}\" ")?;
            writeln!(out, "height=\"{height}\" rx=\"{}\"/>", height / 2)?;
            let (x, y, words) = (x + MARGIN, y + 14, Xml(&outside.words));
            writeln!(out, "<text class=\"faint\" x=\"{x}\" y=\"{y}\">{words}</text>")?;
        }
        writeln!(out, "</g>\n</svg>")
    }

    fn write_frame(&self, out: &mut String, frame: &OverviewFrame) -> fmt::Result {
        let Rectangle { x, y, width, height } = frame.place;
        let ring = self.graph.loops.get(frame.ring);
        let (header, depth) = ring.map_or((0, 1), |it| (it.header, it.depth));
        write!(out, "<g><title>loop of {}, depth {depth}</title>", label(header))?;
        write!(out, "<rect class=\"frame\" x=\"{x}\" y=\"{y}\" width=\"{width}\" ")?;
        writeln!(out, "height=\"{height}\" rx=\"8\"/></g>")
    }

    fn write_edge(&self, out: &mut String, edge: &OverviewEdge) -> fmt::Result {
        let route: Vec<Point> = edge.points.iter().map(|&(x, y)| Point { x, y }).collect();
        svg::write_route(out, edge.kind, &route, &self.edge_title(edge))
    }

    fn edge_title(&self, edge: &OverviewEdge) -> String {
        let nodes = &self.overview.nodes;
        let from = nodes.get(edge.from).and_then(|it| it.blocks.last());
        let to = match nodes.get(edge.to).and_then(|it| it.blocks.first()) {
            Some(&block) => label(block),
            None => self
                .overview
                .outsides
                .get(edge.to.saturating_sub(nodes.len()))
                .map_or(String::new(), |it| it.words.clone()),
        };
        let from = from.map_or(String::new(), |&it| label(it));
        format!("{from} \u{2192} {to}: {}", edge.kind.words())
    }

    fn write_node(&self, out: &mut String, node: &OverviewNode) -> fmt::Result {
        let Rectangle { x, y, width, height } = node.place;
        let blocks = || node.blocks.iter().filter_map(|&it| self.graph.blocks.get(it));
        let count: usize = blocks().map(|it| it.instructions.len()).sum();
        let bands = (self.bands)(&node.blocks);
        let name = chain_name(&node.blocks);
        let size: u64 = blocks().map(|it| it.size).sum();
        let classes: Vec<String> = bands.iter().map(|(name, it)| format!("{it} {name}")).collect();
        let (count_words, size) = (counted(count, "instruction"), counted(size, "byte"));
        let title = format!("{name}: {size}, {count_words}: {}", classes.join(", "));
        let is_reached = blocks().all(|it| it.is_reached);
        let class = if is_reached { "" } else { " class=\"unreached\"" };
        writeln!(out, "<g{class}><title>{}</title>", Xml(&title))?;
        write!(out, "<rect class=\"box{}\" x=\"{x}\" y=\"{y}\" ", self.depth_class(node))?;
        writeln!(out, "width=\"{width}\" height=\"{height}\" rx=\"4\"/>")?;
        let base = y + 17;
        writeln!(out, "<text class=\"label\" x=\"{}\" y=\"{base}\">{name}</text>", x + 8)?;
        write!(out, "<text class=\"faint\" text-anchor=\"end\" x=\"{}\" ", x + width - 8)?;
        writeln!(out, "y=\"{base}\">{count}</text>")?;
        write_band(out, (x + 8, y + BAND.0, width - 16), &bands)?;
        writeln!(out, "</g>")
    }

    fn depth_class(&self, node: &OverviewNode) -> &'static str {
        let block = node.blocks.first().and_then(|&it| self.graph.blocks.get(it));
        let ring = block.and_then(|it| self.graph.loops.get(it.innermost?));
        match ring.map_or(0, |it| it.depth) {
            0 => "",
            1 => " in-loop",
            _ => " in-inner-loop",
        }
    }
}

/// `bb3`, or `bb3…bb9` for a chain.
fn chain_name(blocks: &[usize]) -> String {
    match blocks {
        [first, .., last] => format!("{}\u{2026}{}", label(*first), label(*last)),
        [only] => label(*only),
        [] => String::new(),
    }
}

/// How many instructions of each class there are, as parts of a line.
fn write_band(
    out: &mut String,
    (x, y, width): (i64, i64, i64),
    bands: &[(&'static str, u64)],
) -> fmt::Result {
    let total = bands.iter().map(|it| it.1).sum::<u64>().max(1);
    let at = |count: u64| i64::try_from(count * width.unsigned_abs() / total).unwrap_or(0);
    let mut before = 0;
    for (class, count) in bands {
        let (left, right) = (x + at(before), x + at(before + count));
        if right > left {
            write!(out, "<rect class=\"class-{class}\" x=\"{left}\" y=\"{y}\" ")?;
            writeln!(out, "width=\"{}\" height=\"{}\"/>", right - left, BAND.1)?;
        }
        before += count;
    }
    Ok(())
}

/// Pixels of a sample of a class, and around it.
const SWATCH: i64 = 10;

fn band_legend_width(classes: &[(&'static str, u64)]) -> i64 {
    classes.iter().map(|it| SWATCH + 16 + text_width(it.0.len())).sum()
}

fn write_band_legend(out: &mut String, classes: &[(&'static str, u64)]) -> fmt::Result {
    let mut x = 16;
    for (class, _) in classes {
        write!(out, "<rect class=\"class-{class}\" x=\"{x}\" y=\"66\" ")?;
        writeln!(out, "width=\"{SWATCH}\" height=\"{SWATCH}\"/>")?;
        x += SWATCH + 5;
        writeln!(out, "<text class=\"faint\" x=\"{x}\" y=\"75\">{class}</text>")?;
        x += text_width(class.len()) + 11;
    }
    Ok(())
}
