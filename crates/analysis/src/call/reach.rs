//! All that a function reaches.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hsaco_bytes::Str;

use super::{Call, CallGraph, CallKind, Callee};

/// The way to a function: the numbers of the functions on it, the first and the last included.
pub type Route = Vec<usize>;

/// What one function reaches.
#[derive(Clone, Debug, Default)]
pub struct Reach<'a> {
    /// The functions, nearest first, the one itself included.
    pub functions: Vec<usize>,
    /// Functions that other objects have to define.
    pub externals: BTreeSet<Str<'a>>,
    /// Calls of who knows whom, by the functions that they are in.
    pub unknown: Vec<(usize, Call<'a>)>,
    /// Whether a function can be entered again before it is left.
    pub is_recursive: bool,
    /// Who was the first to reach each function.
    from: BTreeMap<usize, usize>,
    /// The functions, each after all that call it; nothing where calls lead back to one.
    pub(crate) order: Option<Vec<usize>>,
}

impl Reach<'_> {
    /// Whether all that runs is known: nothing of other objects, no call of who knows whom.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.externals.is_empty() && self.unknown.is_empty()
    }

    /// The shortest way to one of the functions.
    #[must_use]
    pub fn route(&self, to: usize) -> Route {
        let mut route = vec![to];
        let mut at = to;
        while let Some(from) = self.from.get(&at) {
            route.push(*from);
            at = *from;
        }
        route.reverse();
        route
    }
}

impl<'a> CallGraph<'a> {
    /// The functions that a function may call, in the order of its calls, each once.
    #[must_use]
    pub fn callees(&self, function: usize) -> Vec<usize> {
        let mut seen = BTreeSet::new();
        let calls = self.calls(function).iter();
        let callees = calls.flat_map(|call| self.callees_of(call)).copied();
        callees.filter(|callee| seen.insert(*callee)).collect()
    }

    /// The functions that a call may go to.
    #[must_use]
    pub fn callees_of<'s>(&'s self, call: &'s Call<'a>) -> &'s [usize] {
        match &call.callee {
            Callee::Function(callee) => std::slice::from_ref(callee),
            Callee::Unknown => &self.taken,
            Callee::External(_) | Callee::Address(_) => &[],
        }
    }

    /// All that a function reaches.
    #[must_use]
    pub fn reach(&self, start: usize) -> Reach<'a> {
        let mut reach = Reach::default();
        let mut seen = BTreeSet::from([start]);
        let mut work = VecDeque::from([start]);
        while let Some(function) = work.pop_front() {
            reach.functions.push(function);
            for call in self.calls(function) {
                let callees = match &call.callee {
                    Callee::External(name) => {
                        reach.externals.insert(*name);
                        &[]
                    }
                    Callee::Unknown => {
                        reach.unknown.push((function, *call));
                        // The first such call has reached them all.
                        if reach.unknown.len() == 1 { self.taken.as_slice() } else { &[] }
                    }
                    Callee::Function(callee) => std::slice::from_ref(callee),
                    Callee::Address(_) => &[],
                };
                for callee in callees {
                    if seen.insert(*callee) {
                        reach.from.insert(*callee, function);
                        work.push_back(*callee);
                    }
                }
            }
        }
        reach.order = self.order(&reach.functions, !reach.unknown.is_empty());
        reach.is_recursive = reach.order.is_none();
        reach
    }

    /// These functions, each after all that call it; nothing where calls lead back to one.
    ///
    /// The functions whose address is taken are called by [`ANYBODY`], which unknown calls call; without any
    /// there is no need to look at those functions, which may be all of many objects.
    fn order(&self, functions: &[usize], calls_anybody: bool) -> Option<Vec<usize>> {
        let anybody = calls_anybody.then_some(ANYBODY);
        let nodes: Vec<usize> = functions.iter().copied().chain(anybody).collect();
        let mut callers: BTreeMap<usize, usize> = nodes.iter().map(|node| (*node, 0)).collect();
        for (callee, _) in nodes.iter().flat_map(|node| self.next(*node)) {
            callers.entry(callee).and_modify(|count| *count += 1);
        }
        let is_first = |node: &usize| callers.get(node) == Some(&0);
        let mut work: Vec<usize> = nodes.iter().copied().filter(is_first).collect();
        let mut order = Vec::with_capacity(nodes.len());
        while let Some(node) = work.pop() {
            order.push(node);
            for (callee, _) in self.next(node) {
                if let Some(count) = callers.get_mut(&callee) {
                    *count -= 1;
                    if *count == 0 {
                        work.push(callee);
                    }
                }
            }
        }
        (order.len() == nodes.len()).then_some(order)
    }

    /// The known callees of a function, once for each call, and [`ANYBODY`] for unknown ones; and how they are
    /// called.
    pub(crate) fn next(&self, node: usize) -> impl Iterator<Item = (usize, CallKind)> + '_ {
        let taken = if node == ANYBODY { self.taken.as_slice() } else { &[] };
        let known = self.calls(node).iter().filter_map(|call| match call.callee {
            Callee::Function(callee) => Some((callee, call.kind)),
            Callee::Unknown => Some((ANYBODY, call.kind)),
            Callee::External(_) | Callee::Address(_) => None,
        });
        taken.iter().map(|callee| (*callee, CallKind::Call)).chain(known)
    }
}

/// Stands for the callees of a call whose target is unknown.
pub(crate) const ANYBODY: usize = usize::MAX;
