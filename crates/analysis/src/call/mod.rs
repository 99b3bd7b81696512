//! Who calls whom.

mod link;
mod reach;
mod site;

use std::collections::{BTreeMap, BTreeSet};

use hsaco_bytes::Str;
use hsaco_isa::effects::Lanes;
use hsaco_object::{CodeMap, Kernel};

use crate::block_effects::BlockEffects;
use crate::cfg::Cfg;
use crate::code::Code;
use crate::function::{Function, Functions};
use crate::register_set::RegisterSet;
use crate::usage::Usage;
use crate::value::Callees;
use link::Links;
use site::{Found, Search};

pub(crate) use reach::ANYBODY;
pub use reach::{Reach, Route};

/// How control gets to the callee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallKind {
    /// And back.
    Call,
    /// For good; the callee returns to the caller's caller.
    TailCall,
    /// The code runs on past the function's end.
    FallThrough,
}

impl CallKind {
    /// The name to show.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CallKind::Call => "call",
            CallKind::TailCall => "tail_call",
            CallKind::FallThrough => "fall_through",
        }
    }
}

/// Who is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee<'a> {
    /// The function with this number.
    Function(usize),
    /// A function that another object has to define.
    External(Str<'a>),
    /// Code at an address where no function is known.
    Address(u64),
    /// One of the functions whose address is taken, or of another object.
    Unknown,
}

/// How it is known who is called, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// A relocation that the linker has kept names it.
    StaticRelocation,
    /// The instruction itself says it.
    Encoding,
    /// A relocation for the loader fills the pointer that is loaded, which never changes afterwards.
    DynamicRelocation,
    /// Instructions compute the address.
    DataFlow,
    /// Unknown: a function whose address is taken.
    AddressTaken,
    /// It is the caller.
    Return,
}

impl Evidence {
    /// The name to show.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Evidence::StaticRelocation => "static_relocation",
            Evidence::Encoding => "encoding",
            Evidence::DynamicRelocation => "dynamic_relocation",
            Evidence::DataFlow => "data_flow",
            Evidence::AddressTaken => "address_taken",
            Evidence::Return => "return",
        }
    }

    /// Whether the file itself says it, and nothing is worked out.
    #[must_use]
    pub const fn is_exact(self) -> bool {
        matches!(self, Evidence::StaticRelocation | Evidence::Encoding)
    }
}

/// One call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// Where the instruction is.
    pub site: u64,
    /// How control gets to the callee.
    pub kind: CallKind,
    /// Who is called.
    pub callee: Callee<'a>,
    /// How that is known.
    pub evidence: Evidence,
    /// The address of the pointer that is loaded, such as an entry of the GOT.
    pub slot: Option<u64>,
}

/// The calls of all functions of an object, and what each function uses.
///
/// Nothing that can be called is left out: where it is not known who is called, it may be any function whose
/// address is taken, by code or by a pointer in memory. What another object brings is not seen.
///
/// ```
/// use hsaco_analysis::{CallGraph, Code};
/// use hsaco_object::CodeObject;
/// # let file = include_bytes!("../../../../tests/fixtures/s1.gfx942.co");
/// let graph = CallGraph::new(&Code::of(&CodeObject::parse(file)?)?);
/// for (number, function) in graph.functions().iter().enumerate() {
///     for call in graph.calls(number) {
///         println!("{:?} calls {:?} at {:#x}", function.name, call.callee, call.site);
///     }
/// }
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CallGraph<'a> {
    functions: Functions<'a>,
    map: CodeMap<'a>,
    nodes: Vec<Node<'a>>,
    taken: Vec<usize>,
}

#[derive(Clone, Debug, Default)]
struct Node<'a> {
    calls: Vec<Call<'a>>,
    /// The instruction of each call.
    steps: Vec<usize>,
    taken: BTreeSet<usize>,
    usage: Usage,
}

