//! `hsaco diff`: what is different between two files, kernel by kernel.

mod align;
mod digest;
mod model;
mod pairing;
mod record;
mod resources;
mod side;
mod text;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Write;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use hsaco::check::REGRESSION;

use self::digest::Digest;
use self::model::{FunctionDiff, ObjectDiff, ObjectName, Reader, changes};
use self::pairing::Group;
use self::record::{FunctionRecord, ObjectRecord, What};
use self::resources::{Changes, KernelChange};
use self::side::{Side, each_pair};
use crate::args::{Color, KernelFilter, ObjectFilter, parse_size};
use crate::input::{self, Input};
use crate::output::Output;
use crate::report::{Report, Status, Trouble};
use crate::scan::{ObjectItem, Verify};
use crate::select::{KernelSelection, ObjectSelection};
use crate::verb::check::{Exchange, Found};

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
    let options = Verify::Cheap.options(args.max_size);
    let mut a = Side::new(&old, options, &selection, &kernels, &mut report)?;
    let mut b = Side::new(&new, options, &selection, &kernels, &mut report)?;
    let is_about_resources = args.resources || !matches!(args.format, Format::Text | Format::Json);
    let what = What {
        kernels: &kernels,
        functions: !is_about_resources,
        code: !is_about_resources && !args.no_code,
    };
    let comparison = Comparison::new(&mut a, &mut b, what, &mut report);
    let changes = comparison.changes(&a, &b);
    let is_different = match is_about_resources {
        true => {
            write_resources(args, &mut out, (&a, &b), &changes)?;
            !changes.is_empty()
        }
        false => comparison.write(args, &mut out, &mut a, &mut b)?,
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
fn open(argument: &OsString) -> Result<Input> {
    let mut found = input::inputs(std::slice::from_ref(argument));
    let first = found.next().with_context(|| format!("{}: no file", argument.display()))?;
    let first = first.map_err(|it| it.error.context(it.name))?;
    if found.next().is_some() {
        bail!("{}: more than one file; diff compares one with one", argument.display());
    }
    Ok(first)
}

/// What belongs together in two files, before anything of it is looked at closely.
struct Comparison {
    /// Objects that are not the same, byte for byte, as one of the other file.
    a: Vec<ObjectRecord>,
    b: Vec<ObjectRecord>,
    groups: Vec<Group>,
    /// Kernels of objects that are.
    identical: usize,
}

impl Comparison {
    fn new(a: &mut Side<'_>, b: &mut Side<'_>, what: What<'_>, report: &mut Report) -> Self {
        let (rest_a, rest_b, identical) = without_same(a, b);
        let is_one_each = a.objects.len() == 1 && b.objects.len() == 1;
        let (a, b) = (records(a, &rest_a, what, report), records(b, &rest_b, what, report));
        let groups = pairing::groups(&a, &b, is_one_each);
        Self { a, b, groups, identical }
    }

    fn old(&self, group: &Group, function: usize) -> Option<&FunctionRecord> {
        self.a.get(group.objects.0?)?.functions.get(function)
    }

    fn new_one(&self, group: &Group, function: usize) -> Option<&FunctionRecord> {
        self.b.get(group.objects.1?)?.functions.get(function)
    }

    /// The numbers of a group's objects in their files.
    fn numbers(&self, group: &Group) -> (Option<usize>, Option<usize>) {
        let number = |records: &[ObjectRecord], at: usize| records.get(at).map(|it| it.number);
        let (x, y) = group.objects;
        (x.and_then(|x| number(&self.a, x)), y.and_then(|y| number(&self.b, y)))
    }

    /// What changed of what kernels take of the device.
    fn changes(&self, a: &Side<'_>, b: &Side<'_>) -> Changes {
        let mut changes = Changes { same: self.identical, ..Changes::default() };
        let kernel = |record: Option<&FunctionRecord>| record.is_some_and(|it| it.is_kernel);
        for group in &self.groups {
            let (x, y) = self.numbers(group);
            changes.only_a +=
                group.only.0.iter().filter(|it| kernel(self.old(group, **it))).count();
            changes.only_b +=
                group.only.1.iter().filter(|it| kernel(self.new_one(group, **it))).count();
            changes.same += group.identical;
            let names = x.and_then(|x| a.seen(x)).zip(y.and_then(|y| b.seen(y)));
            let Some((x, y)) = names else { continue };
            for (old, new) in &group.different {
                let pair = self.old(group, *old).zip(self.new_one(group, *new));
                let Some((old, new)) = pair.filter(|(old, _)| old.is_kernel) else { continue };
                let names = (ObjectName::new(x), ObjectName::new(y));
                let change = KernelChange::new(&old.name, names, (old.metrics, new.metrics));
                changes.same += usize::from(change.is_none());
                changes.kernels.extend(change);
            }
        }
        changes
    }

    /// Writes all that is different; whether something is.
    fn write(
        &self,
        args: &Args,
        out: &mut Output,
        a: &mut Side<'_>,
        b: &mut Side<'_>,
    ) -> Result<bool> {
        let reader = Reader { code: !args.no_code, context: args.context };
        let shown: Vec<Shown<'_>> =
            self.groups.iter().map(|group| Shown::new(self, group, a, b)).collect();
        let numbers = |it: &Shown<'_>| it.numbers.filter(|_| !it.group.different.is_empty());
        let compare =
            |it: &Shown<'_>, items: Option<(&ObjectItem<'_, '_>, &ObjectItem<'_, '_>)>| {
                self.object(reader, it, items)
            };
        let (old, new) = (a.input.name.clone(), b.input.name.clone());
        let mut is_different = false;
        match args.format {
            Format::Json => {
                let (old, new) = (serde_json::to_string(&old)?, serde_json::to_string(&new)?);
                write!(out, "{{\"schema_version\":1,\"a\":{old},\"b\":{new},\"objects\":[")?;
                let mut comma = "";
                each_pair((a, b), &shown, numbers, compare, |object| {
                    is_different |= !object.is_empty();
                    write!(out, "{comma}")?;
                    comma = ",";
                    Ok(serde_json::to_writer(&mut *out, &object)?)
                })?;
                writeln!(out, "],\"identical\":{}}}", !is_different)?;
            }
            _ => {
                let mut writer = text::Writer::new(out);
                each_pair((a, b), &shown, numbers, compare, |object| {
                    is_different |= !object.is_empty();
                    Ok(writer.write(&object)?)
                })?;
            }
        }
        Ok(is_different)
    }

    /// What is different in a group. Of an object that the other file has not it is enough to name it.
    fn object(
        &self,
        reader: Reader,
        Shown { group, a, b, .. }: &Shown<'_>,
        items: Option<(&ObjectItem<'_, '_>, &ObjectItem<'_, '_>)>,
    ) -> ObjectDiff {
        let (x, y) = group.objects;
        let records = x.and_then(|x| self.a.get(x)).zip(y.and_then(|y| self.b.get(y)));
        let header =
            records.map_or_else(Vec::new, |(a, b)| changes(a.header.clone(), b.header.clone()));
        let mut diff = ObjectDiff {
            a: a.clone(),
            b: b.clone(),
            header,
            functions: Vec::new(),
            identical: group.identical,
        };
        if records.is_none() {
            return diff;
        }
        if let Some((a, b)) = items {
            let pairs = group.different.iter().filter_map(|(old, _)| self.old(group, *old));
            let compared = reader.functions(a, b, &pairs.collect::<Vec<_>>());
            let (same, different): (Vec<_>, Vec<_>) =
                compared.into_iter().partition(FunctionDiff::is_empty);
            diff.identical += same.len();
            diff.functions = different;
        }
        let only_a = group.only.0.iter().filter_map(|it| self.old(group, *it));
        let only_b = group.only.1.iter().filter_map(|it| self.new_one(group, *it));
        let only_a = only_a.map(|it| FunctionDiff::new(it, model::Side::OnlyA));
        diff.functions.extend(only_a);
        diff.functions.extend(only_b.map(|it| FunctionDiff::new(it, model::Side::OnlyB)));
        diff.functions.sort_by(|a, b| a.name.cmp(&b.name));
        diff
    }
}

