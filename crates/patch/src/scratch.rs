//! Registers that a replacement may write.

use std::cell::OnceCell;

use hsaco_analysis::{Focus, RegisterSet};
use hsaco_isa::model::{Register, RegisterFile, Special};

use crate::budget::{BANK, RegisterBudget};
use crate::refusal::{Refusal, RefusalKind};
use crate::view::{Around, focus_on};

/// The registers that a replacement may write beside those that the replaced instructions write.
///
/// ```no_run
/// # fn look(site: &hsaco_patch::Site<'_>) -> Result<(), hsaco_patch::Refusal> {
/// let mut scratch = site.scratch_registers();
/// let saved = scratch.sgprs(1, 1)?;
/// let pair = scratch.vgprs(2, 2, 0)?;
/// println!("{saved} {pair}");
/// # Ok(()) }
/// ```
pub struct ScratchRegisters<'v> {
    /// What is replaced, where it matters what is needed around it.
    around: Option<Around<'v>>,
    /// Registers that are live or named around the site: scalar only, and all. Computed on demand; most rewrites need
    /// neither.
    scalars: OnceCell<RegisterSet>,
    all: OnceCell<RegisterSet>,
    /// What else may not be taken.
    taken: RegisterSet,
    /// Needed by callers and callees, for all that is known.
    beyond: Option<(u16, u16)>,
    budget: RegisterBudget,
    granted: Vec<Register>,
}

impl<'v> ScratchRegisters<'v> {
    /// For what replaces some instructions: none that is needed before or after them, that they name, or that a memory
    /// access may still use.
    pub(crate) fn around(around: Around<'v>) -> Self {
        ScratchRegisters {
            around: Some(around),
            ..ScratchRegisters::new(around.view.reserved(), around.view.budget())
        }
    }

    /// For what may take all but these.
    pub(crate) fn new(taken: RegisterSet, budget: RegisterBudget) -> Self {
        ScratchRegisters {
            around: None,
            scalars: OnceCell::new(),
            all: OnceCell::new(),
            taken,
            beyond: budget.unused,
            budget,
            granted: Vec::new(),
        }
    }

    /// What was taken, in the order in which it was.
    #[must_use]
    pub fn granted(&self) -> &[Register] {
        &self.granted
    }

    pub(crate) fn into_granted(self) -> Vec<Register> {
        self.granted
    }

    /// Keeps registers from being taken.
    pub fn avoid(&mut self, register: &Register) {
        self.taken.insert(register);
    }

    /// Takes a register that an operand names: the caller has seen that it is dead afterwards.
    pub fn take(&mut self, register: &Register) {
        self.taken.insert(register);
        self.granted.push(*register);
    }

    /// Scalar registers in a row, the first a multiple of `align`: those that the kernel has anyhow first.
    pub fn sgprs(&mut self, count: u8, align: u16) -> Result<Register, Refusal> {
        let file = RegisterFile::Sgpr;
        let start = self.beyond.map_or(0, |(sgprs, _)| sgprs.next_multiple_of(align.max(1)));
        let end = self.budget.max_sgprs;
        let starts = (start..end).step_by(usize::from(align.max(1)));
        let found = starts
            .map(|first| Register { file, first, count, half: None })
            .find(|it| it.first + u16::from(count) <= end && self.is_free(it) && !is_odd_pair(it));
        self.grant(found, || format!("{count} scalar registers (of {end})"))
    }

    /// Vector registers in a row within a bank of 256, the first a multiple of `align`.
    pub fn vgprs(&mut self, count: u8, align: u16, bank: u8) -> Result<Register, Refusal> {
        let file = RegisterFile::Vgpr;
        let first_of_bank = u16::from(bank) * BANK;
        let end = self.budget.max_vgprs.min(first_of_bank + BANK);
        let start = self.beyond.map_or(0, |(_, vgprs)| vgprs).max(first_of_bank);
        let starts = (start.next_multiple_of(align.max(1))..end).step_by(usize::from(align.max(1)));
        let found = starts
            .map(|first| Register { file, first, count, half: None })
            .find(|it| it.first + u16::from(count) <= end && self.is_free(it));
        self.grant(found, || format!("{count} vector registers below v{end}"))
    }

