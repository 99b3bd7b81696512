//! What was found in files on devices, as every format of [`render`](crate::render) shows it.

use std::borrow::Cow;
use std::fmt;

use hsaco_demangle::demangle;

use crate::budget::Measures;
use crate::device::Device;
use crate::finding::{Finding, Severity, Subject};
use crate::report::Report;

/// One file.
#[derive(Clone, Debug)]
pub struct FileResult {
    /// What to call it.
    pub name: String,
    /// The objects that were looked at.
    pub objects: Vec<ObjectInfo>,
    /// One for each device; without devices one, in which each object is held against its own.
    pub devices: Vec<DeviceResult>,
}

impl FileResult {
    /// What was found in a file by other means than a [`Checker`](crate::Checker), for no device in particular.
    #[must_use]
    pub fn of_findings(name: &str, objects: Vec<ObjectInfo>, findings: Vec<Finding>) -> Self {
        let report = Report { findings, objects: objects.len(), ..Report::default() };
        let device = DeviceResult::new(None, report, |_| true, |_| None);
        FileResult { name: name.to_owned(), objects, devices: vec![device] }
    }
}

/// One object of a file.
#[derive(Clone, Debug)]
pub struct ObjectInfo {
    /// Its number in the file, counted from 0.
    pub number: usize,
    /// What its container calls it.
    pub entry_id: Option<String>,
    /// What it is for.
    pub target: Option<String>,
    /// What an HSA runtime makes of it, if one was asked.
    pub probe: Option<Answer>,
}

/// A file against one device.
#[derive(Clone, Debug)]
pub struct DeviceResult {
    /// The device; none where each object is held against its own.
    pub device: Option<String>,
    /// How many objects were looked at.
    pub objects: usize,
    /// How many are for other devices.
    pub skipped: usize,
    /// How many kernels were looked at.
    pub kernels: usize,
    /// What is wrong.
    pub findings: Vec<Shown>,
    /// Notes that are left out.
    pub hidden: usize,
    /// Kernels that use less than the baseline says.
    pub better: usize,
    /// What kernels use, where a baseline asks for it.
    pub measures: Vec<Measures>,
}

/// A finding, and what belongs to it.
#[derive(Clone, Debug)]
pub struct Shown {
    /// What is wrong.
    pub finding: Finding,
    /// Where its code comes from.
    pub source: Option<SourceLine>,
    /// How it stands to the baseline.
    pub standing: Standing,
}

/// How a finding stands to the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The baseline does not have it, or there is none.
    New,
    /// It was not as bad.
    Worse,
    /// It is as it was.
    Known,
    /// It was worse.
    Better,
}

impl Standing {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Standing::New => "new",
            Standing::Worse => "worse",
            Standing::Known => "known",
            Standing::Better => "better",
        }
    }
}

/// What an HSA runtime answered when it was to load an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whether a device has loaded the object; none where none was there to try.
    pub loads: Option<bool>,
    /// The function that answered last.
    pub function: Option<&'static str>,
    /// Its status, 0 for success.
    pub status: Option<u32>,
    /// What that means, or why no runtime was asked.
    pub meaning: String,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.function, self.status) {
            (Some(function), Some(status)) => {
                write!(f, "{function} gives {status:#x}: {}", self.meaning)
            }
            _ => f.write_str(&self.meaning),
        }
    }
}

/// Where in the source a finding's code comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The file, as debug information names it.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The line itself, where its file is there.
    pub text: Option<String>,
}

impl Shown {
    /// A finding by itself.
    #[must_use]
    pub fn new(finding: Finding) -> Self {
        Self { finding, source: None, standing: Standing::New }
    }

    /// Whether it is new and at least as bad as this.
    #[must_use]
    pub fn fails(&self, fail_on: Severity) -> bool {
        self.is_new() && self.finding.severity >= fail_on
    }

