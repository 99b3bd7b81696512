//! Why a line is no instruction.

use std::fmt;

/// A line that is no instruction of the processor: where, and what would have been right there.
///
/// ```
/// use hsaco_isa::decoder::DecodeOptions;
/// use hsaco_isa::{Assembler, Processor};
/// let assembler = Assembler::new(Processor::from_name("gfx942").unwrap(), DecodeOptions::default())?;
/// let error = assembler.assemble("s_mov_b32 s0, s200").unwrap_err();
/// assert_eq!(error.column(), 14);
/// assert_eq!(error.to_string(), "expected s0 to s101");
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AsmError(Box<Miss>);

impl AsmError {
    pub(super) fn new(miss: Miss) -> Self {
        AsmError(Box::new(miss))
    }

    /// The byte of the line at which it stopped being one, from zero.
    #[must_use]
    pub fn column(&self) -> usize {
        self.0.at
    }

    /// What was expected there.
    #[must_use]
    pub fn expected(&self) -> String {
        self.0.what.to_string()
    }
}

impl fmt::Display for AsmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.0.what)
    }
}

impl std::error::Error for AsmError {}

/// Where a form does not fit a line, and what it wanted there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Miss {
    pub(super) at: usize,
    pub(super) what: Expected,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Expected {
    What(&'static str),
    /// The quoted text itself.
    Text(&'static str),
    /// A value of that name between two numbers.
    Between(&'static str, i64, i64),
    /// A register of that file up to that number.
    UpTo(&'static str, u16),
    /// That many registers.
    Registers(u8),
    /// Registers whose first number is a multiple of that.
    Multiple(u8),
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expected::What(what) => f.write_str(what),
            Expected::Text(text) => write!(f, "`{text}`"),
            Expected::Between(what, first, last) => write!(f, "{what} from {first} to {last}"),
            Expected::UpTo(file, last) => write!(f, "{file}0 to {file}{last}"),
            Expected::Multiple(step) => write!(f, "registers from a multiple of {step} on"),
            Expected::Registers(1) => f.write_str("one register"),
            Expected::Registers(count) => write!(f, "{count} registers"),
        }
    }
}

pub(super) type Parse<T> = Result<T, Miss>;
