//! `hsaco report`: kernels as one HTML file, to look at.

use std::ffi::OsString;
use std::fs;

use anyhow::{Context, Result, bail};
use hsaco::check::Checker;
use hsaco::container::Container;
use hsaco_report::{HtmlReport, ObjectPages, OlderFiles, PageOptions, Rewriting, Runs};

use crate::args::{Inputs, KernelFilter, ObjectFilter};
use crate::output::Output;
use crate::report::{self, Report, Status, Trouble};
use crate::scan::{self, FileItem, ObjectItem, Verify, Visit};
use crate::select::{KernelSelection, ObjectSelection};
use crate::source_files::{Moved, SourceFiles};
use crate::verb::diff::{open, side};

/// Makes one HTML file of kernels: code beside source, graphs, occupancy, arguments, findings
///
/// The file opens in any browser and loads nothing from anywhere. It has a table of all kernels and
/// functions and a page for each. Source lines are those of the files that debug information names.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    objects: ObjectFilter,
    #[command(flatten)]
    kernels: KernelFilter,
    /// Write the page to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<OsString>,
    /// Put a profile of `hsaco run --profile` at the instructions
    #[arg(long, value_name = "FILE")]
    profile: Vec<OsString>,
    /// Put samples of `rocprofv3` at the instructions: JSON, or CSV with its kernel trace
    #[arg(long, value_name = "FILE")]
    samples: Vec<OsString>,
    /// Show what is different from this older file
    #[arg(long, value_name = "OLD")]
    compare: Option<OsString>,
    /// Show what this manifest of `hsaco patch` says was changed
    #[arg(long = "manifest", id = "rewriting", value_name = "FILE")]
    manifest: Option<OsString>,
    /// Findings of rules that look at code, too
    #[arg(long)]
    code: bool,
    /// Look for sources whose paths begin with OLD under NEW; the first that fits counts
    #[arg(long, value_name = "OLD=NEW")]
    map: Vec<Moved>,
    /// What the report is called; without it, the names of the files
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Output::open(args.output.as_deref())?;
    let kernels = KernelSelection::new(&args.kernels);
    let runs = runs(args)?;
    let mut status = Status::Fine;
    let comparison = comparison(args, &kernels, &mut status)?;
    let (files, rewriting) = (SourceFiles::default(), rewriting(args)?);
    let text = |file: &str| files.text(&Moved::apply(&args.map, file));
    let checker = if args.code { Checker::new().with_code() } else { Checker::new() };
    let options = PageOptions {
        kernels: &kernels,
        checker: &checker,
        text: &text,
        max_size: args.inputs.max_size,
        runs: &runs,
        comparison: comparison.as_ref(),
        rewriting: &rewriting,
    };
    let mut pages = Pages { options: &options, page: HtmlReport::new(&title(args)) };
    status.note(scan::run(&args.inputs, &args.objects, Verify::Unpacked, &mut pages)?);
    let mut page = pages.page;
    let status = kernels.conclude(status);
    if page.is_empty() {
        if status == Status::Fine {
            bail!("there is no code for a report to show");
        }
        return Ok(status);
    }
    let unplaced = runs.unplaced();
    for remark in &unplaced {
        report::error(remark);
        page.remark(remark.clone());
    }
    page.write_compared(comparison.as_ref(), &mut out)?;
    out.finish()?;
    Ok(if unplaced.is_empty() { status } else { status.max(Status::Findings) })
}

/// The names of the files, without their folders.
fn title(args: &Args) -> String {
    let names = args.inputs.files.iter().map(|it| {
        let path = std::path::Path::new(it);
        path.file_name().unwrap_or(it).to_string_lossy().into_owned()
    });
    args.title.clone().unwrap_or_else(|| names.collect::<Vec<_>>().join(", "))
}

/// What profiles and samples say.
fn runs(args: &Args) -> Result<Runs> {
    let mut runs = Runs::default();
    let read = |path: &OsString| fs::read(path).with_context(|| path.display().to_string());
    for path in &args.profile {
        runs.add_profile(&read(path)?).with_context(|| path.display().to_string())?;
    }
    for path in &args.samples {
        runs.add_samples(&read(path)?).with_context(|| path.display().to_string())?;
    }
    Ok(runs)
}

/// The one file that the report is about.
fn only<'a>(args: &'a Args, option: &str) -> Result<&'a OsString> {
    match args.inputs.files.as_slice() {
        [file] => Ok(file),
        _ => bail!("{option} is about one file, and several are named"),
    }
}

fn rewriting(args: &Args) -> Result<Rewriting> {
    let Some(path) = &args.manifest else { return Ok(Rewriting::default()) };
    let name = || path.display().to_string();
    let text = fs::read(path).with_context(name)?;
    let file = open(only(args, "--manifest")?)?;
    Rewriting::parse(&text, &file).with_context(name)
}

/// What is different from the older file, if one is named.
fn comparison(
    args: &Args,
    kernels: &KernelSelection,
    status: &mut Status,
) -> Result<Option<OlderFiles>> {
    let Some(old) = &args.compare else { return Ok(None) };
    let (old, new) = (open(old)?, open(only(args, "--compare")?)?);
    let selection = ObjectSelection::new(&args.objects)?;
    let options = Verify::Cheap.options(args.inputs.max_size, &selection);
    // What is wrong with the newer file is said when its pages are made.
    let (mut report, mut said_later) = (Report::default(), Report::default());
    let mut a = side(&old, options, &selection, kernels, &mut report)?;
    let mut b = side(&new, options, &selection, kernels, &mut said_later)?;
    let (comparison, [trouble, _]) = OlderFiles::new((&mut a, &mut b), kernels);
    report.begin(&old.name);
    report.trouble(trouble);
    status.note(report.status());
    Ok(Some(comparison))
}

/// Makes pages of objects.
struct Pages<'p> {
    options: &'p PageOptions<'p>,
    page: HtmlReport,
}

impl Visit for Pages<'_> {
    type Row<'e> = ObjectPages;

    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        self.page.begin_file(&file.input.name, file.container.map(Container::title));
        Ok(())
    }

    fn read(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Result<ObjectPages> {
        Ok(ObjectPages::new(item, self.options, trouble))
    }

    fn object(&mut self, pages: ObjectPages) -> Result<()> {
        self.page.add(pages);
        Ok(())
    }
}
