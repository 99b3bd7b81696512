//! What a replacement leaves behind: registers, flags, VGPR MSBs, and outstanding operations.

use hsaco_analysis::{Focus, RegisterSet, instructions};
use hsaco_isa::effects::Counter;
use hsaco_isa::model::{OperandValue, Register, RegisterFile, Special, VgprMsb};
use hsaco_isa::{Decoder, Inst};

use super::VerifyFinding;
use crate::jump;
use crate::manifest::{Record, Stub};
use crate::view::{Around, EVERY_MSB, View, focus_on};

/// What some code does, from its start to its end.
#[derive(Default)]
struct Summary {
    written: RegisterSet,
    /// Read before they were written.
    consumed: RegisterSet,
    /// Scalar registers that hold what another held at the start, each with that.
    copies: Vec<(Register, Register)>,
    msb: Option<VgprMsb>,
    writes_mode: bool,
    /// By counter; there are few.
    work: Vec<(Counter, Work)>,
    /// It waits until nothing is outstanding.
    waits_for_all: bool,
}

/// What some code does with a wait counter.
#[derive(Clone, Copy, Default)]
struct Work {
    /// Its own operations that it leaves outstanding.
    left: u32,
    /// The fewest operations that it has waited down to.
    waited: Option<u32>,
}

impl Work {
    fn wait(&mut self, most: u32) {
        self.left = self.left.min(most);
        self.waited = Some(self.waited.map_or(most, |it| it.min(most)));
    }
}

pub(super) fn check(around: &Around<'_>, record: &Record) -> Vec<VerifyFinding> {
    let view = around.view;
    let msb = view.msb(around.first);
    let old = Summary::of(view.decoder(), &record.site.old, msb);
    let new = Summary::of(view.decoder(), body(view.decoder(), record), msb);
    let comparison = Comparison { around, record, old, new };
    let mut found = comparison.scratch_registers();
    found.extend(comparison.written());
    found.extend(comparison.lost());
    found.extend(comparison.msbs().map(str::to_owned));
    found.extend(comparison.counters());
    let site = record.site.address;
    found.into_iter().map(|detail| VerifyFinding::new("state", site, detail)).collect()
}

/// What the replaced instructions do, and what their replacement does.
struct Comparison<'c> {
    around: &'c Around<'c>,
    record: &'c Record,
    old: Summary,
    new: Summary,
}

