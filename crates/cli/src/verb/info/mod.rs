//! `hsaco info`: everything about an object or a kernel.

mod model;
mod text;

use anyhow::Result;

use crate::args::{Answer, Format, Inputs, KernelFilter, ObjectFilter};
use crate::json_files;
use crate::output::Output;
use crate::report::{Status, Trouble};
use crate::scan::{ObjectItem, Verify};
use crate::select::KernelSelection;
use crate::text_files;

use model::ObjectInfo;

/// Shows everything about code objects and kernels
///
/// Header, target, segments, sections, notes, metadata, kernels with every descriptor field and
/// argument, symbols and relocations. With --kernel only those kernels.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    objects: ObjectFilter,
    #[command(flatten)]
    kernels: KernelFilter,
    #[command(flatten)]
    answer: Answer,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.answer.color.apply();
    let mut out = Output::open(args.answer.output.as_deref())?;
    let kernels = KernelSelection::new(&args.kernels);
    let status = match args.answer.format {
        Format::Json => {
            let read = |item: &ObjectItem<'_, '_>, trouble: &mut Trouble| {
                Ok(vec![serde_json::to_vec(&ObjectInfo::new(item, &kernels, trouble))?])
            };
            json_files::run(&mut out, &args.inputs, &args.objects, Verify::All, read)?
        }
        Format::Text => {
            text_files::run(&mut out, &args.inputs, &args.objects, |page, item, trouble| {
                page.object(item, &kernels, trouble)
            })?
        }
    };
    out.finish()?;
    Ok(kernels.conclude(status))
}
