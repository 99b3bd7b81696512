//! Watching a program: each instruction by itself, for traces, profiles, and where approximate values go.
//!
//! Runs that nothing watches run whole blocks and pay nothing for it.
#![allow(clippy::indexing_slicing, reason = "registers are checked before they are looked up")]

mod flow;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use hsaco_isa::Decoder;
use hsaco_isa::effects::{Flow, Memory, Space as MemorySpace};
use hsaco_isa::model::{Extension, OperandValue, Register, RegisterFile, Special, VgprMsb};
use hsaco_isa::target::Generation;

pub use self::flow::Reached;
pub(crate) use self::flow::{Reaching, Tainted};
use crate::exec::address::{PRIVATE_APERTURE, SHARED_APERTURE};
use crate::exec::smem;
use crate::semantics::Fidelity;
use crate::step::{self, Context, Step};
use crate::translate::{Block, Target};
use crate::wave::{Layout, Space, Wave, lanes, scalar};

/// Sees instructions as they run.
pub trait Tracer: Sync {
    /// One has run.
    fn instruction(&self, executed: &Executed<'_>);
}

/// An instruction that has run, with what it read and wrote.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Executed<'t> {
    /// The workgroup.
    pub workgroup: [u32; 3],
    /// The wave's number in the workgroup.
    pub wave: u32,
    /// Where the instruction is.
    pub address: u64,
    /// Its text.
    pub text: &'t str,
    /// The lanes that were enabled.
    pub exec: u64,
    /// What registers held before.
    pub reads: &'t [RegisterValue],
    /// What registers hold after.
    pub writes: &'t [RegisterValue],
    /// Addresses that were accessed, by lane; a scalar access has one, without a lane.
    pub memory: &'t [(Option<u8>, u64)],
}

/// What registers hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterValue {
    /// The registers.
    pub register: Register,
    /// For each of them, the value in every lane; scalars have one.
    pub values: Vec<Vec<u32>>,
}

/// Looks at waves that come to some addresses.
pub trait Observer: Sync {
    /// A wave is about to execute the instruction at one of them.
    fn visit(&self, visit: &Arrival<'_>);
}

/// A wave that is about to execute an instruction.
#[non_exhaustive]
pub struct Arrival<'v> {
    /// The workgroup.
    pub workgroup: [u32; 3],
    /// The wave's number in the workgroup.
    pub wave: u32,
    /// Where the instruction is.
    pub address: u64,
    /// Upper bits of vector register numbers, as `s_set_vgpr_msb` has set them.
    pub msb: u16,
    registers: &'v dyn Fn(&Register) -> Option<RegisterValue>,
}

impl Arrival<'_> {
    /// What registers hold; none where the emulator has no such register.
    #[must_use]
    pub fn value(&self, register: &Register) -> Option<RegisterValue> {
        (self.registers)(register)
    }
}

impl fmt::Debug for Arrival<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arrival")
            .field("workgroup", &self.workgroup)
            .field("wave", &self.wave)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// Which instructions a tracer sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceFilter {
    /// Of one workgroup only.
    pub workgroup: Option<[u32; 3]>,
    /// Of waves with this number only.
    pub wave: Option<u32>,
    /// At these addresses only.
    pub addresses: Option<Range<u64>>,
    /// Those that read or write this register only.
    pub register: Option<Register>,
}

impl TraceFilter {
    fn takes_wave(&self, workgroup: [u32; 3], wave: u32) -> bool {
        self.workgroup.is_none_or(|it| it == workgroup) && self.wave.is_none_or(|it| it == wave)
    }

    fn takes(&self, address: u64, seen: &Seen) -> bool {
        let is_it =
            |wanted: &Register| seen.reads.iter().chain(&seen.writes).any(|it| it.overlaps(wanted));
        self.addresses.as_ref().is_none_or(|it| it.contains(&address))
            && self.register.as_ref().is_none_or(is_it)
    }
}

/// How often an instruction ran, and how well it used the device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstructionProfile {
    /// Its text.
    pub text: String,
    /// How often waves executed it.
    pub executions: u64,
    /// Lanes that were enabled, summed up.
    pub lanes: u64,
    /// Cache lines of global memory that it touched, each counted once for each execution.
    pub cache_lines: u64,
}

