//! `hsaco link`: several code objects as one.

use std::ffi::OsString;
use std::io::Write;

use anyhow::Result;
use hsaco::bytes::number::count;
use hsaco::elf::Section;
use hsaco::load::{Executable, Freeze, LinkRow};
use hsaco::object::CodeObject;

use crate::args::{Color, Format, Inputs, ObjectFilter};
use crate::executable::{self, Together};
use crate::json;
use crate::report::{self, Status};
use crate::verb::bundle::write_bytes;
use hsaco::bytes::escape::shown;

/// Links code objects into one: every name resolved, one note, kernels given what they call needs
///
/// Inputs are linked code objects, in any order. A kernel that calls a function of another object gets
/// the registers and the stack that the function needs, in its descriptor and in the metadata, or
/// nothing is written. Everything that is wrong is told at once. Debug information is not kept.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    objects: ObjectFilter,
    #[command(flatten)]
    together: Together,
    /// The file to write; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: OsString,
    /// How to tell what was done
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// When to colour the answer
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    color: Color,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.color.apply();
    let (mut executable, mut status) =
        executable::read(&args.inputs, &args.objects, &args.together, &[])?;
    if status != Status::Fine {
        return Ok(status);
    }
    let fix_resources = !args.together.no_fix_resources;
    let frozen = executable.freeze(Freeze { fix_resources, ..Freeze::default() });
    let linked = frozen.and_then(|()| executable.link());
    match linked {
        Ok(bytes) => {
            write_bytes(&args.output, &bytes)?;
            if executable.objects().any(|it| has_debug_information(executable.object_bytes(it))) {
                report::error("note: debug information is not kept; hsaco load --locate has it");
            }
            if args.output != "-" {
                tell(args, &executable, bytes.len())?;
            }
            let is_short = executable.raises().iter().any(|it| !it.is_applied);
            status.note(if is_short { Status::Findings } else { Status::Fine });
        }
        Err(errors) => status.note(executable::tell(&errors)),
    }
    Ok(status)
}

fn has_debug_information(bytes: &[u8]) -> bool {
    let is_debug = |it: &Section<'_>| it.name.as_bytes().starts_with(b".debug_");
    CodeObject::parse(bytes).is_ok_and(|it| it.elf().sections().iter().any(is_debug))
}

fn tell(args: &Args, executable: &Executable<'_>, size: usize) -> Result<()> {
    let summary = LinkRow::new(executable, args.output.to_string_lossy().into_owned(), size);
    let mut out = anstream::stdout().lock();
    match args.format {
        Format::Json => json::document(&mut out, &summary)?,
        Format::Text => {
            let parts = [
                count(summary.objects.len(), "object"),
                count(summary.kernels, "kernel"),
                count(summary.functions, "function"),
                count(summary.variables, "variable"),
                count(summary.relocations, "relocation"),
            ];
            let target = summary.target.as_deref().unwrap_or("unknown");
            writeln!(out, "{}: {target}, {}", shown(&summary.output), parts.join(", "))?;
            for line in executable.needs_lines() {
                writeln!(out, "{}", shown(&line))?;
            }
        }
    }
    Ok(out.flush()?)
}
