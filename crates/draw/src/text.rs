//! Control flow as text.

use std::fmt::{self, Write};

use anstyle::Style;
use hsaco_bytes::escape::shown;

use crate::flow::{Block, Graph, counted, label};

/// What is written.
#[derive(Clone, Copy)]
struct TextStyle {
    instructions: bool,
    color: bool,
}

impl Graph {
    /// Blocks, edges, loops and calls as lines of text, with or without instructions and colours for a terminal.
    #[must_use]
    pub fn to_text(&self, instructions: bool, color: bool) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = write(&mut text, self, TextStyle { instructions, color });
        text
    }
}

fn write(out: &mut String, graph: &Graph, style: TextStyle) -> fmt::Result {
    writeln!(
        out,
        "{} {}: {:#x}, {}, {}, {}, {}",
        graph.kind_name(),
        shown(graph.source_name()),
        graph.address,
        counted(graph.size, "byte"),
        counted(graph.instructions(), "instruction"),
        counted(graph.blocks.len(), "block"),
        counted(graph.loops.len(), "loop"),
    )?;
    for number in 0..graph.loops.len() {
        write_loop(out, graph, number)?;
    }
    for (number, block) in graph.blocks.iter().enumerate() {
        writeln!(out)?;
        write_block(out, graph, number, block, style)?;
    }
    Ok(())
}

fn write_loop(out: &mut String, graph: &Graph, number: usize) -> fmt::Result {
    let Some(ring) = graph.loops.get(number) else { return Ok(()) };
    write!(out, "  loop {number}: header {}, depth {}", label(ring.header), ring.depth)?;
    if let Some(parent) = ring.parent {
        write!(out, ", in loop {parent}")?;
    }
    write!(out, ", {}:", counted(ring.blocks.len(), "block"))?;
    for block in &ring.blocks {
        write!(out, " {}", label(*block))?;
    }
    writeln!(out)
}

fn write_block(
    out: &mut String,
    graph: &Graph,
    number: usize,
    block: &Block,
    style: TextStyle,
) -> fmt::Result {
    let bold = if style.color { Style::new().bold() } else { Style::new() };
    write!(
        out,
        "{bold}{}{bold:#}  {:#x}, {}, {}",
        label(number),
        block.address,
        counted(block.size, "byte"),
        counted(block.instructions.len(), "instruction"),
    )?;
    for remark in remarks(graph, number, block) {
        write!(out, ", {remark}")?;
    }
    writeln!(out)?;
    if style.instructions {
        for line in &block.instructions {
            writeln!(out, "    {:08x}  {}", line.address, line.text)?;
        }
    }
    for call in &block.calls {
        writeln!(out, "  call at {:#x} -> {}", call.address, shown(&call.callee.words()))?;
    }
    for successor in &block.successors {
        writeln!(out, "  {} -> {}", successor.kind.words(), label(successor.block))?;
    }
    match &block.exit {
        None => Ok(()),
        Some(exit) => match exit.target() {
            None => writeln!(out, "  {}", exit.name()),
            Some((kind, target)) => {
                writeln!(out, "  {} -> {}", kind.words(), shown(&target.to_string()))
            }
        },
    }
}

/// What there is to know of a block beside its edges.
fn remarks(graph: &Graph, number: usize, block: &Block) -> Vec<String> {
    let mut remarks = Vec::new();
    match block.dominator {
        Some(above) => remarks.push(format!("dominator {}", label(above))),
        None if number == 0 => remarks.push("entry".to_owned()),
        None => remarks.push("not reached".to_owned()),
    }
    if let Some(innermost) = block.innermost
        && let Some(ring) = graph.loops.get(innermost)
    {
        let role = if ring.header == number { "header of loop" } else { "in loop" };
        remarks.push(format!("{role} {innermost} (depth {})", ring.depth));
    }
    remarks
}
