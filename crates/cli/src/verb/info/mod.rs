//! `hsaco info`: everything about an object or a kernel.

mod model;
mod row;
mod text;

use std::io::Write;

use anyhow::Result;
use hsaco::container::{Container, Entry};

use crate::args::{Answer, Format, Inputs, KernelFilter, ObjectFilter};
use crate::output::Output;
use crate::report::{Status, Trouble};
use crate::scan::{self, FileItem, ObjectItem, Verify, Visit};
use crate::schema::{FileStream, OtherEntry};
use crate::select::KernelSelection;
use crate::text_files::describe;

use row::Row;

/// Shows everything about code objects and kernels
///
/// Header, target, segments, sections, notes, metadata, kernels with every descriptor field and
/// argument, symbols and relocations. With --kernel only those kernels.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    objects: ObjectFilter,
    #[command(flatten)]
    kernels: KernelFilter,
    #[command(flatten)]
    answer: Answer,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.answer.color.apply();
    let mut out = Output::answer(&args.answer)?;
    let kernels = KernelSelection::new(&args.kernels);
    let status = match args.answer.format {
        Format::Json => {
            let stream = FileStream::begin(&mut out)?;
            let mut visitor = JsonInfo { out: &mut out, stream, kernels: &kernels };
            let status = scan::run(&args.inputs, &args.objects, Verify::All, &mut visitor)?;
            let JsonInfo { stream, .. } = visitor;
            stream.end(&mut out)?;
            status
        }
        Format::Text => {
            let mut visitor = TextInfo { out: &mut out, kernels: &kernels };
            scan::run(&args.inputs, &args.objects, Verify::All, &mut visitor)?
        }
    };
    out.finish()?;
    Ok(kernels.conclude(status))
}

/// Shows objects to people.
struct TextInfo<'i> {
    out: &'i mut Output,
    kernels: &'i KernelSelection,
}

impl Visit for TextInfo<'_> {
    type Row<'e> = Row<'e>;

    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        // What is no container has been complained about, and has nothing to show.
        if let Some(container) = file.container {
            writeln!(self.out, "{}: {}", file.input.name, describe(container))?;
        }
        Ok(())
    }

    fn read<'e>(&self, item: &ObjectItem<'e, '_>, trouble: &mut Trouble) -> Result<Row<'e>> {
        Ok(Row::new(item, self.kernels, trouble))
    }

    fn object(&mut self, row: Row<'_>) -> Result<()> {
        row.write_text(self.out, self.kernels)
    }

    fn end(&mut self, _error: Option<&str>) -> Result<()> {
        Ok(())
    }
}

/// Shows objects to programs.
struct JsonInfo<'i> {
    out: &'i mut Output,
    stream: FileStream,
    kernels: &'i KernelSelection,
}

impl Visit for JsonInfo<'_> {
    type Row<'e> = Row<'e>;

    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        let container = file.container.map(Container::name);
        self.stream.begin_file(&file.input.name, container)
    }

    fn read<'e>(&self, item: &ObjectItem<'e, '_>, trouble: &mut Trouble) -> Result<Row<'e>> {
        Ok(Row::new(item, self.kernels, trouble))
    }

    fn object(&mut self, row: Row<'_>) -> Result<()> {
        self.stream.begin_object(self.out)?;
        row.write_json(self.out, self.kernels)
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
