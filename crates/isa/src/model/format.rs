//! The families of encodings.

use super::form::Form;
use super::inst::Inst;

/// A family of encodings: which fields an instruction has, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named as AMD's manuals name them")]
pub enum Format {
    Sop1,
    Sop2,
    Sopc,
    Sopk,
    Sopp,
    Smem,
    Vop1,
    Vop2,
    Vopc,
    Vop3,
    Vop3p,
    Vopd,
    Vintrp,
    Vinterp,
    Ds,
    Flat,
    Global,
    Scratch,
    Mubuf,
    Mtbuf,
    Mimg,
    Vimage,
    Vsample,
    Exp,
    LdsDirect,
    /// None of these: instructions that AMD's manuals put in no family.
    Other,
}

/// What a vector encoding is followed by to change its first source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extension {
    /// Data from other lanes, sixteen at a time.
    Dpp16,
    /// Data from other lanes, eight at a time.
    Dpp8,
    /// Parts of a register.
    Sdwa,
}

/// LLVM's bits, the more special first.
const FORMATS: [(u32, Format); 24] = [
    (13, Format::Vintrp),
    (29, Format::Vinterp),
    (12, Format::Vop3p),
    (10, Format::Vop3),
    (2, Format::Sop1),
    (3, Format::Sop2),
    (4, Format::Sopc),
    (5, Format::Sopk),
    (6, Format::Sopp),
    (7, Format::Vop1),
    (8, Format::Vop2),
    (9, Format::Vopc),
    (17, Format::Mubuf),
    (18, Format::Mtbuf),
    (19, Format::Smem),
    (20, Format::Mimg),
    (21, Format::Vimage),
    (22, Format::Vsample),
    (23, Format::Exp),
    (51, Format::Global),
    (56, Format::Scratch),
    (24, Format::Flat),
    (25, Format::Ds),
    (28, Format::LdsDirect),
];
const SDWA: u32 = 14;
const DPP: u32 = 15;

impl Form {
    /// The family of the encoding.
    #[must_use]
    pub fn format(self) -> Format {
        let bits = self.flags().llvm;
        let found = FORMATS.iter().find(|(bit, _)| bits >> bit & 1 == 1);
        match found {
            Some((_, format)) => *format,
            None if self.has("vdstX") => Format::Vopd,
            // LLVM leaves the family out where there is an extension; the first word has it.
            None if self.extension().is_some() => match self.row().value >> 25 & 0x7f {
                0x3f => Format::Vop1,
                0x3e => Format::Vopc,
                _ => Format::Vop2,
            },
            None => Format::Other,
        }
    }

    /// What the encoding is followed by to change its first source.
    #[must_use]
    pub fn extension(self) -> Option<Extension> {
        let bits = self.flags().llvm;
        match (bits >> SDWA & 1, bits >> DPP & 1) {
            (1, _) => Some(Extension::Sdwa),
            (_, 1) if self.has("dpp8") => Some(Extension::Dpp8),
            (_, 1) => Some(Extension::Dpp16),
            _ => None,
        }
    }

    fn has(self, operand: &str) -> bool {
        self.slots().iter().any(|slot| slot.label() == Some(operand))
    }
}

impl Inst {
    /// The family of its encoding.
    ///
    /// ```
    /// use hsaco_isa::model::Format;
    /// use hsaco_isa::{Decoder, Processor};
    /// let decoder = Decoder::new(Processor::from_name("gfx1100").unwrap())?;
    /// let inst = decoder.decode(&0xbfb0_0000_u32.to_le_bytes()).unwrap();
    /// assert_eq!((inst.mnemonic(), inst.format()), ("s_endpgm", Format::Sopp));
    /// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
    /// ```
    #[must_use]
    pub fn format(&self) -> Format {
        self.form().format()
    }

    /// What the encoding is followed by to change its first source.
    #[must_use]
    pub fn extension(&self) -> Option<Extension> {
        self.form().extension()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Decoder, Processor};

    fn check(processor: &str, words: &[u32], format: Format, extension: Option<Extension>) {
        let decoder = Decoder::new(Processor::from_name(processor).unwrap()).unwrap();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let inst = decoder.decode(&bytes).unwrap();
        assert_eq!((inst.format(), inst.extension()), (format, extension), "{inst:?}");
    }

    #[test]
    fn families_are_told_apart() {
        check("gfx942", &[0x6806_0501], Format::Vop2, None);
        check("gfx942", &[0x7d44_04f9, 0x0e06_0001], Format::Vopc, Some(Extension::Sdwa));
        check("gfx942", &[0xd1cb_8103, 0x6405_e4f2], Format::Vop3, None);
        check("gfx942", &[0xdc50_8000, 0x007f_0002], Format::Global, None);
        check("gfx1100", &[0xc902_0401, 0xff06_0601, 0xaf12_3456], Format::Vopd, None);
        check(
            "gfx1100",
            &[0xd52b_0005, 0x0005_04fa, 0xff01_2101],
            Format::Vop3,
            Some(Extension::Dpp16),
        );
        check("gfx1100", &[0x8102_ff01, 0x1234_5678], Format::Sop2, None);
    }
}
