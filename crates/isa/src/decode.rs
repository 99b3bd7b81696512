//! A stand-in with the decoder's interface; it knows no instruction.

use std::fmt;

use crate::{Generation, Processor, Token, WaveSize};

/// How strictly code is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// As LLVM 22 reads it.
    #[default]
    Strict,
    /// Whatever has a meaning.
    Lenient,
}

/// How a decoder reads code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecodeOptions {
    /// How strictly.
    pub mode: Mode,
    /// Whether 16-bit operands name halves; `None`: as LLVM 22 has it.
    pub real_true16: Option<bool>,
    /// The size of waves; `None`: as LLVM 22 has it.
    pub wave_size: Option<WaveSize>,
}

/// There is no decoder for that processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsupportedProcessor(Processor);

impl fmt::Display for UnsupportedProcessor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no decoder for {}", self.0.name())
    }
}

impl std::error::Error for UnsupportedProcessor {}

/// Reads instructions of one processor.
#[derive(Clone, Debug)]
pub struct Decoder(());

impl Decoder {
    /// A decoder with default options.
    pub fn new(processor: Processor) -> Result<Self, UnsupportedProcessor> {
        Self::with_options(processor, DecodeOptions::default())
    }

    /// A decoder with these options.
    pub fn with_options(
        processor: Processor,
        _: DecodeOptions,
    ) -> Result<Self, UnsupportedProcessor> {
        match processor.generation() {
            Generation::Gfx6 | Generation::Gfx7 => Err(UnsupportedProcessor(processor)),
            _ => Ok(Self(())),
        }
    }

    /// The instruction at the start of `bytes`.
    #[must_use]
    pub fn decode(&self, _: &[u8]) -> Option<Inst> {
        None
    }

    /// Appends the instruction's text.
    pub fn print(&self, _: &Inst, _: &mut Vec<u8>) {}

    /// Appends the instruction's text, and where each token starts.
    pub fn print_tokens(&self, _: &Inst, _: &mut Vec<u8>, _: &mut Vec<(Token, usize)>) {}
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub struct Inst(());

#[allow(clippy::len_without_is_empty, reason = "no instruction is empty")]
impl Inst {
    /// Its size in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        4
    }

    /// Its name.
    #[must_use]
    pub fn mnemonic(&self) -> &'static str {
        ""
    }

    /// Where a direct branch at `address` goes.
    #[must_use]
    pub fn branch_target(&self, _: u64) -> Option<u64> {
        None
    }

    /// Whether LLVM warns of it.
    #[must_use]
    pub fn is_soft(&self) -> bool {
        false
    }
}
