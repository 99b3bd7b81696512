//! Dominators: which blocks every path from the entry to a block passes.

use crate::cfg::Cfg;

/// The dominators of the blocks that the entry reaches.
#[derive(Clone, Debug)]
pub struct Dominators {
    /// By block; none for blocks that are not reached.
    nodes: Vec<Option<Node>>,
}

/// A block in the tree of dominators.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// Its immediate dominator; the entry is its own.
    above: u32,
    /// Its number when the tree is walked from the root down.
    number: u32,
    /// How many blocks it dominates.
    size: u32,
}

impl Dominators {
    /// Works them out, by walking up the tree from both sides of each join until nothing changes
    /// (Cooper, Harvey and Kennedy).
    #[must_use]
    pub fn new(cfg: &Cfg) -> Self {
        let order = cfg.reverse_post_order();
        let above = places_above(cfg, order);
        let sizes = sizes(&above);
        let mut nodes = vec![None; cfg.blocks().len()];
        // Where the numbers of the next subtree below each place start.
        let mut next: Vec<u32> = Vec::with_capacity(order.len());
        for (at, block) in order.iter().enumerate() {
            let (place, size) = (value(&above, at), value(&sizes, at));
            let number = if at == 0 { 0 } else { value(&next, place as usize) };
            next.push(number + 1);
            if at != 0 {
                set(&mut next, place as usize, number + size);
            }
            let above = order.get(place as usize).map_or(0, |block| *block as u32);
            if let Some(node) = nodes.get_mut(*block) {
                *node = Some(Node { above, number, size });
            }
        }
        Dominators { nodes }
    }

    /// The last other block that every path to a block passes; none for the entry and for blocks
    /// that are not reached.
    #[must_use]
    pub fn immediate(&self, block: usize) -> Option<usize> {
        let above = self.node(block)?.above as usize;
        (above != block).then_some(above)
    }

    /// Whether every path to a block passes `above`, which may be the block itself.
    #[must_use]
    pub fn dominates(&self, above: usize, block: usize) -> bool {
        match (self.node(above), self.node(block)) {
            (Some(above), Some(block)) => {
                (above.number..above.number + above.size).contains(&block.number)
            }
            _ => false,
        }
    }

    /// Whether the entry reaches a block.
    #[must_use]
    pub fn is_reached(&self, block: usize) -> bool {
        self.node(block).is_some()
    }

    fn node(&self, block: usize) -> Option<Node> {
        self.nodes.get(block).copied().flatten()
    }
}

/// The immediate dominator of each place of the order, as a place: the smaller number.
fn places_above(cfg: &Cfg, order: &[usize]) -> Vec<u32> {
    let mut position = vec![u32::MAX; cfg.blocks().len()];
    for (at, block) in (0..).zip(order) {
        set(&mut position, *block, at);
    }
    let mut above: Vec<u32> = vec![u32::MAX; order.len()];
    set(&mut above, 0, 0);
    let mut changed = true;
    while changed {
        changed = false;
        for (at, block) in order.iter().enumerate().skip(1) {
            let places = cfg.predecessors(*block).map(|before| value(&position, before));
            let known = places.filter(|place| value(&above, *place as usize) != u32::MAX);
            if let Some(best) = known.reduce(|left, right| meet(&above, left, right))
                && value(&above, at) != best
            {
                set(&mut above, at, best);
                changed = true;
            }
        }
    }
    above
}

/// How many places each dominates.
fn sizes(above: &[u32]) -> Vec<u32> {
    let mut sizes = vec![1; above.len()];
    for (at, place) in above.iter().enumerate().skip(1).rev() {
        let sum = value(&sizes, *place as usize).saturating_add(value(&sizes, at));
        set(&mut sizes, *place as usize, sum);
    }
    sizes
}

fn value(list: &[u32], at: usize) -> u32 {
    list.get(at).copied().unwrap_or(u32::MAX)
}

fn set(list: &mut [u32], at: usize, to: u32) {
    if let Some(place) = list.get_mut(at) {
        *place = to;
    }
}

/// The lowest place above both.
fn meet(above: &[u32], mut left: u32, mut right: u32) -> u32 {
    while left != right {
        if left > right {
            left = value(above, left as usize);
        } else {
            right = value(above, right as usize);
        }
    }
    left
}
