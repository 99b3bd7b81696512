//! What an instruction is: forms and their operands, what bits stand for, how wide operands are.
//!
//! Decoding, printing, assembling and effects stand on this model and do not know each other.
#![allow(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    reason = "fields are cut out of words; tables are as long as their indices reach"
)]

pub(crate) mod arch;
mod class;
pub(crate) mod code;
pub(crate) mod codes;
pub(crate) mod counter;
pub(crate) mod effects;
mod encode;
mod features;
mod form;
mod format;
pub(crate) mod generated;
mod hwreg;
pub(crate) mod inst;
pub(crate) mod modifier;
pub(crate) mod named;
mod named_enum;
mod operand;
pub(crate) mod options;
mod slot;
mod special;
pub(crate) mod table;
mod vgpr_msb;
mod width;

pub(crate) use arch::Arch;
pub(crate) use code::{Code, tag};
pub(crate) use counter::{Counter, WaitField, ones};
pub(crate) use encode::field_width;
pub(crate) use features::{Features, feature};
pub(crate) use form::text;
pub use form::{Form, FormOperand, OperandRole, ValueType};
pub use format::{Extension, Format};
pub use hwreg::HwRegField;
pub use inst::{Inst, Outline};
pub(crate) use operand::sign_extend;
pub use operand::{Half, Operand, OperandValue, Register, RegisterFile, SourceModifiers};
pub(crate) use options::{DecodeOptions, Mode, UnsupportedProcessor};
pub use special::Special;
pub use vgpr_msb::VgprMsb;

use crate::target::Processor;
use class::class_mode;
use codes::Codes;
use generated::{FORMS, PREDICATES, TABLES};
use table::{FormRow, Slot, Table};

/// The instruction set of one processor under its settings.
pub(crate) struct Model {
    pub(crate) features: Features,
    pub(crate) arch: Arch,
    /// Which of LLVM's modes chooses register classes.
    class_mode: usize,
    tables: [bool; TABLES.len()],
    predicates: [bool; PREDICATES.len()],
    pub(crate) codes: Codes,
}

/// A form, its table and its number.
pub(crate) type Known = (&'static Table, u16, &'static FormRow);

impl Model {
    /// The instruction set of a processor, if there are tables for it.
    pub(crate) fn new(
        processor: Processor,
        options: DecodeOptions,
    ) -> Result<Self, UnsupportedProcessor> {
        let features = Features::of(processor, options).ok_or(UnsupportedProcessor(processor))?;
        let arch = Arch::of(&features);
        Ok(Model {
            arch,
            class_mode: class_mode(arch),
            tables: std::array::from_fn(|it| features.any(TABLES[it].when)),
            predicates: std::array::from_fn(|it| features.fulfil(&PREDICATES[it])),
            codes: Codes::new(arch),
            features,
        })
    }

    /// The form of a table, if the processor has both.
    pub(crate) fn form(&self, table: usize, number: u16) -> Option<Known> {
        if !*self.tables.get(table)? {
            return None;
        }
        let form = FORMS.get(usize::from(number))?;
        let has_form = *self.predicates.get(usize::from(form.predicates))?;
        has_form.then_some((TABLES.get(table)?, number, form))
    }

    /// Whether the processor has a form.
    pub(crate) fn has(&self, number: u16) -> bool {
        let holds = |table: &Table| (table.forms.0..table.forms.1).contains(&number);
        let mut tables = TABLES.iter().enumerate().filter(|(_, table)| holds(table));
        tables.any(|(table, _)| self.form(table, number).is_some())
    }

    /// The forms that the processor has, in the order in which they are tried.
    pub(crate) fn forms(&self) -> impl Iterator<Item = Known> {
        let numbered = TABLES.iter().enumerate();
        let all = numbered
            .flat_map(|(at, table)| (table.forms.0..table.forms.1).map(move |number| (at, number)));
        all.filter_map(|(table, number)| self.form(table, number))
    }

    /// What the value of an operand stands for.
    #[inline]
    pub(crate) fn code(&self, inst: &Inst, slot: &Slot) -> Code {
        self.code_of(slot.kind, inst.value(slot) as u16)
    }

    /// What a value stands for in operands of a kind.
    #[inline]
    pub(crate) fn code_of(&self, kind: u16, value: u16) -> Code {
        let codes = self.codes.table(self.codes.number(kind));
        codes.map_or(Code::INVALID, |(codes, _)| codes[usize::from(value & 0x3ff)])
    }

    /// What all values stand for in operands of a kind.
    pub(crate) fn codes_of(&self, kind: u16) -> Option<&[Code]> {
        self.codes.table(self.codes.number(kind)).map(|(codes, _)| &codes[..])
    }

    /// The number of the table of values for operands of a kind, which is there from now on.
    pub(crate) fn code_table(&self, kind: u16) -> u8 {
        let number = self.codes.number(kind);
        self.codes.table(number);
        number
    }

    /// What a value stands for in a table that is there.
    #[inline]
    pub(crate) fn code_in(&self, table: u8, value: u16) -> Option<Code> {
        self.codes.made(table).map(|codes| codes[usize::from(value & 0x3ff)])
    }
}
