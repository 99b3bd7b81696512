//! Control flow as a picture, by the layout of `layered`.

use hsaco_bytes::escape::Xml;
use std::fmt::{self, Display, Write};

use crate::flow::{Block, EDGE_KINDS, EdgeKind, Graph, counted, label};
use crate::layered::{self, Edge, Loop, Point, Size};
use crate::outside::{Outside, outsides};
use crate::spine::{Spine, Wire};

/// Colours for bright and dark surroundings; nothing is fetched from anywhere.
const STYLE: &str = include_str!("style.css");
/// Tenths of a pixel that a character is wide, a little more than fonts have it.
const CHARACTER: usize = 73;
const LINE: i64 = 15;
/// Between the text of a box and its sides.
const PADDING: i64 = 10;
const HEAD: i64 = 22;
/// From the top of the picture to the drawing.
const TITLE: i64 = 58;
/// How far a corner of a line is rounded.
const RADIUS: i64 = 6;
/// Lines of a long block that are shown, from its beginning and from its end.
const FIRST_LINES: usize = 14;
const LAST_LINES: usize = 8;
/// Instructions that are the same and follow one another, of which one is enough.
const MANY_TIMES: usize = 4;
/// Characters of a long line that are shown.
const LONG: usize = 76;
/// Of the name above the picture.
const LONG_NAME: usize = 120;

impl Graph {
    /// A picture that needs nothing from elsewhere, with all of long blocks only if it is full; none where edges have so
    /// many bends that they could not be followed.
    pub fn to_svg(&self, is_full: bool) -> Option<String> {
        let outsides = outsides(self);
        let blocks = self.blocks.iter().enumerate();
        let cards: Vec<Card> = blocks
            .map(|(number, block)| Card::of_block(self, number, block, is_full))
            .chain(outsides.iter().map(|it| Card::of_outside(&it.words)))
            .collect();
        let wires = wires(self, &outsides);
        let boxes = cards.iter().map(Card::size).collect();
        let drawing = layered::draw(&to_lay_out(self, boxes, &wires))?;
        let picture = Picture { graph: self, cards: &cards, wires: &wires, drawing: &drawing };
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = picture.write(&mut out);
        Some(out)
    }
}

pub(crate) fn wires(graph: &Graph, outsides: &[Outside]) -> Vec<Wire> {
    let blocks = graph.blocks.iter().enumerate();
    let inside = blocks.flat_map(|(from, block)| {
        block.successors.iter().map(move |it| Wire { from, to: it.block, kind: it.kind })
    });
    let outside = (graph.blocks.len()..).zip(outsides);
    inside.chain(outside.map(|(to, it)| Wire { from: it.from, to, kind: it.kind })).collect()
}

pub(crate) fn to_lay_out(graph: &Graph, boxes: Vec<Size>, wires: &[Wire]) -> layered::Graph {
    let Spine { is_main, pairs } = Spine::new(graph, wires);
    let edge = |(it, is_main): (&Wire, bool)| Edge { from: it.from, to: it.to, is_main };
    layered::Graph {
        boxes,
        edges: wires.iter().zip(is_main).map(edge).collect(),
        pairs,
        loops: graph.loops.iter().map(|it| Loop { header: it.header, parent: it.parent }).collect(),
        innermost: graph.blocks.iter().map(|it| it.innermost).collect(),
    }
}

/// What stands in a box.
struct Card {
    /// The name of a block, and what stands at the right of it.
    head: Option<(String, String)>,
    lines: Vec<String>,
    /// In how many loops it is.
    depth: usize,
    is_reached: bool,
    /// What a pointer on it is told.
    title: String,
}

impl Card {
    fn of_block(graph: &Graph, number: usize, block: &Block, is_full: bool) -> Self {
        let ring = block.innermost.and_then(|it| graph.loops.get(it));
        let role = match ring {
            Some(ring) if ring.header == number => format!("loop, depth {}", ring.depth),
            Some(ring) => format!("loop of {}", label(ring.header)),
            None => String::new(),
        };
        let size = counted(block.size, "byte");
        let count = counted(block.instructions.len(), "instruction");
        let name = format!("{} {:#x}", label(number), block.address);
        let dominator = block.dominator.map(|it| format!(", dominator {}", label(it)));
        Self {
            title: format!("{name}: {size}, {count}{}", dominator.unwrap_or_default()),
            head: Some((name, role)),
            lines: shown_lines(block, is_full),
            depth: ring.map_or(0, |it| it.depth),
            is_reached: block.is_reached,
        }
    }

