//! What holds of all that functions reach, for every function at once: linear in functions and calls, where asking for
//! one after the other would go through what they share again and again.

use hsaco_bytes::{Id as _, IndexVec, ids};
use hsaco_isa::Processor;
use hsaco_isa::target::WaveSize;

use crate::call::{ANYBODY, CallGraph, CallKind};
use crate::resources::{Need, Needs};
use crate::usage::Usage;

/// A call graph that is walked from callees to callers.
///
/// ```no_run
/// # fn example(graph: &hsaco_analysis::CallGraph<'_>) {
/// let closures = hsaco_analysis::Closures::new(graph);
/// let vgprs = closures.most(|function| graph.usage(function).map_or(0, |usage| usage.vgprs()));
/// println!("with all that it reaches, the first function needs {:?} registers", vgprs.first());
/// # }
/// ```
#[derive(Debug)]
pub struct Closures<'g, 'a> {
    graph: &'g CallGraph<'a>,
    /// Who calls each function, once for each call; the last are the callers of who knows whom.
    callers: IndexVec<Node, Vec<(Node, CallKind)>>,
}

ids! {
    /// A function, or behind the last one what stands for all that an unknown call may go to.
    struct Node;
}

impl<'g, 'a> Closures<'g, 'a> {
    /// Turns the calls of a graph around.
    #[must_use]
    pub fn new(graph: &'g CallGraph<'a>) -> Self {
        let nodes = graph.functions().len() + 1;
        let mut callers: IndexVec<Node, _> = vec![Vec::new(); nodes].into();
        for caller in callers.ids() {
            for (callee, kind) in next(graph, caller) {
                callers[callee].push((caller, kind));
            }
        }
        Closures { graph, callers }
    }

    /// For each function the largest value of those that it reaches, itself included.
    #[must_use]
    pub fn most(&self, value: impl Fn(usize) -> u32) -> Vec<u32> {
        let functions = self.callers.ids().take(self.graph.functions().len());
        let mut by_value: Vec<(u32, Node)> = functions.map(|it| (value(it.index()), it)).collect();
        by_value.sort_unstable_by(|one, other| other.cmp(one));
        let mut most: IndexVec<Node, Option<u32>> = self.callers.filled(None);
        // A node that was reached before has a value at least as large, and so have all that call it.
        let mut work = Vec::new();
        for (value, start) in by_value {
            work.push(start);
            while let Some(node) = work.pop() {
                if most[node].is_none() {
                    most[node] = Some(value);
                    work.extend(self.callers[node].iter().map(|(caller, _)| *caller));
                }
            }
        }
        // Each function has reached itself; what stands for unknown callees is left out.
        most.into_iter().take(self.graph.functions().len()).flatten().collect()
    }

    /// For each function whether one that it reaches is so.
    #[must_use]
    pub fn any(&self, is_so: impl Fn(usize) -> bool) -> Vec<bool> {
        self.most(|function| is_so(function).into()).into_iter().map(|it| it != 0).collect()
    }

    /// What each function needs with all that it reaches, on that processor in waves of that size.
    #[must_use]
    pub fn bounds(&self, processor: Processor, wave: WaveSize) -> Bounds {
        let usage = |of: fn(&Usage) -> u32| {
            self.most(move |function| self.graph.usage(function).map_or(0, of)).into_iter()
        };
        let registers = usage(Usage::vgprs).zip(usage(Usage::agprs)).zip(usage(Usage::sgprs));
        let dynamic = self.any(|function| self.graph.has_dynamic_stack(function));
        let stacks = self.deepest(processor, wave).into_iter().zip(dynamic);
        let bound = |(((vgprs, agprs), sgprs), (scratch, is_dynamic))| Bound {
            vgprs,
            agprs,
            sgprs,
            scratch,
            is_dynamic,
        };
        Bounds(registers.zip(stacks).map(bound).collect())
    }

