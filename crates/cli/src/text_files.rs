//! Verbs that write the pages of objects themselves.

use std::io::Write as _;

use anyhow::Result;

use crate::args::{Inputs, ObjectFilter};
use crate::frame::{self, Frame, Heading, Rows};
use crate::output::Output;
use crate::report::{Status, Trouble};
use crate::scan::{ObjectItem, Verify};
pub(crate) use crate::skeleton::Page;

/// Writes what each file is, and for each wanted object what `write` puts on its page.
pub(crate) fn run(
    out: &mut Output,
    inputs: &Inputs,
    filter: &ObjectFilter,
    write: impl Fn(&mut Page, &ObjectItem<'_, '_>, &mut Trouble) -> Result<()> + Sync,
) -> Result<Status> {
    let made = Made { write, color: out.color() };
    let frame = Frame::text(Heading::Container, inputs);
    frame::run(&made, frame, (inputs, filter, Verify::All), out)
}

struct Made<W> {
    write: W,
    color: bool,
}

impl<W> Rows for Made<W>
where
    W: Fn(&mut Page, &ObjectItem<'_, '_>, &mut Trouble) -> Result<()> + Sync,
{
    type Row<'e> = Vec<u8>;

    fn read(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Result<Vec<u8>> {
        let mut page = Page { out: Vec::new(), color: self.color };
        (self.write)(&mut page, item, trouble)?;
        Ok(page.out)
    }

    fn write(&self, page: Vec<u8>, out: &mut Output) -> Result<()> {
        Ok(out.write_all(&page)?)
    }
}
