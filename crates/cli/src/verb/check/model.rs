//! What was found, as every format shows it.

use hsaco::check::{Finding, Severity, Subject};

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
    pub(super) findings: Vec<Shown>,
    /// Notes that are left out.
    pub(super) hidden: usize,
}

/// A finding, and what belongs to it.
pub(super) struct Shown {
    pub(super) finding: Finding,
    pub(super) source: Option<SourceLine>,
    /// Whether no baseline has it.
    pub(super) is_new: bool,
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
        self.findings.iter().any(|it| it.is_new && fail_on.includes(it.finding.severity))
    }

    pub(super) fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|it| it.is_new && it.finding.severity == severity).count()
    }
}