    /// The frames on the deepest way of each node; nothing where calls lead back.
    fn deepest(&self, processor: Processor, wave: WaveSize) -> IndexVec<Node, Option<u32>> {
        let frame = |node: Node| self.graph.frame(node.index(), processor, wave);
        let nodes = || self.callers.ids();
        let mut left: IndexVec<Node, usize> =
            nodes().map(|it| next(self.graph, it).count()).collect();
        let mut below: IndexVec<Node, u32> = self.callers.filled(0);
        let mut totals = self.callers.filled(None);
        let mut work: Vec<Node> = nodes().filter(|it| left[*it] == 0).collect();
        while let Some(node) = work.pop() {
            let total = frame(node).1.max(below[node]);
            totals[node] = Some(total);
            for (caller, kind) in &self.callers[node] {
                let raised = if *kind == CallKind::Call { frame(*caller).0 } else { 0 };
                below[*caller] = below[*caller].max(raised.saturating_add(total));
                left[*caller] -= 1;
                if left[*caller] == 0 {
                    work.push(*caller);
                }
            }
        }
        totals
    }
}

/// The callees of a node.
fn next<'s>(graph: &'s CallGraph<'_>, node: Node) -> impl Iterator<Item = (Node, CallKind)> + 's {
    let anybody = graph.functions().len();
    let callees = graph.next(if node.index() == anybody { ANYBODY } else { node.index() });
    callees.map(move |(callee, kind)| {
        (Node::new(if callee == ANYBODY { anybody } else { callee }), kind)
    })
}

/// What every function needs with all that it reaches, without the ways to who needs it.
#[derive(Clone, Debug)]
pub struct Bounds(Vec<Bound>);

#[derive(Clone, Copy, Debug)]
struct Bound {
    vgprs: u32,
    agprs: u32,
    sgprs: u32,
    /// Nothing where calls lead back.
    scratch: Option<u32>,
    is_dynamic: bool,
}

impl Bounds {
    /// The numbers of [`CallGraph::needs`], with no route and no reach; nothing where calls lead back.
    #[must_use]
    pub fn needs(&self, function: usize) -> Option<Needs<'static>> {
        let need = |count| Need { count, route: Vec::new() };
        let bound = self.0.get(function)?;
        Some(Needs {
            vgprs: need(bound.vgprs),
            agprs: need(bound.agprs),
            sgprs: need(bound.sgprs),
            scratch: need(bound.scratch?),
            is_dynamic: bound.is_dynamic,
            ..Needs::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use hsaco_object::CodeObject;

    use super::*;
    use crate::code::Code;

    #[test]
    fn all_at_once_is_what_each_needs_alone() {
        let fixtures: [&[u8]; 6] = [
            include_bytes!("../../../tests/fixtures/s1.gfx942.co"),
            include_bytes!("../../../tests/fixtures/s1.gfx1100.co"),
            include_bytes!("../../../tests/fixtures/s1.gfx90a-xnack-off.co"),
            include_bytes!("../../../tests/fixtures/short.co"),
            include_bytes!("../../../tests/fixtures/flow.co"),
            include_bytes!("../../../tests/fixtures/scale-library.co"),
        ];
        let mut compared = 0;
        for bytes in fixtures {
            let object = CodeObject::parse(bytes).unwrap();
            let code = Code::of(&object).unwrap();
            let graph = CallGraph::new(&code);
            let (processor, wave) = (code.processor(), WaveSize::Wave64);
            let bounds = Closures::new(&graph).bounds(processor, wave);
            for function in 0..graph.functions().len() {
                let alone = graph.needs(function, processor, wave);
                let Some(bound) = bounds.needs(function) else {
                    assert!(alone.reach.is_recursive);
                    continue;
                };
                let numbers = |it: &Needs<'_>| {
                    let counts = [&it.vgprs, &it.agprs, &it.sgprs, &it.scratch].map(|it| it.count);
                    (counts, it.is_dynamic)
                };
                assert_eq!(numbers(&bound), numbers(&alone));
                compared += usize::from(!graph.calls(function).is_empty());
            }
        }
        assert!(compared >= 5, "{compared}");
    }
}