/// How often what is known of callees may tell more of callers.
const ROUNDS: usize = 16;

impl<'a> CallGraph<'a> {
    /// Decodes every function and finds its calls.
    #[must_use]
    pub fn new(code: &Code<'a>) -> Self {
        Self::with_visitor(code, |_, _| ())
    }

    /// The same; on the way, `visit` is shown each function with what its blocks do, of which
    /// [`Liveness::of`](crate::Liveness::of) makes liveness.
    #[must_use]
    pub fn with_visitor(
        code: &Code<'a>,
        mut visit: impl FnMut(&Function<'a>, BlockEffects<'_>),
    ) -> Self {
        let functions = code.functions().clone();
        let links = Links::new(code.object(), code.map());
        let mut nodes = Vec::with_capacity(functions.as_slice().len());
        for function in functions.as_slice() {
            let decoder = &code.decoder(function);
            let stream = function.decode(decoder);
            let cfg = Cfg::new(decoder, &stream);
            let effects = BlockEffects::new(decoder, &stream, &cfg, Lanes::All);
            let usage = effects.usage().clone();
            let callees = &KnownCallees::default();
            let (functions, links) = (&functions, &links);
            let search = Search::new(functions, links, decoder, &stream, &cfg, callees);
            let found = search.run(usage.makes_addresses);
            nodes.push(Node::new(found, usage));
            visit(function, effects);
        }
        let map = code.map().clone();
        let mut graph = CallGraph { functions, map, nodes, taken: Vec::new() };
        graph.settle(&links, code);
        graph.taken = graph.address_taken_by(&links);
        graph
    }

    /// The functions, in the order of their addresses.
    #[must_use]
    pub fn functions(&self) -> &[Function<'a>] {
        self.functions.as_slice()
    }

    /// The number of the function that starts at an address.
    #[must_use]
    pub fn function_at(&self, address: u64) -> Option<usize> {
        self.functions.index_of(address)
    }

    /// The number of the function that is a kernel's code.
    #[must_use]
    pub fn function_of(&self, kernel: &Kernel<'_>) -> Option<usize> {
        self.function_at(self.map.entry(kernel)?)
    }

    /// The calls of a function, in the order of their addresses.
    #[must_use]
    pub fn calls(&self, function: usize) -> &[Call<'a>] {
        self.nodes.get(function).map_or(&[], |node| &node.calls)
    }

    /// What the code of a function uses by itself.
    #[must_use]
    pub fn usage(&self, function: usize) -> Option<&Usage> {
        self.nodes.get(function).map(|node| &node.usage)
    }

    /// The functions that a call of [`Callee::Unknown`] may go to.
    #[must_use]
    pub fn address_taken(&self) -> &[usize] {
        &self.taken
    }

    /// Looks again at functions with unknown calls, with what is known of the registers that others keep.
    fn settle(&mut self, links: &Links<'a>, code: &Code<'a>) {
        for _ in 0..ROUNDS {
            let open: Vec<usize> =
                (0..self.nodes.len()).filter(|number| self.is_open(*number)).collect();
            if open.is_empty() {
                break;
            }
            let written = self.written();
            let mut changed = false;
            for number in open {
                changed |= self.look_again(number, &written, links, code);
            }
            if !changed {
                break;
            }
        }
    }

    /// Whether a function calls who knows whom.
    fn is_open(&self, number: usize) -> bool {
        self.calls(number).iter().any(|call| call.callee == Callee::Unknown)
    }

