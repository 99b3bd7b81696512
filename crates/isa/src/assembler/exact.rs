//! Text that assembles to the very bytes that it was printed from.
//!
//! The decoder's text is LLVM's. It does not tell all bits of all encodings, and LLVM's assembler refuses some of it, so
//! assembling it gives other bytes, or none. Here what was printed is assembled at once; where that does not do, another spelling is
//! tried, and at last the bytes stand for themselves.

use super::{Assembler, Data};
use crate::asm::has_remark;
use crate::model::code::FLOATS;
use crate::model::table::Flags;
use crate::model::{Inst, VgprMsb};

/// How [`Assembler::print_exact`] has printed an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exactness {
    /// As the decoder prints it.
    Usual,
    /// With something spelt out that the decoder leaves out.
    Respelt,
    /// As data, and the decoder's text as a comment: no text has these bytes.
    Data,
}

impl Assembler {
    /// Appends text that assembles to the bytes of an instruction, with this assembler and with llvm-mc 22.
    ///
    /// Nearly always that is what [`Decoder::print_after`](crate::Decoder::print_after) prints. That text is LLVM's and cannot be
    /// more: of some encodings it does not show all bits, and some of it LLVM's own assembler refuses. What is printed is
    /// assembled at once, so that this takes several times as long as printing.
    ///
    /// ```
    /// use hsaco_isa::assembler::Exactness;
    /// use hsaco_isa::decoder::DecodeOptions;
    /// use hsaco_isa::model::VgprMsb;
    /// use hsaco_isa::{Assembler, Processor};
    /// let assembler = Assembler::new(Processor::from_name("gfx900").unwrap(), DecodeOptions::default())?;
    /// let print = |bytes: &[u8]| {
    ///     let (inst, mut text) = (assembler.decoder().decode(bytes).unwrap(), Vec::new());
    ///     let exactness = assembler.print_exact(&inst, VgprMsb::default(), &mut text);
    ///     (exactness, String::from_utf8(text).unwrap())
    /// };
    /// let nop = print(&[0x00, 0x00, 0x80, 0xbf]);
    /// assert_eq!(nop, (Exactness::Usual, "s_nop 0".to_owned()));
    /// // The text does not say that there are eight bytes.
    /// let long_nop = print(&[0x00, 0x00, 0x40, 0xd1, 0x00, 0x00, 0x00, 0x00]);
    /// assert_eq!(long_nop, (Exactness::Respelt, "v_nop_e64".to_owned()));
    /// // LLVM shows s[2:3] for the number 3 as for 2.
    /// let (exactness, text) = print(&[0x03, 0x01, 0x80, 0xbe]);
    /// assert_eq!(exactness, Exactness::Data);
    /// assert_eq!(text, ".long 0xbe800103 // s_mov_b64 s[0:1], s[2:3]");
    /// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
    /// ```
    pub fn print_exact(&self, inst: &Inst, state: VgprMsb, out: &mut Vec<u8>) -> Exactness {
        let start = out.len();
        self.decoder().print_after(inst, state, out);
        let printed = out.get(start..).and_then(|text| str::from_utf8(text).ok());
        let usual = printed.unwrap_or_default();
        if self.gives(usual, inst) {
            return Exactness::Usual;
        }
        let other = RESPELLINGS.iter().filter_map(|respell| respell(inst, usual));
        let (exactness, text) = match other.into_iter().find(|text| self.gives(text, inst)) {
            Some(text) => (Exactness::Respelt, text),
            None => {
                let data = Data::of_bytes(inst.bytes().get(..inst.len()).unwrap_or_default());
                (Exactness::Data, format!("{data} // {usual}"))
            }
        };
        out.truncate(start);
        out.extend_from_slice(text.as_bytes());
        exactness
    }

    /// Whether LLVM's assembler, and so ours, makes an instruction's bytes of a text.
    fn gives(&self, text: &str, inst: &Inst) -> bool {
        let bytes = |inst: &Inst| inst.bytes().into_iter().take(inst.len());
        let is_remark = has_remark(text) || text.contains("invalid_");
        let made = (!is_remark).then(|| self.parser.llvm_inst(text)).flatten();
        made.is_some_and(|made| bytes(&made).eq(bytes(inst)))
    }
}

/// Spellings that say more than the decoder's.
const RESPELLINGS: [fn(&Inst, &str) -> Option<String>; 3] =
    [with_suffix, with_floats, with_plain_offset];

/// `v_nop` is printed alike in both of its encodings.
fn with_suffix(inst: &Inst, text: &str) -> Option<String> {
    let name = inst.full_mnemonic();
    let lacks_suffix = inst.flags().any(Flags::VOP3) && name == inst.mnemonic();
    let operands = text.strip_prefix(name).filter(|_| lacks_suffix)?;
    Some(format!("{name}_e64{operands}"))
}

/// The constant 0.5 is printed as 0x3800 among integers of 16 bits, which are assembled to a literal.
fn with_floats(_: &Inst, text: &str) -> Option<String> {
    let mut respelt = text.to_owned();
    for (half, .., float) in FLOATS {
        respelt = with_word(&respelt, &format!("0x{half:x}"), float);
    }
    (respelt != text).then_some(respelt)
}

/// A text in which all of one word are another.
fn with_word(text: &str, word: &str, other: &str) -> String {
    let mut pieces = text.split(word);
    let mut respelt = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let goes_on = piece.starts_with(|first: char| first.is_ascii_alphanumeric());
        respelt += if goes_on { word } else { other };
        respelt += piece;
    }
    respelt
}

/// What lanes are swapped is printed in words that leave bits out.
fn with_plain_offset(inst: &Inst, text: &str) -> Option<String> {
    let (before, words) = text.split_once("offset:swizzle(")?;
    let (_, after) = words.split_once(')')?;
    let offset = inst.operand("offset")?;
    Some(format!("{before}offset:0x{offset:x}{after}"))
}
