//! Pictures of what AMD GPU code does.
//!
//! [`Graph`] is the control flow of a function: blocks with their instructions, edges, loops and calls. It is drawn as SVG,
//! by a layout of its own, written in the DOT language for Graphviz, or as text.
//!
//! ```
//! use hsaco_analysis::Code;
//! use hsaco_draw::Graph;
//! use hsaco_object::CodeObject;
//! # let file = std::fs::read("../../tests/fixtures/lines.dwarf5.co")?;
//! let code = Code::of(&CodeObject::parse(&file)?)?;
//! let function = code.functions().as_slice().first().ok_or("no code")?;
//!
//! let graph = Graph::new(&code.decoder(function), code.functions(), function);
//! let picture = graph.to_svg(false).ok_or("too many edges")?;
//! assert!(picture.starts_with("<svg "));
//! assert!(graph.to_dot(false).starts_with("digraph "));
//! assert!(graph.to_text(false, false).starts_with("function "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod collapse;
mod dot;
pub mod flow;
mod layered;
mod outside;
mod overview;
mod spine;
mod svg;
mod text;

pub use flow::Graph;
pub use overview::{
    Bands, Overview, OverviewEdge, OverviewFrame, OverviewNode, OverviewOutside, Rectangle,
};
