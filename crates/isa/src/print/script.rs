//! How the instructions of a form print: the steps that are left when modifiers are as usual, which is
//! nearly always; and what to do with each when some are not.

use std::sync::OnceLock;

use super::padded::{NO_PIECE, Padded};
use super::quick::{NEGATIVE, Shelf, UPPER, word_number};
use crate::model::generated::{FIELDS, FORMS, KINDS, NAMES, OPERAND_NAMES, OPS, SLOTS};
use crate::model::table::{DEFAULT_MODIFIER, NO_FIELD, Op, P, Run, Shape, Slot, Source, Type};
use crate::model::{Inst, modifier};

/// The name and the steps of a form; what nearly all instructions need stands at the start.
#[repr(C, align(64))]
pub(super) struct Script {
    /// Nothing where it is too long.
    pub(super) name: Padded,
    usual: Usual,
    count: u8,
    /// Otherwise operands decide how others print, and there are no steps.
    pub(super) has_steps: bool,
    steps: [Step; MOST_STEPS],
    careful: Box<[CarefulStep]>,
}

const MOST_STEPS: usize = 10;

/// One step of printing, and the text before it.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// The number of the text, or `NO_PIECE`.
    pub(super) piece: u8,
    pub(super) what: What,
    /// What it does where there is no text for it.
    pub(super) op: Op,
}

#[derive(Clone, Copy)]
pub(super) enum What {
    /// Has a short text by its value: where that is, and where texts are.
    Value(Bits, Shelf),
    /// Has a long text by the lowest sixteen bits: which.
    Word(u8),
    Other,
}

/// A step where modifiers need not be as usual.
pub(super) struct CarefulStep {
    usual: Usual,
    /// What there is to do where they are.
    step: Option<Step>,
    /// What there is to do where they are not.
    otherwise: Step,
}

impl CarefulStep {
    #[inline]
    pub(super) fn of(&self, inst: &Inst) -> Option<&Step> {
        if self.usual.holds(inst) { self.step.as_ref() } else { Some(&self.otherwise) }
    }
}

/// Where the bits of a value are: in two runs of one word, some of them inverted.
#[derive(Clone, Copy)]
pub(super) struct Bits {
    is_high: bool,
    rotations: [u8; 2],
    masks: [u16; 2],
    inverted: u16,
}

/// Bits of the first sixteen bytes, and what they are when all modifiers are as usual.
#[derive(Clone, Copy, Default)]
struct Usual {
    mask: u128,
    value: u128,
}

static SCRIPTS: [OnceLock<Box<Script>>; FORMS.len()] = [const { OnceLock::new() }; FORMS.len()];

impl Script {
    /// The script of an instruction.
    #[inline]
    pub(super) fn of(inst: &Inst) -> &'static Script {
        let script = SCRIPTS.get(usize::from(inst.form)).unwrap_or(&SCRIPTS[0]);
        script.get_or_init(|| Box::new(Script::new(inst)))
    }

    /// All that there is to do, unless something about the instruction is not as usual.
    #[inline]
    pub(super) fn steps(&self, inst: &Inst) -> Option<&[Step]> {
        self.steps.get(..usize::from(self.count)).filter(|_| self.usual.holds(inst))
    }

    pub(super) fn careful_steps(&self) -> &[CarefulStep] {
        &self.careful
    }

    #[cold]
    fn new(inst: &Inst) -> Self {
        let mut script = Script {
            name: NAMES
                .get(usize::from(inst.form().row().name))
                .map_or(Padded::new(""), Padded::of_name),
            usual: Usual::default(),
            count: 0,
            has_steps: false,
            steps: [Step::NOTHING; MOST_STEPS],
            careful: Box::default(),
        };
        // Otherwise other operands decide the widths of operands.
        if inst.shape().image == 0 && !inst.has_formats() {
            script.has_steps = script.add_steps(inst.shape()).is_some();
        }
        script
    }

    /// Nothing if there are too many.
    fn add_steps(&mut self, shape: &'static Shape) -> Option<()> {
        let ops = part(&OPS, shape.ops);
        self.careful = careful_steps(shape, ops);
        let mut piece = NO_PIECE;
        for op in ops {
            if op.0 == P::Text {
                if piece != NO_PIECE {
                    self.push(Step::text(piece))?;
                }
                piece = op.1;
                continue;
            }
            let (step, usual) = self.usual.step(shape, *op);
            self.usual = usual;
            if let Some(step) = step {
                self.push(Step { piece, ..step })?;
                piece = NO_PIECE;
            }
        }
        match piece {
            NO_PIECE => Some(()),
            _ => self.push(Step::text(piece)),
        }
    }

    fn push(&mut self, step: Step) -> Option<()> {
        *self.steps.get_mut(usize::from(self.count))? = step;
        self.count += 1;
        Some(())
    }
}

