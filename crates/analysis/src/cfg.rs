//! Blocks and edges.

use std::collections::BTreeMap;
use std::ops::Range;

use hsaco_isa::Decoder;
use hsaco_isa::effects::Flow;

use crate::stream::Stream;
use crate::value::{Address, Values};

/// Instructions that run one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The number of its first instruction.
    pub first: usize,
    /// One more than the number of its last.
    pub end: usize,
    /// How it leaves the function, beside its edges.
    pub exit: Option<Exit>,
}

impl Block {
    /// The numbers of its instructions.
    #[must_use]
    pub fn steps(&self) -> Range<usize> {
        self.first..self.end
    }
}

/// How a block leaves the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The wave ends.
    End,
    /// Back to the caller.
    Return,
    /// To an address outside: a tail call, or the code after the function's end.
    Outside(u64),
    /// Somewhere.
    Unknown,
}

/// Where an indirect jump goes, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jump {
    /// The number of the instruction.
    pub step: usize,
    /// Where it goes.
    pub target: Address,
}

/// The control flow of a function. The entry is block 0.
#[derive(Clone, Debug)]
pub struct Cfg {
    blocks: Vec<Block>,
    successors: Lists,
    predecessors: Lists,
    order: Vec<usize>,
    jumps: Vec<Jump>,
}

/// How often newly found targets may lead to others.
const ROUNDS: usize = 8;

impl Cfg {
    /// The control flow of a stream, entered at its start.
    ///
    /// Calls do not end blocks. Indirect jumps go where the values of their registers say, where
    /// the stream itself makes these values.
    #[must_use]
    pub fn new(decoder: &Decoder, stream: &Stream<'_>) -> Self {
        let has_jumps = stream.has_flow(|flow| flow == Flow::IndirectJump);
        let mut known = BTreeMap::new();
        let mut cfg = Builder { stream, known: &known }.build();
        for _ in 0..if has_jumps { ROUNDS } else { 0 } {
            let found = Values::new(decoder, stream, &cfg).jumps();
            if found == known {
                break;
            }
            known = found;
            cfg = Builder { stream, known: &known }.build();
        }
        cfg.jumps = known.into_iter().map(|(step, target)| Jump { step, target }).collect();
        cfg
    }

    /// The blocks, in the order of their addresses.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The numbers of the blocks that may follow a block.
    pub fn successors(&self, block: usize) -> impl DoubleEndedIterator<Item = usize> + '_ {
        self.successors.of(block).iter().map(|block| *block as usize)
    }

    /// The numbers of the blocks that a block may follow.
    pub fn predecessors(&self, block: usize) -> impl Iterator<Item = usize> + '_ {
        self.predecessors.of(block).iter().map(|block| *block as usize)
    }

    /// The blocks that the entry reaches, each before those that follow it, but for backward edges.
    #[must_use]
    pub fn reverse_post_order(&self) -> &[usize] {
        &self.order
    }

    /// The number of the block that an instruction is in.
    #[must_use]
    pub fn block_of(&self, step: usize) -> Option<usize> {
        let after = self.blocks.partition_point(|block| block.first <= step);
        after.checked_sub(1).filter(|at| self.blocks.get(*at).is_some_and(|block| step < block.end))
    }

    /// The indirect jumps.
    #[must_use]
    pub fn jumps(&self) -> &[Jump] {
        &self.jumps
    }
}

/// Lists of block numbers, one for each block.
#[derive(Clone, Debug, Default)]
struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// From pairs that are sorted by list.
    fn of_sorted(count: usize, pairs: &[(u32, u32)]) -> Self {
        let mut starts = Vec::with_capacity(count + 1);
        let mut at = 0;
        for list in 0..=count as u32 {
            while pairs.get(at).is_some_and(|(owner, _)| *owner < list) {
                at += 1;
            }
            starts.push(at as u32);
        }
        Lists { starts, items: pairs.iter().map(|(_, item)| *item).collect() }
    }

    fn of(&self, list: usize) -> &[u32] {
        let bound = |at: usize| self.starts.get(at).map_or(0, |start| *start as usize);
        self.items.get(bound(list)..bound(list + 1)).unwrap_or_default()
    }
}

struct Builder<'a> {
    stream: &'a Stream<'a>,
    known: &'a BTreeMap<usize, Address>,
}

/// Where a block goes from its last instruction.
#[derive(Default)]
struct Ways {
    target: Option<u64>,
    falls_through: bool,
    exit: Option<Exit>,
}

