//! Every entry of every input, with the bundle of the file that it belongs to.

use anyhow::Result;
use hsaco::container::{Container, WalkOptions};
use hsaco_files::{EntryItem, UnpackedEntries};

use crate::input::{self, Input};
use crate::report::{Report, Status, Trouble};
use crate::select::ObjectSelection;

/// What is done with the entries.
pub(super) trait Sink {
    fn begin(&mut self, _input: &Input, _container: Option<Container>) -> Result<()> {
        Ok(())
    }
    fn entry(&mut self, input: &Input, item: &EntryItem<'_, '_>) -> Result<()>;
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
    options: &WalkOptions,
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
    options: &WalkOptions,
    sink: &mut dyn Sink,
    report: &mut Report,
) -> Result<()> {
    let container = Container::detect(input);
    let mut entries = UnpackedEntries::new(input, options, None).peekable();
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
        let mut trouble = Trouble::default();
        let item = EntryItem::new(number, &entry, selection, &mut trouble);
        report.trouble(trouble);
        sink.entry(input, &item)?;
        if let Some(offset) = entry.offset {
            input.release(offset, entry.data.len() as u64);
        }
    }
    if objects == 0 && whole {
        report.no_code();
    }
    sink.end(input, whole, report)
}