/// Text before a step that always prints is a part of it.
fn careful_steps(shape: &'static Shape, ops: &[Op]) -> Box<[CarefulStep]> {
    let mut steps: Vec<CarefulStep> = Vec::with_capacity(ops.len());
    for op in ops {
        let (mut step, usual) = Usual::default().step(shape, *op);
        let mut otherwise = Step::new(*op, shape);
        if let Some(step) = &mut step
            && let Some(text) = steps.pop_if(|last| last.otherwise.is_text() && op.0 != P::Text)
        {
            step.piece = text.otherwise.piece;
            otherwise.piece = text.otherwise.piece;
        }
        steps.push(CarefulStep { usual, step, otherwise });
    }
    steps.into()
}

impl Step {
    const NOTHING: Step = Step::text(NO_PIECE);

    /// The step for a slot, by table if there is one.
    fn new(op: Op, shape: &'static Shape) -> Step {
        match op {
            Op(P::Text, piece) => Step::text(piece),
            _ => Step { op, what: what(op, shape).unwrap_or(What::Other), ..Step::NOTHING },
        }
    }

    /// Nothing but a text.
    const fn text(piece: u8) -> Step {
        Step { piece, what: What::Value(Bits::NONE, Shelf::NOTHING), op: Op(P::Text, NO_PIECE) }
    }

    fn is_text(&self) -> bool {
        self.op.0 == P::Text
    }

    fn has_texts(&self) -> bool {
        matches!(self.what, What::Value(..))
    }
}

/// Where the texts of a step are, if a few bits decide them.
fn what(Op(what, number): Op, shape: &'static Shape) -> Option<What> {
    let slots = part(&SLOTS, shape.slots);
    if matches!(what, P::Vcc | P::VccFirst) {
        return Some(What::Value(Bits::NONE, Shelf::of(what, 0)?));
    }
    let slot = slots.get(usize::from(number)).filter(|_| what != P::Text)?;
    let kind = KINDS.get(usize::from(slot.kind))?;
    if what != P::Operand && kind.read != Type::None {
        return None;
    }
    if let Some(number) = word_number(what) {
        return is_first_half(slot).then_some(What::Word(number));
    }
    let shelf = Shelf::of(what, slot.kind)?;
    let bits = Bits::of(slot)?;
    let bits = match kind.source {
        Source::DualDestination => bits.after_first_destination(slots)?,
        _ if kind.may_be_half() => bits.with_half(slot, shape)?,
        _ => bits,
    };
    Some(What::Value(bits, shelf))
}

/// Whether the bits of a slot are the lowest sixteen.
fn is_first_half(slot: &Slot) -> bool {
    let field = FIELDS.get(usize::from(slot.field)).filter(|_| slot.field != NO_FIELD);
    slot.fixed == 0 && field.is_some_and(|field| field.0 == (0, 0, 16) && field.1.is_empty())
}

impl Bits {
    const NONE: Bits = Bits { is_high: false, rotations: [0; 2], masks: [0; 2], inverted: 0 };

    /// Nothing if they stand otherwise.
    fn of(slot: &Slot) -> Option<Bits> {
        let field = FIELDS.get(usize::from(slot.field)).filter(|_| slot.field != NO_FIELD)?;
        let mut bits = match field.1 {
            [] => Bits::NONE.with(0, field.0)?,
            [second] => Bits::NONE.with(0, field.0)?.with(1, *second)?,
            _ => return None,
        };
        bits.inverted = slot.fixed;
        let [first, second] = bits.masks;
        ((first | second) & slot.fixed == 0).then_some(bits)
    }

    /// The same with one of the runs; nothing if it is in another word than those before.
    fn with(mut self, number: usize, (at, first, width): Run) -> Option<Bits> {
        let is_high = at >= 64;
        let in_one_word =
            at < 128 && at % 64 + width <= 64 && (number == 0 || is_high == self.is_high);
        if !in_one_word || first + width > 16 {
            return None;
        }
        self.is_high = is_high;
        *self.rotations.get_mut(number)? = (at + 64 - first) & 63;
        *self.masks.get_mut(number)? = (u16::MAX >> (16 - width)) << first;
        Some(self)
    }

