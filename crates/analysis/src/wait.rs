//! Registers that are used before what loads or stores them is complete: waits that are missing.
//!
//! A forward walk over all paths keeps, for each register that an outstanding operation holds, how many operations of its
//! sequence were issued after it, the fewest over all paths. What a counter value tells is `isa`'s answer
//! ([`Count::is_complete`]). Calls are assumed to follow the ABI: callees wait for everything first, so that nothing is
//! outstanding after them, and return with no upper bits of vector register numbers.

use std::collections::VecDeque;

use hsaco_bytes::IndexVec;
use hsaco_isa::Decoder;
use hsaco_isa::effects::hazard::Doubt;
use hsaco_isa::effects::{Access, Count, Counter, Counters, Effects, Flow, Hold};
use hsaco_isa::model::{Half, Register, RegisterFile, VgprMsb};

use crate::cfg::{BlockId, Cfg};
use crate::register_set::RegisterSet;
use crate::state::{State, States};
use crate::stream::Stream;

/// So many of a function are looked into.
const MOST_FOUND: usize = 64;

/// What an instruction does to a register that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Touch {
    /// Reads what has not arrived.
    Read,
    /// Writes what the outstanding operation will overwrite.
    Write,
    /// Writes what the outstanding operation has not taken yet.
    WriteSource,
}

/// How certain it is that something goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// On every path.
    Always,
    /// On a path through these blocks, from that of the first instruction to that of the second.
    OnPath(Vec<BlockId>),
    /// On every path, but only if the address is such that this counter counts the access: a flat access goes to
    /// memory or to LDS.
    ByAddress,
    /// If two loads write the same register in another order than they were issued in, which manuals from gfx12 on
    /// allow.
    ByOrder,
    /// On every path or some, unless what the manuals say no more of keeps two instructions apart.
    Unless(Doubt),
}

/// A register that is used while an operation that holds it may be outstanding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingWait {
    /// The number of the instruction that uses it.
    pub step: usize,
    /// What it does to the register.
    pub touch: Touch,
    /// The register, as the operation has it.
    pub register: Register,
    /// The number of the instruction that began the operation.
    pub operation: usize,
    /// The counter to wait for.
    pub counter: Counter,
    /// The value that it must fall to.
    pub value: u8,
    /// On which paths.
    pub certainty: Certainty,
}

/// A register that an outstanding operation holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    operation: u32,
    count: &'static Count,
    register: Register,
    is_source: bool,
    /// How many of its sequence were issued after it: the fewest.
    younger: u8,
}

impl Held {
    /// What makes it another one.
    fn key(&self) -> (u32, Counter, u16, bool, RegisterFile) {
        let file = self.register.file;
        (self.operation, self.count.counter, self.register.first, self.is_source, file)
    }
}

/// What is outstanding at a place.
#[derive(Clone, Debug, Default)]
struct Outstanding {
    held: Vec<Held>,
    /// All registers among them, and perhaps more.
    registers: RegisterSet,
}

/// Registers of an instruction that something outstanding holds.
struct Touched {
    held: Held,
    touch: Touch,
    /// Whether it is another operation of the same counter that will write the register.
    is_by_order: bool,
}

impl Outstanding {
    fn clear(&mut self) {
        self.held.clear();
        self.registers = RegisterSet::default();
    }

    /// Joins what is outstanding on another path; whether that is more.
    fn join(&mut self, other: &Outstanding) -> bool {
        let mut has_grown = false;
        for held in &other.held {
            match self.held.iter_mut().find(|it| it.key() == held.key()) {
                Some(known) if known.younger <= held.younger => {}
                Some(known) => {
                    known.younger = held.younger;
                    has_grown = true;
                }
                None => {
                    self.held.push(*held);
                    self.registers.insert(&held.register);
                    has_grown = true;
                }
            }
        }
        has_grown
    }

    /// What an instruction does to registers that are held, which are then held no more.
    fn touch(&mut self, effects: &Effects<'_>, has_vectors: bool, mut found: impl FnMut(Touched)) {
        let mut used = Vec::new();
        let registers = self.registers;
        let is_known = |it: &Register| has_vectors || !is_vector(it);
        let half = stored_half(effects);
        effects.reads().for_each(|it| {
            if registers.contains(&it) && is_known(&it) {
                used.push((Register { half: it.half.or(half), ..it }, false));
            }
        });
        effects.writes().for_each(|it| {
            if registers.contains(&it) && is_known(&it) {
                used.push((it, true));
            }
        });
        for (register, is_written) in used {
            self.held.retain(|held| {
                let touch = match (is_written, held.is_source) {
                    _ if !held.register.overlaps(&register) => return true,
                    (false, true) => return true,
                    (false, false) => Touch::Read,
                    (true, true) => Touch::WriteSource,
                    (true, false) if lands_after(effects, held.count) => return true,
                    (true, false) => Touch::Write,
                };
                let is_by_order = touch == Touch::Write && counts_in(effects, held.count.counter);
                found(Touched { held: *held, touch, is_by_order });
                false
            });
        }
    }

