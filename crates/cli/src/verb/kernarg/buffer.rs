//! `hsaco kernarg check` and `unpack`: prepacked buffers.

use std::ffi::OsString;
use std::io::Write;

use anyhow::Result;
use hsaco::bytes::Error;
use hsaco::kernarg::{Arguments, Blob, Inference, NativeLayout, Prepacked, UnpackedArgument};
use serde::Serialize;

use super::model::each_kernel;
use super::{InferenceArgs, Question, read_bytes};
use crate::args::{Answer, Format, Inputs, KernelFilter, ObjectFilter};
use crate::json;
use crate::output::Output;
use crate::report::{self, Status, Trouble};
use crate::scan::{self, FileItem, ObjectItem, Verify, Visit};
use crate::schema::SCHEMA_VERSION;
use crate::select::KernelSelection;
use crate::table::{Align, Cell, Table};

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
    fn subjects(&self) -> Result<Subjects> {
        Subject::find(&self.inputs, &self.objects, &self.kernels, self.inference.inference())
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

/// The kernels that were asked for, and whether all input could be read.
pub(super) struct Subjects {
    found: Vec<Subject>,
    pub(super) status: Status,
}

/// One kernel.
pub(super) struct Subject {
    pub(super) kernel: String,
    pub(super) target: Option<String>,
    place: String,
    exact: bool,
    pub(super) arguments: Arguments,
}

impl Subject {
    pub(super) fn find(
        inputs: &Inputs,
        objects: &ObjectFilter,
        kernels: &KernelFilter,
        inference: Inference,
    ) -> Result<Subjects> {
        let kernels = KernelSelection::new(kernels);
        let question =
            Question { kernels: &kernels, inference, registers: false, max_size: inputs.max_size };
        let mut finder = Finder { question: &question, found: Vec::new() };
        let status = scan::run(inputs, objects, Verify::All, &mut finder)?;
        let mut status = kernels.conclude(status);
        if kernels.is_all() && finder.found.is_empty() {
            report::error("no kernel in any object");
            status.note(Status::Unreadable);
        }
        Ok(Subjects { found: finder.found, status })
    }
}

impl Subjects {
    /// The one kernel, if there is one; several are an error, none has been reported.
    pub(super) fn one(mut self) -> Result<Option<Subject>> {
        if self.found.len() > 1 && self.found.iter().any(|it| it.exact) {
            self.found.retain(|it| it.exact);
        }
        if self.found.len() > 1 {
            let places: Vec<_> =
                self.found.iter().map(|it| format!("{} in {}", it.kernel, it.place)).collect();
            let (shown, more) = places.split_at(places.len().min(5));
            let more =
                if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
            anyhow::bail!(
                "several kernels fit: {}{more}; choose with -k, -t or --object",
                shown.join(", ")
            );
        }
        Ok(self.found.pop())
    }
}

/// Gathers the kernels that are asked for.
struct Finder<'q> {
    question: &'q Question<'q>,
    found: Vec<Subject>,
}

impl Visit for Finder<'_> {
    type Row<'e> = Vec<Subject>;

    fn begin(&mut self, _file: &FileItem<'_>) -> Result<()> {
        Ok(())
    }

    fn read(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Result<Vec<Subject>> {
        let mut found = Vec::new();
        let Some(object) = &item.object else { return Ok(found) };
        each_kernel(object, item, self.question, trouble, |kernel, arguments| {
            found.push(Subject {
                kernel: kernel.name().to_string(),
                target: item.target.clone(),
                place: item.place(),
                exact: self.question.kernels.names_exactly(kernel.name()),
                arguments: arguments.clone(),
            });
        });
        Ok(found)
    }

    fn object(&mut self, row: Vec<Subject>) -> Result<()> {
        self.found.extend(row);
        Ok(())
    }

    fn end(&mut self, _error: Option<&str>) -> Result<()> {
        Ok(())
    }
}

#[derive(Serialize)]
struct Checked<'a> {
    schema_version: u32,
    kernel: &'a str,
    target: Option<&'a str>,
    inferred_from: Option<&'a str>,
    length: usize,
    accepted: bool,
    refused: Option<String>,
    /// Bytes of padding that the buffer leaves out.
    padding: Option<u32>,
    /// Bytes where hidden arguments are.
    hidden: Option<u64>,
    /// Bytes behind the segment.
    surplus: Option<u64>,
    pointers: Vec<PointerSlot>,
}

