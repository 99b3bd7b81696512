//! What holds of all that functions reach, for every function at once: linear in functions and calls, where asking for
//! one after the other would go through what they share again and again.

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
    callers: Vec<Vec<(usize, CallKind)>>,
}

impl<'g, 'a> Closures<'g, 'a> {
    /// Turns the calls of a graph around.
    #[must_use]
    pub fn new(graph: &'g CallGraph<'a>) -> Self {
        let anybody = graph.functions().len();
        let mut callers = vec![Vec::new(); anybody + 1];
        for caller in 0..=anybody {
            for (callee, kind) in next(graph, caller) {
                if let Some(list) = callers.get_mut(callee) {
                    list.push((caller, kind));
                }
            }
        }
        Closures { graph, callers }
    }

    /// For each function the largest value of those that it reaches, itself included.
    #[must_use]
    pub fn most(&self, value: impl Fn(usize) -> u32) -> Vec<u32> {
        let count = self.graph.functions().len();
        let mut by_value: Vec<(u32, usize)> = (0..count).map(|it| (value(it), it)).collect();
        by_value.sort_unstable_by(|one, other| other.cmp(one));
        let mut most: Vec<Option<u32>> = vec![None; count + 1];
        // Whoever was reached before has a value at least as large, and so have all that call it.
        let mut work = Vec::new();
        for (value, start) in by_value {
            work.push(start);
            while let Some(node) = work.pop() {
                let Some(place @ None) = most.get_mut(node) else { continue };
                *place = Some(value);
                let callers = self.callers.get(node).into_iter().flatten();
                work.extend(callers.map(|(caller, _)| *caller));
            }
        }
        most.into_iter().take(count).map(Option::unwrap_or_default).collect()
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
            self.most(move |function| self.graph.usage(function).map_or(0, of))
        };
        Bounds {
            vgprs: usage(Usage::vgprs),
            agprs: usage(Usage::agprs),
            sgprs: usage(Usage::sgprs),
            scratch: self.deepest(processor, wave),
            dynamic: self.any(|function| self.graph.has_dynamic_stack(function)),
        }
    }

    /// The frames on the deepest way of each function; nothing where calls lead back.
    fn deepest(&self, processor: Processor, wave: WaveSize) -> Vec<Option<u32>> {
        let count = self.graph.functions().len();
        let frame = |node: usize| self.graph.frame(node, processor, wave);
        let mut left: Vec<usize> = (0..=count).map(|it| next(self.graph, it).count()).collect();
        let mut below = vec![0_u32; count + 1];
        let mut totals = vec![None; count + 1];
        let mut work: Vec<usize> = (0..=count).filter(|it| left.get(*it) == Some(&0)).collect();
        while let Some(node) = work.pop() {
            let total = frame(node).1.max(below.get(node).copied().unwrap_or(0));
            if let Some(place) = totals.get_mut(node) {
                *place = Some(total);
            }
            for (caller, kind) in self.callers.get(node).into_iter().flatten() {
                let raised = if *kind == CallKind::Call { frame(*caller).0 } else { 0 };
                let (Some(below), Some(left)) = (below.get_mut(*caller), left.get_mut(*caller))
                else {
                    continue;
                };
                *below = (*below).max(raised.saturating_add(total));
                *left = left.saturating_sub(1);
                if *left == 0 {
                    work.push(*caller);
                }
            }
        }
        totals.truncate(count);
        totals
    }
}

/// The callees of a node, of which the last stands for whoever is called by a call of who knows whom.
fn next<'s>(graph: &'s CallGraph<'_>, node: usize) -> impl Iterator<Item = (usize, CallKind)> + 's {
    let anybody = graph.functions().len();
    let callees = graph.next(if node == anybody { ANYBODY } else { node });
    callees.map(move |(callee, kind)| (if callee == ANYBODY { anybody } else { callee }, kind))
}

/// What every function needs with all that it reaches, without the ways to who needs it.
#[derive(Clone, Debug)]
pub struct Bounds {
    vgprs: Vec<u32>,
    agprs: Vec<u32>,
    sgprs: Vec<u32>,
    scratch: Vec<Option<u32>>,
    dynamic: Vec<bool>,
}

impl Bounds {
    /// The numbers of [`CallGraph::needs`], with no route and no reach; nothing where calls lead back.
    #[must_use]
    pub fn needs(&self, function: usize) -> Option<Needs<'static>> {
        let need = |all: &[u32]| Need {
            count: all.get(function).copied().unwrap_or(0),
            route: Vec::new(),
        };
        let scratch = (*self.scratch.get(function)?)?;
        Some(Needs {
            vgprs: need(&self.vgprs),
            agprs: need(&self.agprs),
            sgprs: need(&self.sgprs),
            scratch: Need { count: scratch, route: Vec::new() },
            is_dynamic: self.dynamic.get(function).copied().unwrap_or(false),
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
