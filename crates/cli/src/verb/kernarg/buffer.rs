//! `hsaco kernarg check` and `unpack`: prepacked buffers.

use std::ffi::OsString;
use std::io::Write;

use anyhow::Result;
use hsaco::bytes::Error;
use hsaco::kernarg::Inference;
use hsaco_describe::kernarg::{Checked, Options, Subject, Unpacked};

use super::{InferenceArgs, read_bytes};
use crate::args::{Answer, Format, Inputs, KernelFilter, ObjectFilter};
use crate::json;
use crate::output::Output;
use crate::report::{self, Status, Trouble};
use crate::scan::{self, ObjectItem};
use crate::select::KernelSelection;
use crate::table::{Cell, Table};

/// Which buffer, and of which kernel.
#[derive(clap::Args)]
struct BufferArgs {
    /// The packed arguments; - is standard input
    #[arg(value_name = "BUFFER")]
    buffer: OsString,
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    objects: ObjectFilter,
    #[command(flatten)]
    kernels: KernelFilter,
    #[command(flatten)]
    inference: InferenceArgs,
    #[command(flatten)]
    answer: Answer,
}

impl BufferArgs {
    fn subject(&self) -> Result<(Option<Subject>, Status)> {
        subject(&self.inputs, &self.objects, &self.kernels, self.inference.inference())
    }
}

/// Checks a prepacked buffer
///
/// It is accepted exactly when every byte of every visible argument is there. Padding that it leaves out, bytes that hidden
/// arguments replace and bytes behind the segment are named; so are the places of pointers. A buffer that is refused ends in
/// exit code 1.
#[derive(clap::Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    buffer: BufferArgs,
}

/// Shows the values in a prepacked buffer
#[derive(clap::Args)]
pub(super) struct UnpackArgs {
    #[command(flatten)]
    buffer: BufferArgs,
}

/// The one kernel that was asked for, if there is one, and whether all input could be read; several are an error, none
/// is reported.
pub(super) fn subject(
    inputs: &Inputs,
    objects: &ObjectFilter,
    kernels: &KernelFilter,
    inference: Inference,
) -> Result<(Option<Subject>, Status)> {
    let kernels = KernelSelection::new(kernels);
    let options =
        Options { kernels: &kernels, inference, registers: false, max_size: inputs.max_size };
    let read = |_: &str, item: &ObjectItem<'_, '_>, trouble: &mut Trouble| {
        Subject::all(item, &options, trouble)
    };
    let (found, status) = scan::gather(inputs, objects, read)?;
    let mut status = kernels.conclude(status);
    if kernels.is_all() && found.is_empty() {
        report::error("no kernel in any object");
        status.note(Status::Unreadable);
    }
    Ok((Subject::only(found)?, status))
}

pub(super) fn check(args: &CheckArgs) -> Result<Status> {
    let args = &args.buffer;
    args.answer.color.apply();
    let (Some(subject), mut status) = args.subject()? else { return Ok(Status::Unreadable) };
    let bytes = read_bytes(&args.buffer)?;
    let checked = subject.check(&bytes);
    let mut out = Output::answer(&args.answer)?;
    match args.answer.format {
        Format::Json => json::document(&mut out, &checked)?,
        Format::Text => write_checked(&mut out, &checked, subject.layout().err())?,
    }
    out.finish()?;
    status.note(if checked.accepted { Status::Fine } else { Status::Findings });
    Ok(status)
}

fn write_checked(out: &mut Output, checked: &Checked<'_>, unknown: Option<Error>) -> Result<()> {
    if let Some(template) = checked.inferred_from {
        writeln!(out, "inferred: a guess, from the arguments of {template}")?;
    }
    if let Some(reason) = unknown {
        writeln!(out, "no layout: {reason}")?;
    }
    let (kernel, length) = (checked.kernel, checked.length);
    match &checked.refused {
        Some(reason) => writeln!(out, "{kernel}: {length} bytes refused: {reason}")?,
        None => writeln!(out, "{kernel}: {length} bytes accepted")?,
    }
    let told = [
        (checked.padding.map(u64::from), "bytes of padding at the end are left out, and zero"),
        (checked.hidden, "bytes are where hidden arguments are, and are replaced"),
        (checked.surplus, "bytes behind the segment are not used"),
    ];
    for (count, text) in told {
        if let Some(count) = count.filter(|&it| it != 0) {
            writeln!(out, "{count} {text}")?;
        }
    }
    for pointer in &checked.pointers {
        writeln!(out, "pointer at {}: {:#x}", pointer.offset, pointer.value)?;
    }
    Ok(())
}

pub(super) fn unpack(args: &UnpackArgs) -> Result<Status> {
    let args = &args.buffer;
    args.answer.color.apply();
    let (Some(subject), status) = args.subject()? else { return Ok(Status::Unreadable) };
    let bytes = read_bytes(&args.buffer)?;
    let unpacked = subject.unpack(&bytes)?;
    let mut out = Output::answer(&args.answer)?;
    match args.answer.format {
        Format::Json => json::document(&mut out, &unpacked)?,
        Format::Text => write_unpacked(&mut out, &unpacked)?,
    }
    out.finish()?;
    Ok(status)
}

fn write_unpacked(out: &mut Output, unpacked: &Unpacked<'_>) -> Result<()> {
    if let Some(template) = unpacked.inferred_from {
        writeln!(out, "inferred: a guess, from the arguments of {template}")?;
    }
    let mut table = Table::titled(">OFFSET|>SIZE|KIND|TYPE|ARGUMENT|VALUE");
    for argument in &unpacked.arguments {
        table.row([
            u64::from(argument.offset).into(),
            u64::from(argument.size).into(),
            Cell::from(argument.kind),
            Cell::from(argument.ty.as_deref().unwrap_or("")),
            Cell::from(argument.name.unwrap_or("-")),
            Cell::from(&argument.text),
        ]);
    }
    let color = out.color();
    table.write(out, color)?;
    Ok(())
}

/// Bytes, sixteen a line.
pub(super) fn hex_dump(out: &mut Output, bytes: &[u8]) -> Result<()> {
    for (at, line) in bytes.chunks(16).enumerate() {
        let words: Vec<_> = line.chunks(4).map(json::hex).collect();
        writeln!(out, "{:6}  {}", at * 16, words.join(" "))?;
    }
    Ok(())
}
