//! `hsaco info`: everything about an object or a kernel.

use anyhow::Result;
use hsaco::listing::Sink as _;
use hsaco_describe::info::Info;

use crate::args::{Format, Reading};
use crate::frame::{self, Frame, Heading, Rows};
use crate::output::Output;
use crate::report::{Status, Trouble};
use crate::scan::{ObjectItem, Verify};
use crate::select::KernelSelection;
use crate::stream;

/// Kernels that are written together.
const TOGETHER: usize = 64;

/// Shows everything about code objects and kernels
///
/// Header, target, segments, sections, notes, metadata, kernels with every descriptor field and
/// argument, symbols and relocations. With --kernel only those kernels.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let Reading { inputs, objects, kernels, answer } = &args.reading;
    answer.color.apply();
    let mut out = Output::answer(answer)?;
    let kernels = KernelSelection::new(kernels);
    let frame = match answer.format {
        Format::Json => Frame::json(),
        Format::Text => Frame::text(Heading::Container, inputs),
    };
    let rows = InfoRows { kernels: &kernels, format: answer.format };
    let status = frame::run(&rows, frame, (inputs, objects, Verify::Unpacked), &mut out)?;
    out.finish()?;
    Ok(kernels.conclude(status))
}

/// Objects that are written as they are looked at: there may be much to say of one.
struct InfoRows<'i> {
    kernels: &'i KernelSelection,
    format: Format,
}

impl Rows for InfoRows<'_> {
    type Row<'e> = Info<'e>;

    fn read<'e>(&self, item: &ObjectItem<'e, '_>, trouble: &mut Trouble) -> Result<Info<'e>> {
        Ok(Info::new(item, self.kernels, trouble))
    }

    fn write(&self, row: Info<'_>, out: &mut Output) -> Result<()> {
        match self.format {
            Format::Json => Ok(serde_json::to_writer(out, &row)?),
            Format::Text => self.text(&row, out),
        }
    }
}

impl InfoRows<'_> {
    fn text(&self, row: &Info<'_>, out: &mut Output) -> Result<()> {
        let color = out.color();
        let is_whole = self.kernels.is_all();
        if is_whole {
            row.write_head(out, color)?;
        }
        let wanted: Vec<_> = row.kernels().collect();
        let parts: Vec<_> = wanted.chunks(TOGETHER).collect();
        stream::write(&parts, parts.len(), out, |kernels, part| {
            for kernel in *kernels {
                row.write_kernel(kernel, part.bytes(), color)?;
                part.pass()?;
            }
            Ok(())
        })?;
        if is_whole {
            row.write_tail(out, color)?;
        }
        Ok(())
    }
}
