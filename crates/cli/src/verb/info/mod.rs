//! `hsaco info`: everything about an object or a kernel.

mod model;
mod text;

use anyhow::Result;
use hsaco::object::container::Container;

use crate::args::{Answer, Format, Inputs, KernelFilter, ObjectFilter};
use crate::output::Output;
use crate::report::{Status, Trouble};
use crate::scan::{self, FileItem, ObjectItem, Verify, Visit};
use crate::schema::FileStream;
use crate::select::KernelSelection;

use model::ObjectInfo;
use text::TextInfo;

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
    let mut out = Output::open(args.answer.output.as_deref())?;
    let kernels = KernelSelection::new(&args.kernels);
    let status = match args.answer.format {
        Format::Json => {
            let stream = FileStream::begin(&mut out)?;
            let mut visitor = JsonInfo { out: &mut out, stream, kernels: &kernels };
            let status = scan::run(&args.inputs, &args.objects, Verify::All, &mut visitor)?;
            let JsonInfo { out, stream, .. } = visitor;
            stream.end(out)?;
            status
        }
        Format::Text => {
            let mut visitor = TextInfo::new(&mut out, &kernels);
            scan::run(&args.inputs, &args.objects, Verify::All, &mut visitor)?
        }
    };
    out.finish()?;
    Ok(kernels.conclude(status))
}

struct JsonInfo<'o> {
    out: &'o mut Output,
    stream: FileStream,
    kernels: &'o KernelSelection,
}

impl Visit for JsonInfo<'_> {
    type Row = Vec<u8>;

    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        let container = file.container.map(Container::name);
        self.stream.begin_file(self.out, &file.input.name, container)
    }

    fn read(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Result<Vec<u8>> {
        Ok(serde_json::to_vec(&ObjectInfo::new(item, self.kernels, trouble))?)
    }

    fn object(&mut self, row: Vec<u8>) -> Result<()> {
        self.stream.object(self.out, &row)
    }

    fn unopened(&mut self, name: &str, error: Option<&str>) -> Result<()> {
        self.stream.begin_file(self.out, name, None)?;
        self.end(error)
    }

    fn end(&mut self, error: Option<&str>) -> Result<()> {
        self.stream.end_file(self.out, error)
    }
}
