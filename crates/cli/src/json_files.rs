//! Verbs that make the JSON of objects themselves.

use std::io::Write as _;

use anyhow::Result;

use crate::args::{Inputs, ObjectFilter};
use crate::frame::{self, Frame, Rows};
use crate::output::Output;
use crate::report::{Status, Trouble};
use crate::scan::{ObjectItem, Verify};

/// JSON in pieces that follow each other.
pub(crate) type Pieces = Vec<Vec<u8>>;

/// Writes one document, with for each wanted object the JSON that `read` makes of it.
pub(crate) fn run(
    out: &mut Output,
    inputs: &Inputs,
    filter: &ObjectFilter,
    verify: Verify,
    read: impl Fn(&ObjectItem<'_, '_>, &mut Trouble) -> Result<Pieces> + Sync,
) -> Result<Status> {
    frame::run(&Made(read), Frame::json(), (inputs, filter, verify), out)
}

struct Made<R>(R);

impl<R> Rows for Made<R>
where
    R: Fn(&ObjectItem<'_, '_>, &mut Trouble) -> Result<Pieces> + Sync,
{
    type Row<'e> = Pieces;

    fn read(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Result<Pieces> {
        (self.0)(item, trouble)
    }

    fn write(&self, pieces: Pieces, out: &mut Output) -> Result<()> {
        Ok(pieces.iter().try_for_each(|piece| out.write_all(piece))?)
    }
}
