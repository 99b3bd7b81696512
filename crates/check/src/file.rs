//! Files: a code object, or a container of which a runtime takes what fits its device.

use hsaco_isa::TargetId;
use hsaco_object::Error;
use hsaco_object::container::{Container, Entry, EntryKind, Options, entries};

use crate::budget::Measures;
use crate::checker::Checker;
use crate::device::Device;
use crate::finding::{Finding, Severity, Subject};
use crate::rules;

/// Checks a code object, or whatever carries some, against a device: what would go wrong when it is loaded there?
///
/// Headers, metadata and descriptors are looked at, code is not; [`Checker`] can do more.
///
/// ```
/// let file = std::fs::read("../../tests/fixtures/s1.gfx11-generic.co")?;
/// assert!(hsaco_check::check(&file, &"gfx1151".parse()?).passes());
/// assert!(!hsaco_check::check(&file, &"gfx1201".parse()?).passes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn check(bytes: &[u8], device: &Device) -> Report {
    Checker::new().device(device.clone()).file(bytes)
}

/// What was found in one object.
#[derive(Clone, Debug, Default)]
pub struct ObjectReport {
    /// What the object is for, if that is known.
    pub target: Option<TargetId>,
    /// Whether the device takes objects of that target.
    pub runs: bool,
    /// How many kernels were looked at.
    pub kernels: usize,
    /// What is wrong, of the object first, then kernel by kernel.
    pub findings: Vec<Finding>,
    /// What kernels use, if that was asked for.
    pub measures: Vec<Measures>,
}

/// What was found in one file.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// What is wrong, object by object.
    pub findings: Vec<Finding>,
    /// How many objects were looked at.
    pub objects: usize,
    /// How many of a container's objects are for other devices.
    pub skipped: usize,
    /// How many kernels were looked at.
    pub kernels: usize,
    /// What kernels use, if that was asked for.
    pub measures: Vec<Measures>,
}

impl Report {
    /// Whether the device takes it and runs it as it is meant: no finding is an error.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.worst() < Some(Severity::Error)
    }

    /// How bad the worst finding is.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    pub(crate) fn of_file(checker: &Checker, bytes: &[u8]) -> Self {
        if !matches!(Container::detect(bytes), Some(container) if container != Container::CodeObject)
        {
            return Self::of_objects(checker, vec![checker.object(bytes)], false);
        }
        let (mut objects, mut broken, mut number) = (Vec::new(), Vec::new(), 0);
        for entry in entries(bytes, &Options::default()) {
            match entry {
                Ok(entry) if entry.is_object() => {
                    objects.extend(Self::of_entry(checker, number, &entry));
                    number += 1;
                }
                Ok(_) => {}
                Err(error) => broken.push(rules::unreadable(&error)),
            }
        }
        if objects.is_empty() && broken.is_empty() {
            broken.push(rules::unreadable(&Error::new(
                hsaco_object::ErrorKind::NotRecognised,
                "file",
                "it holds no code object",
            )));
        }
        let mut report = Self::of_objects(checker, objects, true);
        report.findings.splice(0..0, broken);
        report
    }

    /// What is found in an entry; nothing for what has yet to be compiled.
    fn of_entry(checker: &Checker, number: usize, entry: &Entry<'_>) -> Option<ObjectReport> {
        if matches!(entry.kind, EntryKind::Bitcode | EntryKind::Spirv | EntryKind::Empty) {
            return None;
        }
        let mut report = checker.entry(&entry.data);
        report.place(number, entry.offset.unwrap_or(0));
        Some(report)
    }

    /// Puts the objects of one file together. A runtime takes those that its device runs and leaves the others of a
    /// container alone; a kernel that one object lacks may be in the next.
    #[must_use]
    pub fn of_objects(
        checker: &Checker,
        mut objects: Vec<ObjectReport>,
        in_container: bool,
    ) -> Self {
        let all = objects.len();
        let mut findings = Vec::new();
        if in_container {
            let some_run = objects.iter().any(|it| it.runs);
            let targets: Vec<TargetId> = objects.iter().filter_map(|it| it.target).collect();
            // What is no object at all stays.
            objects.retain(|it| it.runs || it.target.is_none());
            if let Some(device) =
                checker.checked_device().filter(|_| !some_run && !targets.is_empty())
            {
                findings.push(rules::none_fits(device, &targets));
            }
        }
        let (taken, mut missing) = (objects.len(), Vec::<Finding>::new());
        let kernels = objects.iter().map(|it| it.kernels).sum();
        let mut measures = Vec::new();
        for object in &mut objects {
            measures.append(&mut object.measures);
            let (absent, others) = std::mem::take(&mut object.findings)
                .into_iter()
                .partition::<Vec<_>, _>(|it| it.rule == rules::KERNEL_NOT_FOUND);
            missing.extend(absent);
            findings.extend(others);
        }
        findings.extend(missing_everywhere(missing, taken));
        Self { findings, objects: taken, skipped: all - taken, kernels, measures }
    }
}

impl ObjectReport {
    /// Says of each finding which object of a file it is in, and where in the file.
    pub fn place(&mut self, number: usize, base: u64) {
        for subject in self.findings.iter_mut().map(|finding| &mut finding.subject) {
            subject.object = Some(number);
            subject.offset = subject.offset.map(|offset| offset.saturating_add(base));
        }
        for measures in &mut self.measures {
            measures.object = Some(number);
        }
    }
}

/// Of the kernels that objects lack those that all of them do, each once.
fn missing_everywhere(missing: Vec<Finding>, objects: usize) -> Vec<Finding> {
    let mut kept: Vec<(Finding, usize)> = Vec::new();
    for finding in missing {
        let same = |subject: &Subject| subject.kernel == finding.subject.kernel;
        match kept.iter_mut().find(|(known, _)| same(&known.subject)) {
            Some((_, count)) => *count += 1,
            None => kept.push((finding, 1)),
        }
    }
    kept.into_iter().filter(|(_, count)| *count == objects).map(|(finding, _)| finding).collect()
}
