//! Barriers that are missing: accesses of LDS by two waves that nothing separates, and halves of barriers without the other.
//!
//! Addresses are known as far as they follow from the number of the work-item ([`WorkItems`]). Where they do not, nothing is
//! told: what is found are two instructions of which it is certain that two waves access the same byte by them, if there is
//! a way from one to the other on which they meet no barrier.

use std::collections::BTreeSet;
use std::ops::Range;

use hsaco_isa::effects::{Access, Flow, Memory, Space};
use hsaco_isa::model::{OperandValue, VgprMsb};
use hsaco_isa::{Decoder, Inst};

use crate::cfg::{BlockId, Cfg};
use crate::state::States;
use crate::stream::Stream;
use crate::work_item::{Known, WorkItems, Workgroup};

/// So many of a function are told.
const MOST_FOUND: usize = 16;
/// Accesses of a function that are looked at.
const MOST_ACCESSES: usize = 4096;

/// Two accesses of LDS that no barrier separates on some path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingBarrier {
    /// The number of the earlier instruction.
    pub first: usize,
    /// The number of the later one.
    pub step: usize,
    /// What each does.
    pub accesses: [Access; 2],
    /// The first byte that both access.
    pub byte: u32,
    /// A wave that accesses it by the first, and one that does by the second.
    pub waves: [u32; 2],
}

/// Half of a barrier without the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unpaired {
    /// Waits for a barrier that the wave has not signalled since the last one.
    Wait,
    /// Signals a barrier again before it has waited for it.
    Signal,
    /// Ends without waiting for the barrier that it has signalled.
    End,
}

/// An access of LDS.
struct Accessed {
    step: usize,
    access: Access,
    /// The bytes, each with the wave, in order.
    bytes: Vec<(Range<u32>, u32)>,
    longest: u32,
}

impl Accessed {
    /// The first byte that another access has too, from another wave, with both waves.
    fn meets(&self, other: &Accessed) -> Option<(u32, [u32; 2])> {
        other.bytes.iter().find_map(|(range, wave)| {
            let before = range.start.saturating_sub(self.longest);
            let first = self.bytes.partition_point(|(own, _)| own.start < before);
            let near = self.bytes.iter().skip(first).take_while(|(own, _)| own.start < range.end);
            let mut both = near.filter(|(own, own_wave)| own.end > range.start && own_wave != wave);
            both.next().map(|(own, own_wave)| (own.start.max(range.start), [*own_wave, *wave]))
        })
    }
}

/// The barriers that are missing in a function that a kernel begins with, in the order of its code; the first few.
///
/// ```
/// use hsaco_analysis::{Cfg, Stream, Workgroup, missing_barriers};
/// use hsaco_isa::{Assembler, Processor};
/// let assembler = Assembler::new(Processor::from_name("gfx942").unwrap(), Default::default())?;
/// let lines = [
///     "v_lshlrev_b32_e32 v1, 2, v0",
///     "ds_write_b32 v1, v0",
///     "v_xor_b32_e32 v1, 0x100, v1",
///     "s_waitcnt lgkmcnt(0)",
///     "ds_read_b32 v2, v1",
///     "s_endpgm",
/// ];
/// let bytes = lines.map(|line| {
///     let inst = assembler.assemble(line).unwrap();
///     inst.bytes()[..inst.len()].to_vec()
/// });
/// let bytes = bytes.concat();
/// let stream = Stream::decode(assembler.decoder(), 0, &bytes);
/// let cfg = Cfg::new(assembler.decoder(), &stream);
/// let group = Workgroup { items: 128, wave: 64 };
/// let found = missing_barriers(assembler.decoder(), &stream, &cfg, group);
/// assert_eq!((found[0].first, found[0].step, found[0].waves), (1, 4, [0, 1]));
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
#[must_use]
pub fn missing_barriers(
    decoder: &Decoder,
    stream: &Stream<'_>,
    cfg: &Cfg,
    group: Workgroup,
) -> Vec<MissingBarrier> {
    if group.waves() < 2 || !stores_to_lds(decoder, stream) {
        return Vec::new();
    }
    let states = States::by_abi(decoder, stream, cfg);
    let items = WorkItems { decoder, stream, cfg, states: &states, group };
    let accesses = accesses(&items);
    Ways { stream, cfg, accesses: &accesses }.found()
}

