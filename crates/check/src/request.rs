//! The objects of a file against many devices, and the file's result.

use crate::checker::Checker;
use crate::device::Device;
use crate::facts::Facts;
use crate::finding::Finding;
use crate::launch::LaunchFacts;
use crate::report::{ObjectReport, Report};
use crate::result::{DeviceResult, FileResult, ObjectInfo, SourceLine};
use crate::source::Sources;

/// What the objects of files are held against, and which findings are shown.
///
/// ```
/// use hsaco_check::{Checker, Device, Facts, LaunchFacts, Request, Severity};
/// let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
/// let devices: Vec<Device> = vec!["gfx942".parse()?, "gfx950".parse()?];
/// let (checker, launch) = (Checker::new(), LaunchFacts::default());
/// let request =
///     Request { checker: &checker, devices: &devices, launch: &launch, shows: &|_| true };
/// let object = request.object(0, None, &Facts::read(&file), |_, _| None);
/// let result = request.result("s1.co", vec![object]);
/// let refused: Vec<bool> = result.devices.iter().map(|it| it.fails(Severity::Error)).collect();
/// assert_eq!(refused, [false, true]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Request<'r> {
    /// By which rules.
    pub checker: &'r Checker,
    /// Against which devices; without any, each object against its own.
    pub devices: &'r [Device],
    /// In which launch.
    pub launch: &'r LaunchFacts,
    /// Which findings are shown.
    pub shows: &'r (dyn Fn(&Finding) -> bool + Sync),
}

/// An object with a report for each device, and the source lines of its findings.
pub struct CheckedObject {
    /// Which object it is.
    pub info: ObjectInfo,
    reports: Vec<ObjectReport>,
    sources: Sources,
}

impl Request<'_> {
    /// The devices, one after the other; without any, once each object's own.
    fn questions(&self) -> impl Iterator<Item = Option<&Device>> {
        let own = self.devices.is_empty().then_some(None);
        self.devices.iter().map(Some).chain(own)
    }

    /// Checks an object of a file; `text` reads a line of a source file, counted from 1.
    pub fn object(
        &self,
        number: usize,
        entry_id: Option<String>,
        facts: &Facts<'_>,
        text: impl Fn(&str, u32) -> Option<String>,
    ) -> CheckedObject {
        let ask = |device| self.checker.object(facts, device, self.launch);
        let reports: Vec<ObjectReport> = self.questions().map(ask).collect();
        let findings = reports.iter().flat_map(|it| &it.findings);
        let sources = Sources::new(facts, findings.filter(|it| (self.shows)(it)), text);
        let target = facts.object().map(|it| it.target().to_string());
        let info = ObjectInfo { number, entry_id, target, probe: None };
        CheckedObject { info, reports, sources }
    }

    /// The result of a file, its objects put together device by device.
    #[must_use]
    pub fn result(&self, name: &str, objects: Vec<CheckedObject>) -> FileResult {
        let mut per_device: Vec<Vec<ObjectReport>> = self.questions().map(|_| Vec::new()).collect();
        let (mut infos, mut sources) = (Vec::new(), Vec::new());
        for object in objects {
            for (all, report) in per_device.iter_mut().zip(object.reports) {
                all.push(report);
            }
            sources.push((object.info.number, object.sources));
            infos.push(object.info);
        }
        let devices = self.questions().zip(per_device).map(|(device, reports)| {
            let source = |finding: &Finding| located(&sources, finding).cloned();
            DeviceResult::new(device, Report::from_iter(reports), self.shows, source)
        });
        FileResult { name: name.to_owned(), devices: devices.collect(), objects: infos }
    }

    /// The result of a file in which there are no objects: what is wrong with the file.
    #[must_use]
    pub fn without_objects(&self, name: &str, file: &[u8]) -> FileResult {
        let devices = self.questions().map(|device| {
            let report = self.checker.file(file, device, self.launch);
            DeviceResult::new(device, report, self.shows, |_| None)
        });
        FileResult { name: name.to_owned(), devices: devices.collect(), objects: Vec::new() }
    }
}

/// The source line of a finding, by the object that it is in.
fn located<'s>(sources: &'s [(usize, Sources)], finding: &Finding) -> Option<&'s SourceLine> {
    let number = finding.subject.object.or_else(|| sources.first().map(|(number, _)| *number))?;
    let (_, lines) = sources.iter().find(|(it, _)| *it == number)?;
    lines.line(finding)
}
