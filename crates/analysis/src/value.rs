//! What scalar registers hold, as far as code addresses need it.
//!
//! Looks backwards from a use to the definitions that reach it and works out their values: the
//! program counter, constants, sums. Nothing is computed for registers that are not asked about.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use hsaco_isa::effects::{Effects, Flow};
use hsaco_isa::model::{OperandValue, Register, RegisterFile, Special, VgprMsb};
use hsaco_isa::{Decoder, Inst};

use crate::cfg::{Address, Cfg};
use crate::register_set::RegisterSet;
use crate::stream::Stream;

/// What one register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Known(u32),
    /// What it held at the function's entry.
    Entry(u16),
    /// A word of memory.
    Loaded(u64),
    Unknown,
}

/// The first scalar register that a callee keeps, by the calling convention of LLVM.
const FIRST_PRESERVED: u16 = 30;
const RETURN_ADDRESS: u16 = 30;
/// How deep one value may depend on others.
const MAX_DEPTH: usize = 12;

/// Answers for one function.
pub struct Values<'a> {
    decoder: &'a Decoder,
    stream: &'a Stream<'a>,
    cfg: &'a Cfg,
    callees: &'a dyn Callees,
    /// How many more instructions may be looked at.
    budget: Cell<usize>,
    /// The instructions that the last answer came from.
    sources: RefCell<BTreeSet<usize>>,
}

/// What calls do to registers.
pub(crate) trait Callees {
    /// The registers that the callee of the call with this number may write, if that is known.
    fn writes(&self, call: usize) -> Option<&RegisterSet>;
}

/// Callees of which nothing is known: they keep what the calling convention makes them keep.
struct UnknownCallees;

impl Callees for UnknownCallees {
    fn writes(&self, _call: usize) -> Option<&RegisterSet> {
        None
    }
}

/// A register whose definitions are looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Sgpr(u16),
    Vcc(u16),
    Scc,
    /// One lane of a vector register: where functions keep scalar registers while they call others.
    Lane(u16, i8),
}

impl<'a> Values<'a> {
    /// Answers for the instructions of a stream.
    #[must_use]
    pub fn new(decoder: &'a Decoder, stream: &'a Stream<'a>, cfg: &'a Cfg) -> Self {
        Self::with_callees(decoder, stream, cfg, &UnknownCallees)
    }

    /// The same, where it is known what calls do.
    pub(crate) fn with_callees(
        decoder: &'a Decoder,
        stream: &'a Stream<'a>,
        cfg: &'a Cfg,
        callees: &'a dyn Callees,
    ) -> Self {
        let budget = Cell::new(64 * stream.len() + 4096);
        Values { decoder, stream, cfg, callees, budget, sources: RefCell::default() }
    }

    /// Where the indirect jumps go.
    pub(crate) fn jumps(&self) -> BTreeMap<usize, Address> {
        let is_jump = |index: &usize| {
            self.stream.inst(*index).is_some_and(|inst| inst.flow() == Flow::IndirectJump)
        };
        let jumps = self.stream.turns().filter(is_jump);
        jumps.map(|index| (index, self.target(index))).collect()
    }

