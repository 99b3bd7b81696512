//! Steps that tell which errata of stepping A0 an instruction meets.

use hsaco_isa::errata;
use hsaco_isa::model::{OperandValue, RegisterFile};

use super::operand::Wide;
use super::{Builder, Registers};
use crate::error::Result;
use crate::exec::errata as exec;
use crate::revision::{MODELS, When};
use crate::wave::scalar;

impl<const C: usize> Builder<'_, C> {
    /// What goes before an instruction that may meet the errata of these numbers.
    pub(super) fn errata(&mut self, met: &[u16]) -> Result<()> {
        for number in met {
            self.erratum(*number)?;
        }
        if errata::is_vector_memory(self.inst) {
            self.push(exec::access::<C>, Registers::default());
        } else if errata::is_matrix(self.inst) {
            self.push(exec::forget::<C>, Registers::default());
        } else if errata::is_vector_alu(self.inst) {
            self.near_matrix();
        }
        Ok(())
    }

    fn erratum(&mut self, number: u16) -> Result<()> {
        let Some(model) = MODELS.get(usize::from(number)) else { return Ok(()) };
        let mut registers = Registers { e: number, k: self.address, ..Registers::default() };
        match model.when {
            When::Always => self.push(exec::meet::<C>, registers),
            When::MaskInM0 => {
                (registers.a, registers.d) = (scalar::M0, 0xffff);
                self.push(exec::meet_with_bits::<C>, registers);
            }
            When::WideM0 => {
                (registers.a, registers.c, registers.d) = (scalar::M0, 16, 0xf);
                self.push(exec::meet_with_bits::<C>, registers);
            }
            When::MaskInDescriptor => {
                registers.a = self.scalar_source(self.needed("vaddr1")?, Wide::Unsigned)?;
                registers.d = 0xffff;
                self.push(exec::meet_with_bits::<C>, registers);
            }
            When::Misaligned => {
                let OperandValue::Register(address) = self.needed("addr")? else { return Ok(()) };
                registers.a = self.vector_register(address, 8)?;
                registers.c = if self.inst.mnemonic().ends_with("b64") { 8 } else { 4 };
                self.push(exec::meet_misaligned::<C>, registers);
            }
            When::First => self.push(exec::meet_at_first::<C>, registers),
            // Told by what follows.
            When::TooSoon => {}
        }
        Ok(())
    }

    /// After a matrix instruction whose registers may not be written soon.
    pub(super) fn remember_matrix(&mut self) {
        for (first, count) in self.vectors(|_| true) {
            self.push(
                exec::remember::<C>,
                Registers { a: first, b: count, ..Registers::default() },
            );
        }
    }

    fn near_matrix(&mut self) {
        let written = self.vectors(|is_output| is_output);
        // Instructions without a result count as well.
        let written = if written.is_empty() { vec![(0, 0)] } else { written };
        for (at, (a, b)) in written.into_iter().enumerate() {
            let c = u16::from(at == 0);
            let registers = Registers { a, b, c, k: self.address, ..Registers::default() };
            self.push(exec::write_near_matrix::<C>, registers);
        }
    }

    /// The vector registers of the instruction, first and count.
    fn vectors(&self, takes: impl Fn(bool) -> bool) -> Vec<(u16, u16)> {
        let register = |operand: &hsaco_isa::model::Operand| match operand.value {
            OperandValue::Register(it) if it.file == RegisterFile::Vgpr => {
                takes(operand.is_output).then(|| (it.first, u16::from(it.count.max(1))))
            }
            _ => None,
        };
        self.operands.iter().filter_map(register).collect()
    }
}
