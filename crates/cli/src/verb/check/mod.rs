//! `hsaco check`: would a device refuse these objects, or run them wrongly?

mod config;
mod matrix;
mod options;
mod walk;

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use hsaco::check::render::{Github, Json, JsonLines, Junit, Markdown, Sarif, Text};
use hsaco::check::result::{DeviceResult, FileResult};
use hsaco::check::{Baseline, Device, Rule, Severity};
use hsaco_describe::tables::{self, FindingRecord, Record as _};
use hsaco_files::seen_from;
use hsaco_table::{TableView, Writer};

use crate::output::{Output, write_file};
use crate::report::{Report, Status};
use crate::tabular::{Sheet, TableFormat};

use options::Settings;
pub(crate) use options::{Args, Format, rule};

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.color.apply();
    let (config, folder_of_config) = config::load(args.config.as_deref())?;
    let settings = Settings::new(args, &config, &folder_of_config)?;
    let table = sheet(args)?;
    let mut report = Report::default();
    let mut files = walk::files(args, &settings, &mut report)?;
    if report.status() == Status::Fine {
        check_done(&settings, &files)?;
    }
    if let Some(path) = &args.write_baseline {
        let baseline = Baseline::new(&files, |name| seen_from(folder(path), name));
        write_file(path, baseline.to_string().as_bytes())?;
    }
    if let Some(path) = settings.baseline.as_deref() {
        let name = |name: &str| seen_from(folder(path), name);
        let baseline = read_baseline(path)?;
        baseline.apply(&mut files, name, &settings.checker, |it| settings.shows(it));
    }
    let mut status = report.status();
    match table {
        Some(mut sheet) => {
            for file in &files {
                sheet.add(tables::rows(None, &FindingRecord::all(file)))?;
            }
            status.note(sheet.finish()?);
        }
        None => write(args, &settings, &files)?,
    }
    status.note(verdict(args, &settings, &files));
    Ok(status)
}

/// The table that is asked for.
fn sheet(args: &Args) -> Result<Option<Sheet>> {
    let Some(format) = args.format.table(args.view.is_asked())? else { return Ok(None) };
    if format == TableFormat::Parquet && args.output.is_none() {
        bail!("--format parquet needs -o FILE");
    }
    let (view, output) = (&args.view, args.output.as_deref());
    Sheet::new::<FindingRecord<'_>>(format, view, output, args.style.names).map(Some)
}

/// Writes all findings in the format that is asked for.
fn write(args: &Args, settings: &Settings, files: &[FileResult]) -> Result<()> {
    let mut out = Output::open(args.output.as_deref())?;
    out = out.for_people(args.format.is_for_people());
    let color = out.color();
    match args.all_devices && args.format == Format::Text {
        true => matrix::write(&mut out, files, color)?,
        false => {
            let rules: Vec<&Rule> = Rule::all().filter(|rule| !rule.is_of_runs()).collect();
            let is_asked = |rule: &&Rule| settings.checker.runs(rule);
            let asked: Vec<&Rule> = rules.iter().copied().filter(is_asked).collect();
            let fail_on = settings.fail_on;
            let answered = Answered { verb: "check", files, rules: &rules, asked: &asked, fail_on };
            render(args.format, &mut out, &answered, settings.devices.len() > 1, color)?;
        }
    }
    out.finish()
}

/// What a verb has found.
pub(crate) struct Answered<'r> {
    pub(crate) verb: &'r str,
    pub(crate) files: &'r [FileResult],
    /// The rules of the verb.
    pub(crate) rules: &'r [&'r Rule],
    /// Those that were asked.
    pub(crate) asked: &'r [&'r Rule],
    pub(crate) fail_on: Severity,
}

/// Writes what was found in a format.
pub(crate) fn render(
    format: Format,
    out: &mut dyn Write,
    answered: &Answered<'_>,
    names_devices: bool,
    color: bool,
) -> Result<()> {
    let &Answered { verb, files, rules, asked, fail_on } = answered;
    match format {
        Format::Text => write!(out, "{}", Text { files, names_devices, color })?,
        Format::Json => write!(out, "{}", Json { files, fail_on })?,
        Format::Jsonl => write!(out, "{}", JsonLines { files })?,
        Format::Sarif => write!(out, "{}", Sarif { files, rules, name: &project_name })?,
        Format::Github => write!(out, "{}", Github { files })?,
        Format::Junit => write!(out, "{}", Junit { verb, files, rules: asked, fail_on })?,
        Format::Markdown => write!(out, "{}", Markdown { files })?,
        Format::Csv => write_table(files, hsaco_table::Format::Csv, out)?,
        Format::Parquet => write_table(files, hsaco_table::Format::Parquet, out)?,
    }
    Ok(())
}

/// Writes all findings as one table.
fn write_table(
    files: &[FileResult],
    format: hsaco_table::Format,
    out: &mut dyn Write,
) -> Result<()> {
    let columns = tables::columns::<FindingRecord<'_>>();
    let mut writer = Writer::new(FindingRecord::TABLE, &columns, format, TableView::default())?;
    for file in files {
        writer.write(&tables::rows(None, &FindingRecord::all(file)), out)?;
    }
    writer.finish(out)?;
    Ok(())
}

/// A file as it is seen from the current folder, which is the project's.
pub(crate) fn project_name(name: &str) -> String {
    seen_from(Path::new("."), name)
}

fn read_baseline(path: &Path) -> Result<Baseline> {
    let shown = || path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(shown)?;
    Baseline::parse(&text).with_context(shown)
}

/// The folder that a baseline's files are named from: its own.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|it| *it != Path::new("")).unwrap_or(Path::new("."))
}

/// Whether something was checked: what passes because nothing was looked at has not passed.
fn check_done(settings: &Settings, files: &[FileResult]) -> Result<()> {
    let devices = || files.iter().flat_map(|file| &file.devices);
    if devices().all(DeviceResult::is_empty) {
        bail!("nothing was checked: {}", settings.unmatched());
    }
    let is_silent = devices().all(|it| it.kernels == 0 && it.findings.is_empty());
    if is_silent && settings.checker.names_kernels() {
        bail!("nothing was checked: no kernel has a name that was asked for");
    }
    if let Some(budget) = settings.unused_budget() {
        bail!(
            "nothing was held to the budget '{budget}': no kernel that was checked has such a name"
        );
    }
    Ok(())
}

/// What the findings make of the exit code. A matrix is a question: it is answered well if some device runs the file.
fn verdict(args: &Args, settings: &Settings, files: &[FileResult]) -> Status {
    let fails = |file: &&FileResult| match args.all_devices {
        true => file.devices.iter().all(|device| device.fails(settings.fail_on)),
        false => file.devices.iter().any(|device| device.fails(settings.fail_on)),
    };
    let mut status = Status::Fine;
    if files.iter().any(|file| fails(&file)) {
        status.note(Status::Findings);
    }
    // Limits of an unknown processor are not checked.
    let unknown = |file: &FileResult| {
        file.findings().any(|(_, shown)| shown.finding.rule == "unknown-target" && shown.is_new())
    };
    if settings.devices.is_empty() && files.iter().any(unknown) {
        status.note(Status::Unsupported);
    }
    status
}

/// The devices that a command line asks for, each by a target id or by a name of the devices file.
fn devices(names: &[String], own: &[Device]) -> Result<Vec<Device>> {
    let find = |name: &String| match own.iter().find(|device| device.name == name.as_str()) {
        Some(device) => Ok(device.clone()),
        None => name.parse().with_context(|| format!("--device {name}")),
    };
    names.iter().map(find).collect()
}
