//! Workgroups: waves that share LDS and barriers, run in turn.
#![allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "blocks and waves are numbered by what made them"
)]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use hsaco_isa::model::RegisterFile;
use hsaco_isa::target::Generation;
use hsaco_kernarg::{EntryValue, Wave as EntryWave};

use crate::barrier::{Barriers, Member};
use crate::dispatch::Dispatch;
use crate::error::{Error, ErrorKind, Result, StopLocation};
use crate::exec::address::{PRIVATE_APERTURE, SCRATCH_BASE, SHARED_APERTURE};
use crate::exec::exception;
use crate::memory::View;
use crate::revision::Met;
use crate::sanitize::Observer;
use crate::step::{Context, Parked};
use crate::translate::{Condition, End, Program, TranslationState};
use crate::watch::{Quiet, Watch, Watcher};
use crate::wave::{Hardware, Mode, State, Wave, Which, scalar};

/// How often each wave of a workgroup has its turn before other workgroups have theirs.
const ROUNDS: u32 = 16;

/// Wave instructions that a dispatch may run, and those that it has.
#[derive(Debug)]
pub(crate) struct Budget {
    instructions: u64,
    executed: AtomicU64,
}

impl Budget {
    pub(crate) fn new(instructions: u64) -> Self {
        Self { instructions, executed: AtomicU64::new(0) }
    }

    pub(crate) fn executed(&self) -> u64 {
        self.executed.load(Relaxed)
    }

    fn left(&self) -> u64 {
        self.instructions.saturating_sub(self.executed())
    }

    fn count(&self, instructions: u64) {
        self.executed.fetch_add(instructions, Relaxed);
    }
}

/// Whether a workgroup is to have another turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Ended,
    Goes,
    /// All of its waves sleep, or wait for those that do.
    Sleeps,
    /// All of its waves wait for other workgroups of the cluster.
    Waits,
    /// All of its waves wait for all workgroups.
    WaitsForGrid,
}

/// Who sees what a workgroup does.
pub(crate) struct Eyes<'e, 'd> {
    pub(crate) watcher: &'e mut Option<Watcher<'d>>,
    pub(crate) observer: &'e mut Option<Observer<'d>>,
}

/// Waves that share LDS and a barrier.
pub(crate) struct Workgroup<'d, const C: usize> {
    dispatch: &'d Dispatch<'d>,
    number: [u32; 3],
    pub(crate) waves: Vec<Wave<C>>,
    /// What its waves share; taken while it has its turn.
    parked: Option<Parked>,
    /// The order in which waves have their turns.
    order: Vec<usize>,
    random: u64,
}

impl Eyes<'_, '_> {
    /// Shows an error that ends the program.
    fn see(&mut self, error: Error) -> Error {
        if let Some(observer) = self.observer {
            observer.fail(&error);
        }
        error
    }
}

impl<'d, const C: usize> Workgroup<'d, C> {
    /// A workgroup at its entry; `spare` are waves whose memory can be used again.
    pub(crate) fn new(
        dispatch: &'d Dispatch<'d>,
        number: [u32; 3],
        cluster: Option<Member>,
        spare: &mut Vec<Wave<C>>,
    ) -> Self {
        let items: u32 = items(dispatch, number).iter().product();
        let count = items.div_ceil(Wave::<C>::LANES as u32);
        let lds_words = dispatch.lds_bytes.div_ceil(4);
        let mut waves = Vec::with_capacity(count as usize);
        for wave in 0..count {
            waves.push(enter(dispatch, number, wave, items, spare.pop()));
        }
        let barriers = Barriers::new(count, named_barriers(dispatch)).in_cluster(cluster);
        let numerics = dispatch.code.target.numerics();
        let parked = Some(Parked::new(lds_words as usize, barriers, numerics));
        let mixed = number.iter().fold(dispatch.limits.seed, |all, it| {
            all.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(u64::from(*it))
        });
        let order = (0..waves.len()).collect();
        Self { dispatch, number, waves, parked, order, random: mixed }
    }

    /// LDS, between turns.
    #[cfg(test)]
    pub(crate) fn lds_mut(&mut self) -> &mut [u32] {
        self.parked.as_mut().map_or(&mut [], |it| &mut it.lds)
    }

    pub(crate) fn number(&self) -> [u32; 3] {
        self.number
    }

    /// Runs the waves in rounds, until all have ended or it is the turn of another workgroup.
    pub(crate) fn turn(
        &mut self,
        program: &mut Program<C>,
        view: &View,
        run: &Budget,
        errata: &mut Met,
        eyes: Eyes<'_, '_>,
    ) -> Result<Progress> {
        let Some(parked) = self.parked.take() else { return Ok(Progress::Ended) };
        let mut context = Context::new(view, &self.dispatch.device.grid, parked);
        let progress = self.rounds(&mut context, program, run, eyes);
        let (parked, mut met) = context.park();
        errata.take(&mut met);
        self.parked = Some(parked);
        progress
    }

