//! The control flow of a function, as every format shows it.

use hsaco::analysis::{
    Address, Block, Cfg, Dominators, Exit, Function, FunctionKind, Functions, Loop, Loops, Stream,
    Values,
};
use hsaco::isa::{Decoder, Flow, Inst, VgprMsb};
use hsaco::object::demangle;

/// A function and its blocks, of which the first is the entry.
pub(super) struct Graph {
    /// As the symbol has it, else the address.
    pub(super) name: String,
    pub(super) demangled: Option<String>,
    pub(super) kind: FunctionKind,
    pub(super) address: u64,
    pub(super) size: usize,
    pub(super) blocks: Vec<Node>,
    /// Outer ones first.
    pub(super) loops: Vec<Ring>,
}

/// A block.
pub(super) struct Node {
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) instructions: Vec<Line>,
    pub(super) successors: Vec<Successor>,
    pub(super) calls: Vec<Call>,
    pub(super) exit: Option<Way>,
    pub(super) innermost: Option<usize>,
    pub(super) dominator: Option<usize>,
    pub(super) is_reached: bool,
}

/// An instruction, with the names of blocks where it branches to one.
pub(super) struct Line {
    pub(super) address: u64,
    pub(super) text: String,
}

pub(super) struct Successor {
    pub(super) block: usize,
    pub(super) kind: EdgeKind,
}

/// How one block comes after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EdgeKind {
    /// The next one begins where something else branches to.
    FallThrough,
    Taken,
    NotTaken,
    /// An unconditional branch.
    Jump,
    /// A jump to an address in registers, which the code itself puts there.
    Indirect,
    Call,
    /// Out of the function.
    Leave,
    Unknown,
}

/// Every kind, in the order in which they are explained.
pub(super) const EDGE_KINDS: [EdgeKind; 8] = [
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
    pub(super) fn name(self) -> &'static str {
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
    pub(super) fn is_outside(self) -> bool {
        matches!(self, Self::Call | Self::Leave | Self::Unknown)
    }

    pub(super) fn words(self) -> String {
        self.name().replace('_', " ")
    }
}

pub(super) struct Call {
    /// Of the instruction.
    pub(super) address: u64,
    pub(super) callee: Callee,
}

/// What is called or jumped to outside.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Callee {
    Known(u64, Option<String>),
    /// What memory holds at this address, such as an entry of the GOT.
    Loaded(u64),
    Unknown,
}

impl Callee {
    pub(super) fn words(&self) -> String {
        match self {
            Self::Known(_, Some(name)) => name.clone(),
            Self::Known(address, None) => format!("{address:#x}"),
            Self::Loaded(address) => format!("what is loaded from {address:#x}"),
            Self::Unknown => "unknown".to_owned(),
        }
    }
}

/// How a block leaves the function, beside its edges.
pub(super) enum Way {
    End,
    Return,
    Outside(Callee),
    Unknown,
}

impl Way {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::End => "end",
            Self::Return => "return",
            Self::Outside(_) => "outside",
            Self::Unknown => "unknown",
        }
    }

    /// Where it goes, unless the wave or the function ends.
    pub(super) fn target(&self) -> Option<(EdgeKind, String)> {
        match self {
            Self::End | Self::Return => None,
            Self::Outside(callee) => Some((EdgeKind::Leave, callee.words())),
            Self::Unknown => Some((EdgeKind::Unknown, "anywhere".to_owned())),
        }
    }
}

/// A loop.
pub(super) struct Ring {
    pub(super) header: usize,
    pub(super) parent: Option<usize>,
    /// 1 for a loop that is in no other.
    pub(super) depth: usize,
    pub(super) blocks: Vec<usize>,
}

/// The name of a block.
pub(super) fn label(block: usize) -> String {
    format!("bb{block}")
}

