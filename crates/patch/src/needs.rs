//! What is needed, and what is under way, around the instructions of a function.

use std::cell::{OnceCell, RefCell};

use hsaco_analysis::{Focus, Lanes, Liveness, LivenessMemo, RegisterSet, ScalarSet};
use hsaco_isa::VgprMsb;

use crate::flight::{self, Flight};
use crate::view::View;

/// How far from a site somebody may ask: as far as it may have to take in its neighbours.
const AROUND: usize = 4;

/// What is known of the registers that somebody asks about, each thing once it was asked for.
pub(crate) struct Needs {
    focus: Focus,
    liveness: LivenessMemo,
    /// The instructions around which somebody will ask what is needed, in order, until it is worked out.
    wanted: RefCell<Vec<usize>>,
    before: RefCell<ByStep>,
    /// What is under way before every block.
    flight: OnceCell<Vec<Flight>>,
    /// What is under way before the instruction that was asked about last: its block, its number, and that.
    last_flight: RefCell<Option<(usize, usize, Flight)>>,
    flying: RefCell<ByStep>,
}

impl Needs {
    pub(crate) fn new(focus: Focus) -> Self {
        Needs {
            focus,
            liveness: LivenessMemo::new(focus),
            wanted: RefCell::default(),
            before: RefCell::new(ByStep::new(focus, 0)),
            flight: OnceCell::new(),
            last_flight: RefCell::default(),
            flying: RefCell::new(ByStep::new(focus, 0)),
        }
    }

    /// Has what is needed around these instructions, which are in order, worked out in one go when somebody asks:
    /// asking for each by itself walks its block every time.
    pub(crate) fn prepare(&self, sites: &[usize]) {
        let mut steps: Vec<usize> = Vec::with_capacity(sites.len() * (2 * AROUND + 2));
        for site in sites {
            let next = steps.last().map_or(0, |last| last + 1);
            steps.extend(site.saturating_sub(AROUND).max(next)..=site + AROUND + 1);
        }
        *self.wanted.borrow_mut() = steps;
    }

    /// Whether somebody has asked.
    pub(crate) fn is_worked_out(&self) -> bool {
        self.flight.get().is_some()
    }

    /// The registers that are needed before an instruction.
    pub(crate) fn before(&self, view: &View<'_>, step: usize) -> RegisterSet {
        let wanted = self.wanted.take();
        if !wanted.is_empty() {
            *self.before.borrow_mut() = self.walk(view, &wanted);
        }
        if let Some(known) = self.before.borrow().get(step) {
            return known;
        }
        let found = self.walk(view, &[step]).get(step).unwrap_or(RegisterSet::all());
        self.before.borrow_mut().insert(step, &found);
        found
    }

    /// The registers that are needed after an instruction.
    pub(crate) fn after(&self, view: &View<'_>, step: usize) -> RegisterSet {
        let cfg = view.cfg();
        match cfg.block_of(step).and_then(|block| Some((block, cfg.blocks().get(block)?.end))) {
            None => RegisterSet::all(),
            Some((block, end)) if step + 1 == end => self.liveness(view).live_out(block),
            Some(_) => self.before(view, step + 1),
        }
    }

    fn liveness<'v>(&'v self, view: &'v View<'_>) -> Liveness<'v> {
        let (decoder, stream, cfg) = (view.decoder(), view.stream(), view.cfg());
        Liveness::inside(decoder, stream, cfg, Lanes::Some, &self.liveness)
    }

    /// What is needed before these instructions, which are in order.
    fn walk(&self, view: &View<'_>, steps: &[usize]) -> ByStep {
        let cfg = view.cfg();
        let mut found = ByStep::new(self.focus, steps.len());
        let mut rest = steps;
        while let Some(first) = rest.first() {
            let Some(block) = cfg.block_of(*first) else { break };
            let end = cfg.blocks().get(block).map_or(first + 1, |block| block.end);
            let (here, others) = rest.split_at(rest.partition_point(|step| *step < end).max(1));
            let mut next = here;
            let start = found.len();
            self.liveness(view).walk_to(block, *first, |step, before| {
                if let Some((last, earlier)) = next.split_last()
                    && *last == step
                {
                    found.push(step, before);
                    next = earlier;
                }
            });
            found.reverse_from(start);
            rest = others;
        }
        found
    }

    /// The registers of memory accesses that may be under way before an instruction.
    pub(crate) fn in_flight(&self, view: &View<'_>, step: usize) -> RegisterSet {
        if let Some(known) = self.flying.borrow().get(step) {
            return known;
        }
        let found = self.work_out_flight(view, step);
        self.flying.borrow_mut().insert(step, &found);
        found
    }

    fn work_out_flight(&self, view: &View<'_>, step: usize) -> RegisterSet {
        let cfg = view.cfg();
        let block = cfg.block_of(step).filter(|_| !view.is_entered_inside());
        let Some(block) = block else { return RegisterSet::all() };
        let before = self.flight.get_or_init(|| flight::before_blocks(view, self.focus));
        // Who asks about one instruction after the other walks each block once.
        let mut last = self.last_flight.borrow_mut();
        if last.as_ref().is_none_or(|(known, at, _)| *known != block || *at > step) {
            let first = cfg.blocks().get(block).map_or(step, |block| block.first);
            *last = Some((block, first, before.get(block).cloned().unwrap_or_default()));
        }
        let Some((_, at, flight)) = last.as_mut() else { return RegisterSet::all() };
        while *at < step {
            flight.step(view, self.focus, *at);
            *at += 1;
        }
        flight.registers()
    }
}