impl Comparison<'_> {
    fn taken(&self) -> impl Iterator<Item = &Register> {
        self.record.scratch_registers.iter().chain(&self.record.pair)
    }

    /// Registers that the replacement takes are free.
    fn scratch_registers(&self) -> Vec<String> {
        let Comparison { around, old, new, .. } = self;
        let Around { view, first, last } = **around;
        if self.taken().next().is_none() {
            return Vec::new();
        }
        let is_scalar = |it: &Register| focus_on(it) == Focus::Scalars;
        let focus = if self.taken().all(is_scalar) { Focus::Scalars } else { Focus::All };
        let needed = around.needed(focus);
        let is_beyond = |it: &Register| {
            view.budget().unused.is_some_and(|(sgprs, vgprs)| match it.file {
                RegisterFile::Sgpr => it.first >= sgprs,
                RegisterFile::Vgpr => it.first >= vgprs,
                _ => false,
            })
        };
        // An operand that is dead afterwards is free once it was read.
        let is_spent = |it: &Register| {
            old.consumed.contains(it)
                && new.consumed.contains(it)
                && !view.is_needed_after(last, it)
                && !view.outstanding(first).contains(it)
        };
        let is_wrong = |it: &&Register| !is_beyond(it) && !is_spent(it) && needed.contains(it);
        self.taken().filter(is_wrong).map(|it| format!("{it} is leased and needed")).collect()
    }

    /// Nothing is written but what was, and what the replacement has taken.
    fn written(&self) -> Vec<String> {
        let Comparison { old, new, .. } = self;
        let mut excess = new.written;
        excess.subtract(&old.written);
        let mut taken = RegisterSet::default();
        self.taken().for_each(|it| taken.insert(it));
        excess.subtract(&taken);
        let is_wrong = |register: &Register| {
            let is_mode = register.file == RegisterFile::Special(Special::Mode);
            let is_restored = new.origin(register) == Some(*register);
            let keeps_mode = is_mode && old.msb.is_some() && old.msb == new.msb;
            !is_restored && !keeps_mode
        };
        let wrong = excess.iter().flat_map(singles).filter(is_wrong);
        wrong.map(|register| format!("{register} is written and was not")).collect()
    }

    /// What the old code wrote the new one writes, unless it is dead.
    fn lost(&self) -> Vec<String> {
        let mut lost = self.old.written;
        lost.subtract(&self.new.written);
        if lost.is_empty() {
            return Vec::new();
        }
        let needed = self.around.view.live_after(self.around.last);
        let lost = lost.iter().flat_map(singles).filter(|it| needed.contains(it));
        lost.map(|it| format!("{it} was written, is needed, and is not")).collect()
    }

    /// VGPR MSBs are left as they were.
    fn msbs(&self) -> Option<&'static str> {
        let Comparison { old, new, .. } = self;
        if old.msb.is_some() && old.msb != new.msb {
            return Some("the upper bits of vector register numbers are not what they were");
        }
        let is_set = old.msb.is_none() && new.writes_mode && !old.writes_mode;
        is_set.then_some("upper bits of vector register numbers are set where they are unknown")
    }

    /// Wait counters are left as they were, or lower, and nothing is waited for less.
    fn counters(&self) -> Vec<String> {
        let Comparison { old, new, .. } = self;
        let added = new.work.iter().filter(|(counter, _)| old.work_of(*counter).is_none());
        let counters = old.work.iter().chain(added).map(|(counter, _)| *counter);
        // Where later waits count what a split leaves outstanding, the whole block is looked at.
        let is_apart = self.around.view.options().precise_waits;
        let counters = counters.filter(|it| !is_apart || *it != Counter::Dscnt);
        counters.flat_map(|counter| self.counter(counter)).collect()
    }

    fn counter(&self, counter: Counter) -> Vec<String> {
        let before = self.old.work_of(counter).unwrap_or_default();
        let after = self.new.work_of(counter).unwrap_or_default();
        let name = counter.name();
        let mut wrong = Vec::new();
        let is_drained = after.left == 0 && after.waited == Some(0);
        // Operations that complete in any order are only ever waited for as a whole, so fewer are no harm.
        let is_fewer = counter == Counter::Kmcnt && after.left < before.left;
        if after.left != before.left && !is_drained && !is_fewer {
            wrong.push(format!("{name} counts {} and counted {}", after.left, before.left));
        }
        let is_weaker =
            |waited: u32| !self.new.waits_for_all && after.waited.is_none_or(|it| it > waited);
        if before.waited.is_some_and(is_weaker) {
            wrong.push(format!("{name} is waited for less than it was"));
        }
        wrong
    }
}

/// What runs instead of what the site was; far jumps to it may have lost SCC, which is taken back first: that is another
/// check.
fn body<'r>(decoder: &Decoder, record: &'r Record) -> &'r [u8] {
    let code = record.code();
    let is_saved = |it: &Register| record.scratch_registers.contains(it) && record.pair.is_some();
    match jump::restored_scc(decoder, code).filter(|(register, _)| is_saved(register)) {
        Some((_, size)) if record.body.is_some() => code.get(size..).unwrap_or_default(),
        _ => code,
    }
}

/// Whether what runs before a kernel writes what the kernel needs.
pub(super) fn stub_clobbers(view: &View<'_>, stub: &Stub) -> bool {
    let code = stub.code.get(..stub.way_on).unwrap_or_default();
    let written = Summary::of(view.decoder(), code, None).written;
    let needed = view.live_before(0);
    let pair = Some(stub.pair).filter(|pair| !view.budget().is_unset(pair.first));
    written.iter().chain(pair).any(|register| needed.contains(&register))
}