    /// VCC, if it is dead.
    pub fn vcc(&mut self) -> Result<Register, Refusal> {
        self.special(Special::Vcc, 2)
    }

    /// SCC, if it is dead.
    pub fn scc(&mut self) -> Result<Register, Refusal> {
        self.special(Special::Scc, 1)
    }

    fn special(&mut self, special: Special, count: u8) -> Result<Register, Refusal> {
        let register =
            Register { file: RegisterFile::Special(special), first: 0, count, half: None };
        let found = Some(register).filter(|it| self.beyond.is_none() && self.is_free(it));
        self.grant(found, || special.name().to_owned())
    }

    fn is_free(&self, register: &Register) -> bool {
        !self.taken.contains(register)
            && self.around.is_none_or(|around| !self.bound(&around, register).contains(register))
    }

    /// What may not be taken because of what is around, as far as it has to do with a register.
    fn bound(&self, around: &Around<'_>, register: &Register) -> &RegisterSet {
        let focus = focus_on(register);
        let place = match focus {
            Focus::All => &self.all,
            Focus::Scalars => &self.scalars,
        };
        place.get_or_init(|| {
            let mut bound = around.operands(focus);
            // What no code uses is free wherever it is.
            if self.beyond.is_none() {
                bound.union_with(&around.needed(focus));
            }
            bound
        })
    }

    fn grant(
        &mut self,
        found: Option<Register>,
        wanted: impl FnOnce() -> String,
    ) -> Result<Register, Refusal> {
        let register = found.ok_or_else(|| {
            let why = self.around.and_then(|around| around.view.opacity());
            let why = why.map(|it| format!(", as far as is known: {it}")).unwrap_or_default();
            Refusal::new(RefusalKind::NoRegister, format!("none free of {}{why}", wanted()))
        })?;
        self.taken.insert(&register);
        self.granted.push(register);
        Ok(register)
    }
}

/// A write of s102 or s103 needs a wait before the base of scratch is read.
fn is_odd_pair(register: &Register) -> bool {
    register.first <= 103 && register.first + u16::from(register.count) > 102
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: RegisterBudget =
        RegisterBudget { sgprs: 8, max_sgprs: 106, vgprs: 16, max_vgprs: 64, unused: None };

    #[test]
    fn what_is_taken_is_not_taken_again() {
        let mut scratch = ScratchRegisters::new(RegisterSet::default(), BUDGET);
        assert_eq!(scratch.sgprs(1, 1).unwrap().to_string(), "s0");
        assert_eq!(scratch.sgprs(2, 2).unwrap().to_string(), "s[2:3]");
        assert_eq!(scratch.vgprs(3, 2, 0).unwrap().to_string(), "v[0:2]");
        assert_eq!(scratch.vgprs(2, 2, 0).unwrap().to_string(), "v[4:5]");
        assert_eq!(scratch.granted().len(), 4);
        let error = scratch.vgprs(64, 1, 0).unwrap_err();
        assert_eq!(error.to_string(), "no-register: none free of 64 vector registers below v64");
        assert!(scratch.vgprs(1, 1, 1).is_err());
    }

    #[test]
    fn where_callers_matter_only_unused_registers_are_free() {
        let budget = RegisterBudget { unused: Some((98, 60)), ..BUDGET };
        let mut scratch = ScratchRegisters::new(RegisterSet::all(), budget);
        assert!(scratch.sgprs(2, 2).is_err());
        let mut scratch = ScratchRegisters::new(RegisterSet::default(), budget);
        assert_eq!(scratch.sgprs(2, 2).unwrap().to_string(), "s[98:99]");
        assert_eq!(scratch.sgprs(1, 1).unwrap().to_string(), "s100");
        assert_eq!(scratch.sgprs(2, 2).unwrap().to_string(), "s[104:105]");
        assert_eq!(scratch.vgprs(2, 1, 0).unwrap().to_string(), "v[60:61]");
        assert!(scratch.scc().is_err());
    }
}
