//! The control flow of functions.

use hsaco_analysis::{Code, Function, FunctionKind, Functions};
use hsaco_bytes::Id as _;
use hsaco_draw::flow::{Block, BlockLine, Callee, Exit, Graph, Loop, label};
use hsaco_files::{KernelSelection, ObjectItem, Trouble};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use crate::body::Body;
use crate::mix::Mix;
use crate::open_code;

/// The control flow of an object's functions, each decoded when it is asked for.
#[derive(Debug)]
pub struct Flow<'e> {
    code: Option<Code<'e>>,
    /// By number among the functions.
    wanted: Vec<usize>,
    /// Whether rows have instructions.
    instructions: bool,
}

impl<'e> Flow<'e> {
    /// Finds the wanted kernels and functions; without names all kernels, or all functions of an object without any.
    pub fn new(
        item: &ObjectItem<'e, '_>,
        kernels: &KernelSelection,
        instructions: bool,
        trouble: &mut Trouble,
    ) -> Self {
        let code = open_code(item, trouble);
        let wanted = code.as_ref().map_or_else(Vec::new, |it| wanted(it.functions(), kernels));
        Self { code, wanted, instructions }
    }

    /// Whether nothing is wanted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// The wanted functions, by address.
    pub fn functions(&self) -> impl Iterator<Item = &Function<'e>> {
        let functions = self.code.as_ref().map_or(&[][..], |it| it.functions().as_slice());
        self.wanted.iter().filter_map(|&it| functions.get(it))
    }

    /// The graph of one of them.
    #[must_use]
    pub fn graph(&self, function: &Function<'_>) -> Option<Graph> {
        let code = self.code.as_ref()?;
        Some(Graph::new(&code.decoder(function), code.functions(), function))
    }

    /// How many instructions of each class some blocks of one of them have, by the names of classes.
    #[must_use]
    pub fn classes(&self, function: &Function<'_>, blocks: &[usize]) -> Vec<(&'static str, u64)> {
        let Some(code) = &self.code else { return Vec::new() };
        let body = Body::new(code, function);
        let ids = body.cfg().blocks().ids().filter(|it| blocks.contains(&it.index()));
        let steps = ids.flat_map(|it| body.cfg().blocks()[it].steps());
        let mix = Mix::of(body.decoder(), body.stream(), steps);
        mix.classes.iter().map(|it| (it.class, it.count)).collect()
    }

    /// The graphs of all, one after the other.
    pub fn graphs(&self) -> impl Iterator<Item = Graph> {
        self.functions().filter_map(|it| self.graph(it))
    }
}

fn wanted(functions: &Functions<'_>, kernels: &KernelSelection) -> Vec<usize> {
    let functions = functions.as_slice();
    let has_kernels = functions.iter().any(|it| it.kind == FunctionKind::Kernel);
    let is_wanted = |it: &Function<'_>| match kernels.is_all() {
        true => !has_kernels || it.kind == FunctionKind::Kernel,
        false => it.name.is_some_and(|name| kernels.wants(name)),
    };
    let numbered = functions.iter().enumerate();
    numbered.filter(|(_, it)| is_wanted(it)).map(|(number, _)| number).collect()
}

impl Serialize for Flow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("functions", &GraphRows(self))?;
        map.end()
    }
}

/// The graphs, of which one is in memory at a time.
struct GraphRows<'f, 'e>(&'f Flow<'e>);

impl Serialize for GraphRows<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.graphs().map(|it| GraphRow(it, self.0.instructions)))
    }
}

struct GraphRow(Graph, bool);

impl Serialize for GraphRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        FunctionRow::new(&self.0, self.1).serialize(serializer)
    }
}

#[derive(Serialize)]
struct FunctionRow<'g> {
    name: &'g str,
    demangled: Option<&'g str>,
    kind: &'static str,
    address: u64,
    size: usize,
    blocks: Vec<BlockRow<'g>>,
    loops: Vec<LoopRow<'g>>,
}

#[derive(Serialize)]
struct BlockRow<'g> {
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
    successors: Vec<SuccessorRow>,
    calls: Vec<CallRow<'g>>,
    exit: Option<ExitRow<'g>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<Vec<LineRow<'g>>>,
}

#[derive(Serialize)]
struct SuccessorRow {
    block: usize,
    kind: &'static str,
}

#[derive(Serialize)]
struct CallRow<'g> {
    address: u64,
    #[serde(flatten)]
    callee: CalleeRow<'g>,
}

#[derive(Default, Serialize)]
struct CalleeRow<'g> {
    target: Option<u64>,
    name: Option<&'g str>,
    loaded_from: Option<u64>,
}

#[derive(Serialize)]
struct ExitRow<'g> {
    kind: &'static str,
    target: Option<u64>,
    name: Option<&'g str>,
}

#[derive(Serialize)]
struct LineRow<'g> {
    address: u64,
    text: &'g str,
}

#[derive(Serialize)]
struct LoopRow<'g> {
    index: usize,
    header: usize,
    parent: Option<usize>,
    depth: usize,
    blocks: &'g [usize],
}

impl<'g> FunctionRow<'g> {
    fn new(graph: &'g Graph, instructions: bool) -> Self {
        let blocks = graph.blocks.iter().enumerate();
        let loops = graph.loops.iter().enumerate();
        Self {
            name: &graph.name,
            demangled: graph.demangled.as_deref(),
            kind: graph.kind_name(),
            address: graph.address,
            size: graph.size,
            blocks: blocks.map(|(index, it)| BlockRow::new(index, it, instructions)).collect(),
            loops: loops.map(|(index, it)| LoopRow::new(index, it)).collect(),
        }
    }
}

impl<'g> BlockRow<'g> {
    fn new(index: usize, block: &'g Block, instructions: bool) -> Self {
        let successors = block.successors.iter();
        let calls = block.calls.iter();
        let line = |it: &'g BlockLine| LineRow { address: it.address, text: &it.text };
        let lines = || block.instructions.iter().map(line).collect();
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
                .map(|it| SuccessorRow { block: it.block, kind: it.kind.name() })
                .collect(),
            calls: calls
                .map(|it| CallRow { address: it.address, callee: CalleeRow::new(&it.callee) })
                .collect(),
            exit: block.exit.as_ref().map(ExitRow::new),
            instructions: instructions.then(lines),
        }
    }
}

impl<'g> CalleeRow<'g> {
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

impl<'g> ExitRow<'g> {
    fn new(exit: &'g Exit) -> Self {
        let callee = match exit {
            Exit::Outside(callee) => CalleeRow::new(callee),
            _ => CalleeRow::default(),
        };
        Self { kind: exit.name(), target: callee.target, name: callee.name }
    }
}

impl<'g> LoopRow<'g> {
    fn new(index: usize, ring: &'g Loop) -> Self {
        let &Loop { header, parent, depth, ref blocks } = ring;
        Self { index, header, parent, depth, blocks }
    }
}