/// What is known before some instructions, in their order; of scalar registers alone where only these are asked about.
enum ByStep {
    All(Vec<(usize, RegisterSet)>),
    Scalars(Vec<(usize, ScalarSet)>),
}

impl ByStep {
    fn new(focus: Focus, count: usize) -> Self {
        match focus {
            Focus::All => ByStep::All(Vec::with_capacity(count)),
            Focus::Scalars => ByStep::Scalars(Vec::with_capacity(count)),
        }
    }

    fn len(&self) -> usize {
        match self {
            ByStep::All(list) => list.len(),
            ByStep::Scalars(list) => list.len(),
        }
    }

    fn get(&self, step: usize) -> Option<RegisterSet> {
        match self {
            ByStep::All(list) => Some(list.get(find(list, step).ok()?)?.1),
            ByStep::Scalars(list) => Some(list.get(find(list, step).ok()?)?.1.with_all_vectors()),
        }
    }

    fn insert(&mut self, step: usize, set: &RegisterSet) {
        match self {
            ByStep::All(list) => insert(list, step, *set),
            ByStep::Scalars(list) => insert(list, step, set.scalars()),
        }
    }

    /// Adds at the end what comes before what was added last.
    fn push(&mut self, step: usize, set: &RegisterSet) {
        match self {
            ByStep::All(list) => list.push((step, *set)),
            ByStep::Scalars(list) => list.push((step, set.scalars())),
        }
    }

    /// Puts in order what was added from a place on.
    fn reverse_from(&mut self, start: usize) {
        match self {
            ByStep::All(list) => list.get_mut(start..).unwrap_or_default().reverse(),
            ByStep::Scalars(list) => list.get_mut(start..).unwrap_or_default().reverse(),
        }
    }
}

fn find<T>(list: &[(usize, T)], step: usize) -> Result<usize, usize> {
    list.binary_search_by_key(&step, |(at, _)| *at)
}

fn insert<T>(list: &mut Vec<(usize, T)>, step: usize, set: T) {
    if let Err(at) = find(list, step) {
        list.insert(at, (step, set));
    }
}

/// Some instructions of a function that are replaced together, from the first to the last.
#[derive(Clone, Copy)]
pub(crate) struct Around<'v> {
    pub(crate) view: &'v View<'v>,
    pub(crate) first: usize,
    pub(crate) last: usize,
}

impl Around<'_> {
    /// The registers that are needed before or after them, or that memory accesses may still use.
    pub(crate) fn needed(&self, focus: Focus) -> RegisterSet {
        let needs = self.view.needs(focus);
        let mut needed = needs.before(self.view, self.first);
        needed.union_with(&needs.after(self.view, self.last));
        needed.union_with(&needs.in_flight(self.view, self.first));
        needed
    }

    /// The registers that they name, whatever the upper bits of their numbers are.
    pub(crate) fn operands(&self, focus: Focus) -> RegisterSet {
        let banks: &[u8] = match focus {
            Focus::All => &[0x00, 0x55, 0xaa, 0xff],
            Focus::Scalars => &[0x00],
        };
        let mut named = RegisterSet::default();
        for inst in (self.first..=self.last).filter_map(|step| self.view.stream().inst(step)) {
            for bank in banks {
                let effects = self.view.decoder().effects(&inst, VgprMsb::new(*bank));
                let (writes, reads) = focus.registers(&effects);
                writes.chain(reads).for_each(|register| named.insert(&register));
            }
        }
        named
    }
}
