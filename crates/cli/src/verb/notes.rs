//! `hsaco notes`: the notes of code objects, as `llvm-readelf --notes` shows them.

use anyhow::Result;
use hsaco_describe::notes::{Notes, readelf};
use serde::Serialize;

use crate::args::{Answer, Format, Inputs, ObjectFilter};
use crate::frame::Heading;
use crate::report::Status;
use crate::select::KernelSelection;
use crate::skeleton::{self, Asked, Look, Page, Verb};

/// Shows the notes of code objects: metadata as YAML, as llvm-readelf --notes prints it
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    objects: ObjectFilter,
    #[command(flatten)]
    answer: Answer,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    skeleton::run(args, Asked::new(&args.inputs, &args.objects, &args.answer))
}

/// An object in the form that was asked for.
#[derive(Default, Serialize)]
pub(crate) struct Row {
    #[serde(flatten)]
    notes: Notes,
    #[serde(skip)]
    text: Option<Vec<u8>>,
}

impl Verb for Args {
    type Row<'e> = Row;
    const HEADING: Heading = Heading::Readelf;
    const HAS_ENTRY_ID: bool = false;
    const IS_EXACT: bool = true;

    fn read(&self, look: &mut Look<'_, '_, '_>) -> Row {
        match self.answer.format {
            Format::Text => Row { text: readelf(look.item, look.trouble), ..Row::default() },
            Format::Json => Row { notes: Notes::new(look.item, look.trouble), text: None },
        }
    }

    fn text(&self, row: &Row, page: &mut Page) -> Result<()> {
        page.out.extend_from_slice(row.text.as_deref().unwrap_or_default());
        Ok(())
    }

    fn is_shown(&self, row: &Row, _: &KernelSelection) -> bool {
        row.text.is_some()
    }
}
