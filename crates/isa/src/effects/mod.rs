//! What an instruction does: the registers it reads and writes, the memory it accesses, the counters
//! it raises and waits for, where it goes next.
//!
//! Register numbers are exact; two things are not kept apart further:
//! - A vector instruction writes only the lanes that EXEC enables. [`Effects::writes`] lists its
//!   destination; [`Effects::overwrites`] lists it only where all lanes count as enabled.
//! - Results of 16 bits in a whole register are whole writes, as LLVM has it, although gfx10 and later
//!   keep the upper half. Where the operand names a half, the write is one of that half.
#![allow(clippy::cast_possible_truncation, reason = "numbers are cut to the width of their fields")]

mod counter;
pub mod hazard;
mod quick;
#[cfg(test)]
mod tests;

pub use crate::model::counter::Counter;
pub use crate::model::effects::{Access, Flow, Space};
pub use counter::{Count, Counters, Hold, Sequence};
pub(crate) use quick::QuickSlots;

use crate::model::effects::{Counting, FormEffects, Implicit, Rules, Wait};
use crate::model::table::{Slot, Source};
use crate::model::{Arch, Half, Inst, Model, Register, RegisterFile, Special, VgprMsb, tag};
use quick::{OfShape, Quick};

/// A memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Memory {
    /// Where.
    pub space: Space,
    /// What.
    pub access: Access,
    /// How many bytes a lane moves, or the wave in scalar accesses; `None` where a format or a
    /// descriptor decides.
    pub bytes: Option<u8>,
    /// What it does to LDS on the other side, where data bypass the registers.
    pub lds: Option<Access>,
}

/// Which lanes count as enabled when a vector instruction writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lanes {
    /// All: a write replaces the register. So compilers count register pressure.
    All,
    /// Perhaps not all: the old value lives on in the others.
    Some,
}

/// What makes an operand mean half of its register.
const HALVING: u16 = Rules::WRITES_LOW_HALF | Rules::WRITES_HIGH_HALF | Rules::SELECTS_HALF;

/// The effects of one instruction; see [`Decoder::effects`](crate::Decoder::effects).
#[derive(Clone, Copy)]
pub struct Effects<'a> {
    model: &'a Model,
    quick: &'a QuickSlots,
    inst: &'a Inst,
    form: &'static FormEffects,
    msb: VgprMsb,
}

impl<'a> Effects<'a> {
    #[inline]
    pub(crate) fn new(
        model: &'a Model,
        quick: &'a QuickSlots,
        inst: &'a Inst,
        msb: VgprMsb,
    ) -> Self {
        Effects { model, quick, inst, form: inst.form().effects(), msb }
    }

