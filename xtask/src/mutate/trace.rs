//! Which waits matter to a run: those without which an instruction would have used a register too early.
//!
//! Worked out from a trace, without the sanitizer's own accounting, to judge it: what a wait completes stays outstanding if the
//! wait is deleted, until the next one that completes it as well.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, PoisonError};

use hsaco::emu::{Executed, RegisterValue, Tracer};
use hsaco::isa::effects::{Count, Counter, Hold, Sequence};
use hsaco::isa::model::{Register, RegisterFile};

/// What instructions do to counters, by address.
pub(super) type Counting = BTreeMap<u64, Counts>;

/// What an instruction does to counters.
#[derive(Default)]
pub(super) struct Counts {
    /// The counters that it raises, and the most that they hold.
    pub(super) counts: Vec<(Count, u8)>,
    pub(super) waits: Vec<(Counter, u8)>,
    pub(super) waits_for_idle: bool,
    pub(super) is_masked: bool,
    pub(super) is_flat: bool,
}

/// Watches a run.
pub(super) struct Judge<'c> {
    counting: &'c Counting,
    waves: Mutex<BTreeMap<([u32; 3], u32), Wave>>,
}

/// A register that an operation holds, in some lanes.
#[derive(Clone)]
struct Held {
    count: Count,
    /// Its number among those of counter and sequence.
    number: u32,
    register: Register,
    is_source: bool,
    lanes: u64,
    /// The wait that has completed it.
    wait: Option<u64>,
}

#[derive(Default)]
struct Wave {
    issued: BTreeMap<(Counter, Option<Sequence>), u32>,
    held: Vec<Held>,
    mattering: BTreeSet<u64>,
}

impl<'c> Judge<'c> {
    pub(super) fn new(counting: &'c Counting) -> Self {
        Self { counting, waves: Mutex::default() }
    }

    /// The addresses of the waits that matter.
    pub(super) fn mattering(self) -> BTreeSet<u64> {
        let waves = self.waves.into_inner().unwrap_or_else(PoisonError::into_inner);
        waves.into_values().flat_map(|it| it.mattering).collect()
    }
}

impl Tracer for Judge<'_> {
    fn instruction(&self, executed: &Executed<'_>) {
        let Some(counts) = self.counting.get(&executed.address) else { return };
        let mut waves = self.waves.lock().unwrap_or_else(PoisonError::into_inner);
        let wave = waves.entry((executed.workgroup, executed.wave)).or_default();
        wave.use_registers(executed, counts);
        if counts.waits_for_idle {
            wave.held.retain(|it| it.wait.is_some());
        }
        for (counter, value) in &counts.waits {
            wave.wait(executed.address, *counter, *value);
        }
        for (count, most) in &counts.counts {
            wave.issue(executed, counts, *count, *most);
        }
    }
}

impl Wave {
    fn use_registers(&mut self, executed: &Executed<'_>, counts: &Counts) {
        let used = |registers: &[RegisterValue], held: &Held| {
            let lanes = if counts.is_masked && is_vector(&held.register) {
                held.lanes & executed.exec
            } else {
                held.lanes
            };
            lanes != 0 && registers.iter().any(|it| overlaps(&it.register, &held.register))
        };
        let lands = |held: &Held| {
            let landing = held.count.landing;
            landing.is_some() && counts.counts.iter().any(|(it, _)| it.landing == landing)
        };
        for held in &self.held {
            let Some(wait) = held.wait else { continue };
            let is_read = !held.is_source && used(executed.reads, held);
            let is_written = (held.is_source || !lands(held)) && used(executed.writes, held);
            if is_read || is_written {
                self.mattering.insert(wait);
            }
        }
    }

    fn wait(&mut self, address: u64, counter: Counter, value: u8) {
        let issued = &self.issued;
        let is_complete = |held: &Held| {
            let all = issued.get(&(counter, held.count.sequence)).copied().unwrap_or(0);
            held.count.counter == counter && held.count.is_complete(value, all - held.number)
        };
        self.held.retain(|it| it.wait.is_none_or(|at| at == address) || !is_complete(it));
        for held in self.held.iter_mut().filter(|it| it.wait.is_none() && is_complete(it)) {
            held.wait = Some(address);
        }
    }

    fn issue(&mut self, executed: &Executed<'_>, counts: &Counts, count: Count, most: u8) {
        let number = self.issued.entry((count.counter, count.sequence)).or_default();
        *number += 1;
        let number = *number;
        // A counter that is full waits by itself.
        self.held.retain(|it| {
            let is_same = (it.count.counter, it.count.sequence) == (count.counter, count.sequence);
            !is_same || count.sequence.is_none() || number - it.number < u32::from(most)
        });
        // A flat access goes to memory or to LDS, by its address.
        let is_lds = matches!(count.counter, Counter::Lgkmcnt | Counter::Dscnt);
        let goes = executed.memory.iter().any(|it| is_in_lds(it.1) == is_lds);
        if counts.is_flat && !goes {
            return;
        }
        let hold = |register: Register, is_source: bool| {
            let lanes = if counts.is_masked { executed.exec } else { u64::MAX };
            Held { count, number, register, is_source, lanes, wait: None }
        };
        if count.hold.has_results() {
            self.held.extend(executed.writes.iter().map(|it| hold(it.register, false)));
        }
        if matches!(count.hold, Hold::VectorSources | Hold::ResultsAndVectorSources) {
            let sources = executed.reads.iter().filter(|it| is_vector(&it.register));
            self.held.extend(sources.map(|it| hold(it.register, true)));
        }
    }
}

/// What an instruction accessed when it ran.
#[derive(PartialEq, Eq)]
pub(super) struct Accessed {
    wave: ([u32; 3], u32),
    pub(super) lanes: usize,
    /// A hash of what it has written to registers, if it writes any.
    pub(super) loaded: Option<u64>,
}

/// Watches the accesses of a run.
#[derive(Default)]
pub(super) struct Accesses(Mutex<Vec<Accessed>>);

impl Accesses {
    /// All of them, those of a wave in the order in which it made them.
    pub(super) fn finish(self) -> Vec<Accessed> {
        let mut all = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        all.sort_by_key(|it| it.wave);
        all
    }
}

impl Tracer for Accesses {
    fn instruction(&self, executed: &Executed<'_>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Accessed {
            wave: (executed.workgroup, executed.wave),
            lanes: executed.memory.len(),
            loaded: (!executed.writes.is_empty()).then(|| {
                let mut hasher = DefaultHasher::new();
                executed.writes.iter().for_each(|it| it.values.hash(&mut hasher));
                hasher.finish()
            }),
        });
    }
}

/// Whether an address is in the aperture of LDS.
const fn is_in_lds(address: u64) -> bool {
    address >> 32 == 0x1_0000
}

fn is_vector(register: &Register) -> bool {
    matches!(register.file, RegisterFile::Vgpr | RegisterFile::Agpr)
}

fn overlaps(one: &Register, other: &Register) -> bool {
    let end = |it: &Register| it.first + u16::from(it.count.max(1));
    let halves = one.half.zip(other.half);
    one.file == other.file
        && one.first < end(other)
        && other.first < end(one)
        && halves.is_none_or(|(one, other)| one == other)
}