    /// Takes an instruction into account; `found` is told what it uses too soon.
    fn step(
        &mut self,
        number: usize,
        effects: &Effects<'_>,
        has_vectors: bool,
        found: impl FnMut(Touched),
    ) {
        if !self.held.is_empty() {
            self.touch(effects, has_vectors, found);
        }
        if matches!(effects.flow(), Flow::Call | Flow::IndirectCall) {
            self.clear();
        }
        if effects.counts_nothing() {
            return;
        }
        if effects.waits_for_idle() {
            self.clear();
        }
        for (counter, value) in effects.waits() {
            self.wait(counter, value);
        }
        for count in effects.counts() {
            self.add(number, effects, count, has_vectors);
        }
    }

    fn wait(&mut self, counter: Counter, value: u8) {
        let is_held = |held: &Held| {
            held.count.counter != counter || !held.count.is_complete(value, held.younger.into())
        };
        self.held.retain(is_held);
        if self.held.is_empty() {
            self.registers = RegisterSet::default();
        }
    }

    fn add(
        &mut self,
        number: usize,
        effects: &Effects<'_>,
        count: &'static Count,
        has_vectors: bool,
    ) {
        // Address translations matter to what is replayed after a page fault alone.
        if count.counter == Counter::Xcnt {
            return;
        }
        for held in &mut self.held {
            let is_same = held.count.counter == count.counter;
            if is_same && held.count.sequence == count.sequence && count.sequence.is_some() {
                held.younger = held.younger.saturating_add(1);
            }
        }
        self.held.retain(|held| held.younger < effects.most_outstanding(held.count.counter));
        let mut hold = |register: Register, is_source: bool| {
            if !is_vector(&register) || has_vectors {
                let operation = number as u32;
                let held = Held { operation, count, register, is_source, younger: 0 };
                // In a loop, it is the operation of this round that counts.
                self.held.retain(|it| it.key() != held.key());
                self.held.push(held);
                self.registers.insert(&register);
            }
        };
        if count.hold.has_results() {
            effects.writes().for_each(|register| hold(register, false));
        }
        if matches!(count.hold, Hold::VectorSources | Hold::ResultsAndVectorSources) {
            effects.reads().filter(is_vector).for_each(|register| hold(register, true));
        }
    }
}

/// Whether an instruction writes its result after that of an outstanding operation, without being told to wait.
fn lands_after(effects: &Effects<'_>, earlier: &Count) -> bool {
    let lands = |count: &Count| {
        count.counter == earlier.counter
            && count.landing.is_some()
            && count.landing == earlier.landing
    };
    effects.counts().iter().any(lands)
}

fn counts_in(effects: &Effects<'_>, counter: Counter) -> bool {
    effects.counts().iter().any(|count| count.counter == counter)
}

/// The half of a register that a store of 16 bits or less takes.
fn stored_half(effects: &Effects<'_>) -> Option<Half> {
    let memory = effects.memory().filter(|it| it.access == Access::Store)?;
    let is_short = memory.bytes.is_some_and(|bytes| bytes <= 2);
    let half = if effects.mnemonic().contains("d16_hi") { Half::High } else { Half::Low };
    is_short.then_some(half)
}

fn is_vector(register: &Register) -> bool {
    matches!(register.file, RegisterFile::Vgpr | RegisterFile::Agpr)
}

