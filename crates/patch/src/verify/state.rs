//! What a replacement leaves behind: registers, flags, upper bits of register numbers, and work under way.

use hsaco_analysis::{Focus, RegisterSet};
use hsaco_isa::{Counter, Decoder, Inst, OperandValue, Register, RegisterFile, Special, VgprMsb};

use super::{Finding, instructions};
use crate::jump;
use crate::manifest::{Record, Stub};
use crate::view::Around;
use crate::view::{View, focus_on};

/// What a stretch of code does, from its start to its end.
#[derive(Default)]
struct Deeds {
    written: RegisterSet,
    /// Read before they were written.
    consumed: RegisterSet,
    /// Scalar registers that hold what another held at the start, each with that.
    copies: Vec<(Register, Register)>,
    msb: Option<VgprMsb>,
    writes_mode: bool,
    /// By counter; there are few.
    work: Vec<(Counter, Work)>,
    /// It waits until nothing is under way.
    waits_for_all: bool,
}

/// What a stretch of code does with a counter.
#[derive(Clone, Copy, Default)]
struct Work {
    /// Its own operations that it leaves under way.
    left: u32,
    /// How many operations it has let be under way at the least.
    waited: Option<u32>,
}

impl Work {
    fn wait(&mut self, most: u32) {
        self.left = self.left.min(most);
        self.waited = Some(self.waited.map_or(most, |it| it.min(most)));
    }
}

pub(super) fn check(around: &Around<'_>, record: &Record) -> Vec<Finding> {
    let Around { view, first, last } = *around;
    let site = record.site.address;
    let msb = view.msb(first);
    let old = deeds(view.decoder(), &record.site.old, msb);
    let new = deeds(view.decoder(), body(view.decoder(), record), msb);
    let mut found = Vec::new();
    let mut say = |detail: String| found.push(Finding::new("state", site, detail));
    let leases = || record.leases.iter().chain(&record.pair);
    let beyond = view.budget().unused;
    if leases().next().is_some() {
        let is_scalar = |it: &Register| focus_on(it) == Focus::Scalars;
        let focus = if leases().all(is_scalar) { Focus::Scalars } else { Focus::All };
        let needed = around.needed(focus);
        for register in leases() {
            let is_beyond = beyond.is_some_and(|(sgprs, vgprs)| match register.file {
                RegisterFile::Sgpr => register.first >= sgprs,
                RegisterFile::Vgpr => register.first >= vgprs,
                _ => false,
            });
            // An operand that nobody needs afterwards is free once it was read.
            let is_spent = old.consumed.contains(register)
                && new.consumed.contains(register)
                && !view.is_needed_after(last, register)
                && !view.outstanding(first).contains(register);
            if !is_beyond && !is_spent && needed.contains(register) {
                say(format!("{register} is leased and needed"));
            }
        }
    }
    let mut allowed = old.written;
    leases().for_each(|it| allowed.insert(it));
    let mut excess = new.written;
    excess.subtract(&allowed);
    for register in excess.iter().flat_map(singles) {
        let is_mode = register.file == RegisterFile::Special(Special::Mode);
        let is_restored = new.origin(&register) == Some(register);
        let keeps_mode = is_mode && old.msb.is_some() && old.msb == new.msb;
        if !is_restored && !keeps_mode {
            say(format!("{register} is written and was not"));
        }
    }
    // What the old code wrote the new one has to write, unless nobody reads it.
    let mut lost = old.written;
    lost.subtract(&new.written);
    if !lost.is_empty() {
        let needed = view.live_after(last);
        for register in lost.iter().flat_map(singles).filter(|it| needed.contains(it)) {
            say(format!("{register} was written, is needed, and is not"));
        }
    }
    if old.msb.is_some() && old.msb != new.msb {
        say("the upper bits of vector register numbers are not what they were".to_owned());
    }
    if old.msb.is_none() && (new.writes_mode && !old.writes_mode) {
        say("upper bits of vector register numbers are set where nobody knows them".to_owned());
    }
    let added = new.work.iter().filter(|(counter, _)| old.work_of(*counter).is_none());
    let counters = old.work.iter().chain(added).map(|(counter, _)| counter);
    // Where later waits count what a split leaves under way, the whole block is looked at.
    let is_apart = |it: &&Counter| view.options().precise_waits && **it == Counter::Dscnt;
    for counter in counters.filter(|it| !is_apart(it)) {
        let before = old.work_of(*counter).unwrap_or_default();
        let after = new.work_of(*counter).unwrap_or_default();
        let is_drained = after.left == 0 && after.waited == Some(0);
        // What comes back in any order is only ever waited for as a whole, so fewer are no harm.
        let is_fewer = *counter == Counter::Kmcnt && after.left < before.left;
        if after.left != before.left && !is_drained && !is_fewer {
            let name = counter.name();
            say(format!("{name} counts {} and counted {}", after.left, before.left));
        }
        let is_weaker =
            |waited: u32| !new.waits_for_all && after.waited.is_none_or(|it| it > waited);
        if before.waited.is_some_and(is_weaker) {
            say(format!("{} is waited for less than it was", counter.name()));
        }
    }
    found
}

/// What runs instead of what the site was; far jumps to it may have lost SCC, which is taken back first: that is another
/// check.
fn body<'r>(decoder: &Decoder, record: &'r Record) -> &'r [u8] {
    let code = record.code();
    let is_saved = |it: &Register| record.leases.contains(it) && record.pair.is_some();
    match jump::restored_scc(decoder, code).filter(|(register, _)| is_saved(register)) {
        Some((_, size)) if record.body.is_some() => code.get(size..).unwrap_or_default(),
        _ => code,
    }
}

/// Whether what runs before a kernel writes what the kernel needs.
pub(super) fn stub_clobbers(view: &View<'_>, stub: &Stub) -> bool {
    let deeds = deeds(view.decoder(), stub.code.get(..stub.way_on).unwrap_or_default(), None);
    let needed = view.live_before(0);
    let pair = Some(stub.pair).filter(|pair| !view.budget().is_unset(pair.first));
    deeds.written.iter().chain(pair).any(|register| needed.contains(&register))
}

fn deeds(decoder: &Decoder, code: &[u8], msb: Option<VgprMsb>) -> Deeds {
    let mut deeds = Deeds { msb, ..Deeds::default() };
    instructions(decoder, code).flatten().for_each(|inst| deeds.step(decoder, &inst));
    deeds
}

impl Deeds {
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
        // A register without upper bits stands for all that have them.
        let known = self.msb.map(|msb| [msb.bits()]);
        let banks = known.as_ref().map_or(&[0x00, 0x55, 0xaa, 0xff][..], |it| &it[..]);
        let copied = copy(decoder, inst).and_then(|(to, from)| Some((to, self.origin(&from)?)));
        for bank in banks {
            let effects = decoder.effects(inst, VgprMsb::new(*bank));
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
        match inst.mnemonic() {
            "s_set_vgpr_msb" => {
                let bits = match decoder.operand(inst, "simm16") {
                    Some(OperandValue::Number(number)) => number.cast_unsigned() as u8,
                    _ => 0,
                };
                self.msb = Some(VgprMsb::new(bits));
            }
            name if name.starts_with("s_setreg") => self.msb = None,
            _ => {}
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