    fn of_outside(words: &str) -> Self {
        Self {
            head: None,
            lines: vec![shortened(words, LONG)],
            depth: 0,
            is_reached: true,
            title: words.to_owned(),
        }
    }

    fn size(&self) -> Size {
        // Between the name and what stands at its right there are three blanks at least.
        let head = self.head.as_ref().map_or(0, |(name, role)| length(name) + 3 + length(role));
        let longest = self.lines.iter().map(|it| length(it)).max().unwrap_or(0).max(head);
        let width = text_width(longest) + 2 * PADDING;
        let lines = i64::try_from(self.lines.len()).unwrap_or(0);
        let head = if self.head.is_some() { HEAD } else { 0 };
        Size { width: width + width % 2, height: head + lines * LINE + 10 }
    }
}

fn shown_lines(block: &Block, is_full: bool) -> Vec<String> {
    let lines: Vec<&str> = block.instructions.iter().map(|it| it.text.as_str()).collect();
    if is_full {
        return lines.into_iter().map(str::to_owned).collect();
    }
    let lines = folded(&lines);
    // A remark takes a line too.
    if lines.len() <= FIRST_LINES + 1 + LAST_LINES {
        return lines.into_iter().map(|it| it.0).collect();
    }
    let last = lines.len() - LAST_LINES;
    let hidden: usize = lines.iter().take(last).skip(FIRST_LINES).map(|it| it.1).sum();
    let remark = (remark(hidden, "more"), 0);
    let (first, last) = (lines.iter().take(FIRST_LINES), lines.iter().skip(last));
    first.chain([&remark]).chain(last).map(|it| it.0.clone()).collect()
}

/// Lines, each with the number of instructions that it stands for: many times the same is one, and a remark.
fn folded(lines: &[&str]) -> Vec<(String, usize)> {
    let mut folded = Vec::with_capacity(lines.len());
    for same in lines.chunk_by(|a, b| a == b) {
        let shown = if same.len() < MANY_TIMES { same.len() } else { 1 };
        folded.extend(same.iter().take(shown).map(|it| (shortened(it, LONG), 1)));
        let hidden = same.len() - shown;
        if hidden > 0 {
            folded.push((remark(hidden, "like it"), hidden));
        }
    }
    folded
}

fn remark(hidden: usize, how: &str) -> String {
    format!("{ELLIPSIS} {hidden} {how}")
}

const ELLIPSIS: char = '\u{2026}';

pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most - 1).chain([ELLIPSIS]).collect(),
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

pub(crate) fn text_width(characters: usize) -> i64 {
    i64::try_from(characters * CHARACTER / 10 + 1).unwrap_or(0)
}

struct Picture<'p> {
    graph: &'p Graph,
    cards: &'p [Card],
    wires: &'p [Wire],
    drawing: &'p layered::Drawing,
}

