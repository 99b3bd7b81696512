//! Blocks and edges.

use std::collections::BTreeMap;
use std::ops::Range;

use hsaco_bytes::{Id, IndexVec, Lists, ids};
use hsaco_isa::effects::Flow;

use crate::stream::Stream;

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

ids! {
    /// A block of a function.
    pub struct BlockId;
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

/// A code address in a pair of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// This address.
    Known(u64),
    /// What the caller left in `s[30:31]`: its return address.
    Return,
    /// What memory holds at this address, such as an entry of the GOT.
    Loaded(u64),
    /// Anything.
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

/// The control flow of a function. The entry is its first block.
#[derive(Clone, Debug)]
pub struct Cfg {
    blocks: IndexVec<BlockId, Block>,
    successors: Lists<BlockId, BlockId>,
    predecessors: Lists<BlockId, BlockId>,
    order: Vec<BlockId>,
    jumps: Vec<Jump>,
}

impl Cfg {
    /// The control flow of a stream, where the targets of indirect jumps are known.
    pub(crate) fn with_jumps(stream: &Stream<'_>, known: &BTreeMap<usize, Address>) -> Self {
        let mut cfg = Builder { stream, known }.build();
        let jumps = known.iter().map(|(step, target)| Jump { step: *step, target: *target });
        cfg.jumps = jumps.collect();
        cfg
    }

    /// The blocks, in the order of their addresses.
    #[must_use]
    pub fn blocks(&self) -> &IndexVec<BlockId, Block> {
        &self.blocks
    }

    /// The block at the function's start; none where there is no code.
    #[must_use]
    pub fn entry(&self) -> Option<BlockId> {
        self.blocks.id(0)
    }

    /// The blocks that may follow a block.
    pub fn successors(&self, block: BlockId) -> impl DoubleEndedIterator<Item = BlockId> + '_ {
        self.successors.of(block).iter().copied()
    }

    /// The blocks that a block may follow.
    pub fn predecessors(&self, block: BlockId) -> impl Iterator<Item = BlockId> + '_ {
        self.predecessors.of(block).iter().copied()
    }

    /// The blocks that the entry reaches, each before those that follow it, but for backward edges.
    #[must_use]
    pub fn reverse_post_order(&self) -> &[BlockId] {
        &self.order
    }

    /// What holds before each block, from what holds at the entry; nothing for blocks that are not reached. `run` takes a
    /// block into account, and `join` another path to a block: whether that changed what is known.
    pub(crate) fn forward<S: Clone>(
        &self,
        entry: S,
        run: impl Fn(BlockId, &mut S),
        join: impl Fn(&mut S, &S) -> bool,
    ) -> IndexVec<BlockId, Option<S>> {
        let mut before = self.blocks.filled(None);
        let mut is_changed = self.blocks.filled(false);
        let Some(first) = self.entry() else { return before };
        before[first] = Some(entry);
        is_changed[first] = true;
        while is_changed.as_slice().contains(&true) {
            for block in self.reverse_post_order() {
                if !std::mem::take(&mut is_changed[*block]) {
                    continue;
                }
                let Some(mut after) = before[*block].clone() else { continue };
                run(*block, &mut after);
                for next in self.successors(*block) {
                    is_changed[next] |= match &mut before[next] {
                        Some(known) => join(known, &after),
                        unknown => {
                            *unknown = Some(after.clone());
                            true
                        }
                    };
                }
            }
        }
        before
    }

    /// The block that an instruction is in.
    #[must_use]
    pub fn block_of(&self, step: usize) -> Option<BlockId> {
        let after = self.blocks.as_slice().partition_point(|block| block.first <= step);
        let block = self.blocks.id(after.checked_sub(1)?)?;
        Some(block).filter(|block| step < self.blocks[*block].end)
    }

    /// The indirect jumps.
    #[must_use]
    pub fn jumps(&self) -> &[Jump] {
        &self.jumps
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
        let mut blocks = IndexVec::with_capacity(starts.len());
        let mut edges = Vec::with_capacity(starts.len() * 2);
        for (first, end) in starts.iter().copied().zip(ends) {
            let block = blocks.push(Block { first, end, exit: None });
            blocks[block].exit = self.add_edges(&starts, block, end, &mut edges);
        }
        edges.sort_unstable();
        edges.dedup();
        let successors = Lists::of_sorted(blocks.len(), &edges);
        let mut back: Vec<(BlockId, BlockId)> =
            edges.iter().map(|(from, to)| (*to, *from)).collect();
        back.sort_unstable();
        let predecessors = Lists::of_sorted(blocks.len(), &back);
        let order = reverse_post_order(&blocks, &successors);
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
        block: BlockId,
        end: usize,
        edges: &mut Vec<(BlockId, BlockId)>,
    ) -> Option<Exit> {
        let next_only = Ways { falls_through: true, ..Ways::default() };
        let ways = self.ways(end - 1).unwrap_or(next_only);
        let mut exit = ways.exit;
        let next = ways.falls_through.then(|| self.stream.address_of(end));
        for target in [ways.target, next].into_iter().flatten() {
            let index = self.stream.index_of(target);
            match index.and_then(|index| starts.binary_search(&index).ok()) {
                Some(next) => edges.push((block, BlockId::new(next))),
                None => exit = exit.or(Some(Exit::Outside(target))),
            }
        }
        exit
    }
}

fn reverse_post_order(
    blocks: &IndexVec<BlockId, Block>,
    successors: &Lists<BlockId, BlockId>,
) -> Vec<BlockId> {
    let mut order = Vec::with_capacity(blocks.len());
    let mut seen = blocks.filled(false);
    // Blocks on the way, each with the successors that are still to be looked at.
    let mut path: Vec<(BlockId, &[BlockId])> = Vec::new();
    if let Some(entry) = blocks.id(0) {
        seen[entry] = true;
        path.push((entry, successors.of(entry)));
    }
    while let Some((block, left)) = path.last_mut() {
        match left.split_first() {
            Some((&next, others)) => {
                *left = others;
                if !std::mem::replace(&mut seen[next], true) {
                    path.push((next, successors.of(next)));
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
