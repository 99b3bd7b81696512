//! The control flow of a function, as every format shows it.

use std::fmt::Display;

use hsaco_analysis::{
    self as analysis, Address, BlockId, Cfg, Dominators, Function, FunctionKind, Functions, LoopId,
    Loops, Stream, Values,
};
use hsaco_bytes::Id;
use hsaco_demangle::demangle;
use hsaco_isa::effects::Flow;
use hsaco_isa::model::VgprMsb;
use hsaco_isa::{Decoder, Inst};

/// A function and its blocks, of which the first is the entry.
#[derive(Clone, Debug)]
pub struct Graph {
    /// As the symbol has it, else the address.
    pub name: String,
    /// As in the source, where the name is a mangled one.
    pub demangled: Option<String>,
    /// Whether it is a kernel.
    pub kind: FunctionKind,
    /// Of the first instruction.
    pub address: u64,
    /// In bytes.
    pub size: usize,
    /// In the order of their addresses; other items name a block by its number here.
    pub blocks: Vec<Block>,
    /// Outer ones first.
    pub loops: Vec<Loop>,
}

/// A basic block.
#[derive(Clone, Debug)]
pub struct Block {
    /// Of its first instruction.
    pub address: u64,
    /// In bytes.
    pub size: u64,
    /// In order.
    pub instructions: Vec<BlockLine>,
    /// The blocks that may come next.
    pub successors: Vec<Successor>,
    /// The calls that it makes.
    pub calls: Vec<Call>,
    /// How it leaves the function, if it does.
    pub exit: Option<Exit>,
    /// The innermost loop around it, by number.
    pub innermost: Option<usize>,
    /// Its immediate dominator, by number.
    pub dominator: Option<usize>,
    /// Whether a path leads here from the entry.
    pub is_reached: bool,
}

/// An instruction, with the names of blocks where it branches to one.
#[derive(Clone, Debug)]
pub struct BlockLine {
    /// Where it is.
    pub address: u64,
    /// As a listing has it.
    pub text: String,
}

/// An edge to another block.
#[derive(Clone, Copy, Debug)]
pub struct Successor {
    /// By number.
    pub block: usize,
    /// How it comes to be next.
    pub kind: EdgeKind,
}

/// How one block comes after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeKind {
    /// The next one begins where something else branches to.
    FallThrough,
    /// A conditional branch, taken.
    Taken,
    /// A conditional branch, not taken.
    NotTaken,
    /// An unconditional branch.
    Jump,
    /// A jump to an address in registers, which the code itself puts there.
    Indirect,
    /// A call.
    Call,
    /// Out of the function.
    Leave,
    /// The code does not show where to.
    Unknown,
}

/// Every kind, in the order in which they are explained.
pub(crate) const EDGE_KINDS: [EdgeKind; 8] = [
    EdgeKind::FallThrough,
    EdgeKind::Taken,
    EdgeKind::NotTaken,
    EdgeKind::Jump,
    EdgeKind::Indirect,
    EdgeKind::Call,
    EdgeKind::Leave,
    EdgeKind::Unknown,
];

impl EdgeKind {
    /// A word for programs: `not_taken`.
    pub fn name(self) -> &'static str {
        match self {
            Self::FallThrough => "fall_through",
            Self::Taken => "taken",
            Self::NotTaken => "not_taken",
            Self::Jump => "jump",
            Self::Indirect => "indirect",
            Self::Call => "call",
            Self::Leave => "leave",
            Self::Unknown => "unknown",
        }
    }

    /// Whether it leads out of the function, for ever or for a while.
    pub(crate) fn is_outside(self) -> bool {
        matches!(self, Self::Call | Self::Leave | Self::Unknown)
    }

    /// The same for people: `not taken`.
    pub fn words(self) -> String {
        self.name().replace('_', " ")
    }
}

/// A call that a block makes.
#[derive(Clone, Debug)]
pub struct Call {
    /// Of the instruction.
    pub address: u64,
    /// What is called.
    pub callee: Callee,
}

/// What is called or jumped to outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Callee {
    /// An address, and the name of the function that begins there.
    Known(u64, Option<String>),
    /// What memory holds at this address, such as an entry of the GOT.
    Loaded(u64),
    /// The code does not show what.
    Unknown,
}

impl Callee {
    /// A name, or what is known instead.
    pub fn words(&self) -> String {
        match self {
            Self::Known(_, Some(name)) => name.clone(),
            Self::Known(address, None) => format!("{address:#x}"),
            Self::Loaded(address) => format!("what is loaded from {address:#x}"),
            Self::Unknown => "unknown".to_owned(),
        }
    }
}