impl Picture<'_> {
    fn write(&self, out: &mut String) -> fmt::Result {
        let kinds = kinds_of(&self.wires.iter().map(|it| it.kind));
        let words = title_width(self.graph);
        let width = self.drawing.size.width.max(words).max(32 + legend_width(&kinds));
        let height = self.drawing.size.height + TITLE;
        write_head(out, self.graph, (width, height), &kinds)?;
        let left = (width - self.drawing.size.width) / 2;
        writeln!(out, "<g transform=\"translate({left} {TITLE})\">")?;
        for (number, card) in self.cards.iter().enumerate() {
            self.write_card(out, number, card)?;
        }
        for (wire, route) in self.wires.iter().zip(&self.drawing.routes) {
            self.write_wire(out, wire, route)?;
        }
        writeln!(out, "</g>\n</svg>")
    }

    fn write_card(&self, out: &mut String, number: usize, card: &Card) -> fmt::Result {
        let Some(&Point { x, y }) = self.drawing.boxes.get(number) else { return Ok(()) };
        let Size { width, height } = card.size();
        let class = if card.is_reached { "" } else { " class=\"unreached\"" };
        writeln!(out, "<g{class}><title>{}</title>", Xml(&card.title))?;
        let radius = if card.head.is_some() { 4 } else { height / 2 };
        write!(out, "<rect class=\"box\" x=\"{x}\" y=\"{y}\" width=\"{width}\" ")?;
        writeln!(out, "height=\"{height}\" rx=\"{radius}\"/>")?;
        let mut below = y;
        if let Some((name, role)) = &card.head {
            let class = ["head", "head in-loop", "head in-inner-loop"].get(card.depth.min(2));
            let class = class.copied().unwrap_or_default();
            let (right, bottom) = (x + width, y + HEAD);
            // The upper corners are as round as the box's.
            write!(out, "<path class=\"{class}\" d=\"M{} {bottom}V{}", x + 1, y + 4)?;
            write!(out, "q0 -3 3 -3H{}q3 0 3 3V{bottom}z\"/>", right - 4)?;
            writeln!(out, "<path class=\"rule\" d=\"M{x} {bottom}H{right}\"/>")?;
            let (left, base) = (x + PADDING, y + 15);
            let name = Xml(name);
            writeln!(out, "<text class=\"label\" x=\"{left}\" y=\"{base}\">{name}</text>")?;
            if !role.is_empty() {
                let (right, role) = (right - PADDING, Xml(role));
                write!(out, "<text class=\"faint\" text-anchor=\"end\" ")?;
                writeln!(out, "x=\"{right}\" y=\"{base}\">{role}</text>")?;
            }
            below = bottom;
        }
        for (at, line) in (1..).zip(&card.lines) {
            write_line(out, x + PADDING, below + 2 + at * LINE, line, card.head.is_some())?;
        }
        writeln!(out, "</g>")
    }

    fn write_wire(&self, out: &mut String, wire: &Wire, route: &[Point]) -> fmt::Result {
        let to = match self.cards.get(wire.to).map(|it| (&it.head, it)) {
            Some((None, card)) => card.title.clone(),
            _ => label(wire.to),
        };
        let title = format!("{} \u{2192} {to}: {}", label(wire.from), wire.kind.words());
        write_route(out, wire.kind, route, &title)
    }
}

/// The kinds of edges that there are, in the order in which they are explained.
pub(crate) fn kinds_of(kinds: &(impl Iterator<Item = EdgeKind> + Clone)) -> Vec<EdgeKind> {
    EDGE_KINDS.into_iter().filter(|&kind| kinds.clone().any(|it| it == kind)).collect()
}

/// How wide the words above a picture are.
pub(crate) fn title_width(graph: &Graph) -> i64 {
    let name = length(&shortened(graph.source_name(), LONG_NAME)) * 7 / 6;
    32 + text_width(name).max(text_width(length(&summary(graph))))
}

/// Writes what stands above a picture: its size, colours, name and legend.
pub(crate) fn write_head(
    out: &mut String,
    graph: &Graph,
    (width, height): (i64, i64),
    kinds: &[EdgeKind],
) -> fmt::Result {
    let name = graph.source_name();
    let shown = shortened(name, LONG_NAME);
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"hsaco-cfg\" role=\"img\" \
         width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">"
    )?;
    writeln!(out, "<title>Control flow of {}</title>", Xml(name))?;
    writeln!(out, "<style>\n{STYLE}</style>")?;
    write_tips(out, kinds)?;
    writeln!(out, "<rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>")?;
    writeln!(out, "<text class=\"name\" x=\"16\" y=\"22\">{}</text>", Xml(&shown))?;
    writeln!(out, "<text class=\"faint\" x=\"16\" y=\"38\">{}</text>", Xml(&summary(graph)))?;
    write_legend(out, kinds)
}

fn summary(graph: &Graph) -> String {
    format!(
        "{} at {:#x}: {}, {}, {}, {}",
        graph.kind_name(),
        graph.address,
        counted(graph.size, "byte"),
        counted(graph.instructions(), "instruction"),
        counted(graph.blocks.len(), "block"),
        counted(graph.loops.len(), "loop"),
    )
}

/// Writes an edge, with what a pointer on it is told.
pub(crate) fn write_route(
    out: &mut String,
    kind: EdgeKind,
    route: &[Point],
    title: &str,
) -> fmt::Result {
    let class = kind.name();
    let goes_back = match (route.first(), route.last()) {
        (Some(first), Some(last)) if last.y <= first.y => " back",
        _ => "",
    };
    let outside = if kind.is_outside() { " outside" } else { "" };
    write!(out, "<g class=\"edge\"><title>{}</title>", Xml(title))?;
    write!(out, "<path class=\"line {class}{goes_back}{outside}\" ")?;
    writeln!(out, "marker-end=\"url(#hsaco-{class})\" d=\"{}\"/></g>", Rounded(route))
}

