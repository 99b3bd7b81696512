//! What was found, as every format shows it.

use hsaco::check::{Finding, Measures, Severity, Subject};

use crate::verb::ls::source_name;

use super::options::FailOn;
use super::probe::Answer;

/// One file.
pub(super) struct FileResult {
    pub(super) name: String,
    pub(super) objects: Vec<ObjectInfo>,
    /// One for each device; without devices one, in which each object is held against its own.
    pub(super) devices: Vec<DeviceResult>,
}

/// One object of a file.
pub(super) struct ObjectInfo {
    pub(super) number: usize,
    pub(super) entry_id: Option<String>,
    pub(super) target: Option<String>,
    /// What the HSA runtime of this machine makes of it.
    pub(super) probe: Option<Answer>,
}

/// A file against one device.
pub(super) struct DeviceResult {
    pub(super) device: Option<String>,
    pub(super) objects: usize,
    pub(super) skipped: usize,
    pub(super) kernels: usize,
    pub(super) findings: Vec<Shown>,
    /// Notes that are left out.
    pub(super) hidden: usize,
    /// Kernels that use less than the baseline says.
    pub(super) better: usize,
    /// What kernels use, where a baseline asks for it.
    pub(super) measures: Vec<Measures>,
}

/// A finding, and what belongs to it.
pub(super) struct Shown {
    pub(super) finding: Finding,
    pub(super) source: Option<SourceLine>,
    pub(super) standing: Standing,
}

/// How a finding stands to the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// The baseline does not have it, or there is none.
    New,
    /// It was not as bad.
    Worse,
    Known,
    /// It was worse.
    Better,
}

impl Standing {
    pub(super) fn name(self) -> &'static str {
        match self {
            Standing::New => "new",
            Standing::Worse => "worse",
            Standing::Known => "known",
            Standing::Better => "better",
        }
    }
}

/// Where in the source a finding's code comes from.
#[derive(Clone)]
pub(super) struct SourceLine {
    pub(super) file: String,
    pub(super) line: u32,
    /// The line itself, where its file is on this machine.
    pub(super) text: Option<String>,
}

impl Shown {
    /// Whether it counts: it is not in the baseline as bad as it is.
    pub(super) fn is_new(&self) -> bool {
        matches!(self.standing, Standing::New | Standing::Worse)
    }

    /// Whether it is shown to people: what counts, and what is better than it was.
    pub(super) fn is_told(&self) -> bool {
        self.standing != Standing::Known
    }

    /// The field without the number of its kernel, which the next build may give another: the kernel's name tells.
    pub(super) fn lasting_field(&self) -> Option<&str> {
        let Subject { kernel, field, .. } = &self.finding.subject;
        let field = field.as_deref()?;
        let inside = field.strip_prefix("amdhsa.kernels[").and_then(|it| it.split_once(']'));
        Some(inside.filter(|_| kernel.is_some()).map_or(field, |(_, key)| key))
    }
}

impl FileResult {
    /// All findings, with their devices.
    pub(super) fn findings(&self) -> impl Iterator<Item = (&DeviceResult, &Shown)> {
        self.devices.iter().flat_map(|device| device.findings.iter().map(move |it| (device, it)))
    }

    pub(super) fn object(&self, number: Option<usize>) -> Option<&ObjectInfo> {
        match (number, self.objects.as_slice()) {
            (Some(number), objects) => objects.iter().find(|it| it.number == number),
            (None, [only]) => Some(only),
            (None, _) => None,
        }
    }

    /// The target of the object that a finding is about.
    pub(super) fn target(&self, shown: &Shown) -> Option<&str> {
        self.object(shown.finding.subject.object)?.target.as_deref()
    }

    /// What a finding is about, before what is wrong with it: the kernel as it was written, and the target.
    pub(super) fn about(&self, shown: &Shown) -> String {
        let kernel = shown.finding.subject.kernel.as_deref();
        match (kernel.map(|name| source_name(name.into())), self.target(shown)) {
            (Some(kernel), Some(target)) => format!("{kernel} ({target}): "),
            (Some(kernel), None) => format!("{kernel}: "),
            (None, Some(target)) => format!("{target}: "),
            (None, None) => String::new(),
        }
    }

    /// How to call the file of a finding: with the object, where there are several.
    pub(super) fn place(&self, shown: &Shown) -> String {
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
    pub(super) fn fails(&self, fail_on: FailOn) -> bool {
        self.findings.iter().any(|it| it.is_new() && fail_on.includes(it.finding.severity))
    }

    /// Whether no object of the file was wanted.
    pub(super) fn is_empty(&self) -> bool {
        self.objects == 0 && self.findings.is_empty()
    }

    pub(super) fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|it| it.is_new() && it.finding.severity == severity).count()
    }
}
