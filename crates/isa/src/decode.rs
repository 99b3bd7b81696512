//! A stand-in for the decoder: its interface, and the few instructions that layout is tested with.

use std::fmt;

use crate::{Generation, Processor, Token, WaveSize};

/// How much of what LLVM refuses is decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// What LLVM 22 decodes, and nothing else.
    #[default]
    Strict,
    /// What the hardware runs, whether LLVM 22 knows it or not.
    Lenient,
}

/// How a decoder reads code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecodeOptions {
    /// How much is decoded.
    pub mode: Mode,
    /// Whether 16-bit operands name halves of registers; `None` is as LLVM 22 has it.
    pub real_true16: Option<bool>,
    /// Lanes of a wave; `None` is as LLVM 22 has it.
    pub wave_size: Option<WaveSize>,
}

/// The processor's instructions are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsupportedProcessor(Processor);

impl fmt::Display for UnsupportedProcessor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instructions of {} are not decoded", self.0)
    }
}

impl std::error::Error for UnsupportedProcessor {}

/// Decodes and prints the instructions of one processor.
#[derive(Clone, Debug)]
pub struct Decoder(());

impl Decoder {
    /// A decoder with the options that LLVM 22 has by default.
    pub fn new(processor: Processor) -> Result<Self, UnsupportedProcessor> {
        Self::with_options(processor, DecodeOptions::default())
    }

    /// A decoder with options.
    pub fn with_options(
        processor: Processor,
        _options: DecodeOptions,
    ) -> Result<Self, UnsupportedProcessor> {
        match processor.generation() {
            Generation::Gfx6 | Generation::Gfx7 => Err(UnsupportedProcessor(processor)),
            _ => Ok(Self(())),
        }
    }

    /// The instruction at the start of `bytes`.
    pub fn decode(&self, bytes: &[u8]) -> Option<Inst> {
        let word = u32::from_le_bytes(*bytes.first_chunk()?);
        mnemonic(word).map(|_| Inst(word))
    }

    /// Appends the instruction's text.
    pub fn print(&self, inst: &Inst, out: &mut Vec<u8>) {
        self.print_tokens(inst, out, &mut Vec::new());
    }

    /// Appends the instruction's text, and where each token starts.
    pub fn print_tokens(&self, inst: &Inst, out: &mut Vec<u8>, tokens: &mut Vec<(Token, usize)>) {
        tokens.push((Token::Mnemonic, out.len()));
        out.extend_from_slice(inst.mnemonic().as_bytes());
        if inst.mnemonic() != "s_endpgm" {
            tokens.push((Token::Punctuation, out.len()));
            out.push(b' ');
            tokens.push((Token::Immediate, out.len()));
            out.extend_from_slice((inst.0 & 0xffff).to_string().as_bytes());
        }
    }
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inst(u32);

#[allow(clippy::len_without_is_empty, reason = "no instruction is empty")]
impl Inst {
    /// Bytes it takes.
    pub fn len(&self) -> usize {
        4
    }

    /// Its name.
    pub fn mnemonic(&self) -> &'static str {
        mnemonic(self.0).unwrap_or_default()
    }

    /// Where a direct branch at `address` goes.
    pub fn branch_target(&self, address: u64) -> Option<u64> {
        let [low, high, ..] = self.0.to_le_bytes();
        let distance = i64::from(i16::from_le_bytes([low, high])) * 4 + 4;
        self.mnemonic().contains("branch").then(|| address.wrapping_add_signed(distance))
    }

    /// True when LLVM warns of the encoding.
    pub fn is_soft(&self) -> bool {
        false
    }
}

fn mnemonic(word: u32) -> Option<&'static str> {
    Some(match word >> 16 {
        0xbf80 => "s_nop",
        0xbf81 if word & 0xffff == 0 => "s_endpgm",
        0xbf82 => "s_branch",
        0xbf84 => "s_cbranch_scc0",
        0xbf85 => "s_cbranch_scc1",
        0xbf86 => "s_cbranch_vccz",
        0xbf87 => "s_cbranch_vccnz",
        0xbf88 => "s_cbranch_execz",
        0xbf89 => "s_cbranch_execnz",
        _ => return None,
    })
}