fn memory(decoder: &Decoder, inst: &Inst) -> Option<Memory> {
    let effects = decoder.effects(inst, VgprMsb::default());
    effects.memory().filter(|it| it.space == Space::Lds)
}

fn stores_to_lds(decoder: &Decoder, stream: &Stream<'_>) -> bool {
    stream.insts().any(|inst| {
        inst.mnemonic().starts_with("ds_")
            && memory(decoder, &inst).is_some_and(|it| it.access != Access::Load)
    })
}

/// The accesses whose addresses are known, in the order of the code.
fn accesses(items: &WorkItems<'_>) -> Vec<Accessed> {
    let mut all = Vec::new();
    for (block, before) in items.before().enumerated() {
        let Some(before) = before else { continue };
        items.run(block, before.clone(), |step, known| {
            if all.len() < MOST_ACCESSES {
                all.extend(accessed(items, step, known));
            }
        });
    }
    all.sort_by_key(|it| it.step);
    all
}

fn accessed(items: &WorkItems<'_>, step: usize, known: &Known) -> Option<Accessed> {
    let inst = items.stream.inst(step)?;
    let memory = memory(items.decoder, &inst)?;
    let msb = items.states.before(step).msb?;
    let operand = |name: &str| {
        let mut all = items.decoder.operands_in(&inst, msb).filter(|it| it.name == name);
        all.next().map(|it| it.value)
    };
    let number = |name: &str| match operand(name) {
        Some(OperandValue::Number(number)) => u32::try_from(number).ok(),
        _ => None,
    };
    // What is of the device, and what takes its address from elsewhere.
    if number("gds").is_some_and(|it| it != 0) {
        return None;
    }
    let Some(OperandValue::Register(address)) = operand("addr") else { return None };
    let bytes = u32::from(memory.bytes?);
    let offsets = match (number("offset"), number("offset0"), number("offset1")) {
        (Some(offset), ..) => vec![(offset, bytes)],
        (None, Some(one), Some(other)) => {
            let element = bytes / 2;
            let unit = element
                * if inst.mnemonic().contains("st64") || inst.mnemonic().contains("stride64") {
                    64
                } else {
                    1
                };
            vec![(one * unit, element), (other * unit, element)]
        }
        _ => return None,
    };
    let mut all = Vec::new();
    for (item, base) in items.enabled(known, &address) {
        for (offset, bytes) in &offsets {
            let start = base.checked_add(*offset)?;
            all.push((start..start.checked_add(*bytes)?, item / items.group.wave));
        }
    }
    all.sort_unstable_by_key(|(range, wave)| (range.start, range.end, *wave));
    all.dedup();
    let longest = all.iter().map(|(range, _)| range.len() as u32).max()?;
    Some(Accessed { step, access: memory.access, bytes: all, longest })
}

/// What an instruction is to the barrier of its workgroup.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Both,
    Signal,
    Wait,
}

/// Nothing for instructions that are no barriers, and for those of other barriers than that of the whole workgroup.
fn half(decoder: &Decoder, inst: &Inst) -> Option<Half> {
    let is_whole =
        || decoder.text(inst).ends_with(" -1") || decoder.text(inst).ends_with(" 0xffff");
    match inst.mnemonic() {
        "s_barrier" => Some(Half::Both),
        "s_barrier_signal" | "s_barrier_signal_isfirst" if is_whole() => Some(Half::Signal),
        "s_barrier_wait" if is_whole() => Some(Half::Wait),
        _ => None,
    }
}

/// Whether waves meet at an instruction: barriers of some of them count as such.
fn separates(inst: &Inst) -> bool {
    let name = inst.mnemonic();
    name.starts_with("s_barrier") && !name.starts_with("s_barrier_signal")
        || name.starts_with("ds_gws_")
        || matches!(inst.flow(), Flow::Call | Flow::IndirectCall | Flow::Trap)
}

struct Ways<'a> {
    stream: &'a Stream<'a>,
    cfg: &'a Cfg,
    accesses: &'a [Accessed],
}

