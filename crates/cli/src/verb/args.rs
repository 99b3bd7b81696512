//! `hsaco args`: the arguments of kernels, where they are and of which type.

mod model;
mod text;

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use hsaco::dwarf::Spelling;

use self::model::ObjectArguments;
use crate::args::{Answer, Format, Inputs, KernelFilter, ObjectFilter};
use crate::output::Output;
use crate::report::{Status, Trouble};
use crate::scan::{ObjectItem, Verify};
use crate::select::KernelSelection;
use crate::{json_files, text_files};

/// Shows the arguments of kernels: offset, size, alignment, type, members and padding
///
/// Offsets and sizes are the metadata's, types and members those of the debug information (-g). What the
/// two say differently is named, and ends in exit code 1. Without metadata the offsets are computed, and said to be.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    objects: ObjectFilter,
    #[command(flatten)]
    kernels: KernelFilter,
    /// Show what typedefs stand for instead of their names
    #[arg(long)]
    resolve_typedefs: bool,
    #[command(flatten)]
    answer: Answer,
}

/// What is asked of every object.
struct Question<'q> {
    kernels: &'q KernelSelection,
    spelling: Spelling,
    /// Largest size that a debug section may unfold to.
    max_size: u64,
    /// Whether metadata and debug information contradict each other somewhere.
    differs: AtomicBool,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.answer.color.apply();
    let mut out = Output::answer(&args.answer)?;
    let kernels = KernelSelection::new(&args.kernels);
    let question = Question {
        kernels: &kernels,
        spelling: Spelling { resolve_typedefs: args.resolve_typedefs, ..Spelling::default() },
        max_size: args.inputs.max_size,
        differs: AtomicBool::new(false),
    };
    let mut status = match args.answer.format {
        Format::Json => {
            let read = |item: &ObjectItem<'_, '_>, trouble: &mut Trouble| {
                Ok(vec![serde_json::to_vec(&ObjectArguments::new(item, &question, trouble))?])
            };
            json_files::run(&mut out, &args.inputs, &args.objects, Verify::All, read)?
        }
        Format::Text => {
            text_files::run(&mut out, &args.inputs, &args.objects, |page, item, trouble| {
                text::write(page, item, &question, trouble)
            })?
        }
    };
    out.finish()?;
    if question.differs.load(Ordering::Relaxed) {
        status.note(Status::Findings);
    }
    Ok(kernels.conclude(status))
}
