//! What of an instruction a sanitizer asks for each time that it runs, worked out once for each block.

use std::ops::Range;

use hsaco_isa::effects::hazard::Kinds;
use hsaco_isa::effects::{Access, Count, Counter, Effects, Flow, Memory, Space};
use hsaco_isa::model::{Format, Half, Operand, OperandValue, Register, VgprMsb};
use hsaco_isa::target::Generation;
use hsaco_isa::{Decoder, Inst};

use super::init::Spread;
use super::wait::Class;
use crate::generated::Op;
use crate::semantics::{Semantics, Type};
use crate::step::Context;
use crate::translate::{self, Block, Target};
use crate::watch::{Place, crosses_lanes, locate};
use crate::wave::{Layout, Wave, scalar};

/// An instruction of a block.
pub(super) struct Site {
    pub(super) address: u64,
    pub(super) inst: Inst,
    /// Upper bits of register numbers.
    pub(super) msb: VgprMsb,
    /// What it is to hazards.
    pub(super) kinds: Kinds,
    /// Its steps in the block.
    pub(super) steps: Range<usize>,
    pub(super) role: Role,
    pub(super) reads: Box<[Span]>,
    pub(super) writes: Box<[Span]>,
    /// Whether vector registers are used in enabled lanes only.
    pub(super) is_masked: bool,
    pub(super) waits: Vec<(Counter, u8)>,
    pub(super) waits_for_idle: bool,
    /// What it adds to counters.
    pub(super) counts: Vec<Count>,
    /// With which memory operations it is ordered.
    pub(super) class: Option<Class>,
    /// Of the reads, those that make addresses, and those that are stored.
    pub(super) addresses: Box<[Span]>,
    pub(super) data: Box<[Span]>,
    pub(super) reads_scc: bool,
    pub(super) writes_scc: bool,
    /// Whether lanes get what was in others.
    pub(super) crosses_lanes: bool,
    /// The one lane of a vector register that it reads or writes.
    pub(super) lane: Option<Lane>,
    /// Whether M0 moves a register's number.
    pub(super) is_indexed: bool,
    /// Whether running it twice with the same operands does the same as running it once.
    pub(super) is_repeatable: bool,
    pub(super) spread: Spread,
    pub(super) flow: Flow,
    /// Whether other waves see it at once: an atomic load or store has such a scope.
    pub(super) is_coherent: bool,
}

/// Which lane an instruction is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    Number(u32),
    /// A scalar register says it.
    In(usize),
}

impl Lane {
    /// The lane of `v_readlane` and `v_writelane`.
    fn of(mnemonic: &str, operands: &[Operand], layout: Layout) -> Option<Self> {
        if !matches!(mnemonic, "v_readlane_b32" | "v_writelane_b32") {
            return None;
        }
        match operands.iter().find(|it| it.name == "src1")?.value {
            OperandValue::Integer(number) => Some(Self::Number(number.cast_unsigned().into())),
            OperandValue::Literal32(number) => Some(Self::Number(number)),
            OperandValue::Register(register) => {
                Some(Self::In(Span::of(&register, layout)?.registers().start))
            }
            _ => None,
        }
    }

    /// As a mask.
    #[inline]
    pub(super) fn mask<const C: usize>(self, wave: &Wave<C>) -> u64 {
        let number = match self {
            Self::Number(number) => number,
            Self::In(register) => wave.s.get(register).copied().unwrap_or(0),
        };
        1 << (number as usize % (C * 8))
    }
}

/// Registers that follow each other, of a wave's vector or scalar file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) is_vector: bool,
    first: u16,
    count: u16,
    /// Which bytes of each are meant, a bit each.
    pub(super) bytes: u8,
}