    /// Where an indirect jump or call goes.
    ///
    /// ```
    /// use hsaco_analysis::{Address, Cfg, Stream, Values};
    /// use hsaco_isa::{Decoder, Processor};
    /// // s_getpc_b64 s[4:5]; s_add_u32 s4, s4, 0x100; s_addc_u32 s5, s5, 0; s_swappc_b64 s[30:31], s[4:5]
    /// let words = [0xbe84_1c00_u32, 0x8004_ff04, 0x100, 0x8205_8005, 0xbe9e_1e04];
    /// let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    /// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
    /// let stream = Stream::decode(&decoder, 0x1000, &bytes);
    /// let cfg = Cfg::new(&decoder, &stream);
    /// assert_eq!(Values::new(&decoder, &stream, &cfg).target(3), Address::Known(0x1104));
    /// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
    /// ```
    #[must_use]
    pub fn target(&self, index: usize) -> Address {
        self.sources.borrow_mut().clear();
        let Some(inst) = self.stream.inst(index) else { return Address::Unknown };
        let (low, high) = match self.decoder.operand(&inst, "src0") {
            Some(OperandValue::Register(register)) => {
                (self.word(&register, 0, index, 0), self.word(&register, 1, index, 0))
            }
            Some(OperandValue::Literal64(value)) => return self.based(&inst, index, value),
            Some(OperandValue::Literal32(value)) => {
                return self.based(&inst, index, value.into());
            }
            _ => return Address::Unknown,
        };
        match (low, high) {
            (Value::Known(low), Value::Known(high)) => {
                self.based(&inst, index, u64::from(high) << 32 | u64::from(low))
            }
            (Value::Entry(RETURN_ADDRESS), Value::Entry(high)) if high == RETURN_ADDRESS + 1 => {
                Address::Return
            }
            (Value::Loaded(low), Value::Loaded(high)) if high == low.wrapping_add(4) => {
                Address::Loaded(low)
            }
            _ => Address::Unknown,
        }
    }