/// A group, and how its objects are called.
struct Shown<'g> {
    group: &'g Group,
    a: Option<ObjectName>,
    b: Option<ObjectName>,
    /// The numbers of the objects in their files, if both have one.
    numbers: Option<(usize, usize)>,
}

impl<'g> Shown<'g> {
    fn new(comparison: &Comparison, group: &'g Group, a: &Side<'_>, b: &Side<'_>) -> Self {
        let (x, y) = comparison.numbers(group);
        let name = |side: &Side<'_>, number| side.seen(number).map(ObjectName::new);
        let (a, b) = (x.and_then(|x| name(a, x)), y.and_then(|y| name(b, y)));
        Self { group, a, b, numbers: x.zip(y) }
    }
}

/// The numbers of the objects that are not the same, byte for byte, as one of the same target in the other file, and
/// how many kernels are in those that are.
fn without_same(a: &Side<'_>, b: &Side<'_>) -> (Vec<usize>, Vec<usize>, usize) {
    let mut same: HashMap<(Option<&str>, Digest), Vec<usize>> = HashMap::new();
    for seen in b.objects.iter().rev() {
        same.entry((seen.target.as_deref(), seen.digest)).or_default().push(seen.number);
    }
    let (mut rest_a, mut identical) = (Vec::new(), 0);
    for seen in &a.objects {
        let other = same.get_mut(&(seen.target.as_deref(), seen.digest)).and_then(Vec::pop);
        match other {
            Some(_) => identical += seen.kernels,
            None => rest_a.push(seen.number),
        }
    }
    let mut rest_b: Vec<usize> = same.into_values().flatten().collect();
    rest_b.sort_unstable();
    (rest_a, rest_b, identical)
}

