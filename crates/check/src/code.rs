//! The code of an object, decoded once for all rules that look into it.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;

use hsaco_analysis::{Allocation, CallGraph, Cfg, Overlap, Route, Shortage, Workgroup};
use hsaco_object::{CodeObject, Kernel};

use crate::fault::{self, Fault, Faults};

/// Who calls whom, and what that takes.
pub(crate) struct Code<'a> {
    code: hsaco_analysis::Code<'a>,
    graph: CallGraph<'a>,
    /// What is wrong with the instructions of each function, once that was asked.
    faults: Vec<OnceCell<Faults>>,
    /// What was told already, of which rule: functions are shared by kernels.
    told: RefCell<BTreeSet<(&'static str, usize)>>,
}

/// Less than code needs.
pub(crate) struct Shortages {
    pub(crate) short: Vec<Shortage>,
    pub(crate) overlap: Option<(Overlap, Route)>,
}

/// A word that is no instruction, where code gets to.
#[derive(Clone, Copy)]
pub(crate) struct Undecodable {
    pub(crate) address: u64,
    /// The function that it is in, by its number.
    pub(crate) function: usize,
}

impl<'a> Code<'a> {
    /// Decodes an object; nothing where its processor is unknown.
    pub(crate) fn new(object: &CodeObject<'a>) -> Option<Self> {
        let code = hsaco_analysis::Code::of(object).ok()?;
        let graph = CallGraph::new(&code);
        let faults = graph.functions().iter().map(|_| OnceCell::new()).collect();
        Some(Self { code, graph, faults, told: RefCell::default() })
    }

    /// What a kernel and all that it reaches need, and the kernel is not given.
    pub(crate) fn shortages(&self, kernel: &Kernel<'_>, given: Allocation) -> Option<Shortages> {
        let function = self.graph.function_at(kernel.entry()?)?;
        let needs = self.graph.needs(function, self.code.processor(), given.wave);
        Some(Shortages {
            short: given.shortages(&needs),
            overlap: given.overlap(&needs).map(|it| (it, needs.vgprs.route)),
        })
    }

    /// The first word that is no instruction among those that a kernel gets to for certain.
    pub(crate) fn undecodable(&self, kernel: &Kernel<'_>) -> Option<Undecodable> {
        let start = self.graph.function_at(kernel.entry()?)?;
        let reach = self.graph.reach(start);
        let known =
            reach.functions.iter().filter(|function| self.is_called(&reach.route(**function)));
        known.copied().find_map(|function| {
            let usage = self.graph.usage(function)?;
            (usage.undecoded > 0).then(|| self.undecodable_in(function)).flatten()
        })
    }

    /// What is wrong with the code that a kernel reaches, by a rule; each function is told of once.
    pub(crate) fn faults(
        &self,
        kernel: &Kernel<'_>,
        rule: &'static str,
        of_rule: impl Fn(&Faults) -> &[Fault],
        mut tell: impl FnMut(&str, &Fault),
    ) {
        let entry = kernel.entry().and_then(|entry| self.graph.function_at(entry));
        let reached = entry.map(|start| self.graph.reach(start).functions).unwrap_or_default();
        for number in reached {
            let Some(cell) = self.faults.get(number) else { continue };
            let faults = of_rule(cell.get_or_init(|| self.look_into(number)));
            if !faults.is_empty() && self.told.borrow_mut().insert((rule, number)) {
                let name = self.name(number);
                faults.iter().for_each(|fault| tell(&name, fault));
            }
        }
    }

    /// What is wrong with the barriers of a kernel, with the name of its function.
    pub(crate) fn barriers(&self, kernel: &Kernel<'_>) -> Option<(String, Vec<Fault>)> {
        let number = self.graph.function_at(kernel.entry()?)?;
        let function = self.graph.functions().get(number)?;
        let group = Workgroup::of(kernel, self.code.processor().generation());
        let (decoder, stream) = (self.code.decoder(function), self.code.stream(function));
        Some((self.name(number), fault::barriers(&decoder, &stream, group)))
    }

    fn look_into(&self, function: usize) -> Faults {
        let Some(function) = self.graph.functions().get(function) else { return Faults::default() };
        Faults::of(&self.code.decoder(function), &self.code.stream(function))
    }

    /// Whether each function on the way is called by the one before beyond doubt.
    pub(crate) fn is_called(&self, route: &[usize]) -> bool {
        route.windows(2).all(|pair| {
            let [caller, callee] = pair else { return false };
            self.graph
                .calls(*caller)
                .iter()
                .any(|call| call.callee == hsaco_analysis::Callee::Function(*callee))
        })
    }

    fn undecodable_in(&self, function: usize) -> Option<Undecodable> {
        let code = self.graph.functions().get(function)?;
        let decoder = &self.code.decoder(code);
        let stream = code.decode(decoder);
        let cfg = Cfg::new(decoder, &stream);
        let order = cfg.reverse_post_order().iter();
        let mut steps = order.flat_map(|block| cfg.blocks()[*block].steps());
        let bad = steps.find(|step| stream.inst(*step).is_none())?;
        Some(Undecodable { address: stream.address_of(bad), function })
    }

    /// The name of a function, else its address.
    pub(crate) fn name(&self, function: usize) -> String {
        match self.graph.functions().get(function) {
            Some(function) => match function.name {
                Some(name) => name.to_string(),
                None => format!("the code at {:#x}", function.address),
            },
            None => "unknown code".to_owned(),
        }
    }

    /// The functions on the way, by name.
    pub(crate) fn names(&self, route: &[usize]) -> String {
        let names: Vec<String> = route.iter().map(|number| self.name(*number)).collect();
        names.join(" > ")
    }
}
