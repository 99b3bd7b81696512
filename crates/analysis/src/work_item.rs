//! What registers hold in each work-item of a workgroup, as far as it follows from the number of the work-item alone.
//!
//! A forward walk over all paths, for waves that begin with nothing but that number. What depends on arguments and memory
//! is not known, nor what paths do not agree on.

use std::collections::BTreeMap;
use std::rc::Rc;

use hsaco_bytes::IndexVec;
use hsaco_isa::effects::Flow;
use hsaco_isa::model::{OperandValue, Register, RegisterFile, SourceModifiers, Special, VgprMsb};
use hsaco_isa::target::Generation;
use hsaco_isa::{Decoder, Inst};
use hsaco_object::Kernel;
use hsaco_object::descriptor::Field;

use crate::cfg::{BlockId, Cfg};
use crate::state::States;
use crate::stream::Stream;

/// The workgroup of a launch in one dimension, whose work-items are numbered by the first vector register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Workgroup {
    /// How many work-items it has.
    pub items: u32,
    /// How many of them are in a wave.
    pub wave: u32,
}

impl Workgroup {
    /// The workgroups of a kernel: the largest that it says it is launched with; two waves where it says nothing. None for
    /// kernels that ask for numbers in more than one dimension.
    #[must_use]
    pub fn of(kernel: &Kernel<'_>, generation: Generation) -> Option<Self> {
        /// What compilers say where nothing is known.
        const ANY: u64 = 1024;
        let descriptor = kernel.descriptor()?;
        let metadata = kernel.metadata()?.decode().ok()?;
        let ids = descriptor.value(Field::by_name(generation, "enable_vgpr_workitem_id")?);
        let required = metadata.reqd_workgroup_size;
        let is_line = ids == 0 || required.is_some_and(|it| it.iter().skip(1).all(|it| *it == 1));
        let wave = descriptor.wavefront_size(generation);
        let items = match (required, metadata.max_flat_workgroup_size?) {
            (Some(sizes), _) => sizes.iter().copied().try_fold(1, u64::checked_mul)?,
            (None, ANY..) => u64::from(2 * wave),
            (None, most) => most,
        };
        let items = u32::try_from(items).ok().filter(|it| (1..=1024).contains(it))?;
        is_line.then_some(Self { items, wave })
    }

    /// How many waves it has.
    #[must_use]
    pub fn waves(self) -> u32 {
        self.items.div_ceil(self.wave)
    }
}

/// The values of a register: of a vector register by work-item, of a scalar one by wave.
type Row = Rc<[Option<u32>]>;

/// Registers by number: scalar ones as encodings have them, SCC, and vector registers behind.
type Number = u16;

const VCC: Number = 106;
const M0: Number = 124;
const EXEC: Number = 126;
const SCC: Number = 253;
const VECTORS: Number = 256;

/// What is known at a place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    rows: BTreeMap<Number, Row>,
    /// The waves that may get there.
    waves: u64,
}

/// A source of an instruction.
enum Source {
    Constant(u32),
    Row(Row),
    Unknown,
}

/// Works it out for a function that a kernel begins with.
pub(crate) struct WorkItems<'a> {
    pub(crate) decoder: &'a Decoder,
    pub(crate) stream: &'a Stream<'a>,
    pub(crate) cfg: &'a Cfg,
    pub(crate) states: &'a States<'a>,
    pub(crate) group: Workgroup,
}

/// What a vector instruction computes of its sources in a lane.
type OfLane = fn([u32; 3], u32) -> u32;
/// What a scalar instruction computes of its sources, and SCC.
type OfWave = fn(u32, u32) -> (u32, Option<bool>);
/// Of masks of lanes, word by word.
type OfMasks = fn(u32, u32) -> u32;

const U24: u32 = 0xff_ffff;

