//! `hsaco kernarg pack`: values in, the bytes of a segment out.

use std::ffi::OsString;
use std::io::Write;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use hsaco::kernarg::{Launch, NativeLayout};
use hsaco::object::metadata::Hidden;

use super::buffer::{hex_dump, subject};
use super::value::{Assignment, number, sizes};
use crate::args::{Inputs, KernelFilter, ObjectFilter};
use crate::json;
use crate::output::Output;
use crate::report::{self, Status};

/// Packs values into the bytes of a kernel's segment
///
/// Each argument needs a value, by name or by number from 0. VALUE is a number (7, 0x1000, 1.5), true or false, a list
/// ([1, 2]), members ({"x": 1}), bytes (hex:0a0b, or @FILE), or any of these with a type before it (f16:1.5, u32x4:[1, 2, 3, 4])
/// where the file does not say the type. Hidden arguments follow from --grid and --workgroup; those that are not supplied
/// are zero, and named.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    objects: ObjectFilter,
    #[command(flatten)]
    kernels: KernelFilter,
    #[command(flatten)]
    inference: super::InferenceArgs,
    /// The value of an argument
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    values: Vec<Assignment>,
    /// The values of all arguments as JSON: an object by names, or a list by positions
    #[arg(long, value_name = "JSON", conflicts_with = "values")]
    args: Option<String>,
    #[command(flatten)]
    launch: LaunchArgs,
    /// What to make of the bytes; a file that is named with -o gets them as they are unless told otherwise
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Write the answer to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<OsString>,
}

/// How the kernel is launched, for hidden arguments.
#[derive(clap::Args)]
pub(crate) struct LaunchArgs {
    /// Workgroups of the grid: 1024, 64,2 or 8,8,8
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = sizes_parser)]
    grid: Option<Sizes>,
    /// Work-items of the grid instead, as AQL packets count it: the last workgroup may be smaller
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = sizes_parser, conflicts_with = "grid")]
    work_items: Option<Sizes>,
    /// Work-items of a workgroup
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = sizes_parser)]
    workgroup: Option<Sizes>,
    /// Bytes of LDS on top of what the kernel declares
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    dynamic_lds: u32,
    /// The value of a hidden argument: heap_v1=0x1000, grid_dims=3
    #[arg(long, value_name = "KIND=VALUE", value_parser = parse_hidden)]
    hidden: Vec<(Hidden, u64)>,
}

/// One number for each dimension.
#[derive(Clone, Debug)]
struct Sizes(Vec<u32>);

fn sizes_parser(text: &str) -> Result<Sizes, String> {
    sizes(text).map(Sizes)
}

fn parse_hidden(text: &str) -> Result<(Hidden, u64), String> {
    let (name, value) = text.split_once('=').ok_or("expected KIND=VALUE")?;
    let kind =
        Hidden::from_name(name).ok_or_else(|| format!("no hidden argument is called '{name}'"))?;
    Ok((kind, number(value)?))
}

impl LaunchArgs {
    /// The launch, if one is described.
    pub(crate) fn launch(&self) -> Result<Option<Launch>> {
        let launch = match (&self.grid, &self.work_items, &self.workgroup) {
            (Some(count), _, Some(workgroup)) => Launch::of_workgroups(&count.0, &workgroup.0)?,
            (None, Some(items), Some(workgroup)) => Launch::new(&items.0, &workgroup.0)?,
            (None, None, None) if self.hidden.is_empty() && self.dynamic_lds == 0 => {
                return Ok(None);
            }
            _ => bail!(
                "--workgroup and one of --grid and --work-items belong together, and --hidden and --dynamic-lds to both"
            ),
        };
        let launch = launch.with_dynamic_lds(self.dynamic_lds);
        let supplied =
            |launch: Launch, (kind, value): &(Hidden, u64)| launch.with_hidden(*kind, *value);
        Ok(Some(self.hidden.iter().try_fold(launch, supplied)?))
    }
}

/// A form of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lines of hexadecimal bytes
    Text,
    /// Bytes in hexadecimal, all in one line
    Hex,
    /// The bytes themselves
    Bin,
    Json,
}

pub(super) fn run(args: &Args) -> Result<Status> {
    let inference = args.inference.inference();
    let (subject, status) = subject(&args.inputs, &args.objects, &args.kernels, inference)?;
    let Some(subject) = subject else { return Ok(Status::Unreadable) };
    let arguments = argument_bytes(args, subject.layout()?)?;
    let packed = subject.pack(&arguments, args.launch.launch()?.as_ref())?;
    if let Some(template) = packed.inferred_from {
        let kernel = packed.kernel;
        report::error(&format!("{kernel}: inferred: a guess, from the arguments of {template}"));
    }
    let by_default = if args.output.is_some() { Format::Bin } else { Format::Text };
    let format = args.format.unwrap_or(by_default);
    if format != Format::Json && !packed.left_zero.is_empty() {
        report::error(&format!("{}: left zero: {}", packed.kernel, packed.left_zero.join(", ")));
    }
    let mut out = Output::open(args.output.as_deref())?;
    match format {
        Format::Text => hex_dump(&mut out, &packed.segment)?,
        Format::Hex => writeln!(out, "{}", packed.bytes)?,
        Format::Bin => out.write_all(&packed.segment)?,
        Format::Json => json::document(&mut out, &packed)?,
    }
    out.finish()?;
    Ok(status)
}

/// The bytes of every argument, in their order.
fn argument_bytes(args: &Args, layout: &NativeLayout) -> Result<Vec<Vec<u8>>> {
    let given = match &args.args {
        Some(text) => {
            let json: serde_json::Value = serde_json::from_str(text).context("--args")?;
            let is_right = json.is_array() || json.is_object();
            ensure!(is_right, "--args is neither a list nor an object");
            layout.encode_json(text)?
        }
        None => args.values.iter().map(|it| it.bytes(layout)).collect::<Result<_>>()?,
    };
    Ok(layout.in_order(given)?)
}