impl Span {
    pub(super) fn of(register: &Register, layout: Layout) -> Option<Self> {
        let count = u16::from(register.count.max(1));
        let bytes = match register.half {
            None => 15,
            Some(Half::Low) => 3,
            Some(Half::High) => 12,
        };
        let span = |is_vector, first: usize| Self { is_vector, first: first as u16, count, bytes };
        match locate(register, layout)? {
            Place::Vector(first) => Some(span(true, first)),
            Place::Scalar(first) => Some(span(false, first)),
            Place::Scc | Place::Mode => None,
        }
    }

    pub(super) fn registers(self) -> Range<usize> {
        usize::from(self.first)..usize::from(self.first + self.count)
    }

    pub(super) fn overlaps(self, other: Self) -> bool {
        self.is_vector == other.is_vector
            && self.bytes & other.bytes != 0
            && self.first < other.first + other.count
            && other.first < self.first + self.count
    }

    /// What instructions call it.
    pub(super) fn name(self, layout: Layout) -> String {
        let (file, first) = match (self.is_vector, self.first) {
            (true, first) if first >= layout.vgprs => ("a", first - layout.vgprs),
            (true, first) => ("v", first),
            (false, scalar::VCC) => return "vcc".to_owned(),
            (false, scalar::M0) => return "m0".to_owned(),
            (false, scalar::EXEC) => return "exec".to_owned(),
            (false, first) if (scalar::TTMP..scalar::M0).contains(&first) => {
                ("ttmp", first - scalar::TTMP)
            }
            (false, first) => ("s", first),
        };
        match self.count {
            1 => format!("{file}{first}"),
            count => format!("{file}[{first}:{}]", first + count - 1),
        }
    }
}

/// What an instruction is to a sanitizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Registers only.
    Plain,
    /// Each lane accesses memory: one step makes addresses, the last one goes there.
    Vector(VectorAccess),
    /// The wave accesses memory.
    Scalar(Access),
    Barrier(BarrierUse),
}

/// An access of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VectorAccess {
    pub(super) access: Access,
    /// Bytes at each address; none where a format, a mask or a descriptor says it.
    pub(super) bytes: Option<u8>,
    /// Whether there are two addresses, whose offsets the step has.
    pub(super) is_double: bool,
    /// What it does to LDS on the other side.
    pub(super) lds: Option<Access>,
    /// Whether addresses say which memory it is.
    pub(super) is_flat: bool,
    pub(super) moves: Moves,
}

/// Where data go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moves {
    Load,
    Store,
    /// Both.
    Atomic,
    /// From memory to LDS.
    ToLds,
    /// Through formats, blocks or exchanges of lanes.
    Other,
}

impl Moves {
    fn of(op: Op, access: Access) -> Self {
        match op {
            Op::Load | Op::LoadAddtid | Op::Load2 | Op::Load2st64 => Self::Load,
            Op::Store | Op::StoreAddtid | Op::Store2 | Op::Store2st64 => Self::Store,
            Op::LoadToLds | Op::LoadToLdsAsync => Self::ToLds,
            Op::Swap2 | Op::Swap2st64 => Self::Atomic,
            Op::DsCondxchg32RtnB64
            | Op::DsAtomicBarrierArriveRtnB64
            | Op::DsAtomicAsyncBarrierArriveB64 => Self::Other,
            _ if access == Access::Atomic => Self::Atomic,
            _ => Self::Other,
        }
    }
}

/// How an instruction takes part in barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BarrierUse {
    Meet,
    Signal,
    Wait,
    Init,
    Join,
    Leave,
}

impl Role {
    fn of(semantics: &Semantics, memory: Option<Memory>, steps: usize) -> Self {
        let barrier = match semantics.op {
            Op::SBarrier => Some(BarrierUse::Meet),
            Op::SBarrierSignal | Op::SBarrierSignalIsfirst => Some(BarrierUse::Signal),
            Op::SBarrierWait => Some(BarrierUse::Wait),
            Op::SBarrierInit => Some(BarrierUse::Init),
            Op::SBarrierJoin => Some(BarrierUse::Join),
            Op::SBarrierLeave => Some(BarrierUse::Leave),
            _ => None,
        };
        if let Some(barrier) = barrier {
            return Self::Barrier(barrier);
        }
        match memory {
            Some(memory) if memory.space == Space::Scalar && is_access(semantics.op) => {
                Self::Scalar(memory.access)
            }
            Some(memory) if steps > 1 => Self::Vector(VectorAccess::new(semantics, memory)),
            _ => Self::Plain,
        }
    }
}

