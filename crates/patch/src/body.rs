//! Straight code for a replacement, under the VGPR MSBs that each instruction needs.

use hsaco_isa::Inst;
use hsaco_isa::model::{Register, RegisterFile, VgprMsb};

use crate::budget::BANK;
use crate::refusal::{Refusal, RefusalKind};
use crate::scratch::ScratchRegisters;
use crate::site::Site;

/// The operands whose VGPR MSBs are set apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The first source; the address of LDS instructions.
    First,
    /// The second source; the data of LDS instructions.
    Second,
    /// The third source; the second data of LDS instructions.
    Third,
    /// The destination.
    Destination,
}

impl Role {
    fn shift(self) -> u32 {
        match self {
            Role::First => 0,
            Role::Second => 2,
            Role::Third => 4,
            Role::Destination => 6,
        }
    }
}

/// The code of a replacement in the making. Vector registers are given by their full numbers; where the VGPR MSBs that
/// they need are not those in force, it switches, and at the end it switches back.
pub(crate) struct Body<'s, 'v> {
    site: &'s Site<'v>,
    code: Vec<Inst>,
    before: Option<VgprMsb>,
    now: VgprMsb,
}

impl<'s, 'v> Body<'s, 'v> {
    /// Where VGPR MSBs are known.
    pub(crate) fn new(site: &'s Site<'v>) -> Result<Self, Refusal> {
        let msb = site.msb()?;
        Ok(Body { site, code: Vec::new(), before: Some(msb), now: msb })
    }

    /// Where they may not be known: numbers are then as encoded, and operands have to keep their roles.
    pub(crate) fn as_encoded(site: &'s Site<'v>) -> Self {
        let before = site.view().msb(site.step());
        Body { site, code: Vec::new(), before, now: before.unwrap_or_default() }
    }

    /// The register operand of a name, with its full number; a whole one where the operand names a half, which its
    /// modifiers name as well.
    pub(crate) fn register(&self, name: &str, role: Role) -> Option<Register> {
        let register = Register { half: None, ..self.site.register(name)? };
        Some(match register.file {
            RegisterFile::Vgpr => Register { first: register.first + self.bank(role), ..register },
            _ => register,
        })
    }

    fn bank(&self, role: Role) -> u16 {
        let bits = self.before.unwrap_or_default().bits();
        u16::from(bits >> role.shift() & 3) * BANK
    }

    /// Appends an instruction as it is.
    pub(crate) fn push(&mut self, inst: Inst) {
        self.code.push(inst);
    }

    /// Appends a line that names no vector register.
    pub(crate) fn line(&mut self, line: &str) -> Result<(), Refusal> {
        self.push(self.site.assemble(line)?);
        Ok(())
    }

    /// Appends a line in which each `@` stands for the next of the registers.
    pub(crate) fn emit(
        &mut self,
        line: &str,
        registers: &[(Role, Register)],
    ) -> Result<(), Refusal> {
        let mut bits = self.now.bits();
        let mut text = String::with_capacity(line.len() + 16);
        let mut parts = line.split('@');
        text.push_str(parts.next().unwrap_or_default());
        for ((role, register), part) in registers.iter().zip(parts) {
            let mut named = *register;
            if register.file == RegisterFile::Vgpr {
                let bank = register.first / BANK;
                bits = bits & !(3 << role.shift()) | (bank as u8 & 3) << role.shift();
                named.first %= BANK;
            }
            text.push_str(&named.to_string());
            text.push_str(part);
        }
        self.switch(VgprMsb::new(bits))?;
        self.line(&text)
    }

    /// Outstanding accesses would be replayed with other VGPR MSBs, so they have to be complete.
    fn switch(&mut self, to: VgprMsb) -> Result<(), Refusal> {
        if to == self.now {
            return Ok(());
        }
        let Some(before) = self.before else {
            self.site.msb()?;
            return Ok(());
        };
        if self.now == before {
            self.line("s_wait_xcnt 0x0")?;
        }
        self.line(&format!(
            "s_set_vgpr_msb {}",
            u16::from(to.bits()) | u16::from(self.now.bits()) << 8
        ))?;
        self.now = to;
        Ok(())
    }

    /// Switches back to the VGPR MSBs before the site.
    pub(crate) fn restore(&mut self) -> Result<(), Refusal> {
        match self.before {
            Some(before) => self.switch(before),
            None => Ok(()),
        }
    }

    /// The code, with the same VGPR MSBs at its end as at its start.
    pub(crate) fn finish(mut self) -> Result<Vec<Inst>, Refusal> {
        self.restore()?;
        Ok(self.code)
    }
}

/// Some registers of a row, from one on.
pub(crate) fn part(row: &Register, from: u8, count: u8) -> Register {
    Register { first: row.first + u16::from(from), count, ..*row }
}

/// Vector registers in a row, in a bank that is already in use if there is one with room.
pub(crate) fn vgprs_near(
    scratch: &mut ScratchRegisters<'_>,
    count: u8,
    align: u16,
    near: &Register,
) -> Result<Register, Refusal> {
    let bank = (near.first / BANK) as u8;
    let refusal = match scratch.vgprs(count, align, bank) {
        Ok(register) => return Ok(register),
        Err(refusal) => refusal,
    };
    let mut others = (0..4_u8).filter(|it| *it != bank);
    others.find_map(|bank| scratch.vgprs(count, align, bank).ok()).ok_or(refusal)
}

/// The refusal of an instruction that has a form no rule was made for.
pub(crate) fn unsupported(site: &Site<'_>, why: &str) -> Refusal {
    Refusal::new(RefusalKind::Unsupported, format!("`{}`: {why}", site.text()))
}
