//! For programs: one document, or one line for each finding.

use std::borrow::Cow;
use std::fmt;

use hsaco_bytes::SCHEMA_VERSION;
use serde::Serialize;

use crate::finding::Severity;
use crate::result::{self, DeviceResult, FileResult, ObjectInfo, Shown};

/// Everything in one document.
#[derive(Clone, Copy, Debug)]
pub struct Json<'r> {
    /// What was found.
    pub files: &'r [FileResult],
    /// From which severity on a file with a new finding does not pass.
    pub fail_on: Severity,
}

/// One document for each finding, on a line of its own.
#[derive(Clone, Copy, Debug)]
pub struct JsonLines<'r> {
    /// What was found.
    pub files: &'r [FileResult],
}

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut devices = self.files.iter().flat_map(|file| &file.devices);
        let document = Document {
            schema_version: SCHEMA_VERSION,
            passes: !devices.any(|it| it.fails(self.fail_on)),
            files: self.files.iter().map(File::new).collect(),
        };
        write_line(f, &document)
    }
}

impl fmt::Display for JsonLines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for file in self.files {
            for (device, shown) in file.findings() {
                let line = Line {
                    schema_version: SCHEMA_VERSION,
                    path: &file.name,
                    device: device.device.as_deref(),
                    finding: Finding::new(file, shown),
                };
                write_line(f, &line)?;
            }
        }
        Ok(())
    }
}

fn write_line(f: &mut fmt::Formatter<'_>, value: &impl Serialize) -> fmt::Result {
    writeln!(f, "{}", serde_json::to_string(value).map_err(|_| fmt::Error)?)
}

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
    probe: Option<Answer<'a>>,
}

#[derive(Serialize)]
struct Answer<'a> {
    loads: Option<bool>,
    function: Option<&'a str>,
    status: Option<u32>,
    meaning: &'a str,
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
            demangled: shown.kernel().map(Cow::into_owned),
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

impl<'a> File<'a> {
    fn new(file: &'a FileResult) -> Self {
        Self {
            path: &file.name,
            objects: file.objects.iter().map(Object::new).collect(),
            devices: file.devices.iter().map(|it| Device::new(file, it)).collect(),
        }
    }
}

impl<'a> Object<'a> {
    fn new(object: &'a ObjectInfo) -> Self {
        Self {
            index: object.number,
            entry_id: object.entry_id.as_deref(),
            target: object.target.as_deref(),
            probe: object.probe.as_ref().map(Answer::new),
        }
    }
}

impl<'a> Answer<'a> {
    fn new(answer: &'a result::Answer) -> Self {
        let result::Answer { loads, function, status, meaning } = answer;
        Self { loads: *loads, function: *function, status: *status, meaning }
    }
}

impl<'a> Device<'a> {
    fn new(file: &'a FileResult, device: &'a DeviceResult) -> Self {
        Self {
            device: device.device.as_deref(),
            passes: device.count(Severity::Error) == 0,
            objects_checked: device.objects,
            objects_skipped: device.skipped,
            findings: device.findings.iter().map(|it| Finding::new(file, it)).collect(),
        }
    }
}