/// Whether a scalar memory instruction goes to memory, and is no cache control, prefetch or clock.
fn is_access(op: Op) -> bool {
    use Op::{Cache, Nop, SMemtime, SNop};
    !matches!(op, Cache | Nop | SMemtime | SNop)
}

impl VectorAccess {
    fn new(semantics: &Semantics, memory: Memory) -> Self {
        let is_double = matches!(
            semantics.op,
            Op::Load2 | Op::Load2st64 | Op::Store2 | Op::Store2st64 | Op::Swap2 | Op::Swap2st64
        );
        let ty = semantics.inputs.first().copied().unwrap_or(Type::B32);
        let bytes = match semantics.op {
            Op::LoadFormat | Op::StoreFormat | Op::LoadBlock | Op::StoreBlock => None,
            _ => Some(crate::exec::memory::bytes(ty)),
        };
        let is_flat = memory.space == Space::Flat;
        let moves = match memory.lds {
            Some(Access::Store) => Moves::ToLds,
            _ => Moves::of(semantics.op, memory.access),
        };
        Self { access: memory.access, bytes, is_double, lds: memory.lds, is_flat, moves }
    }
}

/// With which memory operations an access is ordered.
fn class(memory: Memory) -> Class {
    match (memory.space, memory.access) {
        (Space::Scalar, _) => Class::Scalar,
        (Space::Lds, _) => Class::Lds,
        (_, Access::Load) => Class::Load,
        _ => Class::Store,
    }
}

/// Whether the cache policy makes other waves see an access.
fn is_coherent(operands: &[Operand], target: Target) -> bool {
    let policy = operands.iter().find(|it| it.name == "cpol").map(|it| it.value);
    let Some(OperandValue::Number(policy)) = policy else { return false };
    let bits = match target.generation {
        // SCOPE.
        generation if generation >= Generation::Gfx12 => 0x18,
        // SC0 and SC1.
        Generation::Gfx940 => 0x11,
        // GLC.
        _ => 1,
    };
    policy & bits != 0
}

/// Whether it only computes registers from registers.
fn is_repeatable(inst: &Inst, flow: Flow) -> bool {
    use Format::{Sop1, Sop2, Sopc, Sopk};
    const STATE: [&str; 8] = [
        "s_setreg",
        "s_getreg",
        "s_sendmsg",
        "s_set_",
        "s_barrier",
        "s_get_barrier",
        "s_sleep",
        "s_alloc",
    ];
    let mnemonic = inst.mnemonic();
    let is_scalar = matches!(inst.format(), Sop1 | Sop2 | Sopc | Sopk);
    let exchanges = mnemonic.contains("permute") || mnemonic.contains("swizzle");
    flow == Flow::Next
        && (is_scalar || inst.is_vector_alu() || exchanges)
        && !STATE.iter().any(|it| mnemonic.starts_with(it))
}

/// Makes the sites of blocks.
pub(super) struct Planner<'p> {
    pub(super) decoder: &'p Decoder,
    pub(super) layout: Layout,
    pub(super) target: Target,
}

