//! `hsaco diff`: what is different between two files, kernel by kernel.

mod resources;

use std::ffi::OsString;
use std::io::Write;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use hsaco::bytes::Str;
use hsaco::check::render::{Github, Junit, Sarif};
use hsaco::check::result::{FileResult, ObjectInfo};
use hsaco::check::{REGRESSION, Severity};
use hsaco::container::WalkOptions;
use hsaco::diff::{Changes, Comparison, Detail, Group, What};
use hsaco_describe::difference;
use hsaco_describe::side::{Compared, Seen, Side, compare, each_pair, regressions, subject};

use crate::args::{Color, KernelFilter, ObjectFilter, parse_size};
use crate::input::{self, Input};
use crate::json::{self, Members};
use crate::output::Output;
use crate::report::{Report, Status, Trouble};
use crate::scan::{self, ObjectItem, Verify, Visit};
use crate::schema::SCHEMA_VERSION;
use crate::select::{KernelSelection, ObjectSelection};
use crate::verb::check::project_name;

/// Shows what is different between two files: kernels, their metadata, arguments and instructions
///
/// Kernels and functions are compared with those of the same target and name, wherever in the file
/// they are; where a target is in one file only, with those that a device would choose instead, such
/// as generic ones. Instructions are aligned, and shown with the ones around those that differ. The
/// exit code is 1 when something is different, or, with --fail-on-regression, when a kernel is worse.
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
    /// Compare only what kernels take of the device: registers, LDS, scratch, spills, occupancy
    #[arg(long)]
    resources: bool,
    /// Exit with 1 only when a kernel takes more of the device than it did, or has fewer waves
    #[arg(long)]
    fail_on_regression: bool,
    /// How to answer; csv, sarif, github and junit are about resources
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write the answer to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<OsString>,
    /// When to colour the answer
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    color: Color,
}

/// Who the answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// People
    Text,
    /// Programs: one document
    Json,
    /// Tables: a line for each kernel whose resources changed
    Csv,
    /// Code scanning: SARIF 2.1.0, a result for each regression
    Sarif,
    /// GitHub Actions: an annotation for each regression
    Github,
    /// Test reports: JUnit XML, a failure for each regression
    Junit,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.color.apply();
    let out = Output::open(args.output.as_deref())?;
    let mut out = out.for_people(args.format == Format::Text);
    let mut report = Report::default();
    let (old, new) = (open(&args.old)?, open(&args.new)?);
    let kernels = KernelSelection::new(&args.kernels);
    let selection = ObjectSelection::new(&args.objects)?;
    let options = Verify::Cheap.options(args.max_size, &selection);
    let mut a = side(&old, options, &selection, &kernels, &mut report)?;
    let mut b = side(&new, options, &selection, &kernels, &mut report)?;
    let is_about_resources = args.resources || !matches!(args.format, Format::Text | Format::Json);
    let is_chosen = |name: Str<'_>| kernels.wants(name);
    let what = What {
        chosen: if kernels.is_all() { None } else { Some(&is_chosen) },
        functions: !is_about_resources,
        code: !is_about_resources && !args.no_code,
    };
    let Compared { comparison, identical, trouble } = compare(&mut a, &mut b, what);
    for (input, trouble) in [&old, &new].into_iter().zip(trouble) {
        report.begin(&input.name);
        report.trouble(trouble);
    }
    let mut changes = comparison.changes();
    changes.same += identical;
    let is_different = match is_about_resources {
        true => {
            write_resources(args, &mut out, (&a, &b), &changes)?;
            !changes.is_empty()
        }
        false => write_code(args, &comparison, &mut out, &mut a, &mut b)?,
    };
    out.finish()?;
    let mut status = report.status();
    let fails = if args.fail_on_regression { changes.regressions() > 0 } else { is_different };
    if fails {
        status.note(Status::Findings);
    }
    Ok(kernels.conclude(selection.conclude(status)))
}

/// The one file that an argument stands for.
pub(crate) fn open(argument: &OsString) -> Result<Input> {
    let mut found = input::inputs(std::slice::from_ref(argument));
    let first = found.next().with_context(|| format!("{}: no file", argument.display()))??;
    if found.next().is_some() {
        bail!("{}: more than one file; only one can be compared with one", argument.display());
    }
    Ok(first)
}