    /// The operands of the instruction's shape.
    #[inline]
    fn quick_slots(&self) -> Option<&'a OfShape> {
        self.quick.of(self.model, self.inst.form().row().shape)
    }

    /// The name of the instruction.
    #[must_use]
    pub fn mnemonic(&self) -> &'static str {
        self.inst.mnemonic()
    }

    /// The registers that are read, implicit ones included.
    #[must_use]
    #[inline]
    pub fn reads(&self) -> Registers<'a> {
        self.registers(self.read_slots(), self.implicit_reads())
    }

    /// The registers that are written, wholly or in part.
    #[must_use]
    #[inline]
    pub fn writes(&self) -> Registers<'a> {
        self.registers(self.form.writes, self.form.implicit_writes)
    }

    /// Those of the [`writes`](Self::writes) and [`reads`](Self::reads) that are no vector registers: faster than
    /// leaving these out of both.
    ///
    /// ```
    /// use hsaco_isa::model::VgprMsb;
    /// use hsaco_isa::{Decoder, Processor};
    /// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
    /// let inst = decoder.decode(&[0x01, 0x04, 0x06, 0x68]).unwrap();
    /// assert_eq!(decoder.text(&inst), "v_add_u32_e32 v3, s1, v2");
    /// let (writes, reads) = decoder.effects(&inst, VgprMsb::default()).scalars();
    /// assert_eq!(writes.count(), 0);
    /// assert_eq!(reads.map(|register| register.to_string()).collect::<Vec<_>>(), ["s1", "exec"]);
    /// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
    /// ```
    #[must_use]
    #[inline(always)]
    pub fn scalars(&self) -> (Registers<'a>, Registers<'a>) {
        let shape = self.quick_slots();
        let scalars = |slots: u32, implicit: Implicit| {
            let slots = shape.map_or(slots, |shape| shape.scalars_among(slots, self.inst));
            Registers { effects: *self, slots, implicit, whole_only: false, scalar_only: true }
        };
        let writes = scalars(self.form.writes, self.form.implicit_writes);
        (writes, scalars(self.read_slots(), self.implicit_reads()))
    }

    /// The registers whose old value is gone afterwards: no halves, nothing indexed by M0, no fields
    /// of MODE, and vector registers only when all lanes count as enabled.
    #[must_use]
    #[inline]
    pub fn overwrites(&self, lanes: Lanes) -> Registers<'a> {
        let mut slots = self.form.writes & !self.form.indexed;
        if self.keeps_part() {
            slots = 0;
        }
        let implicit = Implicit(self.form.implicit_writes.0 & !Implicit::MODE);
        let mut registers = self.registers(slots, implicit);
        registers.whole_only = true;
        registers.scalar_only = lanes == Lanes::Some && self.is_masked();
        registers
    }

    /// Whether one of the [`writes`](Self::writes) is one of the [`overwrites`](Self::overwrites): one pass
    /// gives both.
    ///
    /// ```
    /// use hsaco_isa::effects::Lanes;
    /// use hsaco_isa::model::VgprMsb;
    /// use hsaco_isa::{Decoder, Processor};
    /// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
    /// let inst = decoder.decode(&[0x01, 0x05, 0x06, 0x68]).unwrap();
    /// let effects = decoder.effects(&inst, VgprMsb::default());
    /// let written = effects.writes().next().unwrap();
    /// assert!(effects.is_overwritten(&written, Lanes::All));
    /// assert!(!effects.is_overwritten(&written, Lanes::Some));
    /// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn is_overwritten(&self, register: &Register, lanes: Lanes) -> bool {
        match register.file {
            RegisterFile::Special(special) => special != Special::Mode,
            _ if register.half.is_some() => false,
            // An instruction that keeps part of its destination, or whose destination M0 moves, has no other.
            _ if self.form.writes & self.form.indexed != 0 || self.keeps_part() => false,
            RegisterFile::Vgpr | RegisterFile::Agpr => lanes == Lanes::All || !self.is_masked(),
            RegisterFile::Sgpr | RegisterFile::Ttmp => true,
        }
    }

    /// Whether vector registers are written in the lanes that EXEC enables only.
    #[must_use]
    pub fn is_masked(&self) -> bool {
        self.form.implicit_reads.has(Implicit::EXEC)
    }

    /// The registers to whose number M0 is added: any register after them in the file may be meant.
    #[must_use]
    pub fn indexed(&self) -> Registers<'a> {
        self.registers(self.form.indexed, Implicit(0))
    }

    /// Whether there are any of these.
    #[must_use]
    #[inline]
    pub fn is_indexed(&self) -> bool {
        self.form.indexed != 0
    }

    /// The memory that is accessed.
    #[must_use]
    pub fn memory(&self) -> Option<Memory> {
        let memory = self.form.memory.as_ref()?;
        let bytes = (memory.bytes != 0).then_some(memory.bytes);
        Some(Memory { space: memory.space, access: memory.access, bytes, lds: memory.lds })
    }

    /// The wait counters that it raises.
    #[must_use]
    pub fn raises(&self) -> Counters {
        self.counts().iter().map(|count| count.counter).collect()
    }

    /// What it adds to wait counters, one each, and what it holds until they have fallen.
    #[must_use]
    #[inline]
    pub fn counts(&self) -> &'static [Count] {
        counter::counts(self.model.arch, self.form.counting)
    }

    /// The most operations that a counter of the processor holds: one more waits for the first of them by itself.
    ///
    /// ```
    /// use hsaco_isa::effects::Counter;
    /// use hsaco_isa::model::VgprMsb;
    /// use hsaco_isa::{Decoder, Processor};
    /// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
    /// let endpgm = decoder.decode(&[0x00, 0x00, 0x81, 0xbf]).unwrap();
    /// let effects = decoder.effects(&endpgm, VgprMsb::default());
    /// assert_eq!(effects.most_outstanding(Counter::Lgkmcnt), 15);
    /// assert_eq!(effects.most_outstanding(Counter::Vmcnt), 63);
    /// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
    /// ```
    #[must_use]
    pub fn most_outstanding(&self, counter: Counter) -> u8 {
        counter::most(self.model.arch, counter)
    }

    /// The wait counters that it waits for, each with the value that it must fall to.
    pub fn waits(&self) -> impl Iterator<Item = (Counter, u8)> + use<> {
        // Most wait for nothing, and are not asked for their number.
        let number = match self.form.wait {
            Wait::None => 0,
            _ => self.number("simm16").unwrap_or_default(),
        };
        counter::waited(self.model.arch, self.form.wait, number as u16).into_iter().flatten()
    }

    /// Whether it neither raises counters nor waits for any.
    ///
    /// ```
    /// use hsaco_isa::model::VgprMsb;
    /// use hsaco_isa::{Decoder, Processor};
    /// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
    /// let endpgm = decoder.decode(&[0x00, 0x00, 0x81, 0xbf]).unwrap();
    /// assert!(decoder.effects(&endpgm, VgprMsb::default()).counts_nothing());
    /// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn counts_nothing(&self) -> bool {
        self.form.wait == Wait::None && self.form.counting == Counting::None
    }

    /// Whether it waits until nothing is outstanding.
    #[must_use]
    pub fn waits_for_idle(&self) -> bool {
        self.form.wait == Wait::Idle
    }

    /// Where execution goes next.
    #[must_use]
    #[inline]
    pub fn flow(&self) -> Flow {
        self.form.flow
    }

    #[inline]
    fn registers(&self, slots: u32, implicit: Implicit) -> Registers<'a> {
        Registers { effects: *self, slots, implicit, whole_only: false, scalar_only: false }
    }

    #[inline]
    fn implicit_reads(&self) -> Implicit {
        let has_m0 = !self.form.rules.has(Rules::M0_UNTIL_GFX8) || self.model.arch.has(Arch::GFX8);
        let unread = if has_m0 { 0 } else { Implicit::M0 };
        Implicit(self.form.implicit_reads.0 & !unread)
    }

    #[inline]
    fn read_slots(&self) -> u32 {
        const UNUSUAL: u16 = Rules::SDWA | Rules::DPP | Rules::EXPORT | Rules::IMAGE;
        if self.form.rules.has(UNUSUAL) { self.unusual_read_slots() } else { self.form.reads }
    }

    fn unusual_read_slots(&self) -> u32 {
        let rules = self.form.rules;
        let mut slots = self.form.reads;
        if rules.has(Rules::SDWA) && self.keeps_part() {
            slots |= self.form.writes;
        }
        if rules.has(Rules::DPP) && self.form.old < 32 && self.writes_every_lane() {
            slots &= !(1 << self.form.old);
        }
        if rules.has(Rules::EXPORT) {
            slots &= self.exported_slots();
        }
        if rules.has(Rules::IMAGE)
            && let Some(addresses) = self.model.separate_addresses(self.inst)
        {
            slots &= self.address_slots(addresses);
        }
        slots
    }

    /// Whether SDWA keeps what it does not select.
    fn keeps_part(&self) -> bool {
        const WHOLE: u64 = 6;
        const PRESERVE: u64 = 2;
        self.form.rules.has(Rules::SDWA)
            && self.number("dst_sel") != Some(WHOLE)
            && self.number("dst_unused") == Some(PRESERVE)
    }

    /// Whether DPP leaves no enabled lane as it was.
    fn writes_every_lane(&self) -> bool {
        let is = |name, value| self.number(name) == Some(value);
        is("bound_ctrl", 1) && is("row_mask", 15) && is("bank_mask", 15)
    }

    /// The sources that an export reads: two to a register where they are compressed.
    fn exported_slots(&self) -> u32 {
        let enabled = self.number("en").unwrap_or(15);
        let halves = self.number("compr") == Some(1);
        (0..4).fold(0, |slots, source| {
            let is_read = if halves {
                source < 2 && enabled >> (source * 2) & 3 != 0
            } else {
                enabled >> source & 1 == 1
            };
            // The first operand is the target.
            slots | u32::from(is_read) << (source + 1)
        })
    }

    /// All slots but the address registers beyond the first so many.
    fn address_slots(&self, addresses: u8) -> u32 {
        let slots = self.inst.slots();
        let first = slots.iter().position(|slot| slot.is_named_like("vaddr")).unwrap_or(0);
        let beyond = |at: usize, slot: &Slot| {
            slot.is_named_like("vaddr") && at - first >= usize::from(addresses)
        };
        slots.iter().enumerate().fold(u32::MAX, |kept, (at, slot)| {
            if beyond(at, slot) { kept & !(1 << at) } else { kept }
        })
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.inst.named(name).map(|slot| self.inst.value(slot))
    }

    fn slot_register(&self, at: u32) -> Option<Register> {
        let slot = self.inst.slots().get(at as usize)?;
        let kind = slot.kind();
        let code = self.model.code(self.inst, slot);
        let resized = self.form.rules.has(Rules::RESIZED);
        let whole = |file| Register {
            file,
            first: code.number(),
            count: self.model.dwords(kind).max(1),
            half: None,
        };
        let mut register = match code.tag() {
            tag::INVALID | tag::INLINE | tag::LITERAL | tag::LITERAL64 => return None,
            tag::VGPR if !resized && kind.source != Source::DualDestination => {
                whole(RegisterFile::Vgpr)
            }
            tag::SGPR if !resized && kind.dwords == 1 => whole(RegisterFile::Sgpr),
            _ if resized => self.model.register(self.inst, slot, kind, code)?,
            _ => {
                let count = self.model.dwords(kind);
                self.model.register_of(self.inst, slot, kind, code, count)?
            }
        };
        if register.file == RegisterFile::Vgpr {
            register.first += self.msb.upper(slot);
        }
        let is_null =
            matches!(register.file, RegisterFile::Special(Special::Null | Special::Null64));
        (!is_null).then_some(self.halved(register, slot.is_output))
    }

    /// The same as [`slot_register`](Self::slot_register), sooner where that can be.
    #[inline(always)]
    fn quick_register(&self, quick: &[Quick], at: u32) -> Option<Register> {
        let Some(slot) = quick.get(at as usize) else { return self.slot_register(at) };
        let Some(code) = slot.code(self.model, self.inst) else { return self.slot_register(at) };
        let first = code.number();
        match code.tag() {
            tag::VGPR => {
                let first = first + self.msb.upper_of(slot.msb);
                Some(Register { file: RegisterFile::Vgpr, first, count: slot.vector, half: None })
            }
            tag::SGPR if slot.scalar != 0 => {
                Some(Register { file: RegisterFile::Sgpr, first, count: slot.scalar, half: None })
            }
            tag::INVALID | tag::INLINE | tag::LITERAL | tag::LITERAL64 => None,
            _ => self.slot_register(at),
        }
    }

    /// The half that is written, where the operand itself names a whole register.
    #[inline]
    fn halved(&self, register: Register, is_output: bool) -> Register {
        let rules = self.form.rules;
        if !is_output || !rules.has(HALVING) || register.half.is_some() || register.count > 1 {
            return register;
        }
        let half = if rules.has(Rules::WRITES_LOW_HALF) {
            Some(Half::Low)
        } else if rules.has(Rules::WRITES_HIGH_HALF) || self.model.selects_upper_half(self.inst) {
            Some(Half::High)
        } else {
            None
        };
        Register { half, ..register }
    }

    fn implicit_register(&self, bit: u16) -> Register {
        let wave32 = self.model.arch.has(Arch::WAVE32);
        let (special, count) = match bit {
            Implicit::SCC => (Special::Scc, 1),
            Implicit::VCC if wave32 => (Special::VccLo, 1),
            Implicit::VCC => (Special::Vcc, 2),
            Implicit::EXEC_LO => (Special::ExecLo, 1),
            Implicit::EXEC if wave32 => (Special::ExecLo, 1),
            Implicit::EXEC | Implicit::EXEC64 => (Special::Exec, 2),
            Implicit::M0 => (Special::M0, 1),
            Implicit::MODE => (Special::Mode, 1),
            Implicit::FLAT_SCRATCH => (Special::FlatScratch, 2),
            _ => (Special::Null, 1),
        };
        Register { file: RegisterFile::Special(special), first: 0, count, half: None }
    }
}