impl Planner<'_> {
    /// The instructions of a block.
    pub(super) fn plan<const C: usize>(
        &self,
        block: &Block<C>,
        msb: u16,
        context: &Context<'_>,
    ) -> Vec<Site> {
        let msb = VgprMsb::new(msb.to_le_bytes()[0]);
        let mut sites = Vec::with_capacity(block.addresses.len());
        let mut start = 0;
        for ((at, address), semantics) in (0..).zip(&block.addresses).zip(&block.semantics) {
            let count = block.steps.iter().skip(start).take_while(|it| it.at == at).count();
            let steps = start..start + count;
            start += count;
            let decoded = translate::decode(self.decoder, *address, &context.memory.memory);
            let Some(inst) = decoded else { continue };
            sites.push(self.site(*address, inst, semantics, steps, msb));
        }
        sites
    }

    fn site(
        &self,
        address: u64,
        inst: Inst,
        semantics: &'static Semantics,
        steps: Range<usize>,
        msb: VgprMsb,
    ) -> Site {
        let effects = self.decoder.effects(&inst, msb);
        let memory = effects.memory();
        let operands: Vec<Operand> = self.decoder.operands_in(&inst, msb).collect();
        let role = Role::of(semantics, memory, steps.len());
        let is_memory = matches!(role, Role::Vector(_) | Role::Scalar(_));
        let (reads, writes) = self.spans(&effects);
        let (addresses, mut data) = self.operand_spans(&operands);
        let mut reads = reads;
        if let Role::Vector(VectorAccess {
            moves: Moves::Store, bytes: Some(bytes @ 1..4), ..
        }) = role
        {
            // A part of a register is stored, whatever is in the rest.
            let is_high =
                inst.mnemonic().contains("d16_hi") || data.iter().any(|it| it.bytes == 12);
            let part = (15_u8 >> (4 - bytes)) << if is_high { 2 } else { 0 };
            for span in reads
                .iter_mut()
                .filter(|it| data.iter().any(|data| data.first == it.first && it.is_vector))
            {
                span.bytes = part;
            }
            data.iter_mut().for_each(|span| span.bytes = part);
        }
        let is_scc = |it: Register| matches!(locate(&it, self.layout), Some(Place::Scc));
        let flow = effects.flow();
        Site {
            addresses: if is_memory { addresses } else { Box::default() },
            data: if is_memory { data } else { Box::default() },
            reads_scc: effects.reads().any(is_scc),
            writes_scc: effects.writes().any(is_scc),
            crosses_lanes: crosses_lanes(&inst),
            lane: Lane::of(inst.mnemonic(), &operands, self.layout),
            is_indexed: effects.is_indexed(),
            is_repeatable: is_repeatable(&inst, flow),
            spread: Spread::of(inst.mnemonic()),
            flow,
            address,
            steps,
            role,
            reads,
            writes,
            is_masked: effects.is_masked(),
            waits: effects.waits().collect(),
            waits_for_idle: effects.waits_for_idle(),
            // Whether translations are complete shows after a page fault only.
            counts: effects
                .counts()
                .iter()
                .filter(|it| it.counter != Counter::Xcnt)
                .copied()
                .collect(),
            class: memory.filter(|_| is_memory).map(class),
            is_coherent: is_coherent(&operands, self.target),
            kinds: Kinds::of(&effects),
            msb,
            inst,
        }
    }

    /// Registers that make addresses, and those whose content is stored.
    fn operand_spans(&self, operands: &[Operand]) -> (Box<[Span]>, Box<[Span]>) {
        const DATA: [&str; 6] = ["vdata", "vdata_in", "data0", "data1", "sdata", "vdst_in"];
        let (mut addresses, mut data) = (Vec::new(), Vec::new());
        for operand in operands.iter().filter(|it| !it.is_output) {
            let OperandValue::Register(register) = operand.value else { continue };
            let list = if DATA.contains(&operand.name) { &mut data } else { &mut addresses };
            list.extend(Span::of(&register, self.layout));
        }
        (addresses.into(), data.into())
    }

    fn spans(&self, effects: &Effects<'_>) -> (Box<[Span]>, Box<[Span]>) {
        let of = |it: Register| Span::of(&it, self.layout);
        (effects.reads().filter_map(of).collect(), effects.writes().filter_map(of).collect())
    }
}
