//! Where the registers of operands are, worked out once for each shape: analyses ask for every instruction.

use std::sync::OnceLock;

use crate::model::code::{Code, scalar_dwords, tag};
use crate::model::generated::{FIELDS, SHAPES, SLOTS};
use crate::model::table::{NO_FIELD, Slot, Source};
use crate::model::{Inst, Model};

/// An operand whose register its field alone says, worked out once for all instructions of a shape.
#[derive(Clone, Copy, Default)]
pub(super) struct Quick {
    at: u8,
    first: u8,
    /// Nothing if it takes a closer look.
    mask: u16,
    fixed: u16,
    table: u8,
    /// As in [`Slot::msb`].
    pub(super) msb: u8,
    /// How many registers are meant where they are vector registers, and where they are scalar.
    pub(super) vector: u8,
    pub(super) scalar: u8,
}

/// The operands of a shape.
pub(super) struct OfShape {
    pub(super) slots: Box<[Quick]>,
    /// Those that may be scalar registers, a bit for each.
    scalars: u32,
    /// Bits of an instruction that are all set only where none is, if there are such.
    vector_bits: Option<u64>,
}

impl OfShape {
    /// Those that are scalar registers, or may be, of some operands of an instruction.
    #[inline]
    pub(super) fn scalars_among(&self, slots: u32, inst: &Inst) -> u32 {
        match self.vector_bits {
            Some(bits) if inst.low & bits == bits => 0,
            _ => slots & self.scalars,
        }
    }
}

/// Those of all shapes, each made on first use.
pub(crate) struct QuickSlots(OnceLock<Box<[OnceLock<OfShape>]>>);

impl QuickSlots {
    pub(crate) const fn new() -> Self {
        QuickSlots(OnceLock::new())
    }

    #[inline]
    pub(super) fn of(&self, model: &Model, shape: u16) -> Option<&OfShape> {
        let all = self.0.get_or_init(|| SHAPES.iter().map(|_| OnceLock::new()).collect());
        all.get(usize::from(shape)).map(|it| it.get_or_init(|| make(model, shape)))
    }
}

#[cold]
fn make(model: &Model, shape: u16) -> OfShape {
    let (start, count) = SHAPES.get(usize::from(shape)).map_or((0, 0), |shape| shape.slots);
    let slots = SLOTS.get(usize::from(start)..usize::from(start) + usize::from(count));
    let slots = slots.unwrap_or_default();
    let quick: Box<[Quick]> =
        slots.iter().map(|slot| Quick::new(model, slot).unwrap_or_default()).collect();
    let mut shape = OfShape { slots: quick, scalars: 0, vector_bits: Some(0) };
    for (at, (slot, quick)) in slots.iter().zip(&shape.slots).enumerate() {
        let Some(codes) = model.codes_of(slot.kind).filter(|codes| codes.iter().any(is_scalar))
        else {
            continue;
        };
        shape.scalars |= 1 << at;
        let bits = shape.vector_bits.zip(quick.vector_bit(codes));
        shape.vector_bits = bits.map(|(bits, bit)| bits | bit);
    }
    shape
}

fn is_scalar(code: &Code) -> bool {
    matches!(code.tag(), tag::SGPR | tag::TTMP | tag::SPECIAL)
}

impl Quick {
    fn new(model: &Model, slot: &Slot) -> Option<Self> {
        let kind = slot.kind();
        let field = FIELDS.get(usize::from(slot.field)).filter(|_| slot.field != NO_FIELD)?;
        let (at, first, width) = field.0;
        let is_simple = field.1.is_empty() && at + width <= 64 && first + width <= 16;
        if !is_simple || width == 0 || kind.source == Source::DualDestination {
            return None;
        }
        let dwords = model.dwords(kind);
        Some(Quick {
            at,
            first,
            mask: u16::MAX >> (16 - width),
            fixed: slot.fixed,
            table: model.code_table(slot.kind),
            msb: slot.msb,
            vector: dwords.max(1),
            scalar: scalar_dwords(tag::SGPR, dwords),
        })
    }

    /// The uppermost bit of the field, if it is set in no scalar register's.
    fn vector_bit(&self, codes: &[Code]) -> Option<u64> {
        let top = self.mask & !(self.mask >> 1);
        let mut above =
            (top..=self.mask).map(|value| usize::from(value << self.first | self.fixed));
        let is_vector = |at: usize| codes.get(at).is_some_and(|code| !is_scalar(code));
        (top != 0 && above.all(is_vector)).then(|| u64::from(top) << self.at)
    }

    /// What the field of an instruction stands for; nothing if that takes a closer look.
    #[inline]
    pub(super) fn code(&self, model: &Model, inst: &Inst) -> Option<Code> {
        if self.mask == 0 {
            return None;
        }
        let value = (inst.low >> (self.at & 63)) as u16 & self.mask;
        model.code_in(self.table, value << self.first | self.fixed)
    }
}
