//! `hsaco check`: would a device refuse these objects, or run them wrongly?

mod baseline;
mod config;
mod matrix;
mod model;
mod options;
mod path;
mod probe;
mod render;
mod source;
mod walk;

use std::io::Write;

use anyhow::{Context, Result, bail};
use hsaco::check::{Device, Finding, Rule};

use crate::output::Output;
use crate::report::{Report, Status};

use baseline::Baseline;
use config::Config;
use model::{DeviceResult, FileResult, ObjectInfo, Shown, Standing};
use options::Settings;
pub(crate) use options::{Args, rule};
pub(crate) use render::Exchange;

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.color.apply();
    let config = Config::load(args.config.as_deref())?;
    let settings = Settings::new(args, &config)?;
    let mut report = Report::default();
    let mut files = walk::files(args, &settings, &mut report)?;
    if report.status() == Status::Fine {
        check_done(&settings, &files)?;
    }
    if let Some(path) = &args.write_baseline {
        Baseline::write(path, &files)?;
    }
    if let Some(path) = settings.baseline.as_deref() {
        Baseline::read(path)?.apply(&mut files, &settings);
    }
    let mut out = Output::open(args.output.as_deref())?;
    out = out.for_people(args.format.is_for_people());
    let color = out.color();
    match args.all_devices && args.format == options::Format::Text {
        true => matrix::write(&mut out, &files, color)?,
        false => render::write(args.format, &mut out, &files, &settings, color)?,
    }
    out.finish()?;
    let mut status = report.status();
    status.note(verdict(args, &settings, &files));
    Ok(status)
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

/// What another verb found in a file by one rule, for other programs. Of the file's objects it takes number, entry's
/// id and target.
pub(crate) struct Found<'f> {
    pub(crate) verb: &'f str,
    pub(crate) rule: &'f Rule,
    pub(crate) file: &'f str,
    pub(crate) objects: Vec<(usize, Option<String>, Option<String>)>,
    pub(crate) findings: Vec<Finding>,
}

impl Found<'_> {
    /// Shows it as findings of `check` are shown.
    pub(crate) fn write(self, format: Exchange, out: &mut dyn Write) -> Result<()> {
        let objects = self.objects.into_iter().map(|(number, entry_id, target)| ObjectInfo {
            number,
            entry_id,
            target,
            probe: None,
        });
        let objects: Vec<ObjectInfo> = objects.collect();
        let shown = |finding| Shown { finding, source: None, standing: Standing::New };
        let device = DeviceResult {
            device: None,
            objects: objects.len(),
            skipped: 0,
            kernels: 0,
            findings: self.findings.into_iter().map(shown).collect(),
            hidden: 0,
            better: 0,
            measures: Vec::new(),
        };
        let name = self.file.to_owned();
        let file = FileResult { name, objects, devices: vec![device] };
        render::write_for(self.verb, format, out, file, self.rule)
    }
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
    // Limits of a processor that nobody knows are not checked.
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