#[rustfmt::skip]
const VECTOR: &[(&str, OfLane)] = &[
    ("v_mov_b32", |[a, ..], _| a),
    ("v_not_b32", |[a, ..], _| !a),
    ("v_and_b32", |[a, b, _], _| a & b),
    ("v_or_b32", |[a, b, _], _| a | b),
    ("v_xor_b32", |[a, b, _], _| a ^ b),
    ("v_lshlrev_b32", |[a, b, _], _| b << (a & 31)),
    ("v_lshrrev_b32", |[a, b, _], _| b >> (a & 31)),
    ("v_ashrrev_i32", |[a, b, _], _| (b.cast_signed() >> (a & 31)).cast_unsigned()),
    ("v_add_u32", |[a, b, _], _| a.wrapping_add(b)),
    ("v_add_nc_u32", |[a, b, _], _| a.wrapping_add(b)),
    ("v_sub_u32", |[a, b, _], _| a.wrapping_sub(b)),
    ("v_sub_nc_u32", |[a, b, _], _| a.wrapping_sub(b)),
    ("v_subrev_u32", |[a, b, _], _| b.wrapping_sub(a)),
    ("v_subrev_nc_u32", |[a, b, _], _| b.wrapping_sub(a)),
    ("v_mul_u32_u24", |[a, b, _], _| (a & U24).wrapping_mul(b & U24)),
    ("v_mul_lo_u32", |[a, b, _], _| a.wrapping_mul(b)),
    ("v_mad_u32_u24", |[a, b, c], _| (a & U24).wrapping_mul(b & U24).wrapping_add(c)),
    ("v_lshl_add_u32", |[a, b, c], _| (a << (b & 31)).wrapping_add(c)),
    ("v_add_lshl_u32", |[a, b, c], _| a.wrapping_add(b) << (c & 31)),
    ("v_lshl_or_b32", |[a, b, c], _| a << (b & 31) | c),
    ("v_and_or_b32", |[a, b, c], _| a & b | c),
    ("v_or3_b32", |[a, b, c], _| a | b | c),
    ("v_add3_u32", |[a, b, c], _| a.wrapping_add(b).wrapping_add(c)),
    ("v_xad_u32", |[a, b, c], _| (a ^ b).wrapping_add(c)),
    ("v_xor3_b32", |[a, b, c], _| a ^ b ^ c),
    ("v_bfi_b32", |[a, b, c], _| a & b | !a & c),
    ("v_bfe_u32", |[a, b, c], _| field(a, b, c)),
    ("v_bfe_i32", |[a, b, c], _| signed(field(a, b, c), c & 31)),
    ("v_min_u32", |[a, b, _], _| a.min(b)),
    ("v_max_u32", |[a, b, _], _| a.max(b)),
    ("v_mbcnt_lo_u32_b32", |[a, b, _], lane| (a & below(lane)).count_ones().wrapping_add(b)),
    ("v_mbcnt_hi_u32_b32", |[a, b, _], lane| (a & below(lane.saturating_sub(32))).count_ones().wrapping_add(b)),
];

#[rustfmt::skip]
const SCALAR: &[(&str, OfWave)] = &[
    ("s_movk_i32", |a, _| (a, None)),
    ("s_add_u32", |a, b| { let (sum, carry) = a.overflowing_add(b); (sum, Some(carry)) }),
    ("s_add_co_u32", |a, b| { let (sum, carry) = a.overflowing_add(b); (sum, Some(carry)) }),
    ("s_add_i32", |a, b| overflowing(a.cast_signed().overflowing_add(b.cast_signed()))),
    ("s_add_co_i32", |a, b| overflowing(a.cast_signed().overflowing_add(b.cast_signed()))),
    ("s_sub_u32", |a, b| { let (less, borrow) = a.overflowing_sub(b); (less, Some(borrow)) }),
    ("s_sub_co_u32", |a, b| { let (less, borrow) = a.overflowing_sub(b); (less, Some(borrow)) }),
    ("s_sub_i32", |a, b| overflowing(a.cast_signed().overflowing_sub(b.cast_signed()))),
    ("s_sub_co_i32", |a, b| overflowing(a.cast_signed().overflowing_sub(b.cast_signed()))),
    ("s_mul_i32", |a, b| (a.wrapping_mul(b), None)),
    ("s_lshl_b32", |a, b| bits(a << (b & 31))),
    ("s_lshr_b32", |a, b| bits(a >> (b & 31))),
    ("s_ashr_i32", |a, b| bits((a.cast_signed() >> (b & 31)).cast_unsigned())),
    ("s_bfe_u32", |a, b| bits(a >> (b & 31) & below(b >> 16 & 0x7f))),
];