    fn rounds(
        &mut self,
        context: &mut Context<'_>,
        program: &mut Program<C>,
        run: &Budget,
        mut eyes: Eyes<'_, '_>,
    ) -> Result<Progress> {
        for _ in 0..ROUNDS {
            if self.dispatch.limits.seed != 0 {
                self.shuffle();
            }
            let has_run = self.round(context, program, run, &mut eyes)?;
            if self.waves.iter().all(|wave| wave.state == State::Ended) {
                return Ok(Progress::Ended);
            }
            // Who sleeps polls for what others do: it is their turn.
            let sleeps = |wave: &Wave<C>| wave.state != State::Running || wave.yields;
            if has_run && self.waves.iter().all(sleeps) {
                return Ok(Progress::Sleeps);
            }
            if !has_run && self.waits_for(|it| matches!(it, Which::Grid(_))) {
                return Ok(Progress::WaitsForGrid);
            }
            if !has_run {
                return if self.waits_for(|it| it == Which::Cluster) {
                    Ok(Progress::Waits)
                } else {
                    Err(eyes.see(self.stuck(program)))
                };
            }
        }
        Ok(Progress::Goes)
    }

    /// Runs each wave that can run for its quantum; says whether one could.
    fn round(
        &mut self,
        context: &mut Context<'_>,
        program: &mut Program<C>,
        run: &Budget,
        eyes: &mut Eyes<'_, '_>,
    ) -> Result<bool> {
        let mut has_run = false;
        for turn in 0..self.order.len() {
            let at = self.order[turn];
            let wave = &mut self.waves[at];
            context.barriers.wakes(wave, context.grid);
            if wave.state != State::Running {
                continue;
            }
            has_run = true;
            let before = wave.executed;
            let budget = self.dispatch.limits.quantum.min(run.left());
            let ran = match (&mut *eyes.watcher, &mut *eyes.observer) {
                (None, None) => run_wave(wave, context, program, budget),
                (_, Some(observer)) => {
                    observer.enter(self.number, at as u32, wave);
                    run_watched(wave, context, program, budget, observer)
                }
                (Some(watcher), None) => {
                    watcher.enter(self.number, at as u32);
                    run_watched(wave, context, program, budget, watcher)
                }
            };
            run.count(wave.executed - before);
            if let Err(stopped) = ran {
                return Err(eyes.see(self.located(at, program, stopped)));
            }
            let has_ended = self.waves.iter().all(|wave| wave.state == State::Ended);
            if run.left() == 0 && !has_ended {
                return Err(self.exhausted(at, program));
            }
        }
        Ok(has_run)
    }

    /// Puts the waves into another order.
    fn shuffle(&mut self) {
        for at in (1..self.order.len()).rev() {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            let other = (self.random % (at as u64 + 1)) as usize;
            self.order.swap(at, other);
        }
    }

    fn exhausted(&self, wave: usize, program: &Program<C>) -> Error {
        let limit = self.dispatch.limits.instructions;
        let detail = format!("the limit of {limit} instructions is reached");
        let error = Error::new(ErrorKind::Limit, detail);
        let (address, lanes) = self.waves.get(wave).map_or((0, 0), |it| (it.pc, it.exec()));
        self.located(wave, program, Stopped { error, address, lanes })
    }

    fn located(&self, wave: usize, program: &Program<C>, stopped: Stopped) -> Error {
        let location = StopLocation {
            kernel: self.dispatch.code.name.clone(),
            address: stopped.address,
            instruction: program.text(stopped.address, &self.dispatch.device.memory),
            workgroup: self.number,
            wave: wave as u32,
            lanes: stopped.lanes,
        };
        let registers = self.waves.get(wave).map(|it| it.registers(program.layout));
        stopped.error.at(location, registers)
    }

    fn waits_for(&self, is_it: impl Fn(Which) -> bool) -> bool {
        let waits = |wave: &Wave<C>| matches!(wave.state, State::Waiting(which) if is_it(which));
        self.waves.iter().any(waits)
    }

