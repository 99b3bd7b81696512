//! Sanitizers: what a program does that it must not, found while it runs.
//!
//! A [`Sanitizer`] observes each instruction of a dispatch. Runs without one run whole blocks and pay nothing for it.
#![allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "waves, registers and steps are numbered by what made them"
)]

mod access;
mod barrier;
mod fault;
mod hazard;
mod init;
mod memory;
mod race;
mod site;
mod wait;

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;
use std::str::FromStr;

use hsaco_isa::Decoder;
use hsaco_isa::effects::Access;
use hsaco_isa::target::Generation;
use hsaco_kernarg::EntryState;

use self::access::Touched;
use self::fault::Faults;
pub use self::fault::{Event, Fault};
use self::race::Races;
use self::site::{BarrierUse, Role, Site, Span, VectorAccess};
use self::wait::Class;
use crate::error::{Error, ErrorKind, Result, StopLocation};
use crate::exec::smem;
use crate::memory::Memory;
use crate::step::{self, Context, Step};
use crate::translate::{self, Block, Target};
use crate::watch::Watch;
use crate::wave::{Layout, Wave};

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FaultKind {
    /// Accesses outside of allocations, LDS and scratch memory.
    Memory,
    /// Values that were never written, in an address, a branch or a store.
    Init,
    /// Registers that are used while an operation on them is outstanding.
    Wait,
    /// Accesses of waves to the same bytes that nothing orders.
    Race,
    /// Barriers that not all waves reach, or not the same.
    Barrier,
    /// Instructions that follow each other too closely.
    Hazard,
}

impl FaultKind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Memory, Self::Init, Self::Wait, Self::Race, Self::Barrier, Self::Hazard];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Init => "init",
            Self::Wait => "wait",
            Self::Race => "race",
            Self::Barrier => "barrier",
            Self::Hazard => "hazard",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for FaultKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|it| it.name() == text).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|it| it.name()).collect();
            format!("'{text}' is none of {}", names.join(", "))
        })
    }
}

/// Looks for what a program must not do, and keeps what it finds.
///
/// ```
/// use hsaco_emu::{FaultKind, Sanitizer};
/// let sanitizer = Sanitizer::new(&FaultKind::ALL);
/// assert!(sanitizer.faults().is_empty());
/// ```
#[derive(Debug)]
pub struct Sanitizer {
    kinds: Vec<FaultKind>,
    names: Vec<(Range<u64>, String)>,
    undefined: Vec<Range<u64>>,
    faults: Faults,
}

impl Sanitizer {
    /// Looks for these kinds.
    #[must_use]
    pub fn new(kinds: &[FaultKind]) -> Self {
        Self {
            kinds: kinds.to_vec(),
            names: Vec::new(),
            undefined: Vec::new(),
            faults: Faults::default(),
        }
    }

    /// The same, where findings call memory by a name.
    #[must_use]
    pub fn with_name(mut self, memory: Range<u64>, name: &str) -> Self {
        self.names.push((memory, name.to_owned()));
        self
    }

    /// The same, where memory counts as never written. What is allocated counts as written otherwise.
    #[must_use]
    pub fn with_undefined(mut self, memory: Range<u64>) -> Self {
        self.undefined.push(memory);
        self
    }

    /// What was found, each place once.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        self.faults.list()
    }

    /// How many places more there were than are kept.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.faults.left_out()
    }

    /// What memory is called.
    fn name(&self, memory: &Range<u64>) -> String {
        let is_it = |(range, _): &&(Range<u64>, String)| range.contains(&memory.start);
        let name = self.names.iter().find(is_it);
        name.map_or_else(|| format!("the allocation at {:#x}", memory.start), |it| it.1.clone())
    }
}

/// Where an instruction ran, for what is found there.
#[derive(Clone, Copy)]
struct Here<'s> {
    site: &'s Site,
    workgroup: [u32; 3],
    wave: u32,
    lanes: u64,
}

/// The kernel that a sanitizer observes, as it was dispatched.
#[derive(Clone, Copy)]
pub(crate) struct Observed<'d> {
    pub(crate) kernel: &'d str,
    pub(crate) memory: &'d Memory,
    pub(crate) entry: &'d EntryState,
    pub(crate) target: Target,
    pub(crate) layout: Layout,
    pub(crate) lds_bytes: u32,
    pub(crate) scratch_bytes: u32,
}