/// What is to be watched in a dispatch.
#[derive(Clone, Copy, Default)]
pub(crate) struct Watching<'d> {
    pub(crate) tracer: Option<(&'d dyn Tracer, &'d TraceFilter)>,
    pub(crate) observer: Option<(&'d dyn Observer, &'d HashSet<u64>)>,
    pub(crate) profiles: bool,
    pub(crate) follows: bool,
}

impl Watching<'_> {
    pub(crate) fn is_needed(&self) -> bool {
        self.tracer.is_some() || self.observer.is_some() || self.profiles || self.follows
    }
}

impl fmt::Debug for Watching<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watching")
            .field("traces", &self.tracer.is_some())
            .field("observes", &self.observer.is_some())
            .field("profiles", &self.profiles)
            .field("follows", &self.follows)
            .finish_non_exhaustive()
    }
}

/// How a block is run.
pub(crate) trait Watch<const C: usize> {
    fn run(
        &mut self,
        block: &Block<C>,
        wave: &mut Wave<C>,
        context: &mut Context<'_>,
    ) -> Option<u16>;
}

/// Nothing watches.
pub(crate) struct Quiet;

impl<const C: usize> Watch<C> for Quiet {
    #[inline(always)]
    fn run(
        &mut self,
        block: &Block<C>,
        wave: &mut Wave<C>,
        context: &mut Context<'_>,
    ) -> Option<u16> {
        step::run(&block.steps, wave, context)
    }
}

/// An instruction that has been reached.
struct Seen {
    text: String,
    fidelity: Fidelity,
    reads: Vec<Register>,
    writes: Vec<Register>,
    /// Those of the reads that make addresses.
    addresses: Vec<Register>,
    memory: Option<Memory>,
    flow: Flow,
    /// Whether lanes get what was in others.
    crosses_lanes: bool,
}

/// Watches what one thread runs.
pub(crate) struct Watcher<'d> {
    watching: Watching<'d>,
    decoder: Decoder,
    layout: Layout,
    /// The target's in the table of fidelities.
    column: usize,
    line_bytes: u64,
    seen: HashMap<(u64, u16), Rc<Seen>>,
    profile: BTreeMap<u64, InstructionProfile>,
    reaching: Reaching<'d>,
    workgroup: [u32; 3],
    wave: u32,
    traces_wave: bool,
}

/// What an instruction was before it ran.
struct Before {
    exec: u64,
    reads: Vec<RegisterValue>,
    /// The address of a scalar access.
    scalar: Option<u64>,
}

impl<'d> Watcher<'d> {
    pub(crate) fn new(
        watching: Watching<'d>,
        decoder: Decoder,
        layout: Layout,
        target: Target,
        tainted: &'d Tainted,
    ) -> Self {
        Self {
            watching,
            decoder,
            layout,
            column: target.column(),
            line_bytes: if target.generation <= Generation::Gfx90a { 64 } else { 128 },
            seen: HashMap::new(),
            profile: BTreeMap::new(),
            reaching: Reaching::new(tainted),
            workgroup: [0; 3],
            wave: 0,
            traces_wave: false,
        }
    }

    /// Says whose instructions come next.
    pub(crate) fn enter(&mut self, workgroup: [u32; 3], wave: u32) {
        (self.workgroup, self.wave) = (workgroup, wave);
        let takes = |(_, filter): (_, &TraceFilter)| filter.takes_wave(workgroup, wave);
        self.traces_wave = self.watching.tracer.is_some_and(takes);
    }

    pub(crate) fn finish(self) -> (BTreeMap<u64, InstructionProfile>, Reached) {
        (self.profile, self.reaching.reached())
    }

    fn look(
        &mut self,
        address: u64,
        msb: u16,
        fidelity: Fidelity,
        context: &Context<'_>,
    ) -> Rc<Seen> {
        if let Some(seen) = self.seen.get(&(address, msb)) {
            return Rc::clone(seen);
        }
        let seen = Rc::new(self.decode(address, msb, fidelity, context));
        self.seen.insert((address, msb), Rc::clone(&seen));
        seen
    }

