//! Natural loops: a header, and the blocks from which an edge goes back to it.

use hsaco_bytes::{IndexVec, ids};

use crate::cfg::{BlockId, Cfg};
use crate::dominator::Dominators;

/// A loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The block through which it is entered.
    pub header: BlockId,
    /// The loop around it.
    pub parent: Option<LoopId>,
}

ids! {
    /// A loop of a function.
    pub struct LoopId;
}

/// The loops of a function, outer ones first. Cycles that can be entered at several blocks are none.
#[derive(Clone, Debug)]
pub struct Loops {
    loops: IndexVec<LoopId, Loop>,
    innermost: IndexVec<BlockId, Option<LoopId>>,
}

impl Loops {
    /// Finds them: one for each block that dominates the start of an edge to it.
    #[must_use]
    pub fn new(cfg: &Cfg, dominators: &Dominators) -> Self {
        let goes_back = |header: BlockId| {
            cfg.predecessors(header).any(|from| dominators.dominates(header, from))
        };
        let order = cfg.reverse_post_order().iter().copied();
        let loops: IndexVec<LoopId, Loop> = order
            .filter(|header| goes_back(*header))
            .map(|header| Loop { header, parent: None })
            .collect();
        let blocks = cfg.blocks();
        let mut search = Search {
            cfg,
            dominators,
            outermost: blocks.ids().collect(),
            found: Loops { loops, innermost: blocks.filled(None) },
        };
        // Inner loops first, so that a loop meets them as one block each.
        for id in search.found.loops.ids().rev() {
            search.fill(id);
        }
        search.found
    }

    /// The loops.
    #[must_use]
    pub fn loops(&self) -> &IndexVec<LoopId, Loop> {
        &self.loops
    }

    /// The innermost loop that a block is in.
    #[must_use]
    pub fn innermost(&self, block: BlockId) -> Option<LoopId> {
        self.innermost[block]
    }

    /// The loops that a block is in, from the innermost on.
    pub fn around(&self, block: BlockId) -> impl Iterator<Item = LoopId> + '_ {
        std::iter::successors(self.innermost(block), |id| self.loops[*id].parent)
    }

    /// The blocks of a loop, the header and those of inner loops included.
    pub fn blocks(&self, id: LoopId) -> impl Iterator<Item = BlockId> + '_ {
        let blocks = self.innermost.ids();
        blocks.filter(move |block| self.around(*block).any(|around| around == id))
    }
}

struct Search<'a> {
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    /// A block further out, at last the header of the outermost loop found around it.
    outermost: IndexVec<BlockId, BlockId>,
    found: Loops,
}

impl Search<'_> {
    /// Finds the blocks of a loop, from the ends of its backward edges upwards.
    fn fill(&mut self, id: LoopId) {
        let header = self.found.loops[id].header;
        let back =
            self.cfg.predecessors(header).filter(|from| self.dominators.dominates(header, *from));
        let mut work: Vec<BlockId> = back.collect();
        self.claim(header, id);
        while let Some(block) = work.pop() {
            let block = self.representative(block);
            if block == header {
                continue;
            }
            self.claim(block, id);
            self.outermost[block] = header;
            work.extend(
                self.cfg.predecessors(block).filter(|before| self.dominators.is_reached(*before)),
            );
        }
    }

    /// Puts a block, or the loop that it stands for, into a loop.
    fn claim(&mut self, block: BlockId, id: LoopId) {
        match &mut self.found.innermost[block] {
            place @ None => *place = Some(id),
            Some(inner) => self.found.loops[*inner].parent = Some(id),
        }
    }

    fn representative(&mut self, mut block: BlockId) -> BlockId {
        loop {
            let above = self.outermost[block];
            let next = self.outermost[above];
            if above == next {
                return above;
            }
            self.outermost[block] = next;
            block = next;
        }
    }
}