/// The waits that are missing in a function, in the order of its code; the first few.
///
/// ```
/// use hsaco_analysis::{Certainty, Cfg, Stream, missing_waits};
/// use hsaco_isa::{Assembler, Processor};
/// let assembler = Assembler::new(Processor::from_name("gfx942").unwrap(), Default::default())?;
/// let lines = ["s_load_dword s0, s[4:5], 0x0", "s_add_u32 s1, s0, 1", "s_endpgm"];
/// let bytes = lines.map(|line| {
///     let inst = assembler.assemble(line).unwrap();
///     inst.bytes()[..inst.len()].to_vec()
/// });
/// let bytes = bytes.concat();
/// let stream = Stream::decode(assembler.decoder(), 0, &bytes);
/// let cfg = Cfg::new(assembler.decoder(), &stream);
/// let found = missing_waits(assembler.decoder(), &stream, &cfg);
/// assert_eq!((found[0].operation, found[0].step, found[0].value), (0, 1, 0));
/// assert_eq!(found[0].certainty, Certainty::Always);
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
#[must_use]
pub fn missing_waits(decoder: &Decoder, stream: &Stream<'_>, cfg: &Cfg) -> Vec<MissingWait> {
    let states = States::by_abi(decoder, stream, cfg);
    let mut walk = Walk { decoder, stream, cfg, states, before: IndexVec::default() };
    let run = |block, outstanding: &mut Outstanding| walk.run(block, outstanding, |_, _| ());
    walk.before = cfg.forward(Outstanding::default(), run, Outstanding::join);
    let mut found = walk.found();
    if !found.is_empty() && skips_vectors(stream) {
        for it in &mut found {
            if matches!(it.certainty, Certainty::Always | Certainty::OnPath(_)) {
                it.certainty = Certainty::Unless(Doubt::Skip);
            }
        }
    }
    found
}

/// Whether vector instructions may be passed over as if they were not there.
pub(crate) fn skips_vectors(stream: &Stream<'_>) -> bool {
    stream.insts().any(|inst| inst.mnemonic() == "s_setvskip")
}

struct Walk<'a> {
    decoder: &'a Decoder,
    stream: &'a Stream<'a>,
    cfg: &'a Cfg,
    states: States<'a>,
    /// What is outstanding before each block; none before it is reached.
    before: IndexVec<BlockId, Option<Outstanding>>,
}

impl Walk<'_> {
    /// Runs a block; `found` is told which instructions use what too soon.
    fn run(
        &self,
        block: BlockId,
        outstanding: &mut Outstanding,
        mut found: impl FnMut(usize, Touched),
    ) {
        let mut state = self.states.before_block(block);
        let never_changes = self.states.never_change();
        for step in self.cfg.blocks()[block].steps() {
            self.step(step, state, outstanding, |touched| found(step, touched));
            if !never_changes {
                state = self.states.after(state, step);
            }
        }
    }

    #[inline]
    fn step(
        &self,
        step: usize,
        state: State,
        outstanding: &mut Outstanding,
        found: impl FnMut(Touched),
    ) {
        let Some(inst) = self.stream.inst(step) else {
            outstanding.clear();
            return;
        };
        let effects = self.decoder.effects(&inst, state.msb.unwrap_or_default());
        if outstanding.held.is_empty() && effects.counts().is_empty() {
            return;
        }
        outstanding.step(step, &effects, state.msb.is_some(), found);
    }

    fn found(&self) -> Vec<MissingWait> {
        let mut found = Vec::new();
        for (block, before) in self.before.enumerated() {
            let Some(before) = before else { continue };
            let mut touched = Vec::new();
            self.run(block, &mut before.clone(), |step, it| touched.push((step, it)));
            // One finding for each operation and use: a flat access has two counters, that of memory first.
            let same = |one: &(usize, Touched), other: &(usize, Touched)| {
                one.0 == other.0 && one.1.held.operation == other.1.held.operation
            };
            for uses in touched.chunk_by(same) {
                if let Some((step, it)) = uses.first().filter(|_| found.len() < MOST_FOUND) {
                    let counters: Counters =
                        uses.iter().map(|it| it.1.held.count.counter).collect();
                    found.push(self.judge(block, *step, it, counters));
                }
            }
        }
        found
    }

    fn judge(
        &self,
        block: BlockId,
        step: usize,
        touched: &Touched,
        counters: Counters,
    ) -> MissingWait {
        let held = touched.held;
        let operation = held.operation as usize;
        let certainty = if self.result_counters(operation) != counters && !held.is_source {
            Certainty::ByAddress
        } else if touched.is_by_order {
            Certainty::ByOrder
        } else if self.is_certain(block, step, &held) {
            Certainty::Always
        } else {
            Certainty::OnPath(self.path(block, step, &held))
        };
        MissingWait {
            step,
            touch: touched.touch,
            register: held.register,
            operation,
            counter: held.count.counter,
            value: if held.count.sequence.is_some() { held.younger } else { 0 },
            certainty,
        }
    }

    /// The counters that hold the results of an operation.
    fn result_counters(&self, operation: usize) -> Counters {
        let inst = self.stream.inst(operation);
        let counts = inst.map(|inst| self.decoder.effects(&inst, VgprMsb::default()).counts());
        let of_results = counts.into_iter().flatten().filter(|count| count.hold.has_results());
        of_results.map(|count| count.counter).collect()
    }

    /// Whether the register is held on every path to the instruction.
    fn is_certain(&self, block: BlockId, step: usize, held: &Held) -> bool {
        let first = self.cfg.blocks()[block].first;
        if (first..step).contains(&(held.operation as usize)) {
            return true;
        }
        Certain { walk: self, register: held.register, is_source: held.is_source }
            .holds_at(block, step)
    }

    /// The blocks from the operation to its use, the fewest, through which it stays outstanding.
    fn path(&self, block: BlockId, step: usize, held: &Held) -> Vec<BlockId> {
        let Some(start) = self.cfg.block_of(held.operation as usize) else { return vec![block] };
        let is_held = |block: BlockId| {
            let before = self.before[block].as_ref();
            before.is_some_and(|it| it.held.iter().any(|it| it.key() == held.key()))
        };
        if start == block && (held.operation as usize) < step {
            return vec![block];
        }
        let mut reached_from = self.cfg.blocks().filled(None);
        let mut queue = VecDeque::from([start]);
        while let Some(from) = queue.pop_front() {
            for next in self.cfg.successors(from) {
                if reached_from[next].is_none() && is_held(next) {
                    reached_from[next] = Some(from);
                    queue.push_back(next);
                }
            }
        }
        let mut path = vec![block];
        let mut at = block;
        while let Some(from) = reached_from[at] {
            path.push(from);
            if from == start || path.len() > self.cfg.blocks().len() {
                break;
            }
            at = from;
        }
        path.reverse();
        path
    }
}