impl Graph {
    pub(super) fn new(
        decoder: &Decoder,
        functions: &Functions<'_>,
        function: &Function<'_>,
    ) -> Self {
        let stream = function.decode(decoder);
        let cfg = Cfg::new(decoder, &stream);
        let dominators = Dominators::new(&cfg);
        let loops = Loops::new(&cfg, &dominators);
        let values = Values::new(decoder, &stream, &cfg);
        let reader = Reader { decoder, functions, stream: &stream, cfg: &cfg, values };
        let mut texts = reader.texts().into_iter();
        let mut blocks: Vec<Node> =
            cfg.blocks().iter().map(|block| reader.block(block, &mut texts)).collect();
        for (number, block) in blocks.iter_mut().enumerate() {
            block.innermost = loops.innermost(number);
            block.dominator = dominators.immediate(number);
            block.is_reached = dominators.is_reached(number);
        }
        Self {
            name: function
                .name
                .map_or_else(|| format!("{:#x}", function.address), |it| it.to_string()),
            demangled: function.name.and_then(demangle),
            kind: function.kind,
            address: function.address,
            size: function.code.len(),
            loops: rings(&loops, &blocks),
            blocks,
        }
    }

    pub(super) fn kind_name(&self) -> &'static str {
        match self.kind {
            FunctionKind::Kernel => "kernel",
            FunctionKind::Device => "function",
            FunctionKind::Unnamed => "unnamed",
        }
    }

    /// As in the source, if that can be known.
    pub(super) fn source_name(&self) -> &str {
        self.demangled.as_deref().unwrap_or(&self.name)
    }

    pub(super) fn instructions(&self) -> usize {
        self.blocks.iter().map(|it| it.instructions.len()).sum()
    }
}

/// The loops, with the blocks of inner ones among theirs.
fn rings(loops: &Loops, blocks: &[Node]) -> Vec<Ring> {
    let mut rings: Vec<Ring> = Vec::with_capacity(loops.loops().len());
    for &Loop { header, parent } in loops.loops() {
        let outside = parent.and_then(|it| rings.get(it)).map_or(0, |it| it.depth);
        rings.push(Ring { header, parent, depth: outside + 1, blocks: Vec::new() });
    }
    for number in 0..blocks.len() {
        for around in loops.around(number) {
            if let Some(ring) = rings.get_mut(around) {
                ring.blocks.push(number);
            }
        }
    }
    rings
}

struct Reader<'r> {
    decoder: &'r Decoder,
    functions: &'r Functions<'r>,
    stream: &'r Stream,
    cfg: &'r Cfg,
    values: Values<'r>,
}

impl Reader<'_> {
    /// All instructions, as `hsaco disasm` prints them but for the targets of branches.
    fn texts(&self) -> Vec<Line> {
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
            lines.push(Line { address, text });
        }
        lines
    }

    /// Puts the name of a block or function in the place of a branch's number.
    fn with_label(&self, inst: &Inst, address: u64, text: &str) -> String {
        let is_branch = matches!(inst.flow(), Flow::Branch | Flow::ConditionalBranch);
        let name = inst.branch_target(address).filter(|_| is_branch).and_then(|target| match self
            .block_at(target)
        {
            Some(block) => Some(label(block)),
            None => self.function_name(target),
        });
        match (name, text.rsplit_once(' ')) {
            (Some(name), Some((before, _))) => format!("{before} {name}"),
            _ => text.to_owned(),
        }
    }

    /// The block that begins at an address.
    fn block_at(&self, address: u64) -> Option<usize> {
        self.cfg.block_of(self.stream.index_of(address)?)
    }

    fn block(&self, block: &Block, texts: &mut impl Iterator<Item = Line>) -> Node {
        let (address, end) =
            (self.stream.address_of(block.first), self.stream.address_of(block.end));
        Node {
            address,
            size: end - address,
            instructions: texts.take(block.steps().len()).collect(),
            successors: self.successors(block),
            calls: block.steps().filter_map(|it| self.call(it)).collect(),
            exit: block.exit.map(|it| self.way(it)),
            innermost: None,
            dominator: None,
            is_reached: false,
        }
    }

    fn successors(&self, block: &Block) -> Vec<Successor> {
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
    fn jump(&self, step: usize) -> Option<usize> {
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

    fn way(&self, exit: Exit) -> Way {
        match exit {
            Exit::End => Way::End,
            Exit::Return => Way::Return,
            Exit::Outside(address) => Way::Outside(self.outside(address)),
            Exit::Unknown => Way::Unknown,
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

fn found(block: Option<usize>, kind: EdgeKind) -> impl Iterator<Item = Successor> {
    block.into_iter().map(move |block| Successor { block, kind })
}
