//! `hsaco calls`: who calls whom.

mod together;

use std::ffi::OsString;
use std::io::Write as _;

use anyhow::Result;
use clap::ValueEnum;
use hsaco_describe::calls::Calls;

use crate::args::{self, Color, Inputs, KernelFilter, ObjectFilter};
use crate::frame::Heading;
use crate::output::Output;
use crate::report::{Status, Trouble};
use crate::scan::{self, FileItem, ObjectItem, Verify, Visit};
use crate::select::KernelSelection;
use crate::skeleton::{self, Asked, Look, Page, Verb};

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
    let format = match args.format {
        _ if args.together => return alone(args, together::run),
        Format::Dot => return alone(args, dot),
        Format::Text => args::Format::Text,
        Format::Json => args::Format::Json,
    };
    let Args { inputs, objects, kernels, color, .. } = args;
    let (kernels, output) = (Some(kernels), args.output.as_deref());
    skeleton::run(args, Asked { inputs, objects, kernels, format, output, color: *color })
}

impl Verb for Args {
    type Row<'e> = Calls;
    const HEADING: Heading = Heading::Container;

    fn read(&self, look: &mut Look<'_, '_, '_>) -> Calls {
        Calls::new(look.item, look.kernels, look.trouble)
    }

    fn text(&self, row: &Calls, page: &mut Page) -> Result<()> {
        Ok(write!(page.out, "{}", row.to_text(page.color))?)
    }

    fn is_shown(&self, row: &Calls, kernels: &KernelSelection) -> bool {
        kernels.is_all() || !row.kernels.is_empty()
    }
}

/// Writes an answer that is not one for each object.
fn alone(
    args: &Args,
    write: fn(&Args, &KernelSelection, &mut Output) -> Result<Status>,
) -> Result<Status> {
    args.color.apply();
    let mut out = Output::open(args.output.as_deref())?.for_people(args.format == Format::Text);
    let kernels = KernelSelection::new(&args.kernels);
    let status = write(args, &kernels, &mut out)?;
    out.finish()?;
    Ok(kernels.conclude(status))
}

/// Writes a graph for each object.
fn dot(args: &Args, kernels: &KernelSelection, out: &mut Output) -> Result<Status> {
    let mut visitor = DotCalls { out, kernels, file: String::new() };
    scan::run(&args.inputs, &args.objects, Verify::Unpacked, &mut visitor)
}

struct DotCalls<'o> {
    out: &'o mut Output,
    kernels: &'o KernelSelection,
    file: String,
}

impl Visit for DotCalls<'_> {
    type Row<'e> = String;

    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        self.file.clone_from(&file.input.name);
        Ok(())
    }

    fn read(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Result<String> {
        let calls = Calls::new(item, self.kernels, trouble);
        let target = item.target.as_deref().unwrap_or("unknown");
        let graph = || calls.to_dot(&format!("{}#{} {target}", self.file, item.number));
        Ok(if calls.functions.is_empty() { String::new() } else { graph() })
    }

    fn object(&mut self, graph: String) -> Result<()> {
        Ok(self.out.write_all(graph.as_bytes())?)
    }
}
