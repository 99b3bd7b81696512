//! Lines of assembly as encodings.

use hsaco_bytes::{SCHEMA_VERSION, hex};
use hsaco_isa::assembler::{AsmError, Statement};
use hsaco_isa::{Assembler, TargetId};
use serde::Serialize;

/// A line of a text.
#[derive(Debug)]
pub struct Line {
    /// Its number, from 1.
    pub number: usize,
    /// Whether nothing is on it, not even a comment.
    pub is_blank: bool,
    /// What it holds, if it holds something, or why that cannot be read.
    pub statement: Option<Result<Statement, AsmError>>,
}

/// Assembles the lines of a text.
///
/// ```
/// use hsaco_describe::assembly::{encoding, lines};
/// use hsaco_isa::{Assembler, Processor, decoder::DecodeOptions};
/// let assembler = Assembler::new(Processor::from_name("gfx942").unwrap(), DecodeOptions::default())?;
/// let lines: Vec<_> = lines(&assembler, "s_endpgm\n\n// done\ns_endpgm v1").collect();
/// let Some(Ok(end)) = &lines[0].statement else { unreachable!() };
/// assert_eq!(encoding(end), [0x00, 0x00, 0x81, 0xbf]);
/// assert!(lines[1].is_blank && lines[2].statement.is_none() && !lines[2].is_blank);
/// assert!(matches!(lines[3].statement, Some(Err(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lines(assembler: &Assembler, text: &str) -> impl Iterator<Item = Line> {
    (1..).zip(text.lines()).map(|(number, line)| Line {
        number,
        is_blank: line.trim().is_empty(),
        statement: assembler.line(line),
    })
}

/// The bytes of an instruction or of data.
#[must_use]
pub fn encoding(statement: &Statement) -> Vec<u8> {
    let mut code = Vec::with_capacity(20);
    statement.encode(&mut code);
    code
}

/// The instructions of a text.
#[derive(Clone, Debug, Serialize)]
pub struct Assembled {
    schema_version: u32,
    /// What they are for.
    pub target: String,
    /// Each that could be read.
    pub instructions: Vec<AssembledLine>,
}

/// An instruction, or data.
#[derive(Clone, Debug, Serialize)]
pub struct AssembledLine {
    /// The number of its line, from 1.
    pub line: usize,
    /// Its bytes, in hexadecimal.
    pub bytes: String,
    /// As the disassembler prints it.
    pub text: String,
}

impl Assembled {
    /// Nothing yet.
    #[must_use]
    pub fn new(target: TargetId) -> Self {
        let (target, instructions) = (target.to_string(), Vec::new());
        Self { schema_version: SCHEMA_VERSION, target, instructions }
    }

    /// Adds a line.
    pub fn push(&mut self, assembler: &Assembler, line: usize, statement: &Statement) {
        let text = match statement {
            Statement::Inst(inst) => assembler.decoder().text(inst),
            Statement::Data(data) => data.to_string(),
        };
        let bytes = hex::encode(&encoding(statement));
        self.instructions.push(AssembledLine { line, bytes, text });
    }
}
