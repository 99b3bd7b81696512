//! Every entry of every input, with the bundle of the file that it belongs to.

use anyhow::Result;
use hsaco::container::{self, Container, Entry, Options, Step, Trail};

use crate::input::{self, Input};
use crate::report::{Report, Status, Trouble};
use crate::scan::ObjectItem;
use crate::select::ObjectSelection;

/// One entry of a file.
pub(super) struct Item<'e, 'a> {
    /// Its number among the file's objects; the host's entries have none.
    pub(super) number: Option<usize>,
    pub(super) entry: &'e Entry<'a>,
    /// The target: of the object, else of the entry's id.
    pub(super) target: Option<String>,
    /// Whether the command line asks for it.
    pub(super) wanted: bool,
}

/// What is done with the entries.
pub(super) trait Sink {
    fn begin(&mut self, _input: &Input, _container: Option<Container>) -> Result<()> {
        Ok(())
    }
    fn entry(&mut self, input: &Input, item: &Item<'_, '_>, report: &mut Report) -> Result<()>;
    /// The file is over; it is whole if every container in it could be followed to its end.
    fn end(&mut self, _input: &Input, _whole: bool, _report: &mut Report) -> Result<()> {
        Ok(())
    }
    fn unopened(&mut self, _name: &str, _report: &Report) -> Result<()> {
        Ok(())
    }
}

/// Shows a sink every entry of every file.
pub(super) fn run(
    files: &[std::ffi::OsString],
    selection: &ObjectSelection,
    options: &Options,
    sink: &mut dyn Sink,
) -> Result<Status> {
    let mut report = Report::default();
    for input in input::inputs(files) {
        match input {
            Ok(input) => {
                report.begin(&input.name);
                walk(&input, selection, options, sink, &mut report)?;
            }
            Err(unopened) => {
                report.begin(&unopened.name);
                report.failure(&unopened.error);
                sink.unopened(&unopened.name, &report)?;
            }
        }
    }
    Ok(report.conclude(files))
}

fn walk(
    input: &Input,
    selection: &ObjectSelection,
    options: &Options,
    sink: &mut dyn Sink,
    report: &mut Report,
) -> Result<()> {
    let container = Container::detect(input);
    let mut entries = container::entries(input, options).peekable();
    if input.found && (container.is_none() || entries.peek().is_none()) {
        return Ok(());
    }
    report.look_into();
    sink.begin(input, container)?;
    let (mut whole, mut objects) = (true, 0);
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                whole = false;
                report.problem("", &error);
                continue;
            }
        };
        let number = entry.is_object().then_some(objects);
        objects += usize::from(number.is_some());
        let item = judge(&entry, number, selection, report);
        sink.entry(input, &item, report)?;
        if let Some(offset) = entry.offset {
            input.release(offset, entry.data.len() as u64);
        }
    }
    if objects == 0 && whole {
        report.no_code();
    }
    sink.end(input, whole, report)
}

fn judge<'e, 'a>(
    entry: &'e Entry<'a>,
    number: Option<usize>,
    selection: &ObjectSelection,
    report: &mut Report,
) -> Item<'e, 'a> {
    let Some(at) = number else {
        return Item { number, entry, target: None, wanted: true };
    };
    let mut trouble = Trouble::default();
    let object = ObjectItem::new(at, entry, &mut trouble);
    report.trouble(trouble);
    let wanted = object.is_wanted(selection);
    Item { number, entry, target: object.target, wanted }
}

/// A bundle, plain or compressed, among the bytes of a file.
#[derive(Debug)]
pub(super) struct Place {
    /// Where it begins.
    pub(super) offset: u64,
    /// What it lies in: bundles with the same surroundings lie in one section.
    pub(super) outer: Vec<Step>,
    /// Its entries, those of bundles within it included.
    pub(super) contents: Vec<Content>,
}

/// An entry of a [`Place`].
#[derive(Debug)]
pub(super) struct Content {
    pub(super) id: Option<String>,
    pub(super) size: u64,
    /// Whether the entry stands in the table of the bundle itself.
    pub(super) is_direct: bool,
    /// The file that it was written to.
    pub(super) file: Option<String>,
}

/// The bundles of one file, in its order.
#[derive(Debug, Default)]
pub(super) struct Places(pub(super) Vec<Place>);

impl Places {
    /// Adds an entry to the bundle that it lies in; false if it lies in none.
    pub(super) fn add(&mut self, entry: &Entry<'_>, file: Option<String>) -> bool {
        let Some((offset, depth, outer)) = outermost_bundle(&entry.trail) else {
            return false;
        };
        if self.0.last().is_none_or(|last| last.offset != offset) {
            self.0.push(Place { offset, outer, contents: Vec::new() });
        }
        let is_direct = entry.trail.depth() == depth;
        let (id, size) = (entry.id.clone(), entry.data.len() as u64);
        if let Some(place) = self.0.last_mut() {
            place.contents.push(Content { id, size, is_direct, file });
        }
        true
    }
}

/// Where the outermost bundle of a trail begins, how deep its own entries are, and what it lies in.
fn outermost_bundle(trail: &Trail) -> Option<(u64, usize, Vec<Step>)> {
    let steps = trail.steps();
    let is_bundle =
        |step: &&Step| matches!(step.container, Container::Bundle | Container::CompressedBundle);
    let at = steps.iter().position(is_bundle)?;
    let (outer, inner) = steps.split_at_checked(at)?;
    let first = inner.first()?;
    // Behind the compressed bundle comes the plain one that it unfolds to.
    let depth = at + if first.container == Container::CompressedBundle { 2 } else { 1 };
    Some((first.offset?, depth, outer.iter().map(|&step| step.clone()).collect()))
}
