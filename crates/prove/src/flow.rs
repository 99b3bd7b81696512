//! What the original says of itself: which functions a kernel reaches, its blocks, which registers are live at edges.

use std::collections::BTreeSet;

use hsaco_analysis::{CallGraph, Cfg, Code, Liveness, RegisterSet};
use hsaco_isa::effects::Lanes;
use hsaco_isa::model::VgprMsb;

use crate::observe::Edges;
use crate::site::RewrittenSite;

/// The code that a kernel reaches.
#[derive(Debug, Default)]
pub(crate) struct Reached {
    /// The numbers of the sites in it.
    pub(crate) sites: Vec<usize>,
    /// The addresses of the first instructions of its blocks, as the object has them.
    pub(crate) blocks: BTreeSet<u64>,
    /// What is live where sites begin and end; addresses are those of memory.
    pub(crate) edges: Edges,
}

impl Reached {
    /// What a kernel reaches; `delta` is how far the object is moved in memory.
    pub(crate) fn new(
        code: &Code<'_>,
        graph: &CallGraph<'_>,
        kernel: &str,
        sites: &[RewrittenSite],
        delta: u64,
    ) -> Self {
        let mut reached = Self::default();
        let kernel = code.index().kernels().iter().find(|it| it.name() == *kernel);
        let Some(start) = kernel.and_then(|it| graph.function_of(it)) else { return reached };
        let functions = graph.reach(start).functions;
        let named = Named::new(code, graph, &functions);
        for number in functions {
            reached.add(code, graph, number, sites, delta, &named);
        }
        reached.sites.sort_unstable();
        reached
    }

    fn add(
        &mut self,
        code: &Code<'_>,
        graph: &CallGraph<'_>,
        number: usize,
        sites: &[RewrittenSite],
        delta: u64,
        named: &Named,
    ) {
        let Some(function) = graph.functions().get(number) else { return };
        let inside = function.address..function.end();
        let own: Vec<usize> = (0..sites.len())
            .filter(|at| sites.get(*at).is_some_and(|it| inside.contains(&it.instruction)))
            .collect();
        let stream = code.stream(function);
        let decoder = code.decoder(function);
        let cfg = Cfg::new(&decoder, &stream);
        let blocks = cfg.blocks().iter().map(|it| stream.address_of(it.first));
        self.blocks.extend(blocks);
        if own.is_empty() {
            return;
        }
        let liveness = Liveness::new(&decoder, &stream, &cfg, Lanes::Some);
        let sites = own.iter().filter_map(|at| sites.get(*at));
        for address in sites.flat_map(|it| [it.address, it.end]) {
            let Some(step) = stream.index_of(address) else { continue };
            let live = liveness.live_before(step);
            let live = named.restrict(&live);
            self.edges.insert(address.wrapping_add(delta), live.iter().collect());
        }
        self.sites.extend(own);
    }
}

/// The registers that some instruction reads. What none reads may change, also where it is not known who comes next.
struct Named(RegisterSet);

impl Named {
    fn new(code: &Code<'_>, graph: &CallGraph<'_>, functions: &[usize]) -> Self {
        let mut read = RegisterSet::default();
        for function in functions.iter().filter_map(|it| graph.functions().get(*it)) {
            let decoder = code.decoder(function);
            for inst in code.stream(function).insts() {
                // Whatever the upper bits are: all registers that the number may stand for.
                for msb in [0, 0x55, 0xaa, 0xff] {
                    for register in decoder.effects(&inst, VgprMsb::new(msb)).reads() {
                        read.insert(&register);
                    }
                }
            }
        }
        Self(read)
    }

    fn restrict(&self, live: &RegisterSet) -> RegisterSet {
        let mut others = *live;
        others.subtract(&self.0);
        let mut both = *live;
        both.subtract(&others);
        both
    }
}