/// Registers of an instruction: those of its operands first, then implicit ones.
pub struct Registers<'a> {
    effects: Effects<'a>,
    slots: u32,
    implicit: Implicit,
    whole_only: bool,
    scalar_only: bool,
}

impl Registers<'_> {
    #[inline]
    fn is_left_out(&self, register: &Register) -> bool {
        let is_vector = matches!(register.file, RegisterFile::Vgpr | RegisterFile::Agpr);
        self.whole_only && register.half.is_some() || self.scalar_only && is_vector
    }
}

impl Iterator for Registers<'_> {
    type Item = Register;

    #[inline]
    fn next(&mut self) -> Option<Register> {
        while self.slots != 0 {
            let at = self.slots.trailing_zeros();
            self.slots &= self.slots - 1;
            if let Some(register) = self.effects.slot_register(at)
                && !self.is_left_out(&register)
            {
                return Some(register);
            }
        }
        if self.implicit.0 == 0 {
            return None;
        }
        let bit = self.implicit.0 & self.implicit.0.wrapping_neg();
        self.implicit.0 &= !bit;
        Some(self.effects.implicit_register(bit))
    }

    /// What loops over all of them want: no state to come back to between one and the next.
    #[inline]
    fn fold<B, F: FnMut(B, Register) -> B>(self, init: B, mut add: F) -> B {
        let mut all = init;
        let mut slots = self.slots;
        let mut quick: &[Quick] = &[];
        if slots != 0
            && !self.effects.form.rules.has(HALVING | Rules::RESIZED)
            && let Some(shape) = self.effects.quick_slots()
        {
            quick = &shape.slots;
        }
        let mut implicit = self.implicit.0;
        // One place that calls, so that what it calls becomes a part of the loop.
        loop {
            let register = if slots != 0 {
                let at = slots.trailing_zeros();
                slots &= slots - 1;
                match self.effects.quick_register(quick, at) {
                    Some(register) if !self.is_left_out(&register) => register,
                    _ => continue,
                }
            } else if implicit != 0 {
                let bit = implicit & implicit.wrapping_neg();
                implicit &= !bit;
                self.effects.implicit_register(bit)
            } else {
                return all;
            };
            all = add(all, register);
        }
    }
}