/// How a block leaves the function, beside its edges.
#[derive(Clone, Debug)]
pub enum Exit {
    /// The wave ends.
    End,
    /// To the caller.
    Return,
    /// To a place outside the function.
    Outside(Callee),
    /// The code does not show where to.
    Unknown,
}

impl Exit {
    /// A word for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::End => "end",
            Self::Return => "return",
            Self::Outside(_) => "outside",
            Self::Unknown => "unknown",
        }
    }

    /// Where it goes, unless the wave or the function ends.
    pub fn target(&self) -> Option<(EdgeKind, String)> {
        match self {
            Self::End | Self::Return => None,
            Self::Outside(callee) => Some((EdgeKind::Leave, callee.words())),
            Self::Unknown => Some((EdgeKind::Unknown, "anywhere".to_owned())),
        }
    }
}

/// A loop.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The block through which it is entered.
    pub header: usize,
    /// The loop around it, by number.
    pub parent: Option<usize>,
    /// 1 for a loop that is in no other.
    pub depth: usize,
    /// Those of inner loops among them.
    pub blocks: Vec<usize>,
}

/// A number of things in words: `1 block`, `2 blocks`.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, thing: &str) -> String {
    let plural = if count == N::from(1) { "" } else { "s" };
    format!("{count} {thing}{plural}")
}

/// The name of a block.
pub fn label(block: usize) -> String {
    format!("bb{block}")
}

impl Graph {
    /// Decodes a function and works out its control flow; other functions give calls their names.
    pub fn new(decoder: &Decoder, functions: &Functions<'_>, function: &Function<'_>) -> Self {
        let stream = function.decode(decoder);
        let cfg = Cfg::new(decoder, &stream);
        Self::of(decoder, functions, function, &stream, &cfg)
    }

    /// The same of a function that was decoded before.
    pub fn of(
        decoder: &Decoder,
        functions: &Functions<'_>,
        function: &Function<'_>,
        stream: &Stream<'_>,
        cfg: &Cfg,
    ) -> Self {
        let dominators = Dominators::new(cfg);
        let loops = Loops::new(cfg, &dominators);
        let values = Values::new(decoder, stream, cfg);
        let reader = Reader { decoder, functions, stream, cfg, values };
        let mut texts = reader.texts().into_iter();
        let mut blocks: Vec<Block> =
            cfg.blocks().iter().map(|block| reader.block(block, &mut texts)).collect();
        for (id, block) in cfg.blocks().ids().zip(&mut blocks) {
            block.innermost = loops.innermost(id).map(Id::index);
            block.dominator = dominators.immediate(id).map(Id::index);
            block.is_reached = dominators.is_reached(id);
        }
        Self {
            name: function
                .name
                .map_or_else(|| format!("{:#x}", function.address), |it| it.to_string()),
            demangled: function.name.and_then(|name| demangle(name.as_bytes())),
            kind: function.kind,
            address: function.address,
            size: function.code.len(),
            loops: rings(&loops, cfg),
            blocks,
        }
    }

    /// The same function with none of its blocks.
    pub(crate) fn without_blocks(&self) -> Self {
        Self {
            name: self.name.clone(),
            demangled: self.demangled.clone(),
            kind: self.kind,
            address: self.address,
            size: self.size,
            blocks: Vec::new(),
            loops: Vec::new(),
        }
    }

    /// A word for what it is.
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            FunctionKind::Kernel => "kernel",
            FunctionKind::Device => "function",
            FunctionKind::Unnamed => "unnamed",
        }
    }

    /// As in the source, if that can be known.
    pub fn source_name(&self) -> &str {
        self.demangled.as_deref().unwrap_or(&self.name)
    }

    /// How many instructions its blocks have.
    pub fn instructions(&self) -> usize {
        self.blocks.iter().map(|it| it.instructions.len()).sum()
    }
}

/// The loops, with the blocks of inner ones among theirs.
fn rings(loops: &Loops, cfg: &Cfg) -> Vec<Loop> {
    let mut blocks = loops.loops().filled(Vec::new());
    for block in cfg.blocks().ids() {
        loops.around(block).for_each(|around| blocks[around].push(block.index()));
    }
    let ring = |(id, ring): (LoopId, &analysis::Loop)| Loop {
        header: ring.header.index(),
        parent: ring.parent.map(Id::index),
        depth: loops.around(ring.header).count(),
        blocks: std::mem::take(&mut blocks[id]),
    };
    loops.loops().enumerated().map(ring).collect()
}

struct Reader<'r> {
    decoder: &'r Decoder,
    functions: &'r Functions<'r>,
    stream: &'r Stream<'r>,
    cfg: &'r Cfg,
    values: Values<'r>,
}

