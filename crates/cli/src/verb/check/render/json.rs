//! For programs: one document, or one line for each finding.

use std::io::Write;

use anyhow::Result;
use hsaco::check::Severity;
use serde::Serialize;

use crate::schema::SCHEMA_VERSION;
use crate::verb::ls::source_name;

use super::super::model::{DeviceResult, FileResult, Shown};
use super::super::options::FailOn;
use super::super::probe::Answer;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    passes: bool,
    files: Vec<File<'a>>,
}

#[derive(Serialize)]
struct File<'a> {
    path: &'a str,
    objects: Vec<Object<'a>>,
    devices: Vec<Device<'a>>,
}

#[derive(Serialize)]
struct Object<'a> {
    index: usize,
    entry_id: Option<&'a str>,
    target: Option<&'a str>,
    probe: Option<&'a Answer>,
}

/// A file against one device; null is each object against its own.
#[derive(Serialize)]
struct Device<'a> {
    device: Option<&'a str>,
    passes: bool,
    objects_checked: usize,
    objects_skipped: usize,
    findings: Vec<Finding<'a>>,
}

#[derive(Serialize)]
struct Finding<'a> {
    rule: &'a str,
    severity: &'a str,
    object: Option<usize>,
    kernel: Option<&'a str>,
    demangled: Option<String>,
    field: Option<&'a str>,
    offset: Option<u64>,
    address: Option<u64>,
    source: Option<Source<'a>>,
    message: &'a str,
    help: &'a str,
    /// False for findings that the baseline has as bad as they are.
    new: bool,
    /// How it stands to the baseline: new, worse, known or better.
    baseline: &'a str,
    target: Option<&'a str>,
}

#[derive(Serialize)]
struct Source<'a> {
    file: &'a str,
    line: u32,
}

/// A finding that stands alone on its line.
#[derive(Serialize)]
struct Line<'a> {
    schema_version: u32,
    path: &'a str,
    device: Option<&'a str>,
    #[serde(flatten)]
    finding: Finding<'a>,
}

impl<'a> Finding<'a> {
    fn new(file: &'a FileResult, shown: &'a Shown) -> Self {
        let finding = &shown.finding;
        let subject = &finding.subject;
        let kernel = subject.kernel.as_deref();
        Self {
            rule: finding.rule,
            severity: finding.severity.name(),
            object: subject.object,
            kernel,
            demangled: kernel.map(|name| source_name(name.into()).into_owned()),
            field: subject.field.as_deref(),
            offset: subject.offset,
            address: subject.address,
            source: shown.source.as_ref().map(|it| Source { file: &it.file, line: it.line }),
            message: &finding.message,
            help: &finding.help,
            new: shown.is_new(),
            baseline: shown.standing.name(),
            target: file.target(shown),
        }
    }
}

pub(super) fn write(out: &mut dyn Write, files: &[FileResult], fail_on: FailOn) -> Result<()> {
    let document = Document {
        schema_version: SCHEMA_VERSION,
        passes: !files.iter().flat_map(|file| &file.devices).any(|it| it.fails(fail_on)),
        files: files.iter().map(file).collect(),
    };
    serde_json::to_writer(&mut *out, &document)?;
    writeln!(out)?;
    Ok(())
}

fn file(file: &FileResult) -> File<'_> {
    let object = |it: &'_ super::super::model::ObjectInfo| it.number;
    let objects = file.objects.iter().map(|it| Object {
        index: object(it),
        entry_id: it.entry_id.as_deref(),
        target: it.target.as_deref(),
        probe: it.probe.as_ref(),
    });
    File {
        path: &file.name,
        objects: objects.collect(),
        devices: file.devices.iter().map(|it| device(file, it)).collect(),
    }
}

fn device<'a>(file: &'a FileResult, device: &'a DeviceResult) -> Device<'a> {
    Device {
        device: device.device.as_deref(),
        passes: device.count(Severity::Error) == 0,
        objects_checked: device.objects,
        objects_skipped: device.skipped,
        findings: device.findings.iter().map(|it| Finding::new(file, it)).collect(),
    }
}

pub(super) fn write_lines(out: &mut dyn Write, files: &[FileResult]) -> Result<()> {
    for file in files {
        for (device, shown) in file.findings() {
            let line = Line {
                schema_version: SCHEMA_VERSION,
                path: &file.name,
                device: device.device.as_deref(),
                finding: Finding::new(file, shown),
            };
            serde_json::to_writer(&mut *out, &line)?;
            writeln!(out)?;
        }
    }
    Ok(())
}
