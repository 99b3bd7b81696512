//! The answer that all verbs on objects share in JSON: files, and in each its objects.

use anyhow::Result;
use hsaco::container::{Container, Entry};

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
    let read = |item: &ObjectItem<'_, '_>, trouble: &mut Trouble| read(item, trouble).map(Some);
    let stream = FileStream::begin(out)?;
    JsonFiles { out, stream, read, takes_any_file: false }.walk(inputs, filter, verify)
}

/// As [`run`], for a verb that has an answer for files without objects. With `leaves_out_empty` it has none, and objects
/// of which `read` makes nothing are left out as well.
pub(crate) fn list(
    out: &mut Output,
    inputs: &Inputs,
    filter: &ObjectFilter,
    verify: Verify,
    leaves_out_empty: bool,
    read: impl Fn(&ObjectItem<'_, '_>, &mut Trouble) -> Result<Option<Pieces>> + Sync,
) -> Result<Status> {
    let stream = FileStream::begin(out)?.leaving_out_empty(leaves_out_empty);
    JsonFiles { out, stream, read, takes_any_file: true }.walk(inputs, filter, verify)
}

struct JsonFiles<'o, R> {
    out: &'o mut Output,
    stream: FileStream,
    read: R,
    takes_any_file: bool,
}

impl<R> JsonFiles<'_, R>
where
    R: Fn(&ObjectItem<'_, '_>, &mut Trouble) -> Result<Option<Pieces>> + Sync,
{
    fn walk(mut self, inputs: &Inputs, filter: &ObjectFilter, verify: Verify) -> Result<Status> {
        let status = scan::run(inputs, filter, verify, &mut self)?;
        self.stream.end(self.out)?;
        Ok(status)
    }
}

impl<R> Visit for JsonFiles<'_, R>
where
    R: Fn(&ObjectItem<'_, '_>, &mut Trouble) -> Result<Option<Pieces>> + Sync,
{
    type Row<'e> = Option<Pieces>;

    fn takes_any_file(&self) -> bool {
        self.takes_any_file
    }

    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        let container = file.container.map(Container::name);
        self.stream.begin_file(&file.input.name, container)
    }

    fn read(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Result<Option<Pieces>> {
        (self.read)(item, trouble)
    }

    fn object(&mut self, row: Option<Pieces>) -> Result<()> {
        row.map_or(Ok(()), |row| self.stream.object(self.out, &row))
    }

    fn other(&mut self, entry: &Entry<'_>) -> Result<()> {
        self.stream.other(OtherEntry::new(entry));
        Ok(())
    }

    fn unopened(&mut self, name: &str, error: Option<&str>) -> Result<()> {
        self.stream.begin_file(name, None)?;
        self.end(error)
    }

    fn end(&mut self, error: Option<&str>) -> Result<()> {
        self.stream.end_file(self.out, error)
    }
}