impl Ways<'_> {
    fn found(&self) -> Vec<MissingBarrier> {
        let run = |block, open: &mut BTreeSet<usize>| self.run(block, open, |_, _| ());
        let join = |known: &mut BTreeSet<usize>, other: &BTreeSet<usize>| {
            let count = known.len();
            known.extend(other);
            known.len() > count
        };
        let before = self.cfg.forward(BTreeSet::new(), run, join);
        let mut found = Vec::new();
        for (block, before) in before.enumerated() {
            let Some(before) = before else { continue };
            self.run(block, &mut before.clone(), |open, at| {
                if found.len() < MOST_FOUND {
                    found.extend(open.iter().find_map(|first| self.between(*first, at)));
                }
            });
        }
        found.sort_by_key(|it| (it.step, it.first));
        found
    }

    /// Runs a block: the accesses since the last barrier, by number; `at` is told those before each access.
    fn run(
        &self,
        block: BlockId,
        open: &mut BTreeSet<usize>,
        mut at: impl FnMut(&BTreeSet<usize>, usize),
    ) {
        let steps = self.cfg.blocks()[block].steps();
        let mut next = self.accesses.partition_point(|it| it.step < steps.start);
        for step in steps {
            if self.accesses.get(next).is_some_and(|it| it.step == step) {
                at(open, next);
                open.insert(next);
                next += 1;
            }
            if self.stream.inst(step).is_none_or(|it| separates(&it)) {
                open.clear();
            }
        }
    }

    fn between(&self, first: usize, second: usize) -> Option<MissingBarrier> {
        let (first, second) = (self.accesses.get(first)?, self.accesses.get(second)?);
        let accesses = [first.access, second.access];
        // One instruction does the same in every wave, again and again.
        if first.step == second.step
            || matches!(accesses, [Access::Load, Access::Load] | [Access::Atomic, Access::Atomic])
        {
            return None;
        }
        let (byte, waves) = first.meets(second)?;
        Some(MissingBarrier { first: first.step, step: second.step, accesses, byte, waves })
    }
}

/// The halves of barriers that stand alone on some path of a function, in the order of its code.
///
/// ```
/// use hsaco_analysis::{Cfg, Stream, Unpaired, unpaired_barriers};
/// use hsaco_isa::{Assembler, Processor};
/// let assembler = Assembler::new(Processor::from_name("gfx1201").unwrap(), Default::default())?;
/// let lines = ["s_barrier_signal -1", "s_barrier_wait -1", "s_barrier_wait -1", "s_endpgm"];
/// let bytes = lines.map(|line| {
///     let inst = assembler.assemble(line).unwrap();
///     inst.bytes()[..inst.len()].to_vec()
/// });
/// let bytes = bytes.concat();
/// let stream = Stream::decode(assembler.decoder(), 0, &bytes);
/// let cfg = Cfg::new(assembler.decoder(), &stream);
/// assert_eq!(unpaired_barriers(assembler.decoder(), &stream, &cfg), [(2, Unpaired::Wait)]);
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
#[must_use]
pub fn unpaired_barriers(
    decoder: &Decoder,
    stream: &Stream<'_>,
    cfg: &Cfg,
) -> Vec<(usize, Unpaired)> {
    let halves: Vec<(usize, Half)> = (0..stream.len())
        .filter_map(|step| Some((step, half(decoder, &stream.inst(step)?)?)))
        .collect();
    if halves.iter().all(|it| it.1 == Half::Both) {
        return Vec::new();
    }
    // Whether the barrier may be signalled, and whether it may not.
    let run = |block: BlockId, may: &mut [bool; 2], found: &mut dyn FnMut(usize, Unpaired)| {
        let block = &cfg.blocks()[block];
        let first = halves.partition_point(|it| it.0 < block.first);
        for (step, half) in halves.iter().skip(first).take_while(|it| it.0 < block.end) {
            match half {
                Half::Both => {}
                Half::Signal => {
                    if may[1] {
                        found(*step, Unpaired::Signal);
                    }
                    *may = [false, true];
                }
                Half::Wait => {
                    if may[0] {
                        found(*step, Unpaired::Wait);
                    }
                    *may = [true, false];
                }
            }
        }
        let last = block.end - 1;
        if may[1] && stream.inst(last).is_some_and(|it| it.flow() == Flow::End) {
            found(last, Unpaired::End);
        }
    };
    let join = |known: &mut [bool; 2], other: &[bool; 2]| {
        let both = [known[0] | other[0], known[1] | other[1]];
        std::mem::replace(known, both) != both
    };
    let before = cfg.forward([true, false], |block, may| run(block, may, &mut |_, _| ()), join);
    let mut found = Vec::new();
    for (block, before) in before.enumerated() {
        if let Some(before) = before {
            run(block, &mut { *before }, &mut |step, what| found.push((step, what)));
        }
    }
    found.sort_unstable();
    found
}