/// What these objects of a file have.
fn records(
    side: &mut Side<'_>,
    numbers: &[usize],
    what: What<'_>,
    report: &mut Report,
) -> Vec<ObjectRecord> {
    report.begin(&side.input.name);
    let read = |item: &ObjectItem<'_, '_>| {
        let mut trouble = Trouble::default();
        (ObjectRecord::new(item, what, &mut trouble), trouble)
    };
    let mut records = Vec::with_capacity(numbers.len());
    for (record, trouble) in side.each(numbers, read) {
        report.trouble(trouble);
        records.push(record);
    }
    records
}

/// Writes what changed of what kernels take of the device.
fn write_resources(
    args: &Args,
    out: &mut Output,
    (a, b): (&Side<'_>, &Side<'_>),
    changes: &Changes,
) -> Result<()> {
    let exchange = match args.format {
        Format::Text => {
            let color = out.color();
            return changes.write_text(out, color);
        }
        Format::Csv => return changes.write_csv(out),
        Format::Json => {
            let answer = serde_json::json!({
                "schema_version": 1,
                "a": a.input.name,
                "b": b.input.name,
                "kernels": changes.kernels,
                "same": changes.same,
                "only_a": changes.only_a,
                "only_b": changes.only_b,
                "regressions": changes.regressions(),
            });
            serde_json::to_writer(&mut *out, &answer)?;
            return Ok(writeln!(out)?);
        }
        Format::Sarif => Exchange::Sarif,
        Format::Github => Exchange::Github,
        Format::Junit => Exchange::Junit,
    };
    let object = |seen: &side::Seen| (seen.number, seen.id.clone(), seen.target.clone());
    let found = Found {
        verb: "diff",
        rule: &REGRESSION,
        file: &b.input.name,
        objects: b.objects.iter().map(object).collect(),
        findings: changes.findings(),
    };
    found.write(exchange, out)
}
