//! Fewer blocks for small pictures: chains that run one after the other, whatever happens, are one block each. In large
//! graphs conditional parts that come back to where they were skipped are folded in, too, the shortest first.

use crate::flow::{Block, EdgeKind, Graph, Loop, Successor};

/// With more blocks than this, conditional parts are folded in.
const AT_A_GLANCE: usize = 24;

/// A graph with fewer blocks.
pub(crate) struct Collapsed {
    /// Its blocks stand for several.
    pub(crate) graph: Graph,
    /// By block of the collapsed graph: the blocks that it stands for.
    pub(crate) members: Vec<Vec<usize>>,
}

/// Blocks that are shown as one; none once they are part of others.
struct Part {
    members: Vec<usize>,
    next: Vec<Successor>,
    /// How many edges lead here.
    entries: usize,
    instructions: usize,
}

struct Folding<'g> {
    graph: &'g Graph,
    parts: Vec<Option<Part>>,
    left: usize,
}

impl Collapsed {
    pub(crate) fn new(graph: &Graph) -> Self {
        let mut folding = Folding::new(graph);
        (0..graph.blocks.len()).for_each(|it| folding.join_chain(it));
        while folding.left > AT_A_GLANCE && folding.fold_shortest() {}
        folding.finish()
    }
}

impl<'g> Folding<'g> {
    fn new(graph: &'g Graph) -> Self {
        let mut entries = vec![0_usize; graph.blocks.len()];
        for successor in graph.blocks.iter().flat_map(|it| &it.successors) {
            if let Some(count) = entries.get_mut(successor.block) {
                *count += 1;
            }
        }
        let part = |(number, (block, entries)): (usize, (&Block, usize))| {
            Some(Part {
                members: vec![number],
                next: block.successors.clone(),
                entries,
                instructions: block.instructions.len(),
            })
        };
        let parts = graph.blocks.iter().zip(entries).enumerate().map(part).collect();
        Self { graph, parts, left: graph.blocks.len() }
    }

    fn part(&self, number: usize) -> Option<&Part> {
        self.parts.get(number)?.as_ref()
    }

    /// Whether one block may be shown with another: both run as often, and the first goes on to nowhere else.
    fn belongs(&self, to: usize, number: usize) -> bool {
        let blocks = self.graph.blocks.get(to).zip(self.graph.blocks.get(number));
        let is_header = |it| self.graph.loops.iter().any(|ring| ring.header == it);
        let alike =
            |(a, b): (&Block, &Block)| (a.innermost, a.is_reached) == (b.innermost, b.is_reached);
        number > to && blocks.is_some_and(alike) && !is_header(number)
    }

    /// Whether some block of a part leaves the function.
    fn leaves(&self, number: usize) -> bool {
        let members = self.part(number).map_or(&[][..], |it| &it.members);
        members.iter().filter_map(|&it| self.graph.blocks.get(it)).any(|it| it.exit.is_some())
    }

    /// Puts what always follows a part, and nothing else leads to, into it.
    fn join_chain(&mut self, number: usize) {
        while let Some(&[Successor { block: to, .. }]) = self.part(number).map(|it| &it.next[..]) {
            let is_alone = self.part(to).is_some_and(|it| it.entries == 1);
            if !is_alone || self.leaves(number) || !self.belongs(number, to) {
                return;
            }
            let next = self.take_in(number, to);
            self.set_next(number, next);
        }
    }

    /// Makes a part one with another, and says where that led.
    fn take_in(&mut self, number: usize, other: usize) -> Vec<Successor> {
        let taken = self.parts.get_mut(other).and_then(Option::take);
        let (Some(taken), Some(part)) =
            (taken, self.parts.get_mut(number).and_then(Option::as_mut))
        else {
            return Vec::new();
        };
        part.members.extend(taken.members);
        part.members.sort_unstable();
        part.instructions += taken.instructions;
        self.left -= 1;
        taken.next
    }

    fn set_next(&mut self, number: usize, next: Vec<Successor>) {
        if let Some(part) = self.parts.get_mut(number).and_then(Option::as_mut) {
            part.next = next;
        }
    }

    /// Folds in the conditional part with the fewest instructions; whether there was one.
    fn fold_shortest(&mut self) -> bool {
        let foldable = (0..self.parts.len()).filter_map(|it| Some((self.arms(it)?, it)));
        let Some(((_, arms, to), number)) = foldable.min_by_key(|((size, ..), it)| (*size, *it))
        else {
            return false;
        };
        // As many edges led there as there were ways, of which one is left.
        if let Some(target) = self.parts.get_mut(to).and_then(Option::as_mut) {
            target.entries -= 1;
        }
        for arm in arms {
            self.take_in(number, arm);
        }
        self.set_next(number, vec![Successor { block: to, kind: EdgeKind::FallThrough }]);
        self.join_chain(number);
        true
    }

