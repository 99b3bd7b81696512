//! Control flow for Graphviz.

use hsaco_bytes::escape;
use std::fmt::Write;

use crate::flow::{Block, EdgeKind, Graph, counted, label};
use crate::outside::outsides;

impl Graph {
    /// The graph in the DOT language, for Graphviz.
    pub fn to_dot(&self, instructions: bool) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = write_graph(&mut out, self, instructions);
        out
    }
}

fn write_graph(out: &mut String, graph: &Graph, instructions: bool) -> std::fmt::Result {
    let name = quoted(graph.source_name());
    writeln!(out, "digraph {name} {{")?;
    writeln!(out, "  graph [label={name}, labelloc=t, fontname=\"monospace\"];")?;
    writeln!(out, "  node [shape=box, fontname=\"monospace\"];")?;
    writeln!(out, "  edge [fontname=\"monospace\"];")?;
    for (number, block) in graph.blocks.iter().enumerate() {
        let style = if block.is_reached { "" } else { ", style=dashed" };
        let text = block_text(graph, number, block, instructions);
        writeln!(out, "  {} [label={text}{style}];", label(number))?;
    }
    for (number, block) in graph.blocks.iter().enumerate() {
        for it in &block.successors {
            write_edge(out, &label(number), &label(it.block), it.kind)?;
        }
    }
    for (number, it) in outsides(graph).iter().enumerate() {
        let name = format!("out{number}");
        writeln!(out, "  {name} [label={}, shape=oval];", quoted(&it.words))?;
        write_edge(out, &label(it.from), &name, it.kind)?;
    }
    writeln!(out, "}}")
}

fn write_edge(out: &mut String, from: &str, to: &str, kind: EdgeKind) -> std::fmt::Result {
    let (color, style) = match kind {
        EdgeKind::FallThrough => ("gray40", "solid"),
        EdgeKind::Taken => ("forestgreen", "solid"),
        EdgeKind::NotTaken => ("orangered", "solid"),
        EdgeKind::Jump => ("royalblue", "solid"),
        EdgeKind::Indirect => ("purple", "solid"),
        EdgeKind::Call => ("royalblue", "dashed"),
        EdgeKind::Leave | EdgeKind::Unknown => ("purple", "dashed"),
    };
    let words = kind.words();
    writeln!(out, "  {from} -> {to} [label=\"{words}\", color={color}, style={style}];")
}

/// What stands in a block, its lines to the left.
fn block_text(graph: &Graph, number: usize, block: &Block, instructions: bool) -> String {
    let mut lines = vec![format!("{} {:#x}", label(number), block.address)];
    if let Some(ring) = block.innermost.and_then(|it| graph.loops.get(it)) {
        lines.push(format!("loop of {}, depth {}", label(ring.header), ring.depth));
    }
    match instructions {
        true => lines.extend(block.instructions.iter().map(|it| it.text.clone())),
        false => lines.push(counted(block.instructions.len(), "instruction")),
    }
    let lines: String = lines.iter().map(|it| escape::dot(it) + "\\l").collect();
    format!("\"{lines}\"")
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escape::dot(text))
}