impl Summary {
    fn of(decoder: &Decoder, code: &[u8], msb: Option<VgprMsb>) -> Self {
        let mut summary = Summary { msb, ..Summary::default() };
        let insts = instructions(decoder, code).filter_map(|(_, inst)| inst);
        insts.for_each(|inst| summary.step(decoder, &inst));
        summary
    }

    /// The register whose value of the start a register holds now, if it is known.
    fn origin(&self, register: &Register) -> Option<Register> {
        let copy = self.copies.iter().find(|(to, _)| to == register).map(|(_, from)| *from);
        copy.or_else(|| (!self.written.contains(register)).then_some(*register))
    }

    fn work_of(&self, counter: Counter) -> Option<Work> {
        self.work.iter().find(|(it, _)| *it == counter).map(|(_, work)| *work)
    }

    fn change_work(&mut self, counter: Counter, change: impl FnOnce(&mut Work)) {
        if let Some((_, work)) = self.work.iter_mut().find(|(it, _)| *it == counter) {
            return change(work);
        }
        let mut work = Work::default();
        change(&mut work);
        self.work.push((counter, work));
    }

    fn step(&mut self, decoder: &Decoder, inst: &Inst) {
        // Where VGPR MSBs are not known, a register stands for one of each bank.
        let known = self.msb.map(|msb| [msb.bits()]);
        let msbs = known.as_ref().map_or(&EVERY_MSB[..], |it| &it[..]);
        let copied = copy(decoder, inst).and_then(|(to, from)| Some((to, self.origin(&from)?)));
        for msb in msbs {
            let effects = decoder.effects(inst, VgprMsb::new(*msb));
            let mut reads = RegisterSet::default();
            effects.reads().for_each(|register| reads.insert(&register));
            reads.subtract(&self.written);
            self.consumed.union_with(&reads);
            effects.writes().for_each(|register| {
                self.written.insert(&register);
                if !self.copies.is_empty() {
                    let mut gone = RegisterSet::default();
                    gone.insert(&register);
                    self.copies.retain(|(to, _)| !gone.contains(to));
                }
            });
        }
        self.copies.extend(copied);
        self.writes_mode |= inst.writes_mode();
        if let Some(msb) = inst.vgpr_msb() {
            self.msb = Some(msb);
        } else if inst.mnemonic().starts_with("s_setreg") {
            self.msb = None;
        }
        self.count(decoder, inst);
    }

    fn count(&mut self, decoder: &Decoder, inst: &Inst) {
        let effects = decoder.effects(inst, VgprMsb::default());
        for counter in effects.raises().iter() {
            self.change_work(counter, |work| work.left += 1);
        }
        for (counter, value) in effects.waits() {
            self.change_work(counter, |work| work.wait(value.into()));
        }
        if effects.waits_for_idle() {
            self.work.iter_mut().for_each(|(_, work)| work.wait(0));
            self.waits_for_all = true;
        }
    }
}

/// Destination and source of a move of one scalar register, or of SCC to one or from one.
fn copy(decoder: &Decoder, inst: &Inst) -> Option<(Register, Register)> {
    let register = |name| match decoder.operand(inst, name)? {
        OperandValue::Register(register) => Some(register),
        _ => None,
    };
    let is = |name, number| decoder.operand(inst, name) == Some(OperandValue::Integer(number));
    let file = RegisterFile::Special(Special::Scc);
    let scc = Register { file, first: 0, count: 1, half: None };
    match inst.mnemonic() {
        "s_mov_b32" => Some((register("sdst")?, register("src0")?)),
        "s_cselect_b32" if is("src0", 1) && is("src1", 0) => Some((register("sdst")?, scc)),
        "s_cmp_lg_u32" if is("src1", 0) => Some((scc, register("src0")?)),
        _ => None,
    }
}

/// Registers one by one.
fn singles(register: Register) -> impl Iterator<Item = Register> {
    (0..u16::from(register.count.max(1))).map(move |at| match register.file {
        RegisterFile::Special(_) => register,
        _ => Register { first: register.first + at, count: 1, half: None, ..register },
    })
}
