//! Live registers, and those of outstanding memory operations, around the instructions of a function.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;

use hsaco_analysis::{BlockId, Focus, Liveness, LivenessMemo, RegisterSet, RegisterSets};
use hsaco_bytes::IndexVec;
use hsaco_isa::effects::Lanes;
use hsaco_isa::model::{Register, RegisterFile};

use super::instructions::Instructions;
use super::outstanding::{self, Outstanding};

/// How far from a site is asked: as far as it may have to take in its neighbours.
const AROUND: usize = 4;

/// Live registers and outstanding memory operations of a function, for the register files of a focus; computed on demand.
pub(super) struct Needs {
    focus: Focus,
    liveness: LivenessMemo,
    /// The instructions around which will be asked, in order, until that is computed.
    wanted: RefCell<Vec<usize>>,
    before: RefCell<ByStep>,
    /// What is outstanding before every block.
    before_blocks: OnceCell<IndexVec<BlockId, Outstanding>>,
    /// The instruction that was asked about last: its block, its number, and what is outstanding before it.
    last: RefCell<Option<(BlockId, usize, Outstanding)>>,
    outstanding: RefCell<ByStep>,
}

impl Needs {
    pub(super) fn new(focus: Focus) -> Self {
        Needs {
            focus,
            liveness: LivenessMemo::new(focus),
            wanted: RefCell::default(),
            before: RefCell::new(ByStep::new(focus, Order::Descending)),
            before_blocks: OnceCell::new(),
            last: RefCell::default(),
            outstanding: RefCell::new(ByStep::new(focus, Order::Ascending)),
        }
    }

    /// Has live registers around these instructions, which are in order, computed in one go on the first question: each by
    /// itself would walk its block again.
    pub(super) fn prepare(&self, sites: &[usize]) {
        let mut steps: Vec<usize> = Vec::with_capacity(sites.len() * (2 * AROUND + 2));
        for site in sites {
            let next = steps.last().map_or(0, |last| last + 1);
            steps.extend(site.saturating_sub(AROUND).max(next)..=site + AROUND + 1);
        }
        *self.wanted.borrow_mut() = steps;
    }

    /// Whether anything was asked of it.
    pub(super) fn is_computed(&self) -> bool {
        self.before_blocks.get().is_some()
    }

    /// The registers that are needed before an instruction.
    pub(super) fn before(&self, code: &Instructions<'_>, step: usize) -> RegisterSet {
        let wanted = self.wanted.take();
        if !wanted.is_empty() {
            *self.before.borrow_mut() = self.walk(code, &wanted);
        }
        if let Some(known) = self.before.borrow().get(step) {
            return known;
        }
        let found = self.walk(code, &[step]).get(step).unwrap_or(RegisterSet::all());
        self.before.borrow_mut().insert(step, &found);
        found
    }

    /// The registers that are needed after an instruction.
    pub(super) fn after(&self, code: &Instructions<'_>, step: usize) -> RegisterSet {
        let cfg = code.cfg();
        match cfg.block_of(step) {
            None => RegisterSet::all(),
            Some(block) if step + 1 == cfg.blocks()[block].end => {
                self.liveness(code).live_out(block)
            }
            Some(_) => self.before(code, step + 1),
        }
    }