    /// The kernel that it is about, as its author wrote it.
    #[must_use]
    pub fn kernel(&self) -> Option<Cow<'_, str>> {
        let name = self.finding.subject.kernel.as_deref()?;
        Some(demangle(name.as_bytes()).map_or(Cow::Borrowed(name), Cow::Owned))
    }

    /// Whether it counts: it is not in the baseline as bad as it is.
    #[must_use]
    pub fn is_new(&self) -> bool {
        matches!(self.standing, Standing::New | Standing::Worse)
    }

    /// Whether it is shown to people: what counts, and what is better than it was.
    #[must_use]
    pub fn is_told(&self) -> bool {
        self.standing != Standing::Known
    }

    /// The field without the number of its kernel, which the next build may give another: the kernel's name tells.
    #[must_use]
    pub fn lasting_field(&self) -> Option<&str> {
        let Subject { kernel, field, .. } = &self.finding.subject;
        let field = field.as_deref()?;
        let inside = field.strip_prefix("amdhsa.kernels[").and_then(|it| it.split_once(']'));
        Some(inside.filter(|_| kernel.is_some()).map_or(field, |(_, key)| key))
    }
}

impl FileResult {
    /// All findings, with their devices.
    pub fn findings(&self) -> impl Iterator<Item = (&DeviceResult, &Shown)> {
        self.devices.iter().flat_map(|device| device.findings.iter().map(move |it| (device, it)))
    }

    /// The object with this number; without one, the only object.
    #[must_use]
    pub fn object(&self, number: Option<usize>) -> Option<&ObjectInfo> {
        match (number, self.objects.as_slice()) {
            (Some(number), objects) => objects.iter().find(|it| it.number == number),
            (None, [only]) => Some(only),
            (None, _) => None,
        }
    }

    /// The target of the object that a finding is about.
    #[must_use]
    pub fn target(&self, shown: &Shown) -> Option<&str> {
        self.object(shown.finding.subject.object)?.target.as_deref()
    }

    /// What a finding is about, before what is wrong with it: the kernel as it was written, and the target.
    #[must_use]
    pub fn about(&self, shown: &Shown) -> String {
        match (shown.kernel(), self.target(shown)) {
            (Some(kernel), Some(target)) => format!("{kernel} ({target}): "),
            (Some(kernel), None) => format!("{kernel}: "),
            (None, Some(target)) => format!("{target}: "),
            (None, None) => String::new(),
        }
    }

    /// How to call the file of a finding: with the object, where there are several.
    #[must_use]
    pub fn place(&self, shown: &Shown) -> String {
        match shown.finding.subject.object.and_then(|number| self.object(Some(number))) {
            Some(ObjectInfo { number, target: Some(target), .. }) => {
                format!("{} (object {number}, {target})", self.name)
            }
            Some(ObjectInfo { number, .. }) => format!("{} (object {number})", self.name),
            None => self.name.clone(),
        }
    }
}

impl DeviceResult {
    /// What a check says of a file, without what is not to be shown.
    pub fn new(
        device: Option<&Device>,
        report: Report,
        shows: impl Fn(&Finding) -> bool,
        source: impl Fn(&Finding) -> Option<SourceLine>,
    ) -> Self {
        let all = report.findings.len();
        let shown = report.findings.into_iter().filter(shows);
        let shown = shown.map(|finding| Shown { source: source(&finding), ..Shown::new(finding) });
        let findings: Vec<Shown> = shown.collect();
        Self {
            device: device.map(|it| it.name.to_string()),
            objects: report.objects,
            skipped: report.skipped,
            kernels: report.kernels,
            hidden: all - findings.len(),
            better: 0,
            measures: report.measures,
            findings,
        }
    }

    /// Whether something new is at least as bad as this.
    #[must_use]
    pub fn fails(&self, fail_on: Severity) -> bool {
        self.findings.iter().any(|it| it.fails(fail_on))
    }

    /// Whether no object of the file was wanted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects == 0 && self.findings.is_empty()
    }

    /// How many new findings are just as bad as this.
    #[must_use]
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|it| it.is_new() && it.finding.severity == severity).count()
    }
}
