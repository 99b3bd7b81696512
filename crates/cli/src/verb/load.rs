//! `hsaco load`: what a loader would do, without a device.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Result, ensure};
use hsaco::load::{Executable, ExecutableRows, Freeze};
use hsaco_describe::executable::{write_executable, write_places};

use crate::args::{Answer, Format, Inputs, ObjectFilter};
use crate::executable::{self, Together, parse_address, parse_definition};
use crate::json;
use crate::output::{self, Output};
use crate::report::{self, Status};

/// Loads code objects as a runtime does, and shows the memory map and every relocation
///
/// Objects come in any order. Names are resolved once all are there, and what is wrong is told at once:
/// undefined, hidden, duplicate and mistyped names, values that do not fit, kernels that cannot have
/// what they call needs. Nothing is loaded anywhere: --image writes what memory would hold.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    objects: ObjectFilter,
    #[command(flatten)]
    together: Together,
    #[command(flatten)]
    answer: Answer,
    /// Where the first object is placed; the others follow
    #[arg(long, value_name = "ADDRESS", default_value = "0x7f0000000000", value_parser = parse_address)]
    base: u64,
    /// Where the objects of one file are placed
    #[arg(long, value_name = "FILE=ADDRESS", value_parser = parse_definition)]
    at: Vec<(String, u64)>,
    /// Write what memory holds, from the lowest address to the highest
    #[arg(long, value_name = "FILE")]
    image: Option<OsString>,
    /// Show who calls whom, across objects
    #[arg(long)]
    calls: bool,
    /// Only say what is at this address: object, symbol, source line
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    locate: Vec<u64>,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.answer.color.apply();
    let (mut executable, mut status) =
        executable::read(&args.inputs, &args.objects, &args.together, &args.at)?;
    if status == Status::Unreadable && executable.objects().len() == 0 {
        return Ok(status);
    }
    let fix_resources = !args.together.no_fix_resources;
    let frozen = executable.freeze(Freeze { base: args.base, fix_resources });
    let errors = frozen.err();
    status.note(errors.as_ref().map_or(Status::Fine, executable::tell));
    if executable.raises().iter().any(|it| !it.is_applied) {
        status.note(Status::Findings);
    }
    if let (Some(path), None) = (&args.image, &errors) {
        output::write_file(Path::new(path), &image(&executable)?)?;
    }
    let answer = ExecutableRows::new(&executable, errors.as_ref(), args.calls, &args.locate)?;
    let mut out = Output::answer(&args.answer)?;
    match args.answer.format {
        Format::Json => json::document(&mut out, &answer)?,
        Format::Text if !args.locate.is_empty() => write_places(&answer, &mut out)?,
        Format::Text => {
            let color = out.color();
            write_executable(&answer, &executable, &mut out, color)?;
        }
    }
    out.finish()?;
    for place in answer.places.iter().filter(|it| it.object.is_none()) {
        report::error(&format!("no object has memory at {:#x}", place.address));
        status.note(Status::Unreadable);
    }
    Ok(status)
}

/// What memory holds, gaps as zeros.
fn image(executable: &Executable<'_>) -> Result<Vec<u8>> {
    const MOST: u64 = 1 << 30;
    let span = executable.span();
    let size = span.end - span.start;
    ensure!(size <= MOST, "an image of {size:#x} bytes: place the objects closer together");
    Ok(executable.flat_image()?)
}
