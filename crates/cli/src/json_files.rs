//! The answer that all verbs on objects share in JSON: files, and in each its objects.

use anyhow::Result;
use hsaco::object::container::{Container, Entry};

use crate::args::{Inputs, ObjectFilter};
use crate::output::Output;
use crate::report::{Status, Trouble};
use crate::scan::{self, FileItem, ObjectItem, Verify, Visit};
use crate::schema::{FileStream, OtherEntry, Pieces};

/// Writes one document, with for each wanted object the JSON that `read` makes of it.
pub(crate) fn run(
    out: &mut Output,
    inputs: &Inputs,
    filter: &ObjectFilter,
    verify: Verify,
    read: impl Fn(&ObjectItem<'_, '_>, &mut Trouble) -> Result<Pieces> + Sync,
) -> Result<Status> {
    write(out, inputs, filter, verify, read, false)
}

/// As [`run`], for a verb that has an answer for files without objects, too.
pub(crate) fn list(
    out: &mut Output,
    inputs: &Inputs,
    filter: &ObjectFilter,
    verify: Verify,
    read: impl Fn(&ObjectItem<'_, '_>, &mut Trouble) -> Result<Pieces> + Sync,
) -> Result<Status> {
    write(out, inputs, filter, verify, read, true)
}

fn write(
    out: &mut Output,
    inputs: &Inputs,
    filter: &ObjectFilter,
    verify: Verify,
    read: impl Fn(&ObjectItem<'_, '_>, &mut Trouble) -> Result<Pieces> + Sync,
    takes_any_file: bool,
) -> Result<Status> {
    let stream = FileStream::begin(out)?;
    let mut visitor = JsonFiles { out, stream, read, takes_any_file };
    let status = scan::run(inputs, filter, verify, &mut visitor)?;
    let JsonFiles { out, stream, .. } = visitor;
    stream.end(out)?;
    Ok(status)
}

struct JsonFiles<'o, R> {
    out: &'o mut Output,
    stream: FileStream,
    read: R,
    takes_any_file: bool,
}

impl<R> Visit for JsonFiles<'_, R>
where
    R: Fn(&ObjectItem<'_, '_>, &mut Trouble) -> Result<Pieces> + Sync,
{
    type Row<'e> = Pieces;

    fn takes_any_file(&self) -> bool {
        self.takes_any_file
    }

    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        let container = file.container.map(Container::name);
        self.stream.begin_file(self.out, &file.input.name, container)
    }

    fn read(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Result<Pieces> {
        (self.read)(item, trouble)
    }

    fn object(&mut self, row: Pieces) -> Result<()> {
        self.stream.object(self.out, &row)
    }

    fn other(&mut self, entry: &Entry<'_>) -> Result<()> {
        self.stream.other(OtherEntry::new(entry));
        Ok(())
    }

    fn unopened(&mut self, name: &str, error: Option<&str>) -> Result<()> {
        self.stream.begin_file(self.out, name, None)?;
        self.end(error)
    }

    fn end(&mut self, error: Option<&str>) -> Result<()> {
        self.stream.end_file(self.out, error)
    }
}