#[derive(Serialize)]
struct PointerSlot {
    offset: u32,
    value: u64,
}

pub(super) fn check(args: &CheckArgs) -> Result<Status> {
    let args = &args.buffer;
    args.answer.color.apply();
    let subjects = args.subjects()?;
    let mut status = subjects.status;
    let Some(subject) = subjects.one()? else { return Ok(Status::Unreadable) };
    let bytes = read_bytes(&args.buffer)?;
    let native = subject.arguments.native.as_ref().ok();
    let accepted = match native {
        Some(layout) => layout.prepacked(Blob::from(&bytes[..])),
        None => subject.arguments.direct.prepacked(Blob::from(&bytes[..])),
    };
    let ok = accepted.as_ref().ok();
    let checked = Checked {
        schema_version: SCHEMA_VERSION,
        kernel: &subject.kernel,
        target: subject.target.as_deref(),
        inferred_from: subject.arguments.template.as_deref(),
        length: bytes.len(),
        accepted: ok.is_some(),
        refused: accepted.as_ref().err().map(ToString::to_string),
        padding: ok.map(Prepacked::padding),
        hidden: ok.map(Prepacked::hidden),
        surplus: ok.map(Prepacked::surplus),
        pointers: native
            .filter(|_| ok.is_some())
            .map(|it| pointers(it, &bytes))
            .unwrap_or_default(),
    };
    let mut out = Output::answer(&args.answer)?;
    match args.answer.format {
        Format::Json => {
            serde_json::to_writer(&mut out, &checked)?;
            writeln!(out)?;
        }
        Format::Text => {
            let unknown = subject.arguments.native.as_ref().err();
            write_checked(&mut out, &checked, unknown)?;
        }
    }
    out.finish()?;
    status.note(if checked.accepted { Status::Fine } else { Status::Findings });
    Ok(status)
}

fn pointers(layout: &NativeLayout, bytes: &[u8]) -> Vec<PointerSlot> {
    let slot = |offset: u32| {
        let bytes = bytes.get(offset as usize..)?.first_chunk()?;
        Some(PointerSlot { offset, value: u64::from_le_bytes(*bytes) })
    };
    layout.pointer_slots().into_iter().filter_map(slot).collect()
}

fn write_checked(out: &mut Output, checked: &Checked<'_>, unknown: Option<&Error>) -> Result<()> {
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

#[derive(Serialize)]
struct Unpacked<'a> {
    schema_version: u32,
    kernel: &'a str,
    target: Option<&'a str>,
    inferred_from: Option<&'a str>,
    arguments: Vec<UnpackedArgument<'a>>,
}

pub(super) fn unpack(args: &UnpackArgs) -> Result<Status> {
    let args = &args.buffer;
    args.answer.color.apply();
    let subjects = args.subjects()?;
    let status = subjects.status;
    let Some(subject) = subjects.one()? else { return Ok(Status::Unreadable) };
    let bytes = read_bytes(&args.buffer)?;
    let layout = subject.arguments.native.as_ref().map_err(Clone::clone)?;
    let unpacked = Unpacked {
        schema_version: SCHEMA_VERSION,
        kernel: &subject.kernel,
        target: subject.target.as_deref(),
        inferred_from: subject.arguments.template.as_deref(),
        arguments: layout.unpack_rows(&bytes)?,
    };
    let mut out = Output::answer(&args.answer)?;
    match args.answer.format {
        Format::Json => {
            serde_json::to_writer(&mut out, &unpacked)?;
            writeln!(out)?;
        }
        Format::Text => write_unpacked(&mut out, &unpacked)?,
    }
    out.finish()?;
    Ok(status)
}

fn write_unpacked(out: &mut Output, unpacked: &Unpacked<'_>) -> Result<()> {
    if let Some(template) = unpacked.inferred_from {
        writeln!(out, "inferred: a guess, from the arguments of {template}")?;
    }
    let mut table = Table::new(&[
        ("OFFSET", Align::Right),
        ("SIZE", Align::Right),
        ("KIND", Align::Left),
        ("TYPE", Align::Left),
        ("ARGUMENT", Align::Left),
        ("VALUE", Align::Left),
    ]);
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
