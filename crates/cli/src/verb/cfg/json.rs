//! Control flow as JSON.

use hsaco::draw::{Block, Call, Callee, Exit, Graph, Line, Loop, label};
use serde::Serialize;

/// One object.
#[derive(Serialize)]
pub(super) struct ObjectFlow<'g> {
    pub(super) index: usize,
    pub(super) entry_id: Option<&'g str>,
    pub(super) target: Option<&'g str>,
    pub(super) functions: Vec<JsonFunction<'g>>,
}

#[derive(Serialize)]
pub(super) struct JsonFunction<'g> {
    name: &'g str,
    demangled: Option<&'g str>,
    kind: &'static str,
    address: u64,
    size: usize,
    blocks: Vec<JsonBlock<'g>>,
    loops: Vec<JsonLoop<'g>>,
}

#[derive(Serialize)]
struct JsonBlock<'g> {
    index: usize,
    label: String,
    address: u64,
    size: u64,
    instruction_count: usize,
    is_reached: bool,
    dominator: Option<usize>,
    /// The innermost.
    #[serde(rename = "loop")]
    innermost: Option<usize>,
    successors: Vec<JsonSuccessor>,
    calls: Vec<JsonCall<'g>>,
    exit: Option<JsonExit<'g>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<Vec<JsonLine<'g>>>,
}

#[derive(Serialize)]
struct JsonSuccessor {
    block: usize,
    kind: &'static str,
}

#[derive(Serialize)]
struct JsonCall<'g> {
    address: u64,
    #[serde(flatten)]
    callee: JsonCallee<'g>,
}

#[derive(Serialize, Default)]
struct JsonCallee<'g> {
    target: Option<u64>,
    name: Option<&'g str>,
    loaded_from: Option<u64>,
}

#[derive(Serialize)]
struct JsonExit<'g> {
    kind: &'static str,
    target: Option<u64>,
    name: Option<&'g str>,
}

#[derive(Serialize)]
struct JsonLine<'g> {
    address: u64,
    text: &'g str,
}

#[derive(Serialize)]
struct JsonLoop<'g> {
    index: usize,
    header: usize,
    parent: Option<usize>,
    depth: usize,
    blocks: &'g [usize],
}

impl<'g> JsonFunction<'g> {
    pub(super) fn new(graph: &'g Graph, instructions: bool) -> Self {
        let blocks = graph.blocks.iter().enumerate();
        let loops = graph.loops.iter().enumerate();
        Self {
            name: &graph.name,
            demangled: graph.demangled.as_deref(),
            kind: graph.kind_name(),
            address: graph.address,
            size: graph.size,
            blocks: blocks.map(|(index, it)| JsonBlock::new(index, it, instructions)).collect(),
            loops: loops.map(|(index, it)| JsonLoop::new(index, it)).collect(),
        }
    }
}

impl<'g> JsonBlock<'g> {
    fn new(index: usize, block: &'g Block, instructions: bool) -> Self {
        let successors = block.successors.iter();
        let lines = || block.instructions.iter().map(JsonLine::new).collect();
        Self {
            index,
            label: label(index),
            address: block.address,
            size: block.size,
            instruction_count: block.instructions.len(),
            is_reached: block.is_reached,
            dominator: block.dominator,
            innermost: block.innermost,
            successors: successors
                .map(|it| JsonSuccessor { block: it.block, kind: it.kind.name() })
                .collect(),
            calls: block.calls.iter().map(JsonCall::new).collect(),
            exit: block.exit.as_ref().map(JsonExit::new),
            instructions: instructions.then(lines),
        }
    }
}

impl<'g> JsonCall<'g> {
    fn new(call: &'g Call) -> Self {
        Self { address: call.address, callee: JsonCallee::new(&call.callee) }
    }
}

impl<'g> JsonCallee<'g> {
    fn new(callee: &'g Callee) -> Self {
        match callee {
            Callee::Known(target, name) => {
                Self { target: Some(*target), name: name.as_deref(), loaded_from: None }
            }
            Callee::Loaded(place) => Self { loaded_from: Some(*place), ..Self::default() },
            Callee::Unknown => Self::default(),
        }
    }
}

impl<'g> JsonExit<'g> {
    fn new(exit: &'g Exit) -> Self {
        let callee = match exit {
            Exit::Outside(callee) => JsonCallee::new(callee),
            _ => JsonCallee::default(),
        };
        Self { kind: exit.name(), target: callee.target, name: callee.name }
    }
}

impl<'g> JsonLine<'g> {
    fn new(line: &'g Line) -> Self {
        Self { address: line.address, text: &line.text }
    }
}

impl<'g> JsonLoop<'g> {
    fn new(index: usize, ring: &'g Loop) -> Self {
        let &Loop { header, parent, depth, ref blocks } = ring;
        Self { index, header, parent, depth, blocks }
    }
}