    /// Waves that wait for others that have ended.
    pub(crate) fn stuck(&self, program: &Program<C>) -> Error {
        let waits = |wave: &Wave<C>| matches!(wave.state, State::Waiting(_));
        let waiting = self.waves.iter().filter(|it| waits(it)).count();
        let first = self.waves.iter().position(waits).unwrap_or(0);
        let all = self.waves.len();
        let ended = self.waves.iter().filter(|it| it.state == State::Ended).count();
        let who = match ended {
            0 => "not all of them have signalled".to_owned(),
            _ => format!("{ended} others ended without"),
        };
        let detail = format!("{waiting} of {all} waves wait at a barrier that {who}");
        let error = Error::new(ErrorKind::Barrier, detail);
        // What waits has four bytes, and the wave would go on behind it.
        let at = |wave: &Wave<C>| (wave.pc.wrapping_sub(4), wave.exec());
        let (address, lanes) = self.waves.get(first).map_or((0, 0), at);
        self.located(first, program, Stopped { error, address, lanes })
    }
}

/// Why a wave stopped, and at which instruction.
pub(crate) struct Stopped {
    pub(crate) error: Error,
    address: u64,
    lanes: u64,
}

/// Runs a wave until it waits, ends or has used up its budget.
pub(crate) fn run_wave<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    program: &mut Program<C>,
    budget: u64,
) -> Result<(), Stopped> {
    run_watched(wave, context, program, budget, &mut Quiet)
}

/// The same, watched.
#[inline(always)]
fn run_watched<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    program: &mut Program<C>,
    budget: u64,
    watch: &mut impl Watch<C>,
) -> Result<(), Stopped> {
    let limit = wave.executed.saturating_add(budget);
    wave.yields = false;
    let mut linked: Option<u32> = None;
    while wave.executed < limit {
        let number = match linked {
            Some(number) => number,
            None => {
                let state = TranslationState::of(wave);
                let found = program.block(wave.pc, state, &context.memory.memory);
                found.map_err(|error| Stopped { error, address: wave.pc, lanes: 0 })?
            }
        };
        program.pools.fill(program.layout, wave);
        let block = &mut program.blocks[number as usize];
        block.runs += 1;
        wave.executed += block.addresses.len() as u64;
        context.clock += block.addresses.len() as u64;
        wave.stop = false;
        let stopped = watch.run(block, wave, context);
        if let Some(failure) = wave.failure.take() {
            let at = usize::from(stopped.unwrap_or(0));
            let address = block.addresses.get(at).copied().unwrap_or(wave.pc);
            return Err(Stopped { error: failure.error, address, lanes: failure.lanes });
        }
        let (pc, which) = match block.end {
            End::To(address) => (address, 0),
            End::If(condition, taken, next) => match is_true(wave, condition) {
                true => (taken, 0),
                false => (next, 1),
            },
            End::Indirect => (wave.pc, 2),
            End::Stop => return Ok(()),
        };
        wave.pc = pc;
        if wave.state != State::Running || wave.yields {
            return Ok(());
        }
        linked = match which {
            2 => None,
            _ if block.changes_state => None,
            which => match block.next[which] {
                Some(next) => Some(next),
                None => {
                    let state = TranslationState::of(wave);
                    let found = program.block(pc, state, &context.memory.memory);
                    let next = found.map_err(|error| Stopped { error, address: pc, lanes: 0 })?;
                    program.blocks[number as usize].next[which] = Some(next);
                    Some(next)
                }
            },
        };
    }
    Ok(())
}

fn is_true<const C: usize>(wave: &Wave<C>, condition: Condition) -> bool {
    match condition {
        Condition::Scc(wanted) => wave.scc == wanted,
        Condition::VccZero(wanted) => (wave.lane_mask(scalar::VCC) == 0) == wanted,
        Condition::ExecZero(wanted) => (wave.exec() == 0) == wanted,
    }
}

/// Work-items of a workgroup, which at the end of the grid may be fewer.
fn items(dispatch: &Dispatch<'_>, number: [u32; 3]) -> [u32; 3] {
    let sizes = dispatch.launch.workgroup().map(u32::from);
    let mut items = sizes;
    for ((items, grid), number) in items.iter_mut().zip(dispatch.launch.work_items()).zip(number) {
        *items = (*items).min(grid.saturating_sub(number.saturating_mul(*items)));
    }
    items
}

