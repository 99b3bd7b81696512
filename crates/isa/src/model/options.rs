//! How code is read: what a processor alone does not decide.

use std::fmt;

use crate::target::{Processor, WaveSize};

/// How much a decoder lets pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Refuses what LLVM 22 refuses.
    #[default]
    Strict,
    /// Also takes encodings that differ only in bits that the hardware ignores;
    /// [`Inst::is_lenient`](crate::Inst::is_lenient) says when that was so.
    Lenient,
}

/// How a decoder reads code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DecodeOptions {
    /// How much to let pass.
    pub mode: Mode,
    /// Whether 16-bit operands name halves of registers; by default as LLVM 22 has it for the processor.
    pub real_true16: Option<bool>,
    /// The size of a wave; by default as LLVM 22 has it for the processor.
    pub wave_size: Option<WaveSize>,
}

/// There are no instruction tables for a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsupportedProcessor(pub Processor);

impl fmt::Display for UnsupportedProcessor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no instruction tables for {}: hsaco decodes gfx8 and later", self.0)
    }
}

impl std::error::Error for UnsupportedProcessor {}
