//! `hsaco asm`: lines of assembly as encodings, as `llvm-mc -show-encoding` prints them.

use std::ffi::OsString;
use std::io::Write;

use anyhow::{Context, Result};
use clap::ValueEnum;
use hsaco::isa::assembler::Statement;
use hsaco::isa::{Assembler, TargetId};
use serde::Serialize;

use super::disasm::options::{Attribute, DecodeMode, True16, decode_options};
use crate::input::{self, Input};
use crate::json;
use crate::output::Output;
use crate::report::{self, Status};
use crate::schema::SCHEMA_VERSION;

/// Assembles lines of instructions
///
/// Each line holds one instruction, as `hsaco disasm` and llvm-objdump print them, or data: .byte, .short, .long or .quad and
/// numbers. ; and // begin comments, as # does at the start of a line.
/// A line that is none is reported as FILE:LINE:COLUMN, the others are assembled all the same.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The processor to assemble for (gfx942)
    #[arg(short, long, value_name = "TARGET")]
    target: TargetId,
    /// Processor features to switch on or off: real-true16, wavefrontsize32, wavefrontsize64
    #[arg(
        long,
        value_name = "+FEATURE|-FEATURE",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    mattr: Vec<Attribute>,
    /// What to make of the instructions
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write the answer to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<OsString>,
    /// Lines of assembly; - is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: OsString,
}

/// A form of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// What llvm-mc -show-encoding prints
    Text,
    /// Bytes in hexadecimal, a line for each instruction
    Hex,
    /// The bytes themselves
    Bin,
    Json,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let options = decode_options(&args.mattr, True16::Llvm, DecodeMode::Strict);
    let processor = args.target.processor;
    let mut source =
        Source { assembler: Assembler::new(processor, options)?, status: Status::Fine };
    let input = open(&args.file)?;
    let text = std::str::from_utf8(&input).with_context(|| input.name.clone())?;
    let mut out = Output::open(args.output.as_deref())?;
    match args.format {
        Format::Text => source.write_text(&input.name, text, &mut out)?,
        Format::Hex => source
            .each(&input.name, text, |line| Ok(writeln!(out, "{}", json::hex(&line.code))?))?,
        Format::Bin => source.each(&input.name, text, |line| Ok(out.write_all(&line.code)?))?,
        Format::Json => source.write_json(args.target, &input.name, text, &mut out)?,
    }
    out.finish()?;
    Ok(source.status)
}

fn open(file: &OsString) -> Result<Input> {
    let opened = input::inputs(std::slice::from_ref(file)).next().context("no such file")?;
    Ok(opened?)
}

/// One instruction of a file, or data.
struct Line {
    number: usize,
    statement: Statement,
    code: Vec<u8>,
}

/// The JSON of a file.
#[derive(Serialize)]
struct Document {
    schema_version: u32,
    target: String,
    instructions: Vec<Instruction>,
}

#[derive(Serialize)]
struct Instruction {
    line: usize,
    bytes: String,
    text: String,
}

/// Reads assembly.
struct Source {
    assembler: Assembler,
    status: Status,
}

impl Source {
    fn write_text(&mut self, file: &str, text: &str, out: &mut Output) -> Result<()> {
        let mut buffer = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            buffer.clear();
            if line.trim().is_empty() {
                buffer.push(b'\n');
            }
            if let Some(statement) = self.assemble(file, number, line) {
                self.assembler.show_encoding(&statement, &mut buffer);
            }
            out.write_all(&buffer)?;
        }
        Ok(())
    }

    fn write_json(
        &mut self,
        target: TargetId,
        file: &str,
        text: &str,
        out: &mut Output,
    ) -> Result<()> {
        let decoder = self.assembler.decoder().clone();
        let mut instructions = Vec::new();
        self.each(file, text, |line| {
            let bytes = json::hex(&line.code);
            let text = match &line.statement {
                Statement::Inst(inst) => decoder.text(inst),
                Statement::Data(data) => data.to_string(),
            };
            instructions.push(Instruction { line: line.number, bytes, text });
            Ok(())
        })?;
        let target = target.to_string();
        let document = Document { schema_version: SCHEMA_VERSION, target, instructions };
        serde_json::to_writer(&mut *out, &document)?;
        Ok(writeln!(out)?)
    }

    fn each(
        &mut self,
        file: &str,
        text: &str,
        mut visit: impl FnMut(Line) -> Result<()>,
    ) -> Result<()> {
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(statement) = self.assemble(file, number, line) {
                let mut code = Vec::with_capacity(20);
                statement.encode(&mut code);
                visit(Line { number, statement, code })?;
            }
        }
        Ok(())
    }

    /// The instruction or data of a line; one that holds none, and is not empty, is reported.
    fn assemble(&mut self, file: &str, number: usize, line: &str) -> Option<Statement> {
        match self.assembler.line(line)? {
            Ok(statement) => Some(statement),
            Err(error) => {
                report::line(
                    &format!("{file}:{number}:{}", error.column() + 1),
                    &error.to_string(),
                );
                self.status.note(Status::Unreadable);
                None
            }
        }
    }
}
