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

    /// Writes a statement as `llvm-mc -show-encoding` prints it: an instruction with its bytes behind it, each number of data
    /// on a line of its own.
    ///
    /// ```
    /// use hsaco_isa::decoder::DecodeOptions;
    /// use hsaco_isa::{Assembler, Processor};
    /// let processor = Processor::from_name("gfx942").unwrap();
    /// let assembler = Assembler::new(processor, DecodeOptions::default())?;
    /// let mut text = Vec::new();
    /// assembler.show_encoding(&assembler.line("s_endpgm").unwrap().unwrap(), &mut text);
    /// let expected = format!("\ts_endpgm{:32}; encoding: [0x00,0x00,0x81,0xbf]\n", "");
    /// assert_eq!(String::from_utf8(text).unwrap(), expected);
    /// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
    /// ```
    pub fn show_encoding(&self, statement: &Statement, out: &mut Vec<u8>) {
        /// Where the comment begins in llvm-mc's lines, counted from behind the tab.
        const COMMENT_COLUMN: usize = 40;
        let inst = match statement {
            Statement::Inst(inst) => inst,
            Statement::Data(data) => {
                for value in data.values() {
                    let line = format!("\t{}\t{value}\n", data.directive());
                    out.extend_from_slice(line.as_bytes());
                }
                return;
            }
        };
        out.push(b'\t');
        let start = out.len();
        self.decoder().print(inst, out);
        let width = out.len() - start;
        out.resize(out.len() + COMMENT_COLUMN.saturating_sub(width).max(1), b' ');
        out.extend_from_slice(b"; encoding: [");
        let digit = |value: u8| if value < 10 { b'0' + value } else { b'a' - 10 + value };
        let mut text = [0; 5 * 20];
        for (place, byte) in text.as_chunks_mut().0.iter_mut().zip(inst.bytes()).take(inst.len()) {
            *place = [b',', b'0', b'x', digit(byte >> 4), digit(byte & 15)];
        }
        out.extend_from_slice(text.get(1..5 * inst.len()).unwrap_or_default());
        out.extend_from_slice(b"]\n");
    }
}

fn without_comment(line: &str) -> &str {
    if line.starts_with('#') {
        return "";
    }
    let bytes = line.as_bytes();
    let follows = bytes.iter().skip(1).chain(b"\n");
    let comment =
        bytes.iter().zip(follows).position(|pair| matches!(pair, (b';', _) | (b'/', b'/')));
    comment.and_then(|at| line.get(..at)).unwrap_or(line)
}
