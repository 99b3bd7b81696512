//! `hsaco calls`: who calls whom.

mod dot;
mod model;
mod text;
mod together;

use std::ffi::OsString;

use anyhow::Result;
use clap::ValueEnum;
use hsaco::analysis::{CallGraph, Code};

use crate::args::{Color, Inputs, KernelFilter, ObjectFilter};
use crate::code;
use crate::json_files;
use crate::output::Output;
use crate::report::{Status, Trouble};
use crate::scan::{self, ObjectItem, Verify};
use crate::select::KernelSelection;
use crate::text_files;

use dot::DotCalls;
use model::ObjectCalls;

/// Shows which functions each kernel calls, and who else may be called
///
/// Calls are found by relocations, else by what the code computes, through the GOT too. A call of
/// who knows whom may go to any function whose address is taken. With --kernel only what those
/// kernels reach. With --together the files are loaded as one executable, so that calls cross from one
/// object to another.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    objects: ObjectFilter,
    #[command(flatten)]
    kernels: KernelFilter,
    /// Load all objects as one executable, and show the calls between them too
    #[arg(long)]
    together: bool,
    /// Text for people, JSON for programs, DOT for Graphviz
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write the answer to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<OsString>,
    /// When to colour the answer
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    color: Color,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
    Dot,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.color.apply();
    let mut out = Output::open(args.output.as_deref())?.for_people(args.format == Format::Text);
    let kernels = KernelSelection::new(&args.kernels);
    let status = match args.format {
        _ if args.together => together::run(args, &kernels, &mut out)?,
        Format::Json => {
            let read = |item: &ObjectItem<'_, '_>, trouble: &mut Trouble| {
                Ok(vec![serde_json::to_vec(&ObjectCalls::new(item, &kernels, trouble))?])
            };
            json_files::run(&mut out, &args.inputs, &args.objects, Verify::All, read)?
        }
        Format::Text => {
            text_files::run(&mut out, &args.inputs, &args.objects, |page, item, trouble| {
                text::write(page, item, &kernels, trouble)
            })?
        }
        Format::Dot => {
            let mut visitor = DotCalls::new(&mut out, &kernels);
            scan::run(&args.inputs, &args.objects, Verify::All, &mut visitor)?
        }
    };
    out.finish()?;
    Ok(kernels.conclude(status))
}

/// The call graph of an object, or what is wrong with it.
pub(crate) fn graph<'e>(
    item: &ObjectItem<'e, '_>,
    trouble: &mut Trouble,
) -> Option<(CallGraph<'e>, Code<'e>)> {
    let code = code::open(item, trouble)?;
    // A pointer that is not relocated is a call that is not seen.
    for problem in code.object().relocations().1 {
        trouble.note(item.place(), item.located(problem));
    }
    Some((CallGraph::new(&code), code))
}
