//! How the instructions of a shape print when their modifiers are as usual, which is nearly always.

use std::sync::OnceLock;

use super::operand::modifier;
use crate::generated::{FIELDS, KINDS, OPS, SHAPES, SLOTS};
use crate::inst::Inst;
use crate::table::{DEFAULT_MODIFIER, NO_FIELD, Op, P, Shape, Slot};

/// The steps that are left when modifiers that print nothing are left out.
pub(super) struct Script {
    usual: Usual,
    steps: [Step; MOST_STEPS],
    count: u8,
}

const MOST_STEPS: usize = 10;

/// One step of printing, and the text before it.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// The number of the text, or `NO_PIECE`.
    pub(super) piece: u8,
    pub(super) what: What,
}

pub(super) const NO_PIECE: u8 = 0xff;

#[derive(Clone, Copy)]
pub(super) enum What {
    /// A register or constant without modifiers: where its bits are, which are always set, its kind and slot.
    Operand {
        is_high: bool,
        rotation: u8,
        mask: u16,
        fixed: u16,
        kind: u16,
        slot: u8,
    },
    Other(P, u8),
}

/// Bits of the first eight bytes, and what they are when all modifiers are as usual.
#[derive(Clone, Copy, Default)]
struct Usual {
    mask: u64,
    value: u64,
}

static SCRIPTS: [OnceLock<Option<Script>>; SHAPES.len()] =
    [const { OnceLock::new() }; SHAPES.len()];

impl Script {
    /// The script of an instruction, unless something about it is not as usual.
    #[inline]
    pub(super) fn of(inst: &Inst) -> Option<&'static Script> {
        let script = SCRIPTS.get(usize::from(inst.form().shape))?;
        let script = script.get_or_init(|| Script::new(inst.shape())).as_ref()?;
        (inst.low & script.usual.mask == script.usual.value).then_some(script)
    }

    #[inline]
    pub(super) fn steps(&self) -> &[Step] {
        self.steps.get(..usize::from(self.count)).unwrap_or_default()
    }

    /// Nothing for images, of whose operands other operands decide the widths.
    #[cold]
    fn new(shape: &'static Shape) -> Option<Self> {
        if shape.image != 0 {
            return None;
        }
        let mut usual = Usual::default();
        let mut steps = Vec::new();
        let mut piece = NO_PIECE;
        for Op(what, number) in part(&OPS, shape.ops) {
            let what = match what {
                P::Text if piece == NO_PIECE => {
                    piece = *number;
                    continue;
                }
                P::Text => What::Other(P::Text, *number),
                _ => {
                    let (next, more) = usual.step(shape, *what, *number);
                    usual = more;
                    match next {
                        Some(what) => what,
                        None => continue,
                    }
                }
            };
            steps.push(Step { piece, what });
            piece = NO_PIECE;
        }
        if piece != NO_PIECE {
            steps.push(Step { piece: NO_PIECE, what: What::Other(P::Text, piece) });
        }
        let mut script = Script { usual, steps: [Step::NOTHING; MOST_STEPS], count: 0 };
        for step in steps {
            *script.steps.get_mut(usize::from(script.count))? = step;
            script.count += 1;
        }
        Some(script)
    }
}

impl Step {
    const NOTHING: Step = Step { piece: NO_PIECE, what: What::Other(P::Text, 0) };
}

impl Usual {
    /// What is left of a step, and what must be for that.
    fn step(self, shape: &'static Shape, what: P, number: u8) -> (Option<What>, Usual) {
        let slots = part(&SLOTS, shape.slots);
        let unchanged = (Some(What::Other(what, number)), self);
        let Some(slot) = slots.get(usize::from(number)) else { return unchanged };
        let quiet = |usual: Option<Usual>| usual.map_or(unchanged, |usual| (None, usual));
        let plain = |bits: u64| {
            let operand =
                slots.get(usize::from(number) + 1).and_then(|next| operand(next, number + 1));
            match (operand, self.clear(slot, bits)) {
                (Some(operand), Some(usual)) => (Some(operand), usual),
                _ => unchanged,
            }
        };
        match what {
            P::Operand => (operand(slot, number).or(unchanged.0), self),
            P::FloatModifiers => plain(modifier::NEG | modifier::ABS),
            P::IntModifiers => plain(modifier::SEXT),
            P::NamedInt if KINDS.get(usize::from(slot.kind)).is_some_and(|kind| !kind.always) => {
                quiet(self.clear(slot, u64::MAX))
            }
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

    /// These bits of an operand are zero.
    fn clear(self, slot: &Slot, bits: u64) -> Option<Usual> {
        (0..64)
            .filter(|bit| bits >> bit & 1 == 1)
            .try_fold(self, |usual, bit| usual.bit(slot, bit, false))
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

    /// A bit of an operand is as wanted; nothing if it cannot be, or is not in the first eight bytes.
    fn bit(self, slot: &Slot, bit: u32, wanted: bool) -> Option<Usual> {
        if u64::from(slot.fixed) >> bit & 1 == 1 {
            return wanted.then_some(self);
        }
        let field = FIELDS.get(usize::from(slot.field)).filter(|_| slot.field != NO_FIELD);
        let runs = field.into_iter().flat_map(|field| std::iter::once(&field.0).chain(field.1));
        let mut usual = self;
        let mut is_found = false;
        for (at, first, width) in runs.copied() {
            if (u32::from(first)..u32::from(first) + u32::from(width)).contains(&bit) {
                is_found = true;
                usual = usual.encoding_bit(u32::from(at) + bit - u32::from(first), wanted)?;
            }
        }
        (is_found || !wanted).then_some(usual)
    }

    fn encoding_bit(self, at: u32, wanted: bool) -> Option<Usual> {
        let bit = 1_u64.checked_shl(at)?;
        let is_new = self.mask & bit == 0;
        let agrees = (self.value & bit != 0) == wanted;
        let value = if wanted { self.value | bit } else { self.value };
        (is_new || agrees).then_some(Usual { mask: self.mask | bit, value })
    }
}

/// A step for an operand whose bits stand together in the first eight bytes or in the second.
fn operand(slot: &Slot, number: u8) -> Option<What> {
    let field = FIELDS.get(usize::from(slot.field)).filter(|_| slot.field != NO_FIELD)?;
    let (at, first, width) = field.0;
    let in_one_word = at < 128 && at % 64 + width <= 64;
    let is_simple = field.1.is_empty() && first + width <= 16 && in_one_word;
    let mask =
        u16::MAX.checked_shr(16_u32.saturating_sub(width.into())).unwrap_or(0) << (first & 15);
    let rotation = (at + 64 - first) & 63;
    is_simple.then_some(What::Operand {
        is_high: at >= 64,
        rotation,
        mask,
        fixed: slot.fixed,
        kind: slot.kind,
        slot: number,
    })
}

/// A run of a table.
fn part<T>(table: &'static [T], (start, count): (u16, u8)) -> &'static [T] {
    table.get(usize::from(start)..usize::from(start) + usize::from(count)).unwrap_or_default()
}
