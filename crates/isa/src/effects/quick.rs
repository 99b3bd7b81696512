//! Where the registers of operands stand, for who looks at every instruction of much code.

use std::sync::OnceLock;

use crate::decode::Tables;
use crate::generated::{FIELDS, KINDS, SHAPES, SLOTS};
use crate::inst::Inst;
use crate::operand::{Code, scalar_dwords, tag};
use crate::table::{Kind, NO_FIELD, Slot, Source};

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
struct OfShape {
    slots: Box<[Quick]>,
    /// Those that are never scalar registers, a bit for each.
    vectors: u32,
}

/// Those of all shapes, each once somebody has asked.
pub(crate) struct QuickSlots(OnceLock<Box<[OnceLock<OfShape>]>>);

impl QuickSlots {
    pub(crate) const fn new() -> Self {
        QuickSlots(OnceLock::new())
    }

    #[inline]
    fn of(&self, tables: &Tables, shape: u16) -> Option<&OfShape> {
        let all = self.0.get_or_init(|| SHAPES.iter().map(|_| OnceLock::new()).collect());
        all.get(usize::from(shape)).map(|it| it.get_or_init(|| make(tables, shape)))
    }
}

#[cold]
fn make(tables: &Tables, shape: u16) -> OfShape {
    let (start, count) = SHAPES.get(usize::from(shape)).map_or((0, 0), |shape| shape.slots);
    let slots = SLOTS.get(usize::from(start)..usize::from(start) + usize::from(count));
    let slots = slots.unwrap_or_default();
    let vectors = slots.iter().zip(0..u32::BITS).filter(|(slot, _)| is_never_scalar(tables, slot));
    OfShape {
        vectors: vectors.fold(0, |all, (_, at)| all | 1 << at),
        slots: slots.iter().map(|slot| Quick::new(tables, slot).unwrap_or_default()).collect(),
    }
}

/// Whether no value of an operand stands for a scalar register.
fn is_never_scalar(tables: &Tables, slot: &Slot) -> bool {
    const VALUES: u16 = 1 << 10;
    (0..VALUES).all(|value| {
        let tag = tables.code_of(slot.kind, value).tag();
        !matches!(tag, tag::SGPR | tag::TTMP | tag::SPECIAL)
    })
}

impl Quick {
    fn new(tables: &Tables, slot: &Slot) -> Option<Self> {
        let kind: &Kind = KINDS.get(usize::from(slot.kind))?;
        let field = FIELDS.get(usize::from(slot.field)).filter(|_| slot.field != NO_FIELD)?;
        let (at, first, width) = field.0;
        let is_simple = field.1.is_empty() && at + width <= 64 && first + width <= 16;
        if !is_simple || width == 0 || kind.source == Source::DualDestination {
            return None;
        }
        let dwords = tables.dwords(kind);
        Some(Quick {
            at,
            first,
            mask: u16::MAX >> (16 - width),
            fixed: slot.fixed,
            table: tables.code_table(slot.kind),
            msb: slot.msb,
            vector: dwords.max(1),
            scalar: scalar_dwords(tag::SGPR, dwords),
        })
    }

    /// What the field of an instruction stands for; nothing if that takes a closer look.
    #[inline]
    pub(super) fn code(&self, tables: &Tables, inst: &Inst) -> Option<Code> {
        if self.mask == 0 {
            return None;
        }
        let value = (inst.low >> (self.at & 63)) as u16 & self.mask;
        tables.code_in(self.table, value << self.first | self.fixed)
    }
}

impl Tables {
    #[inline]
    pub(super) fn quick_slots(&self, inst: &Inst) -> &[Quick] {
        self.quick.of(self, inst.form().shape).map_or(&[], |shape| &shape.slots)
    }

    /// The operands that are never scalar registers, a bit for each.
    #[inline]
    pub(super) fn vector_slots(&self, inst: &Inst) -> u32 {
        self.quick.of(self, inst.form().shape).map_or(0, |shape| shape.vectors)
    }
}