/// What a sanitizer finds out about the workgroups of one thread.
pub(crate) struct Observer<'d> {
    sanitizer: &'d Sanitizer,
    observed: Observed<'d>,
    decoder: Decoder,
    has: Has,
    /// The instructions of blocks, by where a block keeps its addresses, and upper bits of register numbers.
    plans: HashMap<(*const u64, u16), Rc<[Site]>>,
    races: Races,
    /// Ways that were looked at.
    ways: hazard::Seen,
    /// Memory that was never written.
    undefined: init::Undefined,
    origins: init::Origins,
    /// Workgroups that wait for their turn.
    groups: HashMap<[u32; 3], Group>,
    /// The one whose turn it is, and its wave.
    group: Group,
    workgroup: [u32; 3],
    wave: u32,
}

/// Which kinds are looked for.
#[derive(Clone, Copy)]
#[allow(clippy::struct_excessive_bools, reason = "asked for each instruction")]
struct Has {
    memory: bool,
    init: bool,
    wait: bool,
    race: bool,
    barrier: bool,
    hazard: bool,
}

/// A workgroup that has begun.
#[derive(Default)]
struct Group {
    barriers: barrier::Meetings,
    /// How often the barrier of the workgroup will have been complete, and when a wave last came for that: the last two.
    met: [(u32, u64); 2],
    waves: Vec<State>,
    /// Who accessed LDS.
    lds: race::Words,
    lds_shadow: init::Lds,
}

/// What is known of a wave.
#[derive(Default)]
struct State {
    /// Its number in the dispatch, from 1 on.
    id: u32,
    outstanding: wait::Outstanding,
    shadow: init::Shadow,
    trail: hazard::Trail,
    /// Memory operations of each class so far.
    issued: [u32; 4],
    /// How often it has gone through barriers.
    barriers_seen: [u32; 4],
}

impl State {
    fn issue(&mut self, class: Class) -> u32 {
        let issued = &mut self.issued[class as usize];
        *issued += 1;
        *issued
    }

    /// The last operation of each class that is complete; `orders_lds` says that LDS takes those of all waves in order.
    fn completed(&self, orders_lds: bool) -> [u32; 4] {
        [Class::Lds, Class::Load, Class::Store, Class::Scalar].map(|class| {
            let issued = self.issued[class as usize];
            match class {
                Class::Lds if orders_lds => issued,
                _ => self.outstanding.completed(class, issued),
            }
        })
    }
}

impl<'d> Observer<'d> {
    pub(crate) fn new(sanitizer: &'d Sanitizer, observed: Observed<'d>, decoder: Decoder) -> Self {
        let has = |kind| sanitizer.kinds.contains(&kind);
        Self {
            sanitizer,
            observed,
            decoder,
            has: Has {
                memory: has(FaultKind::Memory),
                init: has(FaultKind::Init),
                wait: has(FaultKind::Wait),
                race: has(FaultKind::Race),
                barrier: has(FaultKind::Barrier),
                hazard: has(FaultKind::Hazard),
            },
            plans: HashMap::new(),
            races: Races::default(),
            ways: hazard::Seen::default(),
            undefined: init::Undefined::new(&sanitizer.undefined),
            origins: init::Origins::default(),
            groups: HashMap::new(),
            group: Group::default(),
            workgroup: [u32::MAX; 3],
            wave: 0,
        }
    }

    /// Says whose instructions come next.
    pub(crate) fn enter<const C: usize>(&mut self, number: [u32; 3], at: u32, wave: &Wave<C>) {
        if self.workgroup != number {
            let next = self.groups.remove(&number).unwrap_or_default();
            let last = std::mem::replace(&mut self.group, next);
            self.groups.insert(self.workgroup, last);
            self.workgroup = number;
        }
        self.wave = at;
        while self.group.waves.len() <= at as usize {
            let wave = self.group.waves.len() as u32;
            let id = self.races.begin(number, wave);
            let shadow = self.entry_shadow::<C>();
            self.group.waves.push(State { id, shadow, ..State::default() });
        }
        self.pass(wave);
    }

    /// What is undefined when a wave begins.
    fn entry_shadow<const C: usize>(&self) -> init::Shadow {
        if !self.has.init {
            return init::Shadow::default();
        }
        let layout = self.observed.layout;
        let entry = self.observed.entry.registers().iter();
        let entry: Vec<Span> = entry.filter_map(|it| Span::of(&it.register, layout)).collect();
        let scratch = (self.observed.scratch_bytes as usize).div_ceil(4);
        init::Shadow::new(Wave::<C>::ALL, usize::from(layout.temporary()), scratch, &entry)
    }