    /// Supposes that calls change nothing, then that they change what those callees write which were found
    /// so, until that is what is found. Whatever runs first is right then, and so is all that follows.
    fn look_again(
        &mut self,
        number: usize,
        written: &[Option<RegisterSet>],
        links: &Links<'a>,
        code: &Code<'a>,
    ) -> bool {
        const ROUNDS: usize = 4;
        let Some(function) = self.functions.as_slice().get(number) else { return false };
        let Some(node) = self.nodes.get(number) else { return false };
        let decoder = &code.decoder(function);
        let stream = &function.decode(decoder);
        let cfg = &Cfg::new(decoder, stream);
        let functions = &self.functions;
        let run = |callees: &KnownCallees| {
            Search::new(functions, links, decoder, stream, cfg, callees)
                .run(node.usage.makes_addresses)
        };
        let mut found = run(&KnownCallees::that_change_nothing(node));
        for _ in 0..ROUNDS {
            let next = run(&KnownCallees::of(&found.calls, written));
            if next.calls != found.calls {
                found = next;
                continue;
            }
            let node = Node::new(next, node.usage.clone());
            let changed = self.nodes.get(number).is_some_and(|old| old.calls != node.calls);
            if let Some(place) = self.nodes.get_mut(number) {
                *place = node;
            }
            return changed;
        }
        false
    }

    /// The registers that each function and all that it reaches may write, where all of that is known.
    fn written(&self) -> Vec<Option<RegisterSet>> {
        let mut written: Vec<Option<RegisterSet>> =
            self.nodes.iter().map(Node::own_writes).collect();
        let mut callers = vec![Vec::new(); self.nodes.len()];
        for (number, node) in self.nodes.iter().enumerate() {
            for call in &node.calls {
                if let Callee::Function(callee) = call.callee
                    && let Some(list) = callers.get_mut(callee)
                {
                    list.push(number);
                }
            }
        }
        let mut work: Vec<usize> = (0..self.nodes.len()).collect();
        while let Some(callee) = work.pop() {
            let from = written.get(callee).copied().flatten();
            for caller in callers.get(callee).into_iter().flatten() {
                let Some(Some(to)) = written.get_mut(*caller) else { continue };
                let changed = match &from {
                    Some(from) => to.union_with(from),
                    None => true,
                };
                if from.is_none()
                    && let Some(place) = written.get_mut(*caller)
                {
                    *place = None;
                }
                if changed {
                    work.push(*caller);
                }
            }
        }
        written
    }

    fn address_taken_by(&self, links: &Links<'a>) -> Vec<usize> {
        let in_code = self.nodes.iter().flat_map(|node| node.taken.iter().copied());
        let in_memory = links.pointed_at().filter_map(|address| self.functions.index_of(address));
        let all: BTreeSet<usize> = in_code.chain(in_memory).collect();
        all.into_iter().collect()
    }
}

impl<'a> Node<'a> {
    fn new(found: Found<'a>, usage: Usage) -> Self {
        let (steps, calls) = found.calls.into_iter().unzip();
        Node { calls, steps, taken: found.taken, usage }
    }

    /// What the function itself writes, if nothing else is called but functions of this object.
    fn own_writes(&self) -> Option<RegisterSet> {
        let is_known = |call: &Call<'_>| matches!(call.callee, Callee::Function(_));
        let all_known = self.calls.iter().all(is_known) && self.usage.undecoded == 0;
        all_known.then_some(self.usage.writes)
    }
}

/// The registers that callees may write, by the instruction that calls them.
#[derive(Default)]
struct KnownCallees(BTreeMap<usize, RegisterSet>);

impl KnownCallees {
    fn of(calls: &[(usize, Call<'_>)], written: &[Option<RegisterSet>]) -> Self {
        let known = calls.iter().filter_map(|(step, call)| match call.callee {
            Callee::Function(callee) => Some((*step, written.get(callee).copied()??)),
            _ => None,
        });
        KnownCallees(known.collect())
    }

    fn that_change_nothing(node: &Node<'_>) -> Self {
        KnownCallees(node.steps.iter().map(|step| (*step, RegisterSet::default())).collect())
    }
}

impl Callees for KnownCallees {
    fn writes(&self, call: usize) -> Option<&RegisterSet> {
        self.0.get(&call)
    }
}