#[rustfmt::skip]
const MASKS: &[(&str, OfMasks)] = &[
    ("s_mov", |a, _| a),
    ("s_not", |a, _| !a),
    ("s_and", |a, b| a & b),
    ("s_or", |a, b| a | b),
    ("s_xor", |a, b| a ^ b),
    ("s_andn2", |a, b| a & !b),
    ("s_and_not1", |a, b| a & !b),
    ("s_orn2", |a, b| a | !b),
    ("s_or_not1", |a, b| a | !b),
    ("s_xnor", |a, b| !(a ^ b)),
];

fn below(lane: u32) -> u32 {
    if lane >= 32 { u32::MAX } else { (1 << lane) - 1 }
}

fn field(value: u32, first: u32, width: u32) -> u32 {
    value >> (first & 31) & below(width & 31)
}

fn signed(value: u32, width: u32) -> u32 {
    let unused = 32 - width.max(1);
    if width == 0 { 0 } else { ((value << unused).cast_signed() >> unused).cast_unsigned() }
}

fn bits(value: u32) -> (u32, Option<bool>) {
    (value, Some(value != 0))
}

fn overflowing((value, overflows): (i32, bool)) -> (u32, Option<bool>) {
    (value.cast_unsigned(), Some(overflows))
}

/// The instruction's name without what tells its encoding.
fn base(mnemonic: &str) -> &str {
    mnemonic.trim_end_matches("_e32").trim_end_matches("_e64")
}

fn of<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|it| it.0 == name).map(|it| it.1)
}

/// Whether the comparison in an instruction's name holds, such as `lt_u32`.
fn comparison(name: &str) -> Option<fn(u32, u32) -> bool> {
    let signed = name.ends_with("_i32");
    if !signed && !name.ends_with("_u32") {
        return None;
    }
    let holds: fn(u32, u32) -> bool = match (name.get(..2)?, signed) {
        ("eq", _) => |a, b| a == b,
        ("ne" | "lg", _) => |a, b| a != b,
        ("lt", false) => |a, b| a < b,
        ("le", false) => |a, b| a <= b,
        ("gt", false) => |a, b| a > b,
        ("ge", false) => |a, b| a >= b,
        ("lt", true) => |a, b| a.cast_signed() < b.cast_signed(),
        ("le", true) => |a, b| a.cast_signed() <= b.cast_signed(),
        ("gt", true) => |a, b| a.cast_signed() > b.cast_signed(),
        ("ge", true) => |a, b| a.cast_signed() >= b.cast_signed(),
        _ => return None,
    };
    Some(holds)
}

/// The numbers of the words of a register; none for those that are not followed.
fn numbers(register: &Register) -> std::ops::Range<Number> {
    let (first, count) = match register.file {
        RegisterFile::Sgpr => (register.first, register.count.max(1)),
        RegisterFile::Vgpr => (VECTORS + register.first, register.count.max(1)),
        RegisterFile::Special(special) => match special {
            Special::Vcc => (VCC, 2),
            Special::VccLo => (VCC, 1),
            Special::VccHi => (VCC + 1, 1),
            Special::M0 => (M0, 1),
            Special::Exec => (EXEC, 2),
            Special::ExecLo => (EXEC, 1),
            Special::ExecHi => (EXEC + 1, 1),
            Special::Scc => (SCC, 1),
            _ => return 0..0,
        },
        _ => return 0..0,
    };
    first..first + Number::from(count)
}

