//! The objects of every file, each checked against every device.

use anyhow::Result;
use hsaco::check::result::{DeviceResult, FileResult, ObjectInfo, SourceLine};
use hsaco::check::{Facts, Finding, ObjectReport, Report as Checked, Sources};
use hsaco::container::{Container, Entry};
use hsaco_files::{Batches, Met, map_objects};

use crate::input::{self, Input};
use crate::report::Report;
use crate::scan::Verify;
use crate::select::ObjectSelection;
use crate::source_files::SourceFiles;

use super::options::{Args, Settings};
use super::probe::Probe;

/// Checks every file; what cannot be opened is reported.
pub(super) fn files(
    args: &Args,
    settings: &Settings,
    report: &mut Report,
) -> Result<Vec<FileResult>> {
    let selection = ObjectSelection::new(&settings.objects)?;
    let probe = args.probe.then(Probe::new);
    let walk = Walk { args, settings, selection, probe, sources: SourceFiles::default() };
    let mut files = Vec::new();
    for input in input::inputs(&args.inputs.files) {
        match input {
            Ok(input) if input.found && Container::detect(&input).is_none() => {}
            Ok(input) => files.extend(walk.file(&input, report)),
            Err(unopened) => {
                report.begin(&unopened.name);
                report.failure(&unopened.error);
            }
        }
    }
    Ok(files)
}

struct Walk<'w> {
    args: &'w Args,
    settings: &'w Settings,
    selection: ObjectSelection,
    probe: Option<Probe>,
    sources: SourceFiles,
}

/// An object with a report for each device, and the source lines of its findings.
struct CheckedObject {
    info: ObjectInfo,
    reports: Vec<ObjectReport>,
    sources: Sources,
}

impl Walk<'_> {
    /// One file; nothing for a file of a directory that holds no device code.
    fn file(&self, input: &Input, report: &mut Report) -> Option<FileResult> {
        report.begin(&input.name);
        let container = Container::detect(input).filter(|it| *it != Container::CodeObject);
        if container.is_none() {
            let facts = Facts::read(input);
            // What is no object at all is told, whatever is wanted.
            let is_wanted = facts.object().is_none_or(|object| self.selection.wants(0, object));
            let objects = is_wanted.then(|| self.object(0, None, input, &facts));
            return Some(self.result(input, objects.into_iter().collect()));
        }
        let (mut objects, mut has_objects) = (Vec::new(), false);
        for met in Batches::new(input, &Verify::All.options(self.args.inputs.max_size)) {
            match met {
                Met::Objects(batch) => {
                    has_objects = true;
                    let checked = map_objects(&batch, |number, it| self.entry(number, it));
                    objects.extend(checked.into_iter().flatten());
                }
                Met::Other(_) => {}
                Met::Broken(error) => report.problem("", &error),
            }
        }
        match has_objects {
            true => Some(self.result(input, objects)),
            false if input.found => None,
            // The library says what is wrong with a file that holds nothing.
            false => Some(self.empty(input)),
        }
    }

    /// Checks an object of a container, if it is wanted.
    fn entry(&self, number: usize, entry: &Entry<'_>) -> Option<CheckedObject> {
        let facts = Facts::of_entry(number, entry)?;
        let is_wanted = match facts.object() {
            Some(object) => self.selection.wants(number, object),
            None => !self.settings.objects.selects(),
        };
        is_wanted.then(|| self.object(number, Some(entry), &entry.data, &facts))
    }

    /// Checks a file that is an object, or an entry of one that holds some.
    fn object(
        &self,
        number: usize,
        entry: Option<&Entry<'_>>,
        data: &[u8],
        facts: &Facts<'_>,
    ) -> CheckedObject {
        let Settings { checker, launch, .. } = self.settings;
        let questions = self.settings.questions();
        let reports: Vec<ObjectReport> =
            questions.map(|device| checker.object(facts, device, launch)).collect();
        let findings = reports.iter().flat_map(|it| &it.findings);
        let shown = findings.filter(|it| self.settings.shows(it));
        let sources = Sources::new(facts, shown, |file, line| self.sources.line(file, line));
        let info = ObjectInfo {
            number,
            entry_id: entry.and_then(|it| it.id.clone()),
            target: facts.object().map(|it| it.target().to_string()),
            probe: self.probe.as_ref().map(|probe| probe.load(data)),
        };
        CheckedObject { info, reports, sources }
    }

    /// Puts the objects together, device by device.
    fn result(&self, input: &Input, objects: Vec<CheckedObject>) -> FileResult {
        let mut per_device: Vec<Vec<ObjectReport>> =
            self.settings.questions().map(|_| Vec::new()).collect();
        let (mut infos, mut sources) = (Vec::new(), Vec::new());
        for object in objects {
            for (all, report) in per_device.iter_mut().zip(object.reports) {
                all.push(report);
            }
            sources.push((object.info.number, object.sources));
            infos.push(object.info);
        }
        let devices = self.settings.questions().zip(per_device).map(|(device, reports)| {
            let report = Checked::from_iter(reports);
            let source = |finding: &Finding| located(&sources, finding).cloned();
            DeviceResult::new(device, report, |it| self.settings.shows(it), source)
        });
        FileResult { name: input.name.clone(), devices: devices.collect(), objects: infos }
    }

    fn empty(&self, input: &Input) -> FileResult {
        let Settings { checker, launch, .. } = self.settings;
        let devices = self.settings.questions().map(|device| {
            let report = checker.file(input, device, launch);
            DeviceResult::new(device, report, |it| self.settings.shows(it), |_| None)
        });
        FileResult { name: input.name.clone(), devices: devices.collect(), objects: Vec::new() }
    }
}

/// The source line of a finding, by the object that it is in.
fn located<'s>(sources: &'s [(usize, Sources)], finding: &Finding) -> Option<&'s SourceLine> {
    let number = finding.subject.object.or_else(|| sources.first().map(|(number, _)| *number))?;
    let (_, lines) = sources.iter().find(|(it, _)| *it == number)?;
    lines.line(finding)
}