    /// Whether answers may be missing because it took too long to find them.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.budget.get() == 0
    }

    /// The instructions that made the address which [`target`](Self::target) found last.
    pub(crate) fn sources(&self) -> BTreeSet<usize> {
        self.sources.take()
    }

    /// The address that an instruction completes in the pair of registers that ends with its destination.
    pub(crate) fn completed(&self, index: usize) -> Option<(u16, u64)> {
        let inst = self.stream.inst(index)?;
        let Some(OperandValue::Register(register)) = self.decoder.operand(&inst, "sdst") else {
            return None;
        };
        if register.file != RegisterFile::Sgpr {
            return None;
        }
        let first = (register.first + u16::from(register.count.max(1))).checked_sub(2)?;
        let half = |number: u16| match self.after(Place::Sgpr(number), index) {
            Value::Known(value) => Some(u64::from(value)),
            _ => None,
        };
        Some((first, half(first + 1)? << 32 | half(first)?))
    }

    /// What a register holds after an instruction.
    fn after(&self, place: Place, index: usize) -> Value {
        if self.writes(index, place) {
            self.defined(place, index, 0)
        } else {
            self.at(place, index, 0)
        }
    }

    /// The operand is the address itself, but for `s_add_pc_i64`.
    fn based(&self, inst: &Inst, index: usize, value: u64) -> Address {
        let base =
            if inst.mnemonic() == "s_add_pc_i64" { self.stream.address_of(index + 1) } else { 0 };
        Address::Known(base.wrapping_add(value))
    }

    /// One word of a scalar operand before an instruction.
    fn word(&self, register: &Register, word: u16, before: usize, depth: usize) -> Value {
        match register.file {
            RegisterFile::Sgpr => self.at(Place::Sgpr(register.first + word), before, depth),
            RegisterFile::Special(Special::Vcc | Special::VccLo) => {
                self.at(Place::Vcc(word), before, depth)
            }
            RegisterFile::Special(Special::VccHi) => self.at(Place::Vcc(1), before, depth),
            _ => Value::Unknown,
        }
    }

    /// What a register holds before an instruction: the value that all definitions that reach it agree on.
    fn at(&self, place: Place, before: usize, depth: usize) -> Value {
        if depth > MAX_DEPTH || self.budget.get() == 0 {
            return Value::Unknown;
        }
        let definitions = self.reaching(place, before);
        let mut values = definitions.into_iter().map(|definition| match definition {
            Some(index) => self.defined(place, index, depth + 1),
            None => entry_value(place),
        });
        let first = values.next().unwrap_or(Value::Unknown);
        if values.all(|value| value == first) { first } else { Value::Unknown }
    }

    /// The instructions that may have written a register last; `None` stands for the function's entry.
    fn reaching(&self, place: Place, before: usize) -> BTreeSet<Option<usize>> {
        let mut found: BTreeSet<Option<usize>> = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let Some(block) = self.cfg.block_of(before) else { return found };
        let mut work = vec![(block, before)];
        while let Some((block, end)) = work.pop() {
            let first = self.cfg.blocks()[block].first;
            let writer = (first..end).rev().find(|index| self.writes(*index, place));
            self.budget.set(self.budget.get().saturating_sub(1 + end - writer.unwrap_or(first)));
            if let Some(index) = writer {
                found.insert(Some(index));
                continue;
            }
            if Some(block) == self.cfg.entry() {
                found.insert(None);
            }
            for before in self.cfg.predecessors(block) {
                if seen.insert(before) {
                    work.push((before, self.cfg.blocks()[before].end));
                }
            }
        }
        found
    }

    fn writes(&self, index: usize, place: Place) -> bool {
        let Some(inst) = self.stream.inst(index) else { return true };
        let calls = matches!(inst.flow(), Flow::Call | Flow::IndirectCall);
        let effects = self.effects(&inst);
        let is_indexed = effects.indexed().any(|register| register.file == RegisterFile::Sgpr);
        calls && self.is_lost(index, place)
            || is_indexed
            || self
                .writes_lane(&inst, place)
                .unwrap_or_else(|| effects.writes().any(|register| covers(&register, place)))
    }

    /// Whether a call may change a register.
    fn is_lost(&self, call: usize, place: Place) -> bool {
        let number = match place {
            Place::Sgpr(number) => number,
            // Were a lane changed that holds a return address, there would be no way back.
            Place::Lane(..) => return false,
            Place::Vcc(_) | Place::Scc => return true,
        };
        let register = Register { file: RegisterFile::Sgpr, first: number, count: 1, half: None };
        number < FIRST_PRESERVED
            && self.callees.writes(call).is_none_or(|written| written.contains(&register))
    }

    /// Whether `v_writelane_b32` writes a lane; none for other instructions and places.
    fn writes_lane(&self, inst: &Inst, place: Place) -> Option<bool> {
        let Place::Lane(vgpr, lane) = place else { return None };
        if inst.mnemonic() != "v_writelane_b32" {
            return None;
        }
        let (written, at) = self.lane(inst, "vdst")?;
        Some(written == vgpr && at.is_none_or(|at| at == lane))
    }

    /// The vector register that an operand names, and the lane of it, if that is a constant.
    fn lane(&self, inst: &Inst, operand: &str) -> Option<(u16, Option<i8>)> {
        let Some(OperandValue::Register(register)) = self.decoder.operand(inst, operand) else {
            return None;
        };
        let lane = match self.decoder.operand(inst, "src1")? {
            OperandValue::Integer(lane) => Some(lane),
            _ => None,
        };
        (register.file == RegisterFile::Vgpr).then_some((register.first, lane))
    }

    fn effects<'b>(&'b self, inst: &'b Inst) -> Effects<'b> {
        self.decoder.effects(inst, VgprMsb::default())
    }

    /// What an instruction leaves in a register that it writes.
    fn defined(&self, place: Place, index: usize, depth: usize) -> Value {
        let Some(inst) = self.stream.inst(index) else { return Value::Unknown };
        self.sources.borrow_mut().insert(index);
        match inst.mnemonic() {
            "v_readlane_b32" => return self.read_lane(&inst, index, depth),
            "v_writelane_b32" => return self.written_lane(&inst, place, index, depth),
            _ => {}
        }
        let Some(OperandValue::Register(destination)) = self.decoder.operand(&inst, "sdst") else {
            return Value::Unknown;
        };
        let is_known =
            self.effects(&inst).indexed().next().is_none() && covers(&destination, place);
        if !is_known || matches!(inst.flow(), Flow::Call | Flow::IndirectCall) {
            return Value::Unknown;
        }
        let word = word_of(&destination, place);
        if inst.mnemonic().starts_with("s_load_") {
            return self.loaded(&inst, index, word, depth);
        }
        match self.computed(&inst, index, depth) {
            Some(value) => Value::Known((value >> (32 * word)) as u32),
            None => self.copied(&inst, index, word, depth),
        }
    }

    /// What `v_readlane_b32` brings back.
    fn read_lane(&self, inst: &Inst, index: usize, depth: usize) -> Value {
        match self.lane(inst, "src0") {
            // Upper bits of register numbers are not followed here.
            Some((vgpr, Some(lane))) if !self.changes_banks() => {
                self.at(Place::Lane(vgpr, lane), index, depth)
            }
            _ => Value::Unknown,
        }
    }

    /// What `v_writelane_b32` puts away.
    fn written_lane(&self, inst: &Inst, place: Place, index: usize, depth: usize) -> Value {
        let Some((vgpr, Some(lane))) = self.lane(inst, "vdst") else { return Value::Unknown };
        match self.decoder.operand(inst, "src0") {
            Some(OperandValue::Register(source)) if place == Place::Lane(vgpr, lane) => {
                self.word(&source, 0, index, depth)
            }
            _ => Value::Unknown,
        }
    }

    fn changes_banks(&self) -> bool {
        let changes = |inst: &Inst| inst.mnemonic() == "s_set_vgpr_msb";
        self.decoder.has_vgpr_msb() && self.stream.insts().any(|inst| changes(&inst))
    }

    /// A copy of a register that holds no known number.
    fn copied(&self, inst: &Inst, index: usize, word: u16, depth: usize) -> Value {
        match (inst.mnemonic(), self.decoder.operand(inst, "src0")) {
            ("s_mov_b32" | "s_mov_b64", Some(OperandValue::Register(source))) => {
                self.word(&source, word, index, depth)
            }
            _ => Value::Unknown,
        }
    }

    /// A word that a scalar load brings from a known address.
    fn loaded(&self, inst: &Inst, index: usize, word: u16, depth: usize) -> Value {
        let base = self.number(inst, "sbase", index, true, depth);
        let register = self.decoder.operand(inst, "soffset");
        let offset = match self.decoder.operand(inst, "offset") {
            _ if !register.is_none_or(is_null) => None,
            Some(OperandValue::Number(offset)) => Some(offset),
            Some(_) => None,
            None => Some(0),
        };
        match (base, offset) {
            (Some(base), Some(offset)) => {
                Value::Loaded(base.wrapping_add_signed(offset).wrapping_add(4 * u64::from(word)))
            }
            _ => Value::Unknown,
        }
    }

    /// The number that an instruction computes from known ones.
    fn computed(&self, inst: &Inst, index: usize, depth: usize) -> Option<u64> {
        let source = |name: &str| self.number(inst, name, index, false, depth);
        let wide = |name: &str| self.number(inst, name, index, true, depth);
        let word = |value: u64| Some(value & 0xffff_ffff);
        match inst.mnemonic() {
            "s_getpc_b64" | "s_get_pc_i64" => Some(self.stream.address_of(index + 1)),
            "s_mov_b32" | "s_movk_i32" => source("src0").or_else(|| source("simm16")),
            "s_mov_b64" => wide("src0"),
            "s_add_u32" | "s_add_co_u32" | "s_add_i32" | "s_add_co_i32" => {
                word(source("src0")?.wrapping_add(source("src1")?))
            }
            "s_sub_u32" | "s_sub_co_u32" | "s_sub_i32" | "s_sub_co_i32" => {
                word(source("src0")?.wrapping_sub(source("src1")?))
            }
            "s_addc_u32" | "s_add_co_ci_u32" => word(
                source("src0")?
                    .wrapping_add(source("src1")?)
                    .wrapping_add(self.carry(index, depth)?),
            ),
            "s_subb_u32" | "s_sub_co_ci_u32" => word(
                source("src0")?
                    .wrapping_sub(source("src1")?)
                    .wrapping_sub(self.carry(index, depth)?),
            ),
            "s_addk_i32" | "s_addk_co_i32" => {
                let OperandValue::Register(own) = self.decoder.operand(inst, "sdst")? else {
                    return None;
                };
                word(self.known(&own, 0, index, depth)?.wrapping_add(source("simm16")?))
            }
            "s_add_u64" | "s_add_nc_u64" => Some(wide("src0")?.wrapping_add(wide("src1")?)),
            "s_sub_u64" | "s_sub_nc_u64" => Some(wide("src0")?.wrapping_sub(wide("src1")?)),
            "s_sext_i32_i16" => word(sign_extended(source("src0")?)),
            _ => None,
        }
    }

    /// The carry that an addition reads: what the last writer of SCC left there.
    fn carry(&self, before: usize, depth: usize) -> Option<u64> {
        let writers = self.reaching(Place::Scc, before);
        let mut carries = writers.into_iter().map(|writer| self.carry_of(writer?, depth + 1));
        let first = carries.next()??;
        carries.all(|carry| carry == Some(first)).then_some(first)
    }

    fn carry_of(&self, index: usize, depth: usize) -> Option<u64> {
        if depth > MAX_DEPTH {
            return None;
        }
        let inst = self.stream.inst(index)?;
        let source = |name: &str| self.number(&inst, name, index, false, depth);
        match inst.mnemonic() {
            "s_add_u32" | "s_add_co_u32" => Some((source("src0")? + source("src1")?) >> 32),
            "s_sub_u32" | "s_sub_co_u32" => Some(u64::from(source("src0")? < source("src1")?)),
            _ => None,
        }
    }

    /// A source that is a known number, 32 or 64 bits of it.
    fn number(
        &self,
        inst: &Inst,
        name: &str,
        index: usize,
        wide: bool,
        depth: usize,
    ) -> Option<u64> {
        let value = match self.decoder.operand(inst, name)? {
            OperandValue::Integer(number) => i64::from(number).cast_unsigned(),
            OperandValue::Number(number) => sign_extended(number.cast_unsigned()),
            OperandValue::Literal32(number) => number.into(),
            OperandValue::Literal64(number) => number,
            OperandValue::Register(register) => {
                let low = self.known(&register, 0, index, depth)?;
                let high = if wide { self.known(&register, 1, index, depth)? } else { 0 };
                high << 32 | low
            }
            OperandValue::Float(_) | OperandValue::Modifiers(_) => return None,
        };
        Some(if wide { value } else { value & 0xffff_ffff })
    }

    fn known(&self, register: &Register, word: u16, before: usize, depth: usize) -> Option<u64> {
        match self.word(register, word, before, depth) {
            Value::Known(value) => Some(value.into()),
            _ => None,
        }
    }
}

