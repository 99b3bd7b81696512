//! Conversions with a scale, and other operations on many small elements.

use hsaco_isa::model::OperandValue;
use hsaco_isa::target::Generation;

use super::operand::Wide;
use super::{Builder, Registers};
use crate::error::Result;
use crate::exec::small::{self, Conversion, Scale};
use crate::generated::Op;
use crate::semantics::Semantics;

/// The bits of VOP3 that select halves and bytes of operands.
const OP_SEL: usize = 11;
/// The bits that drop and change the sign of sources.
const ABSOLUTE: usize = 8;
const NEGATED: usize = 61;

impl<const C: usize> Builder<'_, C> {
    /// So many bits of the encoding.
    fn field(&self, first: usize, width: usize) -> u32 {
        (0..width).fold(0, |all, at| all | u32::from(self.bit(first + at)) << at)
    }

    /// The first register of the destination.
    fn target_register(&self) -> Result<u16> {
        let OperandValue::Register(register) = self.needed("vdst")? else {
            return Err(self.unsupported("no destination"));
        };
        self.vector_register(register, 3)
    }

    /// A source of one register, or of several: these are vector registers, and encodings with others have no meaning.
    fn elements_source(&mut self, name: &str, is_wide: bool, place: u8) -> Result<u16> {
        match self.needed(name)? {
            OperandValue::Register(register) if is_wide => self.vector_register(register, place),
            _ if is_wide => Err(self.unsupported("a constant as several vector registers")),
            value => self.vector_source(value, Wide::No, place),
        }
    }

    pub(super) fn small_elements(&mut self, semantics: &'static Semantics) -> Result<()> {
        if semantics.op == Op::VCvtScaled {
            return self.scaled_conversion(semantics.mnemonic);
        }
        let wide = |is_wide| if is_wide { Wide::Unsigned } else { Wide::No };
        let (is_table, is_sum) =
            (semantics.op == Op::VPermPk16B6U4, semantics.op == Op::VMqsadU32U8);
        let mut registers = Registers { d: self.target_register()?, ..Registers::default() };
        registers.a = self.vector_source(self.needed("src0")?, wide(!is_table), 0)?;
        registers.b = self.vector_source(self.needed("src1")?, wide(!is_sum), 1)?;
        registers.c = match is_sum {
            true => self.elements_source("src2", true, 2)?,
            false => self.vector_source(self.needed("src2")?, wide(true), 2)?,
        };
        match semantics.op {
            Op::VMqsadU32U8 => self.push(small::masked_sums::<C>, registers),
            op => {
                registers.k = if op == Op::VPermPk16B8U4 { 8 } else { 6 };
                self.push(small::look_up::<C>, registers);
            }
        }
        Ok(())
    }

    fn scaled_conversion(&mut self, mnemonic: &str) -> Result<()> {
        let named = Conversion::named(mnemonic).ok_or_else(|| self.unsupported("no such name"))?;
        let conversion = self.selected_parts(named)?;
        // The scale is the last operand; a seed, or a second source, is before it.
        let has_three = conversion.is_stochastic || conversion.has_two_sources;
        let scale = self.needed(if has_three { "src2" } else { "src1" })?;
        let sources = if conversion.has_two_sources { 2 } else { 1 };
        let is_wide = conversion.source_bits() * conversion.count > 32 * sources;
        let a = self.elements_source("src0", is_wide, 0)?;
        let b = match has_three {
            true => self.elements_source("src1", is_wide && conversion.has_two_sources, 1)?,
            false => a,
        };
        let c = self.vector_source(scale, Wide::No, if has_three { 2 } else { 1 })?;
        let d = self.target_register()?;
        let k = conversion.pack();
        self.push(small::convert::<C>, Registers { d, a, b, c, k, ..Registers::default() });
        Ok(())
    }

    /// What the bits beside the opcode say: parts of registers, signs.
    fn selected_parts(&self, conversion: Conversion) -> Result<Conversion> {
        let select = self.field(OP_SEL, 4);
        let is_gfx9 = self.target.generation < Generation::Gfx10;
        if conversion.scale == Scale::Byte && select & 7 != 0 {
            return Err(self.unsupported(
                "a scale_sel other than 0, about which the manual's text and tables disagree",
            ));
        }
        let (absolute, negated) = (self.field(ABSOLUTE, 3), self.field(NEGATED, 3));
        let sources = if conversion.has_two_sources { 0b11 } else { 0b1 };
        let is_one_float = conversion.source_bits() == 32 && conversion.count <= 2;
        if (absolute | negated) & sources != 0 && !(is_gfx9 && is_one_float) {
            return Err(self.unsupported("a modifier of its source"));
        }
        if !is_gfx9 {
            return Ok(conversion);
        }
        let to_bit = match conversion.result_bits() {
            8 => (select >> 2) * 8,
            16 => (select >> 3) * 16,
            _ => 0,
        };
        let from_bit = match conversion.source_bits() * conversion.count {
            8 => (select & 3) * 8,
            16 => (select & 1) * 16,
            _ => 0,
        };
        Ok(Conversion { to_bit, from_bit, absolute, negated, ..conversion })
    }
}
