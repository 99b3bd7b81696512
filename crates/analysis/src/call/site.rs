//! The calls of one function, and the addresses of functions that it hands on.

use std::cell::Cell;
use std::collections::BTreeSet;

use hsaco_isa::effects::Flow;
use hsaco_isa::model::{Register, RegisterFile, VgprMsb};
use hsaco_isa::{Decoder, Inst};

use super::link::{Links, Pointer};
use super::{Call, CallKind, Callee, Evidence};
use crate::cfg::{Address, Cfg};
use crate::function::Functions;
use crate::stream::Stream;
use crate::usage::{gives_counter, reached};
use crate::value::{Callees, Values};

/// What calls of one function are looked for with.
pub(super) struct Search<'s, 'a> {
    functions: &'s Functions<'a>,
    links: &'s Links<'a>,
    decoder: &'s Decoder,
    stream: &'s Stream<'s>,
    cfg: &'s Cfg,
    callees: &'s dyn Callees,
    /// How many more instructions may be looked at for what becomes of addresses.
    budget: Cell<usize>,
}

/// What was found in one function.
#[derive(Clone, Debug, Default)]
pub(super) struct Found<'a> {
    /// By the number of the instruction.
    pub(super) calls: Vec<(usize, Call<'a>)>,
    /// Functions whose address the code does more with than jump there.
    pub(super) taken: BTreeSet<usize>,
}

/// Where an instruction goes, and how that is known.
struct Goal<'a> {
    callee: Callee<'a>,
    evidence: Evidence,
    slot: Option<u64>,
    sources: BTreeSet<usize>,
}

impl<'s, 'a> Search<'s, 'a> {
    pub(super) fn new(
        functions: &'s Functions<'a>,
        links: &'s Links<'a>,
        decoder: &'s Decoder,
        stream: &'s Stream<'s>,
        cfg: &'s Cfg,
        callees: &'s dyn Callees,
    ) -> Self {
        let budget = Cell::new(64 * stream.len() + 4096);
        Search { functions, links, decoder, stream, cfg, callees, budget }
    }

