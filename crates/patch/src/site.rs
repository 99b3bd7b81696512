//! One instruction of a function, as rules look at it.

use hsaco_analysis::{Focus, States};
use hsaco_isa::Inst;
use hsaco_isa::effects::Lanes;
use hsaco_isa::model::{OperandValue, Register, RegisterFile, Special, VgprMsb};

use crate::option::Options;
use crate::refusal::{Refusal, RefusalKind};
use crate::scratch::ScratchRegisters;
use crate::view::{Around, View};

impl View<'_> {
    /// The instruction of a number, to look at.
    #[must_use]
    pub fn site(&self, step: usize) -> Option<Site<'_>> {
        self.stream().inst(step).map(|_| Site { view: self, step })
    }

    /// The first instruction, whether or not it is one.
    pub(crate) fn entry(&self) -> Site<'_> {
        Site { view: self, step: 0 }
    }
}

/// One instruction of a function, as a rule looks at it.
///
/// ```
/// use hsaco_patch::{Answer, Plan, Refusal, Site};
/// fn look(site: &Site<'_>) -> Result<Answer, Refusal> {
///     if site.number("simm16") == Some(0) {
///         return Ok(Answer::NotMine);
///     }
///     Ok(Answer::Rewrite(Plan::replace(site, vec![site.assemble("s_nop 0")?])))
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Site<'v> {
    view: &'v View<'v>,
    step: usize,
}

impl<'v> Site<'v> {
    /// The function.
    #[must_use]
    pub fn view(&self) -> &'v View<'v> {
        self.view
    }

    /// The number of the instruction.
    #[must_use]
    pub fn step(&self) -> usize {
        self.step
    }

    /// Where it stands.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.view.stream().address_of(self.step)
    }

    /// How rules are to read what is not settled.
    #[must_use]
    pub fn options(&self) -> &'v Options {
        self.view.options()
    }

    /// The instruction.
    #[must_use]
    pub fn inst(&self) -> Option<Inst> {
        self.view.stream().inst(self.step)
    }

    /// Its name, without the suffix that tells encodings apart.
    #[must_use]
    pub fn mnemonic(&self) -> &'static str {
        self.inst().map_or("", |inst| inst.mnemonic())
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> String {
        self.inst().map(|inst| self.view.decoder().text(&inst)).unwrap_or_default()
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(20);
        self.inst().into_iter().for_each(|inst| inst.encode(&mut bytes));
        bytes
    }

    /// The operand of a name.
    #[must_use]
    pub fn operand(&self, name: &str) -> Option<OperandValue> {
        self.view.decoder().operand(&self.inst()?, name)
    }

    /// The operand of a name, if it is a register: as encoded, without VGPR MSBs.
    #[must_use]
    pub fn register(&self, name: &str) -> Option<Register> {
        match self.operand(name)? {
            OperandValue::Register(register) => Some(register),
            _ => None,
        }
    }

    /// The operand of a name, if it is a number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<i64> {
        match self.operand(name)? {
            OperandValue::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The VGPR MSBs before it, or the refusal that a rule gives which needs them.
    pub fn msb(&self) -> Result<VgprMsb, Refusal> {
        self.view.msb(self.step).ok_or_else(|| {
            let detail = match self.view.msb_breaker(self.step) {
                Some(why) => {
                    format!("the upper bits of vector register numbers are not known: {why}")
                }
                None => "paths lead here with different upper bits of vector register numbers"
                    .to_owned(),
            };
            Refusal::new(RefusalKind::UnknownBank, detail)
        })
    }

    /// Whether any of the registers is needed after the instruction.
    #[must_use]
    pub fn is_needed(&self, register: &Register) -> bool {
        self.view.is_needed_after(self.step, register)
    }

    /// Whether SCC is needed after the instruction.
    #[must_use]
    pub fn is_scc_needed(&self) -> bool {
        let file = RegisterFile::Special(Special::Scc);
        self.is_needed(&Register { file, first: 0, count: 1, half: None })
    }

    /// The halves of EXEC that a wave has.
    pub(crate) fn exec_halves(&self) -> &'static [&'static str] {
        match self.view.decoder().is_wave32() {
            true => &["exec_lo"],
            false => &["exec_lo", "exec_hi"],
        }
    }

    /// Waits that have to be between matrix instructions of the function and writes of vector registers.
    pub(crate) fn distance(&self) -> Vec<String> {
        let lines = self.view.dialect().distance;
        let lines = if lines.is_empty() || !self.view.has_matrices() { &[][..] } else { lines };
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    /// A scalar register to keep SCC in, where making an address loses it and it is live.
    pub(crate) fn keep_scc(
        &self,
        scratch: &mut ScratchRegisters<'_>,
    ) -> Result<Option<Register>, Refusal> {
        if !self.view.dialect().loses_scc() {
            return Ok(None);
        }
        let file = RegisterFile::Special(Special::Scc);
        let scc = Register { file, first: 0, count: 1, half: None };
        let around = Around { view: self.view, first: self.step, last: self.step };
        if around.needed(Focus::Scalars).contains(&scc) {
            return scratch.sgprs(1, 1).map(Some);
        }
        scratch.take(&scc);
        Ok(None)
    }

    /// The instructions that make an address in a pair of scalar registers, wherever they are put.
    pub(crate) fn address_code(&self, pair: Register, address: u64) -> Result<Vec<Inst>, Refusal> {
        let words = self.view.dialect().address(0, address, pair.first);
        self.view.tools().insts(&words).ok_or_else(|| {
            Refusal::new(RefusalKind::Unsupported, "the address of something makes no instructions")
        })
    }

    /// Refuses where M0 may be added to the numbers of vector registers.
    pub(crate) fn refuse_relative_registers(&self) -> Result<(), Refusal> {
        let (stream, decoder) = (self.view.stream(), self.view.decoder());
        if !decoder.has_gpr_index_mode() || !stream.writes_mode() {
            return Ok(());
        }
        let states = States::new(decoder, stream, self.view.cfg(), Lanes::All);
        if states.has_index_mode() && states.before(self.step).indexed.is_some() {
            let detail = "s_set_gpr_idx_on is in force: M0 is added to the numbers of registers";
            return Err(Refusal::new(RefusalKind::UnknownBank, detail));
        }
        Ok(())
    }

    /// Registers to take for what replaces the instruction: none that is needed before or after it, that it
    /// names, or that a memory access may still use.
    #[must_use]
    pub fn scratch_registers(&self) -> ScratchRegisters<'v> {
        ScratchRegisters::around(Around { view: self.view, first: self.step, last: self.step })
    }

    /// The instruction that a line is.
    pub fn assemble(&self, line: &str) -> Result<Inst, Refusal> {
        self.view.tools().assemble(line).map_err(|error| {
            Refusal::new(RefusalKind::Unsupported, format!("`{line}` does not assemble: {error}"))
        })
    }

    /// The instructions of several lines.
    pub fn assemble_all<T: AsRef<str>>(&self, lines: &[T]) -> Result<Vec<Inst>, Refusal> {
        lines.iter().map(|line| self.assemble(line.as_ref())).collect()
    }

    /// The instruction that some bytes are.
    pub fn decode(&self, bytes: &[u8]) -> Result<Inst, Refusal> {
        self.view.decoder().decode(bytes).filter(|inst| inst.len() == bytes.len()).ok_or_else(
            || Refusal::new(RefusalKind::Unsupported, "the rewritten encoding is no instruction"),
        )
    }
}