    /// The second destination of a dual instruction: its lowest bit is the opposite of the first one's.
    fn after_first_destination(self, slots: &[Slot]) -> Option<Bits> {
        let is_first = |slot: &&Slot| OPERAND_NAMES.get(usize::from(slot.name)) == Some(&"vdstX");
        let first = FIELDS.get(usize::from(slots.iter().find(is_first)?.field))?;
        let (at, value_at, _) = first.0;
        let bits = self.with(1, (at, 0, 1))?;
        let is_simple = value_at == 0 && (self.masks[0] | self.inverted) & 1 == 0;
        (is_simple && self.masks[1] == 0).then_some(Bits { inverted: self.inverted | 1, ..bits })
    }

    /// An operand with `UPPER` where modifiers choose the half of its register; nothing if it cannot be read so.
    fn with_half(self, slot: &Slot, shape: &'static Shape) -> Option<Bits> {
        let Some((source, bit)) = slot.half_modifier() else { return Some(self) };
        let position = shape.packed.get(source).filter(|position| **position != DEFAULT_MODIFIER);
        let Some(position) = position else { return Some(self) };
        let modifiers = part(&SLOTS, shape.slots).get(usize::from(*position))?;
        let is_half = |(_, first, _): &Run| *first == bit.trailing_zeros() as u8;
        let (at, ..) = runs(modifiers).find(is_half)?;
        let is_simple = self.masks[0] | self.inverted < UPPER && self.masks[1] == 0;
        let first = UPPER.trailing_zeros() as u8;
        self.with(1, (at, first, 1)).filter(|_| is_simple && modifiers.fixed == 0)
    }

    /// A source with `NEGATIVE` where its modifiers say so.
    fn negatable(self, modifiers: &Slot) -> Option<Bits> {
        let is_simple = self.masks[0] | self.inverted < NEGATIVE && self.masks[1] == 0;
        let is_sign = |(_, first, _): &Run| *first == modifier::NEG.trailing_zeros() as u8;
        let (at, ..) = runs(modifiers).find(is_sign)?;
        let first = NEGATIVE.trailing_zeros() as u8;
        self.with(1, (at, first, 1)).filter(|_| is_simple && modifiers.fixed == 0)
    }

    #[inline]
    pub(super) const fn read(&self, inst: &Inst) -> u16 {
        let word = if self.is_high { inst.high } else { inst.low };
        let [first, second] = self.rotations;
        let first = word.rotate_right(first as u32) as u16 & self.masks[0];
        let second = word.rotate_right(second as u32) as u16 & self.masks[1];
        (first | second) ^ self.inverted
    }
}

impl Usual {
    #[inline]
    const fn holds(&self, inst: &Inst) -> bool {
        let differs = inst.low & self.mask as u64 ^ self.value as u64;
        let high_differs = inst.high & (self.mask >> 64) as u64 ^ (self.value >> 64) as u64;
        differs | high_differs == 0
    }

    /// What is left of a step, and what must be for that.
    fn step(self, shape: &'static Shape, op: Op) -> (Option<Step>, Usual) {
        let Op(what, number) = op;
        let slots = part(&SLOTS, shape.slots);
        let unchanged = (Some(Step::new(op, shape)), self);
        let slot = slots.get(usize::from(number)).filter(|_| what != P::Text);
        let Some(slot) = slot else { return unchanged };
        let quiet = |usual: Option<Usual>| usual.map_or(unchanged, |usual| (None, usual));
        let plain = |bits: u64| match self.clear(slot, bits) {
            Some(usual) => (Some(Step::new(Op(P::Operand, number + 1), shape)), usual),
            None => unchanged,
        };
        match what {
            P::FloatModifiers => match self.negatable(slots, number) {
                Some((step, usual)) => (Some(step), usual),
                None => plain(modifier::NEG | modifier::ABS),
            },
            P::IntModifiers => plain(modifier::SEXT),
            P::NamedInt if KINDS.get(usize::from(slot.kind)).is_some_and(|kind| !kind.always) => {
                quiet(self.clear(slot, u64::MAX))
            }
            // Offsets are something else than zero as often as not.
            P::Offset if unchanged.0.is_some_and(|step| step.has_texts()) => unchanged,
            P::NamedBit
            | P::Gds
            | P::R128A16
            | P::OutputModifier
            | P::DppBoundCtrl
            | P::CachePolicy
            | P::Offset
            | P::FlatOffset
            | P::Blgp
            | P::BlgpNeg
            | P::IndexKey
            | P::BitOp3
            | P::EndPgm => quiet(self.clear(slot, u64::MAX)),
            P::OpSel => quiet(self.packed(shape, modifier::OP_SEL)),
            P::OpSelHi => quiet(self.packed(shape, modifier::OP_SEL_HI)),
            P::NegLo => quiet(self.packed(shape, modifier::NEG)),
            P::NegHi => quiet(self.packed(shape, modifier::NEG_HI)),
            _ => unchanged,
        }
    }

