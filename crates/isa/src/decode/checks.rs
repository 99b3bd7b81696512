//! Which values of operands rule an encoding out or ask for more of it, in tables that take no branches.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::model::code::{Code, misaligned, tag};
use crate::model::codes::{CODE_BITS, Codes};
use crate::model::generated::{CHECKS, FIELDS, SHAPES, SLOTS};
use crate::model::table::{Check, NO_FIELD, Role, Shape, Slot, Source};

/// An operand's bits and where in the verdicts to look its value up.
#[derive(Clone, Copy)]
pub(super) struct FieldCheck {
    start: u16,
    mask: u16,
    rotation: u8,
}

impl FieldCheck {
    /// Passes whatever the encoding.
    const NONE: FieldCheck = FieldCheck { start: 0, mask: 0, rotation: 0 };
}

/// Those that do not need all four end in ones that always pass.
pub(super) type Checks = [FieldCheck; 4];

/// An operand is a 32-bit literal.
pub(super) const LITERAL: u8 = 1;
/// An operand takes more than these tables tell: a 64-bit literal, a tuple that does not start where
/// tuples do, or no value that there is.
const OTHER: u8 = 2;

/// What the values of operands mean for the encoding; nothing in most cases. A table is written before the first check
/// that reads it.
pub(super) struct Verdicts(Box<[AtomicU8; 1 << 16]>);

impl Verdicts {
    pub(super) fn new() -> Self {
        Verdicts(Box::new([const { AtomicU8::new(0) }; 1 << 16]))
    }

    /// Everything that the operands say.
    #[inline]
    pub(super) fn of(&self, low: u64, checks: &Checks) -> u8 {
        let verdict = |check: &FieldCheck| {
            let value = low.rotate_right(check.rotation.into()) as u16 & check.mask;
            self.0[usize::from(value | check.start)].load(Ordering::Relaxed)
        };
        let [a, b, c, d] = checks;
        verdict(a) | verdict(b) | verdict(c) | verdict(d)
    }
}

/// The checks of one shape.
#[derive(Clone, Copy)]
pub(super) struct Program {
    pub(super) checks: Checks,
    /// The checks are all that the operands need.
    pub(super) is_whole: bool,
    /// Where an operand is that must stand for DPP8.
    pub(super) dpp8_at: Option<u8>,
}

/// Works out the checks of shapes, each once.
#[derive(Default)]
pub(super) struct CheckBook {
    /// Which tables of codes there are verdicts of, for which role, without which bits, and whether any value matters.
    known: Vec<(u8, Role, u16, bool)>,
    programs: BTreeMap<u16, Program>,
}

const TABLE: usize = 1 << CODE_BITS;

impl CheckBook {
    pub(super) fn program(&mut self, number: u16, operands: (&Codes, &Verdicts)) -> Program {
        if let Some(program) = self.programs.get(&number) {
            return *program;
        }
        let shape = SHAPES.get(usize::from(number));
        let program = shape.map_or(Program::EMPTY, |shape| self.work_out(shape, operands));
        self.programs.insert(number, program);
        program
    }

    fn work_out(&mut self, shape: &Shape, operands: (&Codes, &Verdicts)) -> Program {
        let mut program = Program::EMPTY;
        let (start, count) = shape.slots;
        let slots = SLOTS.get(usize::from(start)..).unwrap_or_default();
        let slots = slots.get(..usize::from(count)).unwrap_or_default();
        let (start, count) = shape.checks;
        let checks = CHECKS.get(usize::from(start)..usize::from(start) + usize::from(count));
        let mut places = program.checks.iter_mut();
        for Check { slot, role } in checks.unwrap_or_default() {
            let Some(slot) = slots.get(usize::from(*slot)) else { continue };
            match role {
                Role::Register | Role::Source => {
                    let table = self.table(slot, *role, operands);
                    if !self.known.get(table).is_some_and(|(.., matters)| *matters) {
                        continue;
                    }
                    match (field_check(slot, table + 1), places.next()) {
                        (Some(check), Some(place)) => *place = check,
                        _ => program.is_whole = false,
                    }
                }
                Role::Literal | Role::Number => program.is_whole = false,
                Role::Dpp8 => {
                    program.is_whole = false;
                    program.dpp8_at = FIELDS.get(usize::from(slot.field)).map(|field| field.0.0);
                }
            }
        }
        program
    }

    /// The number of the verdicts on the values of an operand, from 0 on. Values that only bits beside its first run tell
    /// apart share one: nearly always it is the same for all of them.
    fn table(&mut self, slot: &Slot, role: Role, (codes, verdicts): (&Codes, &Verdicts)) -> usize {
        let number = codes.number(slot.kind);
        let ignored = bits_beside_the_first_run(slot);
        let wanted = (number, role, ignored);
        let known = self.known.iter().position(|other| (other.0, other.1, other.2) == wanted);
        known.unwrap_or_else(|| {
            let mut shared = [None; TABLE];
            if let Some((table, source)) = codes.table(number) {
                for (value, code) in (0..).zip(table) {
                    let verdict = verdict(source, value, *code, role);
                    let place = shared.get_mut(usize::from(value & !ignored));
                    place.into_iter().for_each(|it| *it = Some(common(*it, verdict)));
                }
            }
            // The first verdicts are those of `FieldCheck::NONE`.
            let places = verdicts.0.iter().skip((self.known.len() + 1) * TABLE);
            places.zip(shared).for_each(|(to, it)| to.store(it.unwrap_or(0), Ordering::Relaxed));
            let matters = shared.iter().flatten().any(|it| *it != 0);
            self.known.push((number, role, ignored, matters));
            self.known.len() - 1
        })
    }
}

/// The verdict of values that are not told apart.
fn common(known: Option<u8>, verdict: u8) -> u8 {
    if known.is_none_or(|it| it == verdict) { verdict } else { OTHER }
}

/// The bits of an operand's value that stand elsewhere than the first ones.
fn bits_beside_the_first_run(slot: &Slot) -> u16 {
    let field = FIELDS.get(usize::from(slot.field)).filter(|_| slot.field != NO_FIELD);
    let runs = field.map_or(&[][..], |field| field.1).iter();
    let bits = runs.fold(0_u32, |bits, (_, first, width)| bits | ((1 << width) - 1) << first);
    bits as u16 & !slot.fixed
}

impl Program {
    const EMPTY: Program = Program { checks: [FieldCheck::NONE; 4], is_whole: true, dpp8_at: None };
}

fn verdict(source: Source, value: u16, code: Code, role: Role) -> u8 {
    match code.tag() {
        tag::SGPR | tag::TTMP if misaligned(source, value, code).is_some() => OTHER,
        tag::INVALID | tag::LITERAL64 => OTHER,
        tag::LITERAL if role == Role::Source => LITERAL,
        _ => 0,
    }
}

/// The check of an operand whose first bits stand together in the first eight bytes, as nearly all do.
fn field_check(slot: &Slot, table: usize) -> Option<FieldCheck> {
    let field = FIELDS.get(usize::from(slot.field)).filter(|_| slot.field != NO_FIELD)?;
    let (at, first, width) = field.0;
    let is_simple = at < 64 && at + width <= 64;
    let is_small = u32::from(first + width) <= CODE_BITS && slot.fixed >> CODE_BITS == 0;
    let start = u16::try_from(table << CODE_BITS).ok()? | slot.fixed;
    let mask = ((1 << width) - 1) << first;
    let rotation = (at + 64 - first) % 64;
    (is_simple && is_small).then_some(FieldCheck { start, mask, rotation })
}