/// A file, all of whose objects are seen once.
pub(crate) fn side<'i>(
    input: &'i Input,
    options: WalkOptions,
    selection: &ObjectSelection,
    kernels: &KernelSelection,
    report: &mut Report,
) -> Result<Side<'i>> {
    let mut walk = FirstWalk { kernels, objects: Vec::new() };
    scan::walk(input, selection, &options, &mut walk, report)?;
    Ok(Side::new(input, walk.objects, options))
}

struct FirstWalk<'w> {
    kernels: &'w KernelSelection,
    objects: Vec<Seen>,
}

impl Visit for FirstWalk<'_> {
    type Row<'e> = Seen;

    fn read(&self, item: &ObjectItem<'_, '_>, _trouble: &mut Trouble) -> Result<Seen> {
        Ok(Seen::new(item, self.kernels))
    }

    fn object(&mut self, row: Seen) -> Result<()> {
        self.objects.push(row);
        Ok(())
    }
}

/// Writes all that is different; whether something is.
fn write_code(
    args: &Args,
    comparison: &Comparison,
    out: &mut Output,
    a: &mut Side<'_>,
    b: &mut Side<'_>,
) -> Result<bool> {
    let detail = Detail { code: !args.no_code, context: args.context };
    let needed = |group: &Group| comparison.needed(group);
    let compare = |group: &Group, items: Option<(&ObjectItem<'_, '_>, &ObjectItem<'_, '_>)>| {
        let subjects = items.map(|(a, b)| (subject(a), subject(b)));
        comparison.object(detail, group, subjects)
    };
    let mut is_different = false;
    match args.format {
        Format::Json => {
            let mut json = Members::begin(out)?;
            json.member("schema_version", &SCHEMA_VERSION)?;
            json.member("a", &a.input.name)?;
            json.member("b", &b.input.name)?;
            json.list("objects", |out| {
                let mut comma = "";
                each_pair((a, b), comparison.groups(), needed, compare, |object| {
                    is_different |= !object.is_empty();
                    write!(out, "{comma}")?;
                    comma = ",";
                    Ok(serde_json::to_writer(&mut *out, &object)?)
                })
            })?;
            json.member("identical", &!is_different)?;
            writeln!(json.end()?)?;
        }
        _ => {
            let (color, mut gap) = (out.color(), "");
            each_pair((a, b), comparison.groups(), needed, compare, |object| {
                if !object.is_empty() {
                    write!(out, "{gap}{}", difference::text(&object, color))?;
                    (is_different, gap) = (true, "\n");
                }
                Ok::<(), anyhow::Error>(())
            })?;
        }
    }
    Ok(is_different)
}

/// Writes what changed of what kernels take of the device.
fn write_resources(
    args: &Args,
    out: &mut Output,
    (a, b): (&Side<'_>, &Side<'_>),
    changes: &Changes,
) -> Result<()> {
    let object = |seen: &Seen| ObjectInfo {
        number: seen.number,
        entry_id: seen.id.clone(),
        target: seen.target.clone(),
        probe: None,
    };
    let objects = b.objects.iter().map(object).collect();
    let files = &[FileResult::of_findings(&b.input.name, objects, regressions(changes))];
    let (rules, fail_on) = (&[&REGRESSION], Severity::Error);
    match args.format {
        Format::Text => {
            let color = out.color();
            resources::write_text(changes, out, color)?;
        }
        Format::Csv => out.write_all(changes.to_csv().as_bytes())?,
        Format::Json => {
            let answer = serde_json::json!({
                "schema_version": SCHEMA_VERSION,
                "a": a.input.name,
                "b": b.input.name,
                "kernels": changes.kernels,
                "same": changes.same,
                "only_a": changes.only_a,
                "only_b": changes.only_b,
                "regressions": changes.regressions(),
            });
            json::document(out, &answer)?;
        }
        Format::Sarif => write!(out, "{}", Sarif { files, rules, name: &project_name })?,
        Format::Github => write!(out, "{}", Github { files })?,
        Format::Junit => write!(out, "{}", Junit { verb: "diff", files, rules, fail_on })?,
    }
    Ok(())
}
