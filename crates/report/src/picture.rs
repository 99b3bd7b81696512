//! The graph of a function, as a page draws it.

use std::collections::BTreeMap;

use hsaco_draw::flow::Exit;
use hsaco_draw::{Graph, Overview, Rectangle};
use serde::Serialize;

/// Blocks, column by column.
#[derive(Debug, Default, Serialize)]
pub(crate) struct BlockColumns {
    /// How many instructions each has.
    counts: Vec<usize>,
    /// The innermost loop around each, by number.
    loops: Vec<Option<usize>>,
    /// The blocks that may come next.
    next: Vec<Vec<usize>>,
    /// How each of these comes to be next.
    kinds: Vec<Vec<&'static str>>,
    /// The calls that some make, by block: where, and what is called.
    calls: BTreeMap<usize, Vec<(u64, String)>>,
    /// How some leave the function, by block.
    exits: BTreeMap<usize, String>,
    /// Those to which no path leads from the entry.
    unreached: Vec<usize>,
}

impl BlockColumns {
    pub(crate) fn new(graph: &Graph) -> Self {
        let mut columns = Self::default();
        for (number, block) in graph.blocks.iter().enumerate() {
            columns.counts.push(block.instructions.len());
            columns.loops.push(block.innermost);
            columns.next.push(block.successors.iter().map(|it| it.block).collect());
            columns.kinds.push(block.successors.iter().map(|it| it.kind.name()).collect());
            if !block.calls.is_empty() {
                let calls = block.calls.iter().map(|it| (it.address, it.callee.words()));
                columns.calls.insert(number, calls.collect());
            }
            if let Some(exit) = &block.exit {
                columns.exits.insert(number, exit_words(exit));
            }
            if !block.is_reached {
                columns.unreached.push(number);
            }
        }
        columns
    }
}

fn exit_words(exit: &Exit) -> String {
    match exit {
        Exit::Outside(callee) => format!("{} {}", exit.name(), callee.words()),
        _ => exit.name().to_owned(),
    }
}

/// Where everything of the picture goes.
#[derive(Debug, Serialize)]
pub(crate) struct Picture {
    width: i64,
    height: i64,
    nodes: Vec<NodeRow>,
    outsides: Vec<(String, Place)>,
    /// From, to, how, and the corners one after the other.
    edges: Vec<(usize, usize, &'static str, Vec<i64>)>,
    /// Loops by number.
    frames: Vec<(usize, Place)>,
}

#[derive(Debug, Serialize)]
struct NodeRow {
    blocks: Vec<usize>,
    place: Place,
}

/// Left, top, width, height.
type Place = [i64; 4];

fn place(it: Rectangle) -> Place {
    [it.x, it.y, it.width, it.height]
}

impl From<Overview> for Picture {
    fn from(it: Overview) -> Self {
        let corners = |points: Vec<(i64, i64)>| points.into_iter().flat_map(|(x, y)| [x, y]);
        let nodes = it.nodes.into_iter();
        let edges = it.edges.into_iter();
        Self {
            width: it.width,
            height: it.height,
            nodes: nodes.map(|it| NodeRow { blocks: it.blocks, place: place(it.place) }).collect(),
            outsides: it.outsides.into_iter().map(|it| (it.words, place(it.place))).collect(),
            edges: edges
                .map(|it| (it.from, it.to, it.kind.name(), corners(it.points).collect()))
                .collect(),
            frames: it.frames.into_iter().map(|it| (it.ring, place(it.place))).collect(),
        }
    }
}
