//! What a check says of an object, and of a file with all of its objects.

use hsaco_isa::TargetId;

use crate::budget::Measures;
use crate::device::Device;
use crate::facts::Place;
use crate::finding::{Finding, Severity, Subject};
use crate::rules;

/// What was found in one object. Those of one file together make its [`Report`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
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
    /// The device that leaves the object alone, because others of its container are for it.
    pub(crate) left_by: Option<Device>,
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
}

impl ObjectReport {
    /// Says of everything which object of a container it is in, and where in the file.
    pub(crate) fn place(&mut self, Place { number, offset: start }: Place) {
        for subject in self.findings.iter_mut().map(|finding| &mut finding.subject) {
            subject.object = Some(number);
            subject.offset = subject.offset.map(|offset| offset.saturating_add(start));
        }
        for measures in &mut self.measures {
            measures.object = Some(number);
        }
    }
}

impl FromIterator<ObjectReport> for Report {
    /// Puts the objects of one file together. A runtime takes those that its device runs and leaves the others of a
    /// container alone; a kernel that one object lacks may be in the next.
    fn from_iter<I: IntoIterator<Item = ObjectReport>>(objects: I) -> Self {
        let (left, taken): (Vec<_>, Vec<_>) =
            objects.into_iter().partition(|it| it.left_by.is_some());
        let mut report = Self { objects: taken.len(), skipped: left.len(), ..Self::default() };
        if let Some(device) = left.first().and_then(|it| it.left_by.as_ref())
            && !taken.iter().any(|it| it.runs)
        {
            let targets: Vec<TargetId> = left.iter().filter_map(|it| it.target).collect();
            report.findings.push(rules::none_fits(device, &targets));
        }
        let mut missing = Vec::new();
        for object in taken {
            report.kernels += object.kernels;
            report.measures.extend(object.measures);
            let is_missing = |it: &Finding| it.rule == rules::KERNEL_NOT_FOUND;
            let (absent, others): (Vec<_>, Vec<_>) =
                object.findings.into_iter().partition(is_missing);
            missing.extend(absent);
            report.findings.extend(others);
        }
        report.findings.extend(missing_everywhere(missing, report.objects));
        report
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