impl Known {
    /// Joins what is known on another path; whether that is less, or there are more waves.
    fn join(&mut self, other: &Known) -> bool {
        let waves = self.waves | other.waves;
        let mut has_changed = waves != self.waves;
        self.waves = waves;
        self.rows.retain(|number, row| {
            let Some(other) = other.rows.get(number) else {
                has_changed = true;
                return false;
            };
            if !Rc::ptr_eq(row, other) && row != other {
                let differs = row.iter().zip(other.iter()).any(|(a, b)| a != b && a.is_some());
                if differs {
                    let both = row.iter().zip(other.iter());
                    let both: Row = both.map(|(a, b)| if a == b { *a } else { None }).collect();
                    *row = both;
                    has_changed = true;
                }
            }
            true
        });
        has_changed
    }

    fn at(&self, number: Number, place: u32) -> Option<u32> {
        *self.rows.get(&number)?.get(place as usize)?
    }
}

impl WorkItems<'_> {
    /// What is known before each block; nothing for those that no wave gets to.
    pub(crate) fn before(&self) -> IndexVec<BlockId, Option<Known>> {
        let blocks = self.cfg.blocks();
        let mut before: IndexVec<BlockId, Option<Known>> = blocks.filled(None);
        let mut is_changed = blocks.filled(false);
        let Some(entry) = self.cfg.entry() else { return before };
        before[entry] = Some(self.at_entry());
        is_changed[entry] = true;
        while is_changed.as_slice().contains(&true) {
            for block in self.cfg.reverse_post_order() {
                if !std::mem::take(&mut is_changed[*block]) {
                    continue;
                }
                let Some(known) = before[*block].clone() else { continue };
                let after = self.run(*block, known, |_, _| ());
                for next in self.cfg.successors(*block) {
                    let waves = self.going(*block, next, &after);
                    if waves == 0 {
                        continue;
                    }
                    let after = Known { waves, ..after.clone() };
                    is_changed[next] |= match &mut before[next] {
                        Some(known) => known.join(&after),
                        unknown => {
                            *unknown = Some(after);
                            true
                        }
                    };
                }
            }
        }
        before
    }

    /// Runs a block; `at` is told what is known before each instruction.
    pub(crate) fn run(
        &self,
        block: BlockId,
        mut known: Known,
        mut at: impl FnMut(usize, &Known),
    ) -> Known {
        let mut state = self.states.before_block(block);
        for step in self.cfg.blocks()[block].steps() {
            at(step, &known);
            self.step(step, state.msb, &mut known);
            state = self.states.after(state, step);
        }
        known
    }

    fn at_entry(&self) -> Known {
        let mut rows: BTreeMap<Number, Row> = BTreeMap::new();
        rows.insert(VECTORS, (0..self.group.items).map(Some).collect());
        for word in 0..2 {
            rows.insert(EXEC + word, self.all_lanes(word.into()));
        }
        Known { rows, waves: u64::MAX >> (64 - self.group.waves().min(64)) }
    }

    /// A word of the mask of all lanes, by wave.
    fn all_lanes(&self, word: u32) -> Row {
        let Workgroup { items, wave } = self.group;
        let lanes = |at: u32| (items - at * wave).min(wave).saturating_sub(32 * word);
        (0..self.group.waves()).map(|at| Some(below(lanes(at)))).collect()
    }

    /// The waves that go from a block to another.
    fn going(&self, block: BlockId, next: BlockId, after: &Known) -> u64 {
        let last = self.cfg.blocks()[block].end - 1;
        let Some(inst) = self.stream.inst(last) else { return after.waves };
        let falls_to = self.cfg.blocks()[next].first == last + 1;
        let goes_to = inst
            .branch_target(self.stream.address_of(last))
            .and_then(|it| self.stream.index_of(it));
        let is_both = falls_to && goes_to == Some(last + 1);
        if inst.flow() != Flow::ConditionalBranch || is_both {
            return after.waves;
        }
        let words = if self.group.wave == 32 { 1 } else { 2 };
        let is_zero = |first: Number, wave: u32| {
            (0..words).try_fold(true, |all, it| Some(all & (after.at(first + it, wave)? == 0)))
        };
        let is_taken = |wave: u32| {
            Some(match inst.mnemonic() {
                "s_cbranch_scc0" => after.at(SCC, wave)? == 0,
                "s_cbranch_scc1" => after.at(SCC, wave)? != 0,
                "s_cbranch_execz" => is_zero(EXEC, wave)?,
                "s_cbranch_execnz" => !is_zero(EXEC, wave)?,
                "s_cbranch_vccz" => is_zero(VCC, wave)?,
                "s_cbranch_vccnz" => !is_zero(VCC, wave)?,
                _ => return None,
            })
        };
        let goes = |wave: &u32| is_taken(*wave).is_none_or(|it| it != falls_to);
        (0..self.group.waves().min(64)).filter(goes).fold(0, |all, it| all | 1 << it) & after.waves
    }

    /// Takes an instruction into account.
    fn step(&self, step: usize, msb: Option<VgprMsb>, known: &mut Known) {
        let Some(inst) = self.stream.inst(step) else {
            known.rows.clear();
            return;
        };
        if matches!(inst.flow(), Flow::Call | Flow::IndirectCall | Flow::Trap) {
            known.rows.retain(|number, _| (EXEC..EXEC + 2).contains(number));
            return;
        }
        let effects = self.decoder.effects(&inst, msb.unwrap_or_default());
        let computed = match msb {
            Some(msb) if effects.indexed().next().is_none() => self.computed(&inst, msb, known),
            _ => None,
        };
        for number in effects.writes().flat_map(|it| numbers(&it)) {
            known.rows.remove(&number);
        }
        if msb.is_none() {
            known.rows.retain(|number, _| *number < VECTORS);
        }
        known.rows.extend(computed.into_iter().flatten());
    }

    /// The rows that an instruction leaves; none where they are not known.
    fn computed(&self, inst: &Inst, msb: VgprMsb, known: &Known) -> Option<Vec<(Number, Row)>> {
        let name = base(inst.mnemonic());
        let sources = Sources { items: self, inst, msb, known, names: ONE };
        if name.starts_with("s_") {
            return sources.scalar(name);
        }
        if !name.starts_with("v_") || sources.is_modified() {
            return None;
        }
        if !name.starts_with("v_dual_") {
            return sources.of_lanes(name);
        }
        let text = self.decoder.text(inst);
        let mut rows = Vec::new();
        for (names, half) in DUAL.into_iter().zip(text.split(" :: ")) {
            let name = half.split(' ').next()?.replacen("v_dual_", "v_", 1);
            rows.extend(Sources { names, ..sources }.of_lanes(&name).into_iter().flatten());
        }
        Some(rows)
    }
}