impl Builder<'_> {
    fn build(&self) -> Cfg {
        let starts = self.block_starts();
        let ends = starts.iter().skip(1).copied().chain([self.stream.len()]);
        let mut blocks: Vec<Block> = starts
            .iter()
            .zip(ends)
            .map(|(first, end)| Block { first: *first, end, exit: None })
            .collect();
        let mut edges = Vec::with_capacity(blocks.len() * 2);
        for (number, block) in blocks.iter_mut().enumerate() {
            block.exit = self.add_edges(&starts, number, block.end, &mut edges);
        }
        edges.sort_unstable();
        edges.dedup();
        let successors = Lists::of_sorted(blocks.len(), &edges);
        let mut back: Vec<(u32, u32)> = edges.iter().map(|(from, to)| (*to, *from)).collect();
        back.sort_unstable();
        let predecessors = Lists::of_sorted(blocks.len(), &back);
        let order = reverse_post_order(blocks.len(), &successors);
        Cfg { blocks, successors, predecessors, order, jumps: Vec::new() }
    }

    /// The first instructions of the blocks: targets, and what follows the end of a block.
    fn block_starts(&self) -> Vec<usize> {
        let mut starts = Vec::new();
        if !self.stream.is_empty() {
            starts.push(0);
        }
        for index in self.stream.turns() {
            if let Some(ways) = self.ways(index) {
                starts.extend(ways.target.and_then(|target| self.stream.index_of(target)));
                starts.extend((index + 1 < self.stream.len()).then_some(index + 1));
            }
        }
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    /// Where an instruction that ends a block goes; none for others.
    fn ways(&self, index: usize) -> Option<Ways> {
        let Some(inst) = self.stream.inst(index) else {
            // An instruction that is not known may do anything, and go on.
            return Some(Ways { target: None, falls_through: true, exit: Some(Exit::Unknown) });
        };
        let target = || inst.branch_target(self.stream.address_of(index));
        Some(match inst.flow() {
            Flow::Next | Flow::Call | Flow::IndirectCall | Flow::Trap => return None,
            Flow::Branch => Ways { target: target(), ..Ways::default() },
            Flow::ConditionalBranch => Ways { target: target(), falls_through: true, exit: None },
            Flow::End => Ways { exit: Some(Exit::End), ..Ways::default() },
            Flow::Return => Ways { exit: Some(Exit::Unknown), ..Ways::default() },
            Flow::IndirectJump => match self.known.get(&index) {
                Some(Address::Known(target)) => Ways { target: Some(*target), ..Ways::default() },
                Some(Address::Return) => Ways { exit: Some(Exit::Return), ..Ways::default() },
                _ => Ways { exit: Some(Exit::Unknown), ..Ways::default() },
            },
        })
    }

    /// Adds the edges of a block and says how it leaves the function.
    fn add_edges(
        &self,
        starts: &[usize],
        number: usize,
        end: usize,
        edges: &mut Vec<(u32, u32)>,
    ) -> Option<Exit> {
        let next_only = Ways { falls_through: true, ..Ways::default() };
        let ways = self.ways(end - 1).unwrap_or(next_only);
        let mut exit = ways.exit;
        let next = ways.falls_through.then(|| self.stream.address_of(end));
        for target in [ways.target, next].into_iter().flatten() {
            let index = self.stream.index_of(target);
            match index.and_then(|index| starts.binary_search(&index).ok()) {
                Some(block) => edges.push((number as u32, block as u32)),
                None => exit = exit.or(Some(Exit::Outside(target))),
            }
        }
        exit
    }
}

fn reverse_post_order(count: usize, successors: &Lists) -> Vec<usize> {
    let mut order = Vec::with_capacity(count);
    let mut seen = vec![false; count];
    // Blocks on the way, each with the number of successors that were looked at.
    let mut path: Vec<(usize, usize)> = Vec::new();
    if let Some(first) = seen.first_mut() {
        *first = true;
        path.push((0, 0));
    }
    while let Some((block, looked_at)) = path.last_mut() {
        match successors.of(*block).get(*looked_at) {
            Some(next) => {
                *looked_at += 1;
                let next = *next as usize;
                if seen.get_mut(next).is_some_and(|seen| !std::mem::replace(seen, true)) {
                    path.push((next, 0));
                }
            }
            None => {
                order.push(*block);
                path.pop();
            }
        }
    }
    order.reverse();
    order
}