impl Reader<'_> {
    /// All instructions, as `hsaco disasm` prints them but for the targets of branches.
    fn texts(&self) -> Vec<BlockLine> {
        let mut msb = VgprMsb::default();
        let mut lines = Vec::with_capacity(self.stream.len());
        for index in 0..self.stream.len() {
            let address = self.stream.address_of(index);
            let text = match self.stream.inst(index) {
                None => {
                    msb = VgprMsb::default();
                    "not an instruction".to_owned()
                }
                Some(inst) => {
                    let mut text = Vec::new();
                    self.decoder.print_after(&inst, msb, &mut text);
                    msb.update(&inst);
                    self.with_label(&inst, address, &String::from_utf8_lossy(&text))
                }
            };
            lines.push(BlockLine { address, text });
        }
        lines
    }

    /// Puts the name of a block or function in the place of a branch's number.
    fn with_label(&self, inst: &Inst, address: u64, text: &str) -> String {
        let is_branch = matches!(inst.flow(), Flow::Branch | Flow::ConditionalBranch);
        let name = inst.branch_target(address).filter(|_| is_branch).and_then(|target| match self
            .block_at(target)
        {
            Some(block) => Some(label(block.index())),
            None => self.function_name(target),
        });
        match (name, text.rsplit_once(' ')) {
            (Some(name), Some((before, _))) => format!("{before} {name}"),
            _ => text.to_owned(),
        }
    }

    /// The block that begins at an address.
    fn block_at(&self, address: u64) -> Option<BlockId> {
        self.cfg.block_of(self.stream.index_of(address)?)
    }

    fn block(&self, block: &analysis::Block, texts: &mut impl Iterator<Item = BlockLine>) -> Block {
        let (address, end) =
            (self.stream.address_of(block.first), self.stream.address_of(block.end));
        Block {
            address,
            size: end - address,
            instructions: texts.take(block.steps().len()).collect(),
            successors: self.successors(block),
            calls: block.steps().filter_map(|it| self.call(it)).collect(),
            exit: block.exit.map(|it| self.exit(it)),
            innermost: None,
            dominator: None,
            is_reached: false,
        }
    }

    fn successors(&self, block: &analysis::Block) -> Vec<Successor> {
        let last = block.end - 1;
        let next = self.block_at(self.stream.address_of(block.end));
        let Some(inst) = self.stream.inst(last) else {
            return found(next, EdgeKind::FallThrough).collect();
        };
        let target = inst.branch_target(self.stream.address_of(last));
        let target = || target.and_then(|it| self.block_at(it));
        match inst.flow() {
            Flow::Branch => found(target(), EdgeKind::Jump).collect(),
            Flow::ConditionalBranch => {
                found(next, EdgeKind::NotTaken).chain(found(target(), EdgeKind::Taken)).collect()
            }
            Flow::IndirectJump => found(self.jump(last), EdgeKind::Indirect).collect(),
            Flow::End | Flow::Return => Vec::new(),
            Flow::Next | Flow::Call | Flow::IndirectCall | Flow::Trap => {
                found(next, EdgeKind::FallThrough).collect()
            }
        }
    }

    /// Where an indirect jump goes.
    fn jump(&self, step: usize) -> Option<BlockId> {
        let jumps = self.cfg.jumps();
        let jump = jumps.get(jumps.binary_search_by_key(&step, |it| it.step).ok()?)?;
        match jump.target {
            Address::Known(address) => self.block_at(address),
            _ => None,
        }
    }

    fn call(&self, step: usize) -> Option<Call> {
        let inst = self.stream.inst(step)?;
        let address = self.stream.address_of(step);
        let target = match inst.flow() {
            Flow::Call => inst.branch_target(address).map_or(Address::Unknown, Address::Known),
            Flow::IndirectCall => self.values.target(step),
            _ => return None,
        };
        let callee = match target {
            Address::Known(target) => self.outside(target),
            Address::Loaded(place) => Callee::Loaded(place),
            Address::Return | Address::Unknown => Callee::Unknown,
        };
        Some(Call { address, callee })
    }

    fn exit(&self, exit: analysis::Exit) -> Exit {
        match exit {
            analysis::Exit::End => Exit::End,
            analysis::Exit::Return => Exit::Return,
            analysis::Exit::Outside(address) => Exit::Outside(self.outside(address)),
            analysis::Exit::Unknown => Exit::Unknown,
        }
    }

    fn outside(&self, address: u64) -> Callee {
        Callee::Known(address, self.function_name(address))
    }

    /// The name of the function that starts at an address.
    fn function_name(&self, address: u64) -> Option<String> {
        let function = self.functions.at(address).filter(|it| it.address == address)?;
        function.name.map(|it| it.to_string())
    }
}

fn found(block: Option<BlockId>, kind: EdgeKind) -> impl Iterator<Item = Successor> {
    block.into_iter().map(move |block| Successor { block: block.index(), kind })
}
