//! `hsaco diff`: what is different between two files, kernel by kernel.

mod align;
mod model;
mod text;

use std::ffi::OsString;

use anyhow::{Context, Result, bail};
use hsaco::object::container::{self, Entry, Options};
use serde::Serialize;

use self::model::{ObjectDiff, Reader};
use crate::args::{Answer, Format, KernelFilter, ObjectFilter, parse_size};
use crate::input::{self, Input};
use crate::output::Output;
use crate::report::{Report, Status, Trouble};
use crate::scan::{ObjectItem, Verify};
use crate::select::{KernelSelection, ObjectSelection};

/// Shows what is different between two files: kernels, their metadata, arguments and instructions
///
/// Objects are compared with those of the same target, in the order of the files; kernels and
/// functions with those of the same name. Instructions are aligned, and shown with the ones around
/// those that differ. The exit code is 1 when something is different.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Anything that holds AMD GPU code; `-` is standard input
    #[arg(value_name = "A")]
    old: OsString,
    /// What to compare it with
    #[arg(value_name = "B")]
    new: OsString,
    /// Largest size that one compressed payload may unfold to (K, M and G are powers of 1024)
    #[arg(long, value_name = "BYTES", default_value = "4G", value_parser = parse_size)]
    max_size: u64,
    #[command(flatten)]
    objects: ObjectFilter,
    #[command(flatten)]
    kernels: KernelFilter,
    /// Do not compare instructions
    #[arg(long)]
    no_code: bool,
    /// How many instructions to show around those that differ
    #[arg(short = 'U', long, value_name = "N", default_value_t = 3)]
    context: usize,
    #[command(flatten)]
    answer: Answer,
}

/// All that is different.
#[derive(Serialize)]
struct Answered<'d> {
    schema_version: u32,
    a: &'d str,
    b: &'d str,
    identical: bool,
    objects: &'d [ObjectDiff],
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.answer.color.apply();
    let mut out = Output::open(args.answer.output.as_deref())?;
    let mut report = Report::default();
    let (old, new) = (open(&args.old)?, open(&args.new)?);
    let kernels = KernelSelection::new(&args.kernels);
    let selection = ObjectSelection::new(&args.objects)?;
    let options = Verify::All.options(args.max_size);
    let old_entries = read(&old, &options, &mut report);
    let new_entries = read(&new, &options, &mut report);
    let mut trouble = Trouble::default();
    let old_items = wanted(&old_entries, &selection, &mut trouble);
    let new_items = wanted(&new_entries, &selection, &mut trouble);
    let reader = Reader { kernels: &kernels, code: !args.no_code, context: args.context };
    let objects: Vec<_> = pairs(&old_items, &new_items)
        .into_iter()
        .map(|(old, new)| reader.object(old, new, &mut trouble))
        .collect();
    report.trouble(trouble);
    let mut status = report.status();
    let identical = objects.iter().all(ObjectDiff::is_empty);
    match args.answer.format {
        Format::Json => {
            let (a, b) = (old.name.as_str(), new.name.as_str());
            let answer = Answered { schema_version: 1, a, b, identical, objects: &objects };
            serde_json::to_writer(&mut out, &answer)?;
            std::io::Write::write_all(&mut out, b"\n")?;
        }
        Format::Text => text::write(&mut out, &objects)?,
    }
    out.finish()?;
    if !identical {
        status.note(Status::Findings);
    }
    Ok(kernels.conclude(status))
}

/// The one file that an argument stands for.
fn open(argument: &OsString) -> Result<Input> {
    let mut found = input::inputs(std::slice::from_ref(argument));
    let first = found.next().with_context(|| format!("{}: no file", argument.display()))?;
    let first = first.map_err(|it| it.error.context(it.name))?;
    if found.next().is_some() {
        bail!("{}: more than one file; diff compares one with one", argument.display());
    }
    Ok(first)
}

/// The entries of a file that hold device code.
fn read<'i>(input: &'i Input, options: &Options, report: &mut Report) -> Vec<Entry<'i>> {
    report.begin(&input.name);
    let mut found = Vec::new();
    for entry in container::entries(input, options) {
        match entry {
            Ok(entry) if entry.is_object() => found.push(entry),
            Ok(_) => {}
            Err(error) => report.problem("", &error),
        }
    }
    found
}

fn wanted<'e, 'a>(
    entries: &'e [Entry<'a>],
    selection: &ObjectSelection,
    trouble: &mut Trouble,
) -> Vec<ObjectItem<'e, 'a>> {
    let items = entries.iter().enumerate();
    let items = items.map(|(number, entry)| ObjectItem::new(number, entry, trouble));
    items.filter(|item| item.is_wanted(selection)).collect()
}

/// Objects of the same target, in order; the rest alone. Two files of one object each are compared
/// whatever their targets.
fn pairs<'i, 'e, 'a>(
    old: &'i [ObjectItem<'e, 'a>],
    new: &'i [ObjectItem<'e, 'a>],
) -> Vec<(Option<&'i ObjectItem<'e, 'a>>, Option<&'i ObjectItem<'e, 'a>>)> {
    if let ([old], [new]) = (old, new) {
        return vec![(Some(old), Some(new))];
    }
    let mut left: Vec<_> = new.iter().collect();
    let mut pairs = Vec::new();
    for item in old {
        let same =
            left.iter().position(|it| (&it.target, &it.entry.id) == (&item.target, &item.entry.id));
        let same = same.or_else(|| left.iter().position(|it| it.target == item.target));
        pairs.push((Some(item), same.map(|at| left.remove(at))));
    }
    pairs.extend(left.into_iter().map(|item| (None, Some(item))));
    pairs
}
