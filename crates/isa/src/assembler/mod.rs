//! The assembler: text to instructions, and text that assembles to the bytes it was printed from.

mod exact;

use std::fmt;
use std::sync::Arc;

pub use crate::asm::{AsmError, Data, Statement};
pub use exact::Exactness;

use crate::asm::Parser;
use crate::decoder::Decoder;
use crate::model::{DecodeOptions, Inst, UnsupportedProcessor};
use crate::target::Processor;

/// Assembles instructions of one processor.
///
/// ```
/// use hsaco_isa::decoder::DecodeOptions;
/// use hsaco_isa::{Assembler, Processor};
/// let assembler = Assembler::new(Processor::from_name("gfx942").unwrap(), DecodeOptions::default())?;
/// let inst = assembler.assemble("v_add_u32 v3, v1, v2").unwrap();
/// assert_eq!(&inst.bytes()[..inst.len()], [0x01, 0x05, 0x06, 0x68]);
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
pub struct Assembler {
    decoder: Decoder,
    parser: Parser,
}

impl fmt::Debug for Assembler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Assembler").field(&self.decoder).finish()
    }
}

impl Assembler {
    /// An assembler for a processor under settings; `mode` is of no account.
    pub fn new(processor: Processor, options: DecodeOptions) -> Result<Self, UnsupportedProcessor> {
        let decoder = Decoder::with_options(processor, options)?;
        let parser = Parser::new(Arc::clone(decoder.model()));
        Ok(Assembler { decoder, parser })
    }

    /// A decoder for the same processor under the same settings.
    #[must_use]
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// The instruction that a line is: a name and its operands, as the decoder prints them.
    pub fn assemble(&self, line: &str) -> Result<Inst, AsmError> {
        self.parser.assemble(line)
    }

    /// What a line is: an instruction as [`assemble`](Self::assemble) takes it, or a directive for data such as `.long 1, 2`,
    /// after which a comment may stand.
    pub fn statement(&self, line: &str) -> Result<Statement, AsmError> {
        self.parser.statement(line)
    }

    /// What a line of a file is, as [`statement`](Self::statement) takes it; nothing of one that is empty or a comment.
    ///
    /// `;` and `//` begin comments, and so does `#` at the beginning of a line.
    ///
    /// ```
    /// use hsaco_isa::decoder::DecodeOptions;
    /// use hsaco_isa::{Assembler, Processor};
    /// let processor = Processor::from_name("gfx942").unwrap();
    /// let assembler = Assembler::new(processor, DecodeOptions::default())?;
    /// assert!(assembler.line("# a comment").is_none());
    /// assert!(assembler.line("  s_endpgm // the end; of all").is_some_and(|it| it.is_ok()));
    /// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
    /// ```
    pub fn line(&self, line: &str) -> Option<Result<Statement, AsmError>> {
        let code = without_comment(line);
        (!code.trim().is_empty()).then(|| self.statement(code))
    }
}

fn without_comment(line: &str) -> &str {
    if line.starts_with('#') {
        return "";
    }
    let code = line.split_once(';').map_or(line, |(code, _)| code);
    code.split_once("//").map_or(code, |(code, _)| code)
}