    /// The ways of a condition that lead to one place, without anything else on them: how many instructions they
    /// have, which they are, and where they lead.
    fn arms(&self, number: usize) -> Option<(usize, Vec<usize>, usize)> {
        let &[Successor { block: a, .. }, Successor { block: b, .. }] =
            &self.part(number)?.next[..]
        else {
            return None;
        };
        let only_next = |it: usize| match self.part(it).map(|part| (part.entries, &part.next[..])) {
            Some((1, &[Successor { block, .. }]))
                if self.belongs(number, it) && !self.leaves(it) =>
            {
                Some(block)
            }
            _ => None,
        };
        let (after_a, after_b) = (only_next(a), only_next(b));
        let (arms, to) = match (after_a, after_b) {
            _ if a == b || self.leaves(number) => return None,
            (Some(to), _) if to == b => (vec![a], b),
            (_, Some(to)) if to == a => (vec![b], a),
            (Some(to), Some(other)) if to == other => (vec![a, b], to),
            _ => return None,
        };
        let size = arms.iter().filter_map(|&it| self.part(it)).map(|it| it.instructions).sum();
        Some((size, arms, to))
    }

    fn finish(self) -> Collapsed {
        let mut number_of = vec![0; self.parts.len()];
        let parts: Vec<&Part> = self.parts.iter().flatten().collect();
        for (number, part) in parts.iter().enumerate() {
            for &block in &part.members {
                if let Some(place) = number_of.get_mut(block) {
                    *place = number;
                }
            }
        }
        let renumbered = |it: usize| number_of.get(it).copied().unwrap_or(0);
        let graph = self.graph;
        let blocks = parts.iter().filter_map(|it| joined(graph, it, &renumbered)).collect();
        let loops = graph.loops.iter().map(|it| collapsed_loop(it, &renumbered)).collect();
        let members = parts.iter().map(|it| it.members.clone()).collect();
        Collapsed { graph: Graph { blocks, loops, ..graph.without_blocks() }, members }
    }
}

fn joined(graph: &Graph, part: &Part, renumbered: &impl Fn(usize) -> usize) -> Option<Block> {
    let blocks = || part.members.iter().filter_map(|&it| graph.blocks.get(it));
    let first = blocks().next()?;
    let successor = |it: &Successor| Successor { block: renumbered(it.block), kind: it.kind };
    Some(Block {
        address: first.address,
        size: blocks().map(|it| it.size).sum(),
        instructions: blocks().flat_map(|it| it.instructions.iter().cloned()).collect(),
        successors: part.next.iter().map(successor).collect(),
        calls: blocks().flat_map(|it| it.calls.iter().cloned()).collect(),
        exit: blocks().find_map(|it| it.exit.clone()),
        innermost: first.innermost,
        dominator: first.dominator.map(renumbered),
        is_reached: first.is_reached,
    })
}

fn collapsed_loop(ring: &Loop, renumbered: &impl Fn(usize) -> usize) -> Loop {
    let mut blocks: Vec<usize> = ring.blocks.iter().map(|&it| renumbered(it)).collect();
    blocks.sort_unstable();
    blocks.dedup();
    Loop { header: renumbered(ring.header), blocks, ..ring.clone() }
}

#[cfg(test)]
mod tests {
    use hsaco_analysis::FunctionKind;

    use super::*;

    /// A graph of blocks with these edges.
    fn graph(edges: &[&[usize]]) -> Graph {
        let block = |next: &&[usize]| Block {
            address: 0,
            size: 4,
            instructions: Vec::new(),
            successors: next
                .iter()
                .map(|&block| Successor { block, kind: EdgeKind::Jump })
                .collect(),
            calls: Vec::new(),
            exit: None,
            innermost: None,
            dominator: None,
            is_reached: true,
        };
        Graph {
            name: String::new(),
            demangled: None,
            kind: FunctionKind::Kernel,
            address: 0,
            size: 0,
            blocks: edges.iter().map(block).collect(),
            loops: Vec::new(),
        }
    }

    #[test]
    fn chains_are_one_and_conditions_stay_in_small_graphs() {
        let collapsed = Collapsed::new(&graph(&[&[1], &[2, 3], &[4], &[4], &[5], &[]]));
        assert_eq!(collapsed.members, [vec![0, 1], vec![2], vec![3], vec![4, 5]]);
    }

    #[test]
    fn conditions_of_large_graphs_are_folded_in() {
        let count = 40;
        let mut edges: Vec<Vec<usize>> = Vec::new();
        for at in 0..count {
            edges.push(vec![3 * at + 1, 3 * at + 2]);
            edges.push(vec![3 * at + 3]);
            edges.push(vec![3 * at + 3]);
        }
        edges.push(Vec::new());
        let edges: Vec<&[usize]> = edges.iter().map(Vec::as_slice).collect();
        let collapsed = Collapsed::new(&graph(&edges));
        assert!(collapsed.members.len() <= AT_A_GLANCE);
        let mut all: Vec<usize> = collapsed.members.concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..edges.len()));
    }

    #[test]
    fn a_loop_over_nothing_but_itself_stays() {
        let collapsed = Collapsed::new(&graph(&[&[1], &[1, 2], &[]]));
        assert_eq!(collapsed.members, [vec![0], vec![1], vec![2]]);
    }
}