fn is_null(operand: OperandValue) -> bool {
    let null = RegisterFile::Special(Special::Null);
    matches!(operand, OperandValue::Register(register) if register.file == null)
}

/// Sixteen bits and their sign.
fn sign_extended(value: u64) -> u64 {
    i64::from(value as u16 as i16).cast_unsigned()
}

fn entry_value(place: Place) -> Value {
    match place {
        Place::Sgpr(number) => Value::Entry(number),
        Place::Vcc(_) | Place::Scc | Place::Lane(..) => Value::Unknown,
    }
}

/// Which word of a destination a register is.
fn word_of(destination: &Register, place: Place) -> u16 {
    match (destination.file, place) {
        (RegisterFile::Sgpr, Place::Sgpr(number)) => number.saturating_sub(destination.first),
        (RegisterFile::Special(Special::Vcc), Place::Vcc(word)) => word,
        _ => 0,
    }
}

fn covers(register: &Register, place: Place) -> bool {
    match (register.file, place) {
        (RegisterFile::Sgpr, Place::Sgpr(number)) => {
            (register.first..register.first + u16::from(register.count.max(1))).contains(&number)
        }
        (RegisterFile::Special(Special::Vcc), Place::Vcc(_))
        | (RegisterFile::Special(Special::VccLo), Place::Vcc(0))
        | (RegisterFile::Special(Special::VccHi), Place::Vcc(1))
        | (RegisterFile::Special(Special::Scc), Place::Scc) => true,
        (RegisterFile::Vgpr, Place::Lane(number, _)) => {
            (register.first..register.first + u16::from(register.count.max(1))).contains(&number)
        }
        _ => false,
    }
}