    fn decode(&self, address: u64, msb: u16, fidelity: Fidelity, context: &Context<'_>) -> Seen {
        let mut seen = Seen {
            text: String::new(),
            fidelity,
            reads: Vec::new(),
            writes: Vec::new(),
            addresses: Vec::new(),
            memory: None,
            flow: Flow::Next,
            crosses_lanes: false,
        };
        let Some(inst) = crate::translate::decode(&self.decoder, address, &context.memory.memory)
        else {
            return seen;
        };
        let msb = VgprMsb::new(msb.to_le_bytes()[0]);
        let effects = self.decoder.effects(&inst, msb);
        seen.text = self.decoder.text(&inst);
        seen.reads = effects.reads().collect();
        seen.writes = effects.writes().collect();
        seen.memory = effects.memory();
        seen.flow = effects.flow();
        seen.crosses_lanes = crosses_lanes(&inst);
        const DATA: [&str; 6] = ["vdata", "vdata_in", "data0", "data1", "sdata", "vdst_in"];
        for operand in self.decoder.operands_in(&inst, msb) {
            if let OperandValue::Register(register) = operand.value
                && !operand.is_output
                && !DATA.contains(&operand.name)
            {
                seen.addresses.push(register);
            }
        }
        seen
    }

    fn observe<const C: usize>(&self, address: u64, wave: &Wave<C>) {
        let Some((observer, addresses)) = self.watching.observer else { return };
        if addresses.contains(&address) {
            observer.visit(&Arrival {
                workgroup: self.workgroup,
                wave: self.wave,
                address,
                msb: wave.msb,
                registers: &|register| self.value(register, wave),
            });
        }
    }

    fn before<const C: usize>(
        &self,
        seen: &Seen,
        address: u64,
        steps: &[Step<C>],
        wave: &Wave<C>,
    ) -> Before {
        let is_scalar = seen.memory.is_some_and(|it| it.space == MemorySpace::Scalar);
        let scalar = steps.last().filter(|_| is_scalar);
        let reads = match self.traces(address, seen) {
            true => seen.reads.iter().filter_map(|it| self.value(it, wave)).collect(),
            false => Vec::new(),
        };
        let scalar = scalar.map(|step| smem::place(wave, step));
        Before { exec: wave.exec(), reads, scalar }
    }

    fn traces(&self, address: u64, seen: &Seen) -> bool {
        self.traces_wave && self.watching.tracer.is_some_and(|it| it.1.takes(address, seen))
    }

    fn after<const C: usize>(
        &mut self,
        seen: &Seen,
        address: u64,
        before: &Before,
        wave: &Wave<C>,
    ) {
        let memory = accessed(seen, before, wave);
        if self.watching.profiles {
            let lines = self.cache_lines(seen, &memory, wave);
            let entry = self.profile.entry(address).or_insert_with(|| InstructionProfile {
                text: seen.text.clone(),
                ..InstructionProfile::default()
            });
            entry.executions += 1;
            entry.lanes += u64::from(before.exec.count_ones());
            entry.cache_lines += lines;
        }
        if self.watching.follows {
            let place = (self.workgroup, self.wave);
            self.reaching.follow(place, seen, self.layout, before.exec, &memory, wave);
        }
        if let Some((tracer, _)) = self.watching.tracer
            && self.traces(address, seen)
        {
            let writes: Vec<_> = seen.writes.iter().filter_map(|it| self.value(it, wave)).collect();
            tracer.instruction(&Executed {
                workgroup: self.workgroup,
                wave: self.wave,
                address,
                text: &seen.text,
                exec: before.exec,
                reads: &before.reads,
                writes: &writes,
                memory: &memory,
            });
        }
    }

    /// How many lines of global memory an access touched.
    fn cache_lines<const C: usize>(
        &self,
        seen: &Seen,
        memory: &[(Option<u8>, u64)],
        wave: &Wave<C>,
    ) -> u64 {
        let Some(access) = seen.memory else { return 0 };
        let is_global = |address: u64| match (access.space, wave.space) {
            (MemorySpace::Scalar, _) | (_, Space::Global) => true,
            (_, Space::Flat) => {
                ![SHARED_APERTURE, PRIVATE_APERTURE].map(u64::from).contains(&(address >> 32))
            }
            _ => false,
        };
        let bytes = u64::from(access.bytes.unwrap_or(4)).max(1);
        let of = |address: u64| address / self.line_bytes..=(address + bytes - 1) / self.line_bytes;
        let all = memory.iter().filter(|it| is_global(it.1));
        all.flat_map(|it| of(it.1)).collect::<BTreeSet<_>>().len() as u64
    }

