//! The objects of every file, each checked against every device.

use anyhow::Result;
use hsaco::check::result::FileResult;
use hsaco::check::{CheckedObject, Facts, Finding, Request};
use hsaco::container::{Container, Entry, EntryKind};
use hsaco_files::{Batches, Met, map_objects};
use hsaco_probe::HsaRuntime;

use crate::input::{self, Input};
use crate::report::Report;
use crate::scan::Verify;
use crate::select::ObjectSelection;
use crate::source_files::SourceFiles;

use super::options::{Args, Settings};

/// Checks every file; what cannot be opened is reported.
pub(super) fn files(
    args: &Args,
    settings: &Settings,
    report: &mut Report,
) -> Result<Vec<FileResult>> {
    let selection = ObjectSelection::new(&settings.objects)?;
    let probe = args.probe.then(HsaRuntime::new);
    let shows = |finding: &Finding| settings.shows(finding);
    let request = Request {
        checker: &settings.checker,
        devices: &settings.devices,
        launch: &settings.launch,
        shows: &shows,
    };
    let sources = SourceFiles::default();
    let walk = Walk { args, settings, request, selection, probe, sources };
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
    request: Request<'w>,
    selection: ObjectSelection,
    probe: Option<HsaRuntime>,
    sources: SourceFiles,
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
            return Some(self.request.result(&input.name, objects.into_iter().collect()));
        }
        let (mut objects, mut has_objects) = (Vec::new(), false);
        let options = Verify::Unpacked.options(self.args.inputs.max_size, &self.selection);
        for met in Batches::new(input, &options, &self.selection) {
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
            true => Some(self.request.result(&input.name, objects)),
            false if input.found => None,
            // The library says what is wrong with a file that holds nothing.
            false => Some(self.request.without_objects(&input.name, input)),
        }
    }

    /// Checks an object of a container, if it is wanted.
    fn entry(&self, number: usize, entry: &Entry<'_>) -> Option<CheckedObject> {
        // What was not unpacked is for a target that is not wanted.
        let facts = (entry.kind != EntryKind::Unread).then(|| Facts::of_entry(number, entry))??;
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
        let entry_id = entry.and_then(|it| it.id.clone());
        let text = |file: &str, line| self.sources.line(file, line);
        let mut object = self.request.object(number, entry_id, facts, text);
        object.info.probe = self.probe.as_ref().map(|probe| probe.load(data));
        object
    }
}