    /// `makes_addresses` says whether the code asks for the program counter.
    pub(super) fn run(&self, makes_addresses: bool) -> Found<'a> {
        let values = Values::with_callees(self.decoder, self.stream, self.cfg, self.callees);
        let mut found = Found::default();
        let mut used = BTreeSet::new();
        let blocks = reached(self.stream, self.cfg);
        for block in &blocks {
            let block = self.cfg.blocks()[*block];
            for step in block.steps() {
                let Some(inst) = self.stream.inst(step) else { continue };
                if inst.flow() == Flow::Next {
                    continue;
                }
                if let Some((kind, goal)) = self.goal(&values, step, &inst) {
                    used.extend(goal.sources.iter().copied());
                    found.calls.push((step, self.call(step, kind, &goal)));
                }
            }
            found.calls.extend(self.fall_through(block.end));
        }
        found.calls.sort_by_key(|(step, _)| *step);
        if makes_addresses || self.links.is_relocatable {
            found.taken = self.taken(&used);
        }
        found
    }

    fn call(&self, step: usize, kind: CallKind, goal: &Goal<'a>) -> Call<'a> {
        Call {
            site: self.stream.address_of(step),
            kind,
            callee: goal.callee,
            evidence: goal.evidence,
            slot: goal.slot,
        }
    }

    /// Where an instruction leaves the function to, if it does.
    fn goal(&self, values: &Values<'_>, step: usize, inst: &Inst) -> Option<(CallKind, Goal<'a>)> {
        match inst.flow() {
            Flow::Call => Some((CallKind::Call, self.encoded(step, inst)?)),
            Flow::IndirectCall => Some((CallKind::Call, self.computed(values, step))),
            Flow::Branch | Flow::ConditionalBranch => {
                let goal = self.encoded(step, inst)?;
                self.is_outside(&goal).then_some((CallKind::TailCall, goal))
            }
            Flow::IndirectJump => {
                let goal = self.computed(values, step);
                (goal.evidence != Evidence::Return && self.is_outside(&goal))
                    .then_some((CallKind::TailCall, goal))
            }
            _ => None,
        }
    }

    /// A jump inside the function is no call.
    fn is_outside(&self, goal: &Goal<'a>) -> bool {
        match goal.callee {
            Callee::Function(number) => {
                Some(number) != self.functions.index_at(self.stream.address())
            }
            Callee::Address(address) => {
                let offset = address.wrapping_sub(self.stream.address());
                offset >= u64::from(self.stream.size())
            }
            Callee::External(_) | Callee::Unknown => true,
        }
    }

    /// The goal that an instruction encodes.
    fn encoded(&self, step: usize, inst: &Inst) -> Option<Goal<'a>> {
        let sources = BTreeSet::from([step]);
        let address = inst.branch_target(self.stream.address_of(step))?;
        let named = self.links.made_by(self.stream, &sources, &[]).map(|named| named.pointer);
        let (pointer, evidence) = match named {
            Some(pointer) if self.links.is_relocatable || pointer == Pointer::Address(address) => {
                (pointer, Evidence::StaticRelocation)
            }
            _ => (Pointer::Address(address), Evidence::Encoding),
        };
        Some(Goal { callee: self.callee(pointer), evidence, slot: None, sources })
    }

    /// The goal that registers hold.
    fn computed(&self, values: &Values<'_>, step: usize) -> Goal<'a> {
        let address = values.target(step);
        let sources = values.sources();
        let gives =
            |step: &&usize| self.stream.inst(**step).is_some_and(|inst| gives_counter(&inst));
        let counters: Vec<usize> = sources.iter().filter(gives).copied().collect();
        let named = self.links.made_by(self.stream, &sources, &counters);
        let (found, evidence, slot) = match address {
            Address::Known(address) => (Some(Pointer::Address(address)), Evidence::DataFlow, None),
            Address::Loaded(slot) => {
                (self.links.constant_pointer(slot), Evidence::DynamicRelocation, Some(slot))
            }
            Address::Return => (None, Evidence::Return, None),
            Address::Unknown => (None, Evidence::AddressTaken, None),
        };
        let is_exact = named.is_some_and(|named| match address {
            Address::Known(_) if self.links.is_relocatable => !named.in_got,
            Address::Loaded(_) if self.links.is_relocatable => named.in_got,
            _ => found == Some(named.pointer),
        });
        let (found, evidence) = match (found, named) {
            (_, Some(named)) if is_exact => (Some(named.pointer), Evidence::StaticRelocation),
            (None, _) if evidence != Evidence::Return => (None, Evidence::AddressTaken),
            _ => (found, evidence),
        };
        let callee = found.map_or(Callee::Unknown, |found| self.callee(found));
        Goal { callee, evidence, slot: slot.filter(|_| !self.links.is_relocatable), sources }
    }

    fn callee(&self, pointer: Pointer<'a>) -> Callee<'a> {
        match pointer {
            Pointer::External(name) => Callee::External(name),
            Pointer::Address(address) => {
                self.functions.index_at(address).map_or(Callee::Address(address), Callee::Function)
            }
        }
    }

    /// Code that runs on past the function's end.
    fn fall_through(&self, end: usize) -> Option<(usize, Call<'a>)> {
        let last = end.checked_sub(1)?;
        let falls = self.stream.inst(last).is_some_and(|inst| inst.flow().falls_through());
        if end < self.stream.len() || !falls {
            return None;
        }
        let number = self.functions.index_of(self.stream.address_of(end))?;
        let goal = Goal {
            callee: Callee::Function(number),
            evidence: Evidence::Encoding,
            slot: None,
            sources: BTreeSet::new(),
        };
        Some((last, self.call(last, CallKind::FallThrough, &goal)))
    }

    /// Functions whose address is made here, and read by more than a call of them; `used` are the
    /// instructions that make addresses for calls.
    fn taken(&self, used: &BTreeSet<usize>) -> BTreeSet<usize> {
        let values = Values::with_callees(self.decoder, self.stream, self.cfg, self.callees);
        let mut taken = BTreeSet::new();
        let mut counters = Vec::new();
        for step in 0..self.stream.len() {
            let Some(inst) = self.stream.inst(step) else { continue };
            if gives_counter(&inst) {
                counters.push(step);
            }
            if !completes_address(inst.mnemonic()) || self.links.is_relocatable {
                continue;
            }
            let Some((pair, address)) = values.completed(step) else { continue };
            if let Some(function) = self.functions.index_of(address)
                && self.escapes(step, pair)
            {
                taken.insert(function);
            }
        }
        for (step, address) in self.links.named_in(self.stream, &counters) {
            if !used.contains(&step) {
                taken.extend(self.functions.index_of(address));
            }
        }
        if values.is_exhausted() {
            taken.extend(0..self.functions.as_slice().len());
        }
        taken
    }

    /// Whether anything but jumps and calls may read a pair of registers that an instruction has completed.
    fn escapes(&self, step: usize, pair: u16) -> bool {
        let pair = Register { file: RegisterFile::Sgpr, first: pair, count: 2, half: None };
        let Some(block) = self.cfg.block_of(step) else { return true };
        let mut seen = BTreeSet::new();
        let mut work = vec![(block, step + 1)];
        while let Some((block, first)) = work.pop() {
            let end = self.cfg.blocks()[block].end;
            self.budget.set(self.budget.get().saturating_sub(1 + end - first));
            if self.budget.get() == 0 {
                return true;
            }
            match (first..end).find_map(|step| self.fate(step, &pair)) {
                Some(Fate::Read) => return true,
                Some(Fate::Gone) => {}
                None => {
                    let next = self.cfg.successors(block).filter(|next| seen.insert(*next));
                    work.extend(next.map(|next| (next, self.cfg.blocks()[next].first)));
                }
            }
        }
        false
    }

    /// What an instruction does to a pair of registers, if it ends the search.
    fn fate(&self, step: usize, pair: &Register) -> Option<Fate> {
        let Some(inst) = self.stream.inst(step) else { return Some(Fate::Read) };
        let effects = self.decoder.effects(&inst, VgprMsb::default());
        let reads = effects.reads().any(|register| overlaps(&register, pair));
        let writes = effects.writes().any(|register| overlaps(&register, pair));
        match inst.flow() {
            Flow::IndirectJump if reads => Some(Fate::Gone),
            Flow::Call | Flow::IndirectCall => self.fate_at_call(step, reads, pair),
            _ if reads => Some(Fate::Read),
            _ if writes => Some(Fate::Gone),
            _ => None,
        }
    }

    /// Arguments are in the registers that a callee need not keep.
    fn fate_at_call(&self, step: usize, is_target: bool, pair: &Register) -> Option<Fate> {
        const FIRST_PRESERVED: u16 = 30;
        if pair.first >= FIRST_PRESERVED {
            return None;
        }
        let is_kept = self.callees.writes(step).is_some_and(|written| !written.contains(pair));
        match (is_target, is_kept) {
            (true, true) => None,
            (true, false) => Some(Fate::Gone),
            (false, _) => Some(Fate::Read),
        }
    }
}

/// What becomes of an address in registers.
enum Fate {
    Read,
    Gone,
}

fn overlaps(a: &Register, b: &Register) -> bool {
    let end = |it: &Register| it.first + u16::from(it.count.max(1));
    a.file == b.file && a.first < end(b) && b.first < end(a)
}

/// Whether an instruction adds the last part of a distance to the program counter.
fn completes_address(mnemonic: &str) -> bool {
    const LAST: [&str; 7] = [
        "s_addc_u32",
        "s_add_co_ci_u32",
        "s_subb_u32",
        "s_sub_co_ci_u32",
        "s_add_nc_u64",
        "s_add_u64",
        "s_sub_nc_u64",
    ];
    LAST.contains(&mnemonic)
}