    fn value<const C: usize>(&self, register: &Register, wave: &Wave<C>) -> Option<RegisterValue> {
        let count = usize::from(register.count.max(1));
        let values = match locate(register, self.layout)? {
            Place::Vector(first) => wave
                .v
                .get(first..first + count)?
                .iter()
                .map(|it| (0..Wave::<C>::LANES).map(|lane| it.lane(lane)).collect())
                .collect(),
            Place::Scalar(first) => {
                wave.s.get(first..first + count)?.iter().map(|it| vec![*it]).collect()
            }
            Place::Scc => vec![vec![u32::from(wave.scc)]],
            Place::Mode => vec![vec![wave.mode.0]],
        };
        Some(RegisterValue { register: *register, values })
    }
}

impl<const C: usize> Watch<C> for Watcher<'_> {
    fn run(
        &mut self,
        block: &Block<C>,
        wave: &mut Wave<C>,
        context: &mut Context<'_>,
    ) -> Option<u16> {
        let mut steps = &block.steps[..];
        for ((at, address), semantics) in (0..).zip(&block.addresses).zip(&block.semantics) {
            let count = steps.iter().take_while(|it| it.at == at).count();
            let (own, rest) = steps.split_at(count);
            steps = rest;
            let seen = self.look(*address, wave.msb, semantics.fidelity_on(self.column), context);
            self.observe(*address, wave);
            let before = self.before(&seen, *address, own, wave);
            let stopped = step::run(own, wave, context);
            self.after(&seen, *address, &before, wave);
            if stopped.is_some() {
                return stopped;
            }
        }
        None
    }
}

/// Whether lanes get what was in others.
pub(crate) fn crosses_lanes(inst: &hsaco_isa::Inst) -> bool {
    const NAMES: [&str; 8] =
        ["readlane", "readfirstlane", "permlane", "permute", "swizzle", "mfma", "wmma", "swmmac"];
    let mnemonic = inst.mnemonic();
    matches!(inst.extension(), Some(Extension::Dpp16 | Extension::Dpp8))
        || NAMES.iter().any(|it| mnemonic.contains(it))
}

/// The addresses that an instruction accessed.
fn accessed<const C: usize>(
    seen: &Seen,
    before: &Before,
    wave: &Wave<C>,
) -> Vec<(Option<u8>, u64)> {
    if let Some(address) = before.scalar {
        return vec![(None, address)];
    }
    if seen.memory.is_none() {
        return Vec::new();
    }
    let of = |lane: usize| (u8::try_from(lane).ok(), wave.addresses[lane]);
    lanes(before.exec & wave.valid).map(of).collect()
}

/// Where a register is in a wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Vector(usize),
    Scalar(usize),
    Scc,
    Mode,
}

pub(crate) fn locate(register: &Register, layout: Layout) -> Option<Place> {
    let at = |first: u16| Some(Place::Scalar(usize::from(first)));
    match register.file {
        RegisterFile::Vgpr => Some(Place::Vector(register.first.into())),
        RegisterFile::Agpr => {
            Some(Place::Vector(usize::from(layout.vgprs) + usize::from(register.first)))
        }
        RegisterFile::Sgpr => at(register.first),
        RegisterFile::Ttmp => at(scalar::TTMP + register.first),
        RegisterFile::Special(special) => match special {
            Special::Vcc | Special::VccLo => at(scalar::VCC),
            Special::VccHi => at(scalar::VCC + 1),
            Special::Exec | Special::ExecLo => at(scalar::EXEC),
            Special::ExecHi => at(scalar::EXEC + 1),
            Special::M0 => at(scalar::M0),
            Special::FlatScratch | Special::FlatScratchLo => at(scalar::FLAT_SCRATCH),
            Special::FlatScratchHi => at(scalar::FLAT_SCRATCH + 1),
            Special::Scc => Some(Place::Scc),
            Special::Mode => Some(Place::Mode),
            _ => None,
        },
    }
}
