//! `hsaco kernarg`: where the bytes of arguments go, packing and unpacking them, checking packed buffers.

mod buffer;
mod pack;
mod value;

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result};
use clap::Subcommand;
use hsaco::kernarg::Inference;
use hsaco_describe::kernarg::{Layouts, Options};

pub(super) use self::pack::LaunchArgs;
pub(super) use self::value::number;
use crate::args::{Answer, Inputs, KernelFilter, ObjectFilter};
use crate::frame::Heading;
use crate::report::Status;
use crate::skeleton::{self, Asked, Look, Page, Verb};

/// Shows where the bytes of kernel arguments go; packs, checks and unpacks them
///
/// Two projections are shown, which share no offset: the native one, where the caller packs and every argument is where the
/// metadata has it, and the compact one, where a runtime packs bindings and constants. Names and types are those
/// of the debug information where there is any.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    layout: LayoutArgs,
}

#[derive(Subcommand)]
enum Action {
    Pack(pack::Args),
    Check(buffer::CheckArgs),
    Unpack(buffer::UnpackArgs),
}

#[derive(clap::Args)]
struct LayoutArgs {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    objects: ObjectFilter,
    #[command(flatten)]
    kernels: KernelFilter,
    /// Show what registers hold when the kernel begins
    #[arg(long)]
    registers: bool,
    #[command(flatten)]
    inference: InferenceArgs,
    #[command(flatten)]
    answer: Answer,
}

/// Whether arguments may be guessed.
#[derive(clap::Args)]
struct InferenceArgs {
    /// Take the arguments of a kernel without metadata from the only kernel that has some, if the segments are of
    /// one size: a guess
    #[arg(long)]
    infer: bool,
}

impl InferenceArgs {
    fn inference(&self) -> Inference {
        if self.infer { Inference::FromOnlyTemplate } else { Inference::Off }
    }
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    match &args.action {
        Some(Action::Pack(args)) => pack::run(args),
        Some(Action::Check(args)) => buffer::check(args),
        Some(Action::Unpack(args)) => buffer::unpack(args),
        None => layouts(&args.layout),
    }
}

fn layouts(args: &LayoutArgs) -> Result<Status> {
    let asked = Asked::new(&args.inputs, &args.objects, &args.answer);
    skeleton::run(args, asked.of_kernels(&args.kernels))
}

impl Verb for LayoutArgs {
    type Row<'e> = Layouts;
    const HEADING: Heading = Heading::Container;

    fn read(&self, look: &mut Look<'_, '_, '_>) -> Layouts {
        let options = Options {
            kernels: look.kernels,
            inference: self.inference.inference(),
            registers: self.registers,
            max_size: self.inputs.max_size,
        };
        Layouts::new(look.item, &options, look.trouble)
    }

    fn text(&self, row: &Layouts, page: &mut Page) -> Result<()> {
        Ok(row.write(&mut page.out, page.color)?)
    }
}

/// A file that holds bytes; `-` is standard input.
pub(super) fn read_bytes(path: &OsString) -> Result<Vec<u8>> {
    use std::io::Read;
    if path == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    std::fs::read(path).with_context(|| Path::new(path).display().to_string())
}
