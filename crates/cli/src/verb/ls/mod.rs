//! `hsaco ls`: what is in a file, in one screen.

mod indexed;
mod json;
mod text;

use std::path::PathBuf;

use anyhow::Result;
use hsaco::object::{CodeObject, Index};

use crate::args::{Format, Reading};
use crate::frame::{self, Frame};
use crate::output::Output;
use crate::report::{Status, Trouble};
use crate::scan::{self, ObjectItem, Verify};
use crate::schema::FileStream;
use crate::select::KernelSelection;

use json::JsonLister;
use text::TextLister;

/// Lists the code objects, kernels, functions and variables in files
///
/// A file with one code object is listed kernel by kernel; one with more is summed up by target,
/// unless --long asks for all of it. JSON always has all of it.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reading: Reading,
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
    let Reading { inputs, objects, kernels, answer } = &args.reading;
    answer.color.apply();
    let mut out = Output::answer(answer)?;
    let verify = if args.verify { Verify::All } else { Verify::Cheap };
    let kernels = KernelSelection::new(kernels);
    let status = match (&args.index, answer.format) {
        (Some(index), _) => indexed::run(args, index, verify, &kernels, &mut out)?,
        (None, Format::Json) => {
            let stream = FileStream::default().leaving_out_empty(!kernels.is_all());
            let rows = JsonLister { kernels: &kernels };
            frame::run(&rows, Frame::Json(stream), (inputs, objects, verify), &mut out)?
        }
        (None, Format::Text) => {
            let mut lister = TextLister::new(args, &kernels, &mut out);
            scan::run(inputs, objects, verify, &mut lister)?
        }
    };
    out.finish()?;
    Ok(kernels.conclude(status))
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
