//! Natural loops: a header, and the blocks from which an edge goes back to it.

use crate::cfg::Cfg;
use crate::dominator::Dominators;

/// A loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The block through which it is entered.
    pub header: usize,
    /// The number of the loop around it.
    pub parent: Option<usize>,
}

/// The loops of a function, outer ones first. Cycles that can be entered at several blocks are none.
#[derive(Clone, Debug)]
pub struct Loops {
    loops: Vec<Loop>,
    /// By block: the number of the innermost loop.
    innermost: Vec<Option<usize>>,
}

impl Loops {
    /// Finds them: one for each block that dominates the start of an edge to it.
    #[must_use]
    pub fn new(cfg: &Cfg, dominators: &Dominators) -> Self {
        let goes_back =
            |header: usize| cfg.predecessors(header).any(|from| dominators.dominates(header, from));
        let order = cfg.reverse_post_order().iter().copied();
        let loops: Vec<Loop> = order
            .filter(|header| goes_back(*header))
            .map(|header| Loop { header, parent: None })
            .collect();
        let blocks = cfg.blocks().len();
        let mut search = Search {
            cfg,
            dominators,
            outermost: (0..blocks).collect(),
            found: Loops { loops, innermost: vec![None; blocks] },
        };
        // Inner loops first, so that a loop meets them as one block each.
        for number in (0..search.found.loops.len()).rev() {
            search.fill(number);
        }
        search.found
    }

    /// The loops.
    #[must_use]
    pub fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// The number of the innermost loop that a block is in.
    #[must_use]
    pub fn innermost(&self, block: usize) -> Option<usize> {
        self.innermost.get(block).copied().flatten()
    }

    /// The numbers of the loops that a block is in, from the innermost on.
    pub fn around(&self, block: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.innermost(block), |number| self.loops.get(*number)?.parent)
    }

    /// The blocks of a loop, the header and those of inner loops included.
    pub fn blocks(&self, number: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.innermost.len())
            .filter(move |block| self.around(*block).any(|around| around == number))
    }
}

struct Search<'a> {
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    /// By block: a block further out, at last the header of the outermost loop found around it.
    outermost: Vec<usize>,
    found: Loops,
}

impl Search<'_> {
    /// Finds the blocks of a loop, from the ends of its backward edges upwards.
    fn fill(&mut self, number: usize) {
        let Some(header) = self.found.loops.get(number).map(|it| it.header) else { return };
        let back =
            self.cfg.predecessors(header).filter(|from| self.dominators.dominates(header, *from));
        let mut work: Vec<usize> = back.collect();
        self.claim(header, number);
        while let Some(block) = work.pop() {
            let block = self.representative(block);
            if block == header {
                continue;
            }
            self.claim(block, number);
            self.join(block, header);
            work.extend(
                self.cfg.predecessors(block).filter(|before| self.dominators.is_reached(*before)),
            );
        }
    }

    /// Puts a block, or the loop that it stands for, into a loop.
    fn claim(&mut self, block: usize, number: usize) {
        match self.found.innermost.get_mut(block) {
            Some(place @ None) => *place = Some(number),
            Some(Some(inner)) => {
                if let Some(inner) = self.found.loops.get_mut(*inner) {
                    inner.parent = Some(number);
                }
            }
            None => {}
        }
    }

    fn join(&mut self, block: usize, header: usize) {
        if let Some(place) = self.outermost.get_mut(block) {
            *place = header;
        }
    }

    fn representative(&mut self, mut block: usize) -> usize {
        loop {
            let above = self.outermost.get(block).copied().unwrap_or(block);
            let next = self.outermost.get(above).copied().unwrap_or(above);
            if above == next {
                return above;
            }
            self.join(block, next);
            block = next;
        }
    }
}