/// Whether a register is held on all paths.
struct Certain<'a> {
    walk: &'a Walk<'a>,
    register: Register,
    is_source: bool,
}

/// What is held of the register at a place: on every path something, where there is anything.
type OfRegister = Option<Vec<Held>>;

impl Certain<'_> {
    fn holds_at(&self, block: BlockId, step: usize) -> bool {
        let cfg = self.walk.cfg;
        let Some(entry) = cfg.entry() else { return false };
        let mut before: IndexVec<BlockId, OfRegister> = cfg.blocks().filled(None);
        before[entry] = Some(Vec::new());
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for at in cfg.reverse_post_order() {
                let Some(held) = before[*at].clone() else { continue };
                let after = self.after(*at, held, cfg.blocks()[*at].end);
                for next in cfg.successors(*at) {
                    has_changed |= join_certain(&mut before[next], &after);
                }
            }
        }
        before[block].clone().is_some_and(|held| !self.after(block, held, step).is_empty())
    }

    /// What is held after the instructions of a block up to one.
    fn after(&self, block: BlockId, held: Vec<Held>, end: usize) -> Vec<Held> {
        let walk = self.walk;
        let mut registers = RegisterSet::default();
        registers.insert(&self.register);
        let mut outstanding = Outstanding { held, registers };
        let mut state = walk.states.before_block(block);
        for step in walk.cfg.blocks()[block].first..end {
            let known = outstanding.held.len();
            walk.step(step, state, &mut outstanding, |_| ());
            let mine =
                |it: &Held| it.register.overlaps(&self.register) && it.is_source == self.is_source;
            let is_new = |it: &Held| it.operation as usize == step;
            let kept = outstanding.held.iter().filter(|it| mine(it) && !is_new(it)).count();
            // If one of several goes, there may be a path on which nothing is left.
            if kept < known {
                outstanding.held.retain(|it| mine(it) && is_new(it));
            } else {
                outstanding.held.retain(mine);
            }
            outstanding.registers.insert(&self.register);
            state = walk.states.after(state, step);
        }
        outstanding.held
    }
}

/// Joins two paths: nothing is certain where one holds nothing, and the oldest counts.
fn join_certain(known: &mut OfRegister, other: &[Held]) -> bool {
    let Some(held) = known else {
        *known = Some(other.to_vec());
        return true;
    };
    if held.is_empty() {
        return false;
    }
    if other.is_empty() {
        held.clear();
        return true;
    }
    let mut has_changed = false;
    for new in other {
        match held.iter_mut().find(|it| it.key() == new.key()) {
            Some(old) if old.younger >= new.younger => {}
            Some(old) => {
                old.younger = new.younger;
                has_changed = true;
            }
            None => {
                held.push(*new);
                has_changed = true;
            }
        }
    }
    has_changed
}
