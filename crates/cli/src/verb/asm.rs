//! `hsaco asm`: lines of assembly as encodings, as `llvm-mc -show-encoding` prints them.

use std::ffi::OsString;
use std::io::Write;

use anyhow::{Context, Result};
use clap::ValueEnum;
use hsaco::isa::{Assembler, TargetId};
use hsaco_describe::assembly::{Assembled, encoding, lines};

use super::disasm::options::{Attribute, DecodeMode, True16, decode_options};
use crate::input::{self, Input};
use crate::json;
use crate::output::Output;
use crate::report::{self, Status};

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
    let assembler = Assembler::new(args.target.processor, options)?;
    let input = open(&args.file)?;
    let text = std::str::from_utf8(&input).with_context(|| input.name.clone())?;
    let mut status = Status::Fine;
    let mut out = Output::open(args.output.as_deref())?;
    let mut assembled = Assembled::new(args.target);
    let mut shown = Vec::new();
    for line in lines(&assembler, text) {
        if line.is_blank && args.format == Format::Text {
            writeln!(out)?;
        }
        let statement = match line.statement {
            None => continue,
            Some(Ok(statement)) => statement,
            Some(Err(error)) => {
                let place = format!("{}:{}:{}", input.name, line.number, error.column() + 1);
                report::line(&place, &error.to_string());
                status.note(Status::Unreadable);
                continue;
            }
        };
        match args.format {
            Format::Text => {
                shown.clear();
                assembler.show_encoding(&statement, &mut shown);
                out.write_all(&shown)?;
            }
            Format::Hex => writeln!(out, "{}", json::hex(&encoding(&statement)))?,
            Format::Bin => out.write_all(&encoding(&statement))?,
            Format::Json => assembled.push(&assembler, line.number, &statement),
        }
    }
    if args.format == Format::Json {
        json::document(&mut out, &assembled)?;
    }
    out.finish()?;
    Ok(status)
}

fn open(file: &OsString) -> Result<Input> {
    let opened = input::inputs(std::slice::from_ref(file)).next().context("no such file")?;
    Ok(opened?)
}
