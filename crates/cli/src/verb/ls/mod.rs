//! `hsaco ls`: what is in a file, in one screen.

mod indexed;
mod json;
mod text;

use std::path::PathBuf;

use anyhow::{Result, bail};
use hsaco::object::{CodeObject, Index};
use hsaco_describe::list::KernelRow;
use hsaco_describe::names::Names;
use hsaco_describe::tables::Question;

use crate::args::{Answer, Format};
use crate::frame::{self, Frame};
use crate::output::Output;
use crate::report::{Status, Trouble};
use crate::scan::{self, ObjectItem, Verify};
use crate::schema::FileStream;
use crate::select::KernelSelection;
use crate::tabular::{self, NameStyle, Sheet, TableFormat, TableReading};

use json::JsonLister;
use text::TextLister;

/// Lists the code objects, kernels, functions and variables in files
///
/// A file with one code object is listed kernel by kernel; one with more is summed up by target,
/// unless --long asks for all of it. JSON always has all of it.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reading: TableReading,
    #[command(flatten)]
    style: NameStyle,
    /// List every object with its kernels, functions and variables
    #[arg(short, long)]
    long: bool,
    /// Show names as the linker sees them
    #[arg(long)]
    no_demangle: bool,
    /// Check the hash of large compressed payloads too (of small ones it always is)
    #[arg(long)]
    verify: bool,
    /// Keep what is found in this file, and open only files that it does not know or that changed since
    #[arg(long, value_name = "FILE")]
    index: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let TableReading { kernels, answer, .. } = &args.reading;
    answer.color.apply();
    let verify = if args.verify { Verify::All } else { Verify::Cheap };
    let kernels = KernelSelection::new(kernels);
    let status = match answer.plain()? {
        Ok(answer) => list(args, &answer, verify, &kernels)?,
        Err(_) if args.index.is_some() => bail!("--index lists as text or JSON"),
        Err(format) => table(args, format, verify, &kernels)?,
    };
    Ok(kernels.conclude(status))
}

fn list(args: &Args, answer: &Answer, verify: Verify, kernels: &KernelSelection) -> Result<Status> {
    let TableReading { inputs, objects, .. } = &args.reading;
    let mut out = Output::answer(answer)?;
    let status = match (&args.index, answer.format) {
        (Some(index), format) => indexed::run(args, index, verify, kernels, (format, &mut out))?,
        (None, Format::Json) => {
            let stream = FileStream::default().leaving_out_empty(!kernels.is_all());
            let rows = JsonLister { kernels };
            frame::run(&rows, Frame::Json(stream), (inputs, objects, verify), &mut out)?
        }
        (None, Format::Text) => {
            let mut lister = TextLister::new(args, kernels, &mut out);
            scan::run(inputs, objects, verify, &mut lister)?
        }
    };
    out.finish()?;
    Ok(status)
}

/// The kernels of all objects as one table.
fn table(
    args: &Args,
    format: TableFormat,
    verify: Verify,
    kernels: &KernelSelection,
) -> Result<Status> {
    let TableReading { inputs, objects, answer, .. } = &args.reading;
    let (view, output) = (&answer.view, answer.output.as_deref());
    let sheet = Sheet::new::<KernelRow<'_>>(format, view, output, args.names())?;
    tabular::run(sheet, (inputs, objects, verify), |place, item, trouble| {
        Question::Ls.rows(place, item, kernels, trouble)
    })
}

impl Args {
    fn names(&self) -> Names {
        self.style.or_mangled(self.no_demangle)
    }
}

/// What an object defines; all that is wrong with it is noted.
fn index<'e>(item: &ObjectItem<'e, '_>, trouble: &mut Trouble) -> Index<'e> {
    let index = item.object.as_ref().map(CodeObject::index).unwrap_or_default();
    let problems = item.object.as_ref().map(CodeObject::problems).unwrap_or_default();
    for problem in problems.iter().chain(index.problems()) {
        item.note(problem.clone(), trouble);
    }
    index
}

/// What was made in parts; the trouble of all parts is one.
fn gather<T>(parts: Vec<(T, Trouble)>, trouble: &mut Trouble) -> Vec<T> {
    let take = |(row, own)| {
        trouble.append(own);
        row
    };
    parts.into_iter().map(take).collect()
}