    /// Whether LDS takes accesses of all waves in the order in which they were issued: compilers for gfx10 and later put
    /// a barrier between a store and its wait.
    fn orders_lds(&self) -> bool {
        self.observed.target.generation >= Generation::Gfx10
    }

    /// Notes that a wave has gone through a barrier: it comes after what others did before they came there, and not after what
    /// those have done since that went on earlier.
    fn pass<const C: usize>(&mut self, wave: &Wave<C>) {
        let state = &mut self.group.waves[self.wave as usize];
        if state.barriers_seen == wave.barriers_seen {
            return;
        }
        let [seen, others @ ..] = wave.barriers_seen;
        let is_only_its = state.barriers_seen[1..] == others;
        state.barriers_seen = wave.barriers_seen;
        let met = self.group.met.iter().find(|it| is_only_its && it.0 == seen);
        let time = met.map_or(self.races.now(), |it| it.1);
        self.races.acquire(state.id, time);
    }

    /// A wave comes to the barrier of its workgroup at a time.
    fn come(&mut self, phase: u32, time: u64) {
        let met = &mut self.group.met;
        if met[1].0 != phase {
            met.swap(0, 1);
        }
        met[1] = (phase, time);
    }

    /// All waves of a workgroup have ended.
    pub(crate) fn leave(&mut self, workgroup: [u32; 3]) {
        if self.workgroup == workgroup {
            self.group = Group::default();
            self.workgroup = [u32::MAX; 3];
        }
        self.groups.remove(&workgroup);
        self.tell_guesses(workgroup);
    }

    /// A wave cannot go on. What a sanitizer looks for is among what it finds.
    pub(crate) fn fail(&mut self, error: &Error) {
        let Some(at) = error.location() else { return };
        let (kind, help) = match error.kind() {
            ErrorKind::OutOfBounds | ErrorKind::ReadOnly | ErrorKind::Misaligned => {
                (FaultKind::Memory, memory::HELP)
            }
            ErrorKind::Barrier => (FaultKind::Barrier, barrier::HELP),
            _ => return,
        };
        if self.sanitizer.kinds.contains(&kind) {
            self.sanitizer.faults.add((kind, at.address, 0), || Fault {
                kind,
                is_certain: true,
                at: at.clone(),
                message: error.detail().to_owned(),
                before: None,
                help: help.to_owned(),
                times: 1,
            });
        }
    }

