//! `hsaco table`: many files as one data set of Parquet files.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use hsaco::bytes::number::count;
use hsaco_describe::dataset;
use hsaco_files::{Dataset, OBJECT_WEIGHT, parallel};

use crate::args::{Format, Inputs};
use crate::output::Output;
use crate::report::{self, Status};
use crate::scan::Verify;
use crate::select::ObjectSelection;
use crate::{input, json};

/// Writes what files hold as a data set of Parquet files, which goes on where it was stopped
///
/// The data set has the tables files, contents, objects and kernels, which docs/dataset.md describes;
/// DuckDB, Spark and pandas read them. A content that is in it already is not read again. What is
/// wrong with a file is in its row: it does not fail the others, nor the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    inputs: Inputs,
    /// The folder of the data set
    #[arg(short, long, value_name = "DATASET")]
    output: OsString,
    /// How to answer
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut inputs = input::inputs(&args.inputs.files);
    let places: Vec<_> = std::iter::from_fn(|| inputs.next_place()).collect();
    let dataset = Dataset::new(Path::new(&args.output));
    let options = Verify::Cheap.options(args.inputs.max_size, &ObjectSelection::default());
    let add = |place: &Result<_, _>| dataset::add(place.as_ref(), &dataset, &options).transpose();
    let added = parallel::map(&places, OBJECT_WEIGHT, add).into_iter().flatten();
    let name = args.output.to_string_lossy();
    let added = added.collect::<std::io::Result<Vec<_>>>().with_context(|| name.to_string())?;
    ensure!(!added.is_empty(), "no file holds AMD GPU code, or may");
    let summary = dataset::finish(&added, &dataset, &name).with_context(|| name.to_string())?;
    if summary.broken > 0 {
        let files = count(summary.broken, "file");
        let place = "see error in the tables files and contents";
        report::error(&format!("{files} could not be read, or not all of it: {place}"));
    }
    let mut out = Output::open(None)?.for_people(args.format == Format::Text);
    match args.format {
        Format::Text => writeln!(out, "{summary}")?,
        Format::Json => json::document(&mut out, &summary)?,
    }
    out.finish()?;
    Ok(Status::Fine)
}
