//! Dominators: which blocks every path from the entry to a block passes.

use hsaco_bytes::{IndexVec, ids};

use crate::cfg::{BlockId, Cfg};

/// The dominators of the blocks that the entry reaches.
#[derive(Clone, Debug)]
pub struct Dominators {
    /// None for blocks that are not reached.
    nodes: IndexVec<BlockId, Option<Node>>,
}

/// A block in the tree of dominators.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// Its immediate dominator; the entry is its own.
    above: BlockId,
    /// Its number when the tree is walked from the root down.
    number: u32,
    /// How many blocks it dominates.
    size: u32,
}

ids! {
    /// A place in the reverse post order: what dominates a block has a lower one.
    struct Rank;
}

impl Dominators {
    /// Works them out, by walking up the tree from both sides of each join until nothing changes
    /// (Cooper, Harvey and Kennedy).
    #[must_use]
    pub fn new(cfg: &Cfg) -> Self {
        let order: IndexVec<Rank, BlockId> = cfg.reverse_post_order().iter().copied().collect();
        let above = ranks_above(cfg, &order);
        let sizes = sizes(&above);
        let mut nodes = cfg.blocks().filled(None);
        // Where the numbers of the next subtree below each rank start.
        let mut next: IndexVec<Rank, u32> = IndexVec::with_capacity(order.len());
        for (rank, block) in order.enumerated() {
            let (parent, size) = (above[rank], sizes[rank]);
            let is_root = parent == rank;
            let number = if is_root { 0 } else { next[parent] };
            next.push(number + 1);
            if !is_root {
                next[parent] = number + size;
            }
            nodes[*block] = Some(Node { above: order[parent], number, size });
        }
        Dominators { nodes }
    }

    /// The last other block that every path to a block passes; none for the entry and for blocks
    /// that are not reached.
    #[must_use]
    pub fn immediate(&self, block: BlockId) -> Option<BlockId> {
        let above = self.nodes[block]?.above;
        (above != block).then_some(above)
    }

    /// Whether every path to a block passes `above`, which may be the block itself.
    #[must_use]
    pub fn dominates(&self, above: BlockId, block: BlockId) -> bool {
        match (self.nodes[above], self.nodes[block]) {
            (Some(above), Some(block)) => {
                (above.number..above.number + above.size).contains(&block.number)
            }
            _ => false,
        }
    }

    /// Whether the entry reaches a block.
    #[must_use]
    pub fn is_reached(&self, block: BlockId) -> bool {
        self.nodes[block].is_some()
    }
}

/// The immediate dominator of each block of the order; the entry's is itself.
fn ranks_above(cfg: &Cfg, order: &IndexVec<Rank, BlockId>) -> IndexVec<Rank, Rank> {
    let mut ranks: IndexVec<BlockId, Option<Rank>> = cfg.blocks().filled(None);
    for (rank, block) in order.enumerated() {
        ranks[*block] = Some(rank);
    }
    // A block follows one of its predecessors in the order, so that the first round finds one for each.
    let mut above: IndexVec<Rank, Rank> = IndexVec::with_capacity(order.len());
    for (rank, block) in order.enumerated() {
        let before = cfg.predecessors(*block).filter_map(|it| ranks[it]).filter(|it| *it < rank);
        let best = before.reduce(|left, right| meet(&above, left, right));
        above.push(best.unwrap_or(rank));
    }
    let mut changed = true;
    while changed {
        changed = false;
        for (rank, block) in order.enumerated().skip(1) {
            let before = cfg.predecessors(*block).filter_map(|it| ranks[it]);
            if let Some(best) = before.reduce(|left, right| meet(&above, left, right))
                && above[rank] != best
            {
                above[rank] = best;
                changed = true;
            }
        }
    }
    above
}

/// How many blocks each dominates.
fn sizes(above: &IndexVec<Rank, Rank>) -> IndexVec<Rank, u32> {
    let mut sizes: IndexVec<Rank, u32> = above.filled(1);
    for (rank, parent) in above.enumerated().skip(1).rev() {
        let size = sizes[rank];
        sizes[*parent] += size;
    }
    sizes
}

/// The lowest rank above both.
fn meet(above: &IndexVec<Rank, Rank>, mut left: Rank, mut right: Rank) -> Rank {
    while left != right {
        if left > right {
            left = above[left];
        } else {
            right = above[right];
        }
    }
    left
}