/// An instruction: its first word stands out. The remark about what is not shown is faint.
fn write_line(out: &mut String, x: i64, y: i64, line: &str, is_code: bool) -> fmt::Result {
    if !is_code || line.starts_with(ELLIPSIS) {
        let class = if is_code { " class=\"faint\"" } else { "" };
        return writeln!(out, "<text{class} x=\"{x}\" y=\"{y}\">{}</text>", Xml(line));
    }
    let (word, rest) = line.split_at(line.find(' ').unwrap_or(line.len()));
    write!(out, "<text x=\"{x}\" y=\"{y}\"><tspan class=\"mnemonic\">{}</tspan>", Xml(word))?;
    writeln!(out, "{}</text>", Xml(rest))
}

/// The tips of arrows, one for each kind of edge.
fn write_tips(out: &mut String, kinds: &[EdgeKind]) -> fmt::Result {
    writeln!(out, "<defs>")?;
    for kind in kinds {
        let name = kind.name();
        write!(out, "<marker id=\"hsaco-{name}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" ")?;
        write!(out, "markerWidth=\"9\" markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" ")?;
        write!(out, "orient=\"auto\"><path class=\"tip {name}\" d=\"M0 0.5L10 5L0 9.5z\"/>")?;
        writeln!(out, "</marker>")?;
    }
    writeln!(out, "</defs>")
}

/// Pixels of a line in the legend, and around it.
const SAMPLE: i64 = 26;
const AROUND_SAMPLE: i64 = 6;

pub(crate) fn legend_width(kinds: &[EdgeKind]) -> i64 {
    kinds.iter().map(|it| SAMPLE + 3 * AROUND_SAMPLE + text_width(length(&it.words()))).sum()
}

fn write_legend(out: &mut String, kinds: &[EdgeKind]) -> fmt::Result {
    let mut x = 16;
    for kind in kinds {
        let (class, words, end) = (kind.name(), kind.words(), x + SAMPLE);
        let outside = if kind.is_outside() { " outside" } else { "" };
        write!(out, "<path class=\"line {class}{outside}\" marker-end=\"url(#hsaco-{class})\" ")?;
        writeln!(out, "d=\"M{x} 51H{end}\"/>")?;
        let start = end + AROUND_SAMPLE;
        writeln!(out, "<text class=\"faint\" x=\"{start}\" y=\"55\">{words}</text>")?;
        x = start + text_width(length(&words)) + 2 * AROUND_SAMPLE;
    }
    Ok(())
}

/// A line with round corners, as the data of a path.
struct Rounded<'r>(&'r [Point]);

impl Display for Rounded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.0.first() else { return Ok(()) };
        write!(f, "M{} {}", first.x, first.y)?;
        for corner in self.0.windows(3) {
            let &[before, at, after] = corner else { continue };
            let radius = RADIUS.min(length_of(before, at) / 2).min(length_of(at, after) / 2);
            let (start, end) = (towards(at, before, radius), towards(at, after, radius));
            write!(f, "L{} {}Q{} {} {} {}", start.x, start.y, at.x, at.y, end.x, end.y)?;
        }
        match self.0.last() {
            Some(last) => write!(f, "L{} {}", last.x, last.y),
            None => Ok(()),
        }
    }
}

fn length_of(a: Point, b: Point) -> i64 {
    (a.x - b.x).abs() + (a.y - b.y).abs()
}

/// The point that is so far from one on the way to another.
fn towards(from: Point, to: Point, distance: i64) -> Point {
    Point {
        x: from.x + distance * (to.x - from.x).signum(),
        y: from.y + distance * (to.y - from.y).signum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_are_round_as_far_as_there_is_room() {
        let points = [(0, 0), (0, 20), (4, 20), (4, 40)].map(|(x, y)| Point { x, y });
        let path = "M0 0L0 18Q0 20 2 20L2 20Q4 20 4 22L4 40";
        assert_eq!(Rounded(&points).to_string(), path);
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(shortened("abcdef", 6), "abcdef");
        assert_eq!(shortened("abcdefg", 6), "abcde\u{2026}");
    }
}