    fn here<'s>(&self, site: &'s Site, lanes: u64) -> Here<'s> {
        Here { site, workgroup: self.workgroup, wave: self.wave, lanes }
    }

    fn location(&self, here: Here<'_>) -> StopLocation {
        StopLocation {
            kernel: self.observed.kernel.to_owned(),
            address: here.site.address,
            instruction: self.decoder.text(&here.site.inst),
            workgroup: here.workgroup,
            wave: here.wave,
            lanes: here.lanes,
        }
    }

    fn plan<const C: usize>(
        &mut self,
        block: &Block<C>,
        msb: u16,
        context: &Context<'_>,
    ) -> Rc<[Site]> {
        // A block keeps its list of addresses for as long as the program is there.
        let key = (block.addresses.as_ptr(), msb);
        if let Some(plan) = self.plans.get(&key) {
            return Rc::clone(plan);
        }
        let plan: Rc<[Site]> = {
            let planner = site::Planner {
                decoder: &self.decoder,
                layout: self.observed.layout,
                target: self.observed.target,
            };
            planner.plan(block, msb, context).into()
        };
        self.plans.insert(key, Rc::clone(&plan));
        plan
    }

    /// The text of an instruction that has run.
    fn text_at(&self, address: u64) -> String {
        let found = translate::decode(&self.decoder, address, self.observed.memory);
        found.map_or_else(String::new, |inst| self.decoder.text(&inst))
    }

    /// Runs one instruction.
    #[inline]
    fn step<const C: usize>(
        &mut self,
        site: &Site,
        block: &Block<C>,
        wave: &mut Wave<C>,
        context: &mut Context<'_>,
    ) -> Option<u16> {
        if self.has.wait {
            self.check_waits(site, wave);
        }
        let steps = &block.steps[site.steps.clone()];
        match site.role {
            Role::Plain => {
                let stopped = if self.has.init {
                    self.check_branch(site, wave);
                    self.run_with_shadow(site, steps, wave, context)
                } else {
                    step::run(steps, wave, context)
                };
                if !site.waits.is_empty() || site.waits_for_idle || !site.counts.is_empty() {
                    self.count_waits(site, wave.active);
                }
                stopped
            }
            Role::Vector(access) => self.access(site, access, steps, wave, context),
            Role::Scalar(access) => self.scalar_access(site, access, steps, wave, context),
            Role::Barrier(way) => self.barrier(site, way, steps, wave, context),
        }
    }

    fn access<const C: usize>(
        &mut self,
        site: &Site,
        access: VectorAccess,
        steps: &[Step<C>],
        wave: &mut Wave<C>,
        context: &mut Context<'_>,
    ) -> Option<u16> {
        let (last, first) = steps.split_last()?;
        if self.has.init {
            self.check_address(site, wave);
        }
        let stopped = step::run(first, wave, context);
        if stopped.is_some() {
            return stopped;
        }
        if self.has.memory {
            self.check_lanes(site, access, last, wave, context);
        }
        let mut conflicts = Vec::new();
        if self.has.race || self.has.init {
            let touched = access::of_lanes(access, last, wave, context);
            if self.has.race {
                conflicts = self.check_races(site, &touched, context);
                if let Some(copied) = access::of_copy(access, last, wave) {
                    conflicts.extend(self.check_races(site, &copied, context));
                }
            }
            if self.has.init {
                self.move_lanes(site, access, last, &touched, wave, context);
            }
        }
        let stopped = step::run(std::slice::from_ref(last), wave, context);
        if !conflicts.is_empty() {
            self.tell_races(site, access.access, &conflicts, context);
        }
        self.count_access(site, access, wave, context);
        stopped
    }

    fn scalar_access<const C: usize>(
        &mut self,
        site: &Site,
        access: Access,
        steps: &[Step<C>],
        wave: &mut Wave<C>,
        context: &mut Context<'_>,
    ) -> Option<u16> {
        let reached = steps.last().and_then(|step| smem::reached(wave, step));
        if self.has.init {
            self.check_address(site, wave);
            if access != Access::Store {
                let (address, bytes) = reached.unwrap_or_default();
                self.load_scalars(site, address, bytes);
            }
        }
        if self.has.memory
            && let (Some((address, bytes)), Some(step)) = (reached, steps.last())
            && self.is_outside(site, access, address, bytes, context)
        {
            // Reads zeros, and writes nothing.
            if access == Access::Load {
                smem::clear(wave, step);
            }
            self.count_waits(site, 1);
            return None;
        }
        let mut conflicts = Vec::new();
        if self.has.race
            && let Some((address, bytes)) = reached
        {
            let run = access::Run { lane: 0, space: access::In::Device, address, bytes };
            let touched = Touched { access, runs: vec![run] };
            conflicts = self.check_races(site, &touched, context);
        }
        let stopped = step::run(steps, wave, context);
        if !conflicts.is_empty() {
            self.tell_races(site, access, &conflicts, context);
        }
        self.count_waits(site, 1);
        stopped
    }

    fn barrier<const C: usize>(
        &mut self,
        site: &Site,
        way: BarrierUse,
        steps: &[Step<C>],
        wave: &mut Wave<C>,
        context: &mut Context<'_>,
    ) -> Option<u16> {
        if self.has.barrier
            && let Some(step) = steps.last()
        {
            self.check_barrier(site, way, step, wave, context);
        }
        if matches!(way, BarrierUse::Meet | BarrierUse::Signal) {
            let state = &self.group.waves[self.wave as usize];
            let (id, completed) = (state.id, state.completed(self.orders_lds()));
            let time = self.races.release(id, completed);
            self.come(context.barriers.phase().wrapping_add(1), time);
        }
        let stopped = step::run(steps, wave, context);
        self.pass(wave);
        stopped
    }
}

impl<const C: usize> Watch<C> for Observer<'_> {
    fn run(
        &mut self,
        block: &Block<C>,
        wave: &mut Wave<C>,
        context: &mut Context<'_>,
    ) -> Option<u16> {
        let plan = self.plan(block, wave.msb, context);
        if self.has.hazard {
            self.check_hazards(&plan);
        }
        for site in plan.iter() {
            let stopped = self.step(site, block, wave, context);
            if stopped.is_some() {
                return stopped;
            }
        }
        None
    }
}
