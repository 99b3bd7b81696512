//! `hsaco source`: the source of kernels, and what became of each line.

mod model;
mod text;

use anyhow::Result;

use self::model::{ObjectSource, Question};
use self::text::TextSource;
use crate::args::{Answer, Format, Inputs, KernelFilter, ObjectFilter};
use crate::json_files;
use crate::output::Output;
use crate::report::{Status, Trouble};
use crate::scan::{self, ObjectItem, Verify};
use crate::select::KernelSelection;
use crate::sought::Sought;
use crate::source_files::{Moved, SourceFiles};
use crate::verb::lines::NO_LINES;

/// Shows source lines and the instructions that they became, one below the other
///
/// Instructions are in the order of the program; before those of another line is that line, if its file is there.
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
    /// Show the calls that were inlined, the innermost first
    #[arg(long)]
    inlines: bool,
    /// Mark the columns that the instructions come from, below each line
    #[arg(long)]
    columns: bool,
    /// Look for sources whose paths begin with OLD under NEW; the first that fits counts
    #[arg(long, value_name = "OLD=NEW")]
    map: Vec<Moved>,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.answer.color.apply();
    let mut out = Output::answer(&args.answer)?;
    let kernels = KernelSelection::new(&args.kernels);
    let question = Question {
        kernels: &kernels,
        lines: Sought::default(),
        inlines: args.inlines,
        max_size: args.inputs.max_size,
        moves: &args.map,
        files: SourceFiles::default(),
        decoders: hsaco::isa::DecoderCache::default(),
    };
    let status = match args.answer.format {
        Format::Json => {
            let read = |item: &ObjectItem<'_, '_>, trouble: &mut Trouble| {
                Ok(vec![serde_json::to_vec(&ObjectSource::new(item, &question, trouble))?])
            };
            json_files::run(&mut out, &args.inputs, &args.objects, Verify::Cheap, read)?
        }
        Format::Text => {
            let mut visitor =
                TextSource { out: &mut out, question: &question, columns: args.columns };
            scan::run(&args.inputs, &args.objects, Verify::Cheap, &mut visitor)?
        }
    };
    out.finish()?;
    Ok(question.lines.conclude(kernels.conclude(status), Status::Unreadable, NO_LINES))
}