    fn liveness<'v>(&'v self, code: &'v Instructions<'_>) -> Liveness<'v> {
        let (decoder, stream, cfg) = (code.decoder(), code.stream(), code.cfg());
        Liveness::inside(decoder, stream, cfg, Lanes::Some, &self.liveness)
    }

    /// What is needed before these instructions, which are in order.
    fn walk(&self, code: &Instructions<'_>, steps: &[usize]) -> ByStep {
        let cfg = code.cfg();
        let mut found = ByStep::new(self.focus, Order::Descending);
        let mut rest = steps;
        while let Some(last) = rest.last() {
            let Some(block) = cfg.block_of(*last) else {
                rest = rest.split_last().map_or(&[], |(_, others)| others);
                continue;
            };
            let first = cfg.blocks()[block].first;
            let (others, here) = rest.split_at(rest.partition_point(|step| *step < first));
            let mut next = here;
            self.liveness(code).walk_to(
                block,
                here.first().copied().unwrap_or(first),
                |step, before| {
                    if let Some((last, earlier)) = next.split_last()
                        && *last == step
                    {
                        found.insert(step, before);
                        next = earlier;
                    }
                },
            );
            rest = others;
        }
        found
    }

    /// The registers of memory operations that may be outstanding before an instruction.
    pub(super) fn outstanding(&self, code: &Instructions<'_>, step: usize) -> RegisterSet {
        if let Some(known) = self.outstanding.borrow().get(step) {
            return known;
        }
        let found = self.compute_outstanding(code, step);
        self.outstanding.borrow_mut().insert(step, &found);
        found
    }

    fn compute_outstanding(&self, code: &Instructions<'_>, step: usize) -> RegisterSet {
        let cfg = code.cfg();
        let block = cfg.block_of(step).filter(|_| !code.is_entered_inside());
        let Some(block) = block else { return RegisterSet::all() };
        let before =
            self.before_blocks.get_or_init(|| outstanding::before_blocks(code, self.focus));
        // Asking about one instruction after the other walks each block once.
        let mut last = self.last.borrow_mut();
        if last.as_ref().is_none_or(|(known, at, _)| *known != block || *at > step) {
            *last = Some((block, cfg.blocks()[block].first, before[block].clone()));
        }
        let Some((_, at, outstanding)) = last.as_mut() else { return RegisterSet::all() };
        while *at < step {
            outstanding.step(code, self.focus, *at);
            *at += 1;
        }
        outstanding.registers()
    }
}

/// What is known before some instructions; of scalar registers alone where only these are asked about.
struct ByStep {
    focus: Focus,
    order: Order,
    /// Keys of instructions, ascending, and what is known before each.
    keys: Vec<usize>,
    sets: RegisterSets,
    /// Those that came out of order.
    others: BTreeMap<usize, RegisterSet>,
}

/// In which order most instructions are added: then neighbours are kept as what is different between them.
#[derive(Clone, Copy)]
enum Order {
    /// From the first to the last.
    Ascending,
    /// From the last to the first.
    Descending,
}

impl Order {
    /// A number that rises from one instruction to the next.
    fn key(self, step: usize) -> usize {
        match self {
            Order::Ascending => step,
            Order::Descending => !step,
        }
    }
}

impl ByStep {
    fn new(focus: Focus, order: Order) -> Self {
        let (keys, sets) = (Vec::new(), RegisterSets::default());
        Self { focus, order, keys, sets, others: BTreeMap::new() }
    }

    fn get(&self, step: usize) -> Option<RegisterSet> {
        let key = self.order.key(step);
        let set = match self.keys.binary_search(&key) {
            Ok(number) => self.sets.get(number),
            Err(_) => self.others.get(&key).copied(),
        };
        set.map(|set| match self.focus {
            Focus::All => set,
            Focus::Scalars => set.with_all_vectors(),
        })
    }

    fn insert(&mut self, step: usize, set: &RegisterSet) {
        let key = self.order.key(step);
        let set = match self.focus {
            Focus::All => *set,
            Focus::Scalars => set.without_vectors(),
        };
        let is_next = self.keys.last().is_none_or(|last| *last < key);
        if is_next && self.sets.push(&set) {
            self.keys.push(key);
        } else {
            self.others.insert(key, set);
        }
    }
}

/// The register files that have to be tracked to answer questions about a register.
pub(crate) fn focus_on(register: &Register) -> Focus {
    match register.file {
        RegisterFile::Vgpr | RegisterFile::Agpr => Focus::All,
        _ => Focus::Scalars,
    }
}