/// A wave as the hardware starts it.
fn enter<const C: usize>(
    dispatch: &Dispatch<'_>,
    workgroup: [u32; 3],
    number: u32,
    items: u32,
    spare: Option<Wave<C>>,
) -> Wave<C> {
    let lanes = Wave::<C>::LANES;
    let mut wave = Wave::new(
        dispatch.code.layout.constants(),
        (dispatch.scratch_bytes as usize).div_ceil(4),
        spare,
    );
    wave.pc = dispatch.code.start;
    wave.mode = mode(dispatch);
    let cluster = u32::from(dispatch.cluster != [1; 3]);
    wave.hardware = Hardware { lds_words: dispatch.lds_bytes.div_ceil(4), cluster };
    let left = items - (number * lanes as u32).min(items);
    let exec = if left >= lanes as u32 { Wave::<C>::ALL } else { (1 << left) - 1 };
    wave.set_pair(scalar::EXEC, exec);
    wave.sync_exec();
    apertures(&mut wave);
    let entry = EntryWave {
        launch: &dispatch.launch,
        workgroup,
        wave: number,
        cluster: dispatch.cluster,
        dispatch_ptr: Some(dispatch.packet_address),
        queue_ptr: Some(dispatch.queue_address),
        kernarg_address: Some(dispatch.kernarg_address),
        kernarg: &dispatch.kernarg,
        dispatch_id: Some(dispatch.dispatch_id),
        private_segment_size: Some(dispatch.scratch_bytes),
    };
    scalars(dispatch, &entry, &mut wave);
    vectors(dispatch, &entry, &mut wave);
    wave
}

/// Named barriers that the descriptor asks for.
fn named_barriers(dispatch: &Dispatch<'_>) -> u32 {
    match dispatch.code.target.generation {
        Generation::Gfx125 => (dispatch.code.descriptor.compute_pgm_rsrc3 >> 14 & 7) * 4,
        _ => 0,
    }
}

/// MODE as the descriptor sets it.
fn mode(dispatch: &Dispatch<'_>) -> Mode {
    let rsrc1 = dispatch.code.descriptor.compute_pgm_rsrc1;
    let is_gfx12 = dispatch.code.target.generation >= Generation::Gfx12;
    let ieee = if is_gfx12 { 1 } else { rsrc1 >> 23 & 1 };
    let clamp = if is_gfx12 { 1 } else { rsrc1 >> 21 & 1 };
    let exceptions = exception::of_descriptor(dispatch.code.descriptor.compute_pgm_rsrc2);
    Mode(rsrc1 >> 12 & 0xff | clamp << 8 | ieee << 9 | exceptions | (rsrc1 >> 26 & 1) << 23)
}

fn apertures<const C: usize>(wave: &mut Wave<C>) {
    let [shared, private] = [SHARED_APERTURE, PRIVATE_APERTURE].map(|it| u64::from(it) << 32);
    wave.set_pair(scalar::SHARED_BASE, shared);
    wave.set_pair(scalar::SHARED_LIMIT, shared | 0xffff_ffff);
    wave.set_pair(scalar::PRIVATE_BASE, private);
    wave.set_pair(scalar::PRIVATE_LIMIT, private | 0xffff_ffff);
    wave.set_pair(scalar::FLAT_SCRATCH_BASE, private);
    wave.set_pair(scalar::FLAT_SCRATCH, SCRATCH_BASE);
}

fn scalars<const C: usize>(dispatch: &Dispatch<'_>, entry: &EntryWave<'_>, wave: &mut Wave<C>) {
    for (register, value) in dispatch.code.entry.scalar_values(entry) {
        let at = match register.file {
            RegisterFile::Sgpr => register.first,
            RegisterFile::Ttmp => scalar::TTMP + register.first,
            _ => continue,
        };
        if let (Some(value), Some(place)) = (value, wave.s.get_mut(usize::from(at))) {
            *place = value;
        }
    }
    for entry in dispatch.code.entry.registers() {
        let at = entry.register.first;
        match entry.holds {
            EntryValue::PrivateSegmentBuffer => {
                // Swizzled by lane, all of it open; each wave has memory of its own there.
                let words = [
                    SCRATCH_BASE as u32,
                    (SCRATCH_BASE >> 32) as u32 | 1 << 31,
                    u32::MAX,
                    0x00ea_4fac,
                ];
                for (offset, word) in (0..).zip(words) {
                    wave.s[usize::from(at + offset)] = word;
                }
            }
            EntryValue::FlatScratchInit => wave.set_pair(at, SCRATCH_BASE),
            EntryValue::PrivateSegmentWaveOffset => wave.s[usize::from(at)] = 0,
            _ => {}
        }
    }
}

fn vectors<const C: usize>(dispatch: &Dispatch<'_>, entry: &EntryWave<'_>, wave: &mut Wave<C>) {
    // Several numbers may share a register, which is zero before.
    for it in dispatch.code.entry.registers() {
        let EntryValue::WorkitemId(axis) = it.holds else { continue };
        let Some(vector) = wave.v.get_mut(usize::from(it.register.first)) else { continue };
        let shift = it.bits.map_or(0, |bits| bits.0);
        for lane in 0..Wave::<C>::LANES {
            let Some(ids) = dispatch.code.entry.work_item(entry, lane as u32) else { continue };
            let id = ids.get(usize::from(axis)).copied().unwrap_or_default();
            vector.set_lane(lane, vector.lane(lane) | id << shift);
        }
    }
}