/// What the destination and the sources of a vector instruction are called, and of both halves of a dual one.
const ONE: [&str; 4] = ["vdst", "src0", "src1", "src2"];
const DUAL: [[&str; 4]; 2] =
    [["vdstX", "src0X", "vsrc1X", "vsrc2X"], ["vdstY", "src0Y", "vsrc1Y", "vsrc2Y"]];

/// An instruction whose sources are looked up.
#[derive(Clone, Copy)]
struct Sources<'s> {
    items: &'s WorkItems<'s>,
    inst: &'s Inst,
    msb: VgprMsb,
    known: &'s Known,
    names: [&'static str; 4],
}

impl Sources<'_> {
    /// What a vector instruction leaves.
    fn of_lanes(&self, name: &str) -> Option<Vec<(Number, Row)>> {
        match name {
            "v_readfirstlane_b32" => self.first_lane(),
            "v_cndmask_b32" => self.chosen(),
            "v_bitop3_b32" => self.looked_up(),
            _ => match name.strip_prefix("v_cmp_") {
                Some(name) => self.compared(comparison(name)?),
                None => self.vector(of(VECTOR, name)?),
            },
        }
    }

    fn operand(&self, name: &str) -> Option<OperandValue> {
        let all = self.items.decoder.operands_in(self.inst, self.msb);
        all.filter(|it| it.name == name).map(|it| it.value).next()
    }

    /// Whether anything changes sources or the result, or takes them from other lanes.
    fn is_modified(&self) -> bool {
        let mut all = self.items.decoder.operands(self.inst);
        all.any(|it| match it.value {
            OperandValue::Modifiers(modifiers) => modifiers != SourceModifiers::default(),
            OperandValue::Register(register) => register.half.is_some(),
            OperandValue::Number(number) => {
                it.name.starts_with("dpp")
                    || matches!(it.name, "dst_sel" | "src0_sel" | "src1_sel")
                    || matches!(it.name, "clamp" | "omod") && number != 0
            }
            _ => false,
        })
    }

    /// A word of a source.
    fn source(&self, name: &str, word: Number) -> Source {
        match self.operand(name) {
            Some(OperandValue::Integer(number)) if word == 0 => {
                Source::Constant(i32::from(number).cast_unsigned())
            }
            Some(OperandValue::Integer(number)) => {
                Source::Constant(if number < 0 { u32::MAX } else { 0 })
            }
            Some(OperandValue::Literal32(number)) if word == 0 => Source::Constant(number),
            Some(OperandValue::Literal32(_)) => Source::Constant(0),
            Some(OperandValue::Number(number)) if name == "simm16" => {
                Source::Constant(i32::from(number as i16).cast_unsigned())
            }
            Some(OperandValue::Register(register)) => {
                let row = numbers(&register).nth(word.into());
                let row = row.and_then(|it| self.known.rows.get(&it));
                row.map_or(Source::Unknown, |it| Source::Row(Rc::clone(it)))
            }
            _ => Source::Unknown,
        }
    }

    fn source_or_zero(&self, name: &str, word: Number) -> Source {
        match self.operand(name) {
            Some(_) => self.source(name, word),
            None => Source::Constant(0),
        }
    }

    /// A source in a work-item.
    fn in_item(&self, source: &Source, item: u32) -> Option<u32> {
        let Source::Row(row) = source else { return self.in_wave(source, 0) };
        let is_of_waves = row.len() == self.items.group.waves() as usize;
        let place = if is_of_waves { item / self.items.group.wave } else { item };
        *row.get(place as usize)?
    }

    fn in_wave(&self, source: &Source, wave: u32) -> Option<u32> {
        match source {
            Source::Constant(value) => Some(*value),
            Source::Row(row) => *row.get(wave as usize)?,
            Source::Unknown => None,
        }
    }

    /// Whether a work-item is enabled.
    fn is_enabled(&self, item: u32) -> Option<bool> {
        self.items.is_enabled(self.known, item)
    }

    fn destination(&self, name: &str) -> Option<std::ops::Range<Number>> {
        match self.operand(name)? {
            OperandValue::Register(register) => Some(numbers(&register)),
            _ => None,
        }
    }

    /// A vector register: disabled lanes keep what they hold.
    fn row_of_items(&self, to: Number, of_item: impl Fn(u32) -> Option<u32>) -> Vec<(Number, Row)> {
        let value = |item: u32| {
            let new = of_item(item);
            let old = self.known.at(to, item);
            match self.is_enabled(item) {
                Some(true) => new,
                Some(false) => old,
                None => new.filter(|_| new == old),
            }
        };
        vec![(to, (0..self.items.group.items).map(value).collect())]
    }

    fn vector(&self, compute: OfLane) -> Option<Vec<(Number, Row)>> {
        let [to, names @ ..] = self.names;
        let to = self.destination(to)?.next()?;
        let sources = names.map(|it| self.source_or_zero(it, 0));
        let of_item = |item: u32| {
            let [a, b, c] = sources.each_ref().map(|it| self.in_item(it, item));
            Some(compute([a?, b?, c?], item % self.items.group.wave))
        };
        Some(self.row_of_items(to, of_item))
    }

    /// `v_bitop3_b32`: bit by bit, what a table has for the bits of three sources.
    fn looked_up(&self) -> Option<Vec<(Number, Row)>> {
        let to = self.destination("vdst")?.next()?;
        let table = match self.operand("bitop3") {
            Some(OperandValue::Number(table)) => u32::try_from(table).ok()?,
            None => 0,
            Some(_) => return None,
        };
        let sources = ["src0", "src1", "src2"].map(|it| self.source(it, 0));
        let of_item = |item: u32| {
            let [a, b, c] = sources.each_ref().map(|it| self.in_item(it, item));
            let (a, b, c) = (a?, b?, c?);
            let all = (0..8_u32).filter(|at| table >> at & 1 == 1).map(|at| {
                let pick = |value: u32, bit: u32| if at >> bit & 1 == 1 { value } else { !value };
                pick(a, 2) & pick(b, 1) & pick(c, 0)
            });
            Some(all.fold(0, |all, it| all | it))
        };
        Some(self.row_of_items(to, of_item))
    }

    /// `v_cndmask_b32`: a mask chooses the source.
    fn chosen(&self) -> Option<Vec<(Number, Row)>> {
        let [to, no, yes, mask] = self.names;
        let to = self.destination(to)?.next()?;
        let [no, yes] = [no, yes].map(|it| self.source(it, 0));
        let mask = match self.operand(mask) {
            Some(_) => self.destination(mask)?.next()?,
            None => VCC,
        };
        let of_item = |item: u32| {
            let (wave, lane) = (item / self.items.group.wave, item % self.items.group.wave);
            let word = self.known.at(mask + (lane / 32) as Number, wave)?;
            self.in_item(if word >> (lane % 32) & 1 == 1 { &yes } else { &no }, item)
        };
        Some(self.row_of_items(to, of_item))
    }

    fn first_lane(&self) -> Option<Vec<(Number, Row)>> {
        let to = self.destination("vdst").or_else(|| self.destination("sdst"))?.next()?;
        let source = self.source("src0", 0);
        let Workgroup { items, wave } = self.items.group;
        let of_wave = |number: u32| {
            let mut own = number * wave..items.min((number + 1) * wave);
            let first = own.clone().try_fold(None, |first, item| {
                Some(first.or(self.is_enabled(item)?.then_some(item)))
            })?;
            self.in_item(&source, first.or_else(|| own.next())?)
        };
        Some(vec![(to, (0..self.items.group.waves()).map(of_wave).collect())])
    }

    fn compared(&self, holds: fn(u32, u32) -> bool) -> Option<Vec<(Number, Row)>> {
        let to = match self.operand("sdst") {
            Some(_) => self.destination("sdst")?.next()?,
            None => VCC,
        };
        let [a, b] = ["src0", "src1"].map(|it| self.source(it, 0));
        let Workgroup { items, wave } = self.items.group;
        let words = wave.div_ceil(32);
        let word_of = |number: u32, word: u32| {
            let first = number * wave + 32 * word;
            let mut own = first..items.min(first + 32).max(first);
            own.try_fold(0, |mask, item| {
                if !self.is_enabled(item)? {
                    return Some(mask);
                }
                let holds = holds(self.in_item(&a, item)?, self.in_item(&b, item)?);
                Some(mask | u32::from(holds) << (item - first))
            })
        };
        let waves = 0..self.items.group.waves();
        let row = |word: u32| -> Row { waves.clone().map(|it| word_of(it, word)).collect() };
        Some((0..words).map(|word| (to + word as Number, row(word))).collect())
    }

    fn scalar(&self, name: &str) -> Option<Vec<(Number, Row)>> {
        if let Some(name) = name.strip_prefix("s_cmp_") {
            let holds = comparison(name)?;
            return Some(vec![(SCC, self.by_wave(["src0", "src1"], |a, b| holds(a, b).into()))]);
        }
        if name == "s_cselect_b32" {
            let to = self.destination("sdst")?.next()?;
            let [yes, no] = ["src0", "src1"].map(|it| self.source(it, 0));
            let of_wave = |wave: u32| match self.known.at(SCC, wave)? {
                0 => self.in_wave(&no, wave),
                _ => self.in_wave(&yes, wave),
            };
            return Some(vec![(to, (0..self.items.group.waves()).map(of_wave).collect())]);
        }
        if let Some(compute) = of(SCALAR, name) {
            let to = self.destination("sdst")?.next()?;
            let first = if self.operand("src0").is_some() { "src0" } else { "simm16" };
            let value = self.by_wave([first, "src1"], |a, b| compute(a, b).0);
            let mut rows = vec![(to, value)];
            if compute(0, 0).1.is_some() {
                let scc = |a, b| compute(a, b).1.unwrap_or(false).into();
                rows.push((SCC, self.by_wave([first, "src1"], scc)));
            }
            return Some(rows);
        }
        let (name, words) = match name.strip_suffix("_b64") {
            Some(name) => (name, 2),
            None => (name.strip_suffix("_b32")?, 1),
        };
        let (name, saves) = match name.strip_suffix("_saveexec") {
            Some(name) => (name, true),
            None => (name, false),
        };
        let compute = of(MASKS, name)?;
        let to = self.destination("sdst")?;
        if to.len() != usize::from(words) {
            return None;
        }
        let mut rows = Vec::new();
        let mut all: Vec<Row> = Vec::new();
        for word in 0..words {
            let second = match saves {
                // The second source is EXEC.
                true => self.row(EXEC + word),
                false => self.source_or_zero("src1", word),
            };
            let row = self.masks(&self.source("src0", word), &second, compute);
            all.push(Rc::clone(&row));
            if saves {
                rows.extend(
                    self.known.rows.get(&(EXEC + word)).map(|it| (to.start + word, Rc::clone(it))),
                );
                rows.push((EXEC + word, row));
            } else {
                rows.push((to.start + word, row));
            }
        }
        if name != "s_mov" {
            let of_wave = |wave: usize| {
                all.iter().try_fold(0, |any, row| Some(any | u32::from((*row.get(wave)?)? != 0)))
            };
            rows.push((SCC, (0..self.items.group.waves() as usize).map(of_wave).collect()));
        }
        Some(rows)
    }

    fn row(&self, number: Number) -> Source {
        let row = self.known.rows.get(&number);
        row.map_or(Source::Unknown, |it| Source::Row(Rc::clone(it)))
    }

    /// One of the sources may not be there.
    fn by_wave(&self, names: [&str; 2], compute: impl Fn(u32, u32) -> u32) -> Row {
        let [a, b] = names.map(|it| self.source_or_zero(it, 0));
        let waves = 0..self.items.group.waves();
        waves.map(|it| Some(compute(self.in_wave(&a, it)?, self.in_wave(&b, it)?))).collect()
    }

    /// The same of masks, of which some bits may be known where others are not: where any value of an unknown one gives the
    /// same, this is it.
    fn masks(&self, a: &Source, b: &Source, compute: OfMasks) -> Row {
        let of_wave = |wave: u32| match (self.in_wave(a, wave), self.in_wave(b, wave)) {
            (None, None) => None,
            (a, b) => {
                let with = |other: u32| compute(a.unwrap_or(other), b.unwrap_or(other));
                (with(0) == with(u32::MAX)).then(|| with(0))
            }
        };
        (0..self.items.group.waves()).map(of_wave).collect()
    }
}

impl WorkItems<'_> {
    /// Whether a work-item is enabled.
    pub(crate) fn is_enabled(&self, known: &Known, item: u32) -> Option<bool> {
        let (wave, lane) = (item / self.group.wave, item % self.group.wave);
        let word = known.at(EXEC + (lane / 32) as Number, wave)?;
        Some(word >> (lane % 32) & 1 == 1)
    }

    /// What a vector register holds in the work-items that are enabled, with their numbers.
    pub(crate) fn enabled(&self, known: &Known, register: &Register) -> Vec<(u32, u32)> {
        let Some(row) = numbers(register).next().and_then(|it| known.rows.get(&it)) else {
            return Vec::new();
        };
        let own = (0..).zip(row.iter()).filter_map(|(item, value)| Some((item, (*value)?)));
        own.filter(|(item, _)| {
            known.waves >> (item / self.group.wave) & 1 == 1
                && self.is_enabled(known, *item) == Some(true)
        })
        .collect()
    }
}