    /// A step for a source that may be negative.
    fn negatable(self, slots: &'static [Slot], number: u8) -> Option<(Step, Usual)> {
        let modifiers = slots.get(usize::from(number))?;
        let source = slots.get(usize::from(number) + 1)?;
        let kind = KINDS.get(usize::from(source.kind))?;
        let usual = self.clear(modifiers, modifier::ABS)?;
        let is_plain = kind.source == Source::Any && !kind.may_be_half();
        let bits = Bits::of(source).filter(|_| is_plain)?.negatable(modifiers)?;
        let what = What::Value(bits, Shelf::of_operand(source.kind));
        Some((Step { what, op: Op(P::FloatModifiers, number), ..Step::NOTHING }, usual))
    }

    /// These bits of an operand are zero; nothing if they cannot be, or are not in the first sixteen bytes.
    fn clear(mut self, slot: &Slot, bits: u64) -> Option<Usual> {
        for (at, first, width) in runs(slot) {
            let wanted = u128::from(bits >> first & (u64::MAX >> (64 - width)));
            let mask = wanted.checked_shl(at.into()).unwrap_or(0);
            if mask.checked_shr(at.into()).unwrap_or(0) != wanted || self.value & mask != 0 {
                return None;
            }
            self.mask |= mask;
        }
        (u64::from(slot.fixed) & bits == 0).then_some(self)
    }

    /// `op_sel` and the like print nothing.
    fn packed(self, shape: &'static Shape, bits: u64) -> Option<Usual> {
        let bit = bits.trailing_zeros();
        let wanted = shape.is_packed && bits == modifier::OP_SEL_HI;
        let sources = shape.packed.iter().take(shape.sources.into());
        let slots = part(&SLOTS, shape.slots);
        let mut usual = self;
        for (number, position) in sources.enumerate() {
            let slot = slots.get(usize::from(*position)).filter(|_| *position != DEFAULT_MODIFIER);
            let Some(slot) = slot else {
                if wanted {
                    return None;
                }
                continue;
            };
            usual = usual.bit(slot, bit, wanted)?;
            if number == 0 && bits == modifier::OP_SEL && shape.selects_half {
                usual = usual.bit(slot, modifier::DESTINATION_SEL.trailing_zeros(), false)?;
            }
        }
        Some(usual)
    }

    /// A bit of an operand is as wanted; nothing if it cannot be, or is not in the first sixteen bytes.
    fn bit(self, slot: &Slot, bit: u32, wanted: bool) -> Option<Usual> {
        if u64::from(slot.fixed) >> bit & 1 == 1 {
            return wanted.then_some(self);
        }
        let mut usual = self;
        let mut is_found = false;
        for (at, first, width) in runs(slot) {
            if (u32::from(first)..u32::from(first) + u32::from(width)).contains(&bit) {
                is_found = true;
                usual = usual.encoding_bit(u32::from(at) + bit - u32::from(first), wanted)?;
            }
        }
        (is_found || !wanted).then_some(usual)
    }

    fn encoding_bit(self, at: u32, wanted: bool) -> Option<Usual> {
        let bit = 1_u128.checked_shl(at)?;
        let is_new = self.mask & bit == 0;
        let agrees = (self.value & bit != 0) == wanted;
        let value = if wanted { self.value | bit } else { self.value };
        (is_new || agrees).then_some(Usual { mask: self.mask | bit, value })
    }
}

/// Where the bits of a slot are.
fn runs(slot: &Slot) -> impl Iterator<Item = Run> {
    let field = FIELDS.get(usize::from(slot.field)).filter(|_| slot.field != NO_FIELD);
    field.into_iter().flat_map(|field| std::iter::once(&field.0).chain(field.1)).copied()
}

/// A run of a table.
fn part<T>(table: &'static [T], (start, count): (u16, u8)) -> &'static [T] {
    table.get(usize::from(start)..usize::from(start) + usize::from(count)).unwrap_or_default()
}
