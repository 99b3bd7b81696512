//! `hsaco load`: what a loader would do, without a device.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use anyhow::{Result, ensure};
use hsaco::bytes::number::count;
use hsaco::load::{Executable, ExecutableRows, Freeze, LoadedSymbolKind, RelocationRow};

use crate::args::{Answer, Format, Inputs, ObjectFilter};
use crate::executable::{self, Together, parse_address, parse_definition};
use crate::json;
use crate::output::{self, Output};
use crate::report::{self, Status};
use crate::table::{Cell, Table};
use hsaco::bytes::escape::shown;

/// Loads code objects as a runtime does, and shows the memory map and every relocation
///
/// Objects come in any order. Names are resolved once all are there, and what is wrong is told at once:
/// undefined, hidden, duplicate and mistyped names, values that do not fit, kernels that cannot have
/// what they call needs. Nothing is loaded anywhere: --image writes what memory would hold.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    objects: ObjectFilter,
    #[command(flatten)]
    together: Together,
    #[command(flatten)]
    answer: Answer,
    /// Where the first object is placed; the others follow
    #[arg(long, value_name = "ADDRESS", default_value = "0x7f0000000000", value_parser = parse_address)]
    base: u64,
    /// Where the objects of one file are placed
    #[arg(long, value_name = "FILE=ADDRESS", value_parser = parse_definition)]
    at: Vec<(String, u64)>,
    /// Write what memory holds, from the lowest address to the highest
    #[arg(long, value_name = "FILE")]
    image: Option<OsString>,
    /// Show who calls whom, across objects
    #[arg(long)]
    calls: bool,
    /// Only say what is at this address: object, symbol, source line
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    locate: Vec<u64>,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.answer.color.apply();
    let (mut executable, mut status) =
        executable::read(&args.inputs, &args.objects, &args.together, &args.at)?;
    if status == Status::Unreadable && executable.objects().len() == 0 {
        return Ok(status);
    }
    let fix_resources = !args.together.no_fix_resources;
    let frozen = executable.freeze(Freeze { base: args.base, fix_resources });
    let errors = frozen.err();
    status.note(errors.as_ref().map_or(Status::Fine, executable::tell));
    if executable.raises().iter().any(|it| !it.is_applied) {
        status.note(Status::Findings);
    }
    if let (Some(path), None) = (&args.image, &errors) {
        output::write_file(Path::new(path), &image(&executable)?)?;
    }
    let answer = ExecutableRows::new(&executable, errors.as_ref(), args.calls, &args.locate)?;
    let mut out = Output::answer(&args.answer)?;
    match args.answer.format {
        Format::Json => json::document(&mut out, &answer)?,
        Format::Text if !args.locate.is_empty() => write_places(&answer, &mut out)?,
        Format::Text => write(&answer, &mut out, &executable)?,
    }
    out.finish()?;
    for place in answer.places.iter().filter(|it| it.object.is_none()) {
        report::error(&format!("no object has memory at {:#x}", place.address));
        status.note(Status::Unreadable);
    }
    Ok(status)
}

/// What memory holds, gaps as zeros.
fn image(executable: &Executable<'_>) -> Result<Vec<u8>> {
    const MOST: u64 = 1 << 30;
    let span = executable.span();
    let size = span.end - span.start;
    ensure!(size <= MOST, "an image of {size:#x} bytes: place the objects closer together");
    Ok(executable.flat_image()?)
}

fn write(rows: &ExecutableRows, out: &mut Output, executable: &Executable<'_>) -> Result<()> {
    section(out, "memory", &memory(rows))?;
    if rows.frozen {
        section(out, "symbols", &symbols(executable))?;
    }
    section(out, "relocations", &relocations(&rows.relocations))?;
    write_calls(rows, out)?;
    for line in executable.needs_lines() {
        writeln!(out, "{}", shown(&line))?;
    }
    if !rows.errors.is_empty() {
        writeln!(out, "not loaded: {}", count(rows.errors.len(), "error"))?;
    }
    Ok(())
}

fn memory(rows: &ExecutableRows) -> Table {
    let mut table = Table::titled(">address|>size|access|object");
    for object in &rows.objects {
        for segment in &object.segments {
            table.row([
                Cell::Hex(segment.address),
                Cell::Hex(segment.size),
                Cell::from(&segment.permissions),
                Cell::from(&object.name),
            ]);
        }
    }
    table
}

fn symbols(executable: &Executable<'_>) -> Table {
    let mut table = Table::titled(">address|>size|kind|object|name");
    for symbol in executable.symbols().filter(|it| it.kind() != LoadedSymbolKind::Absolute) {
        let object = symbol.object().map_or("-", |it| executable.object_name(it));
        table.row([
            symbol.address().map_or(Cell::Unknown, Cell::Hex),
            Cell::Hex(symbol.size()),
            symbol.kind().name().into(),
            object.into(),
            (&symbol.readable_name()).into(),
        ]);
    }
    table
}

fn relocations(rows: &[RelocationRow]) -> Table {
    let mut table = Table::titled(">place|type|>value|symbol|of");
    for row in rows {
        let symbol = match (&row.symbol, row.addend) {
            (None, _) => "-".to_owned(),
            (Some(symbol), 0) => symbol.clone(),
            (Some(symbol), addend) => format!("{symbol}{addend:+}"),
        };
        table.row([
            Cell::Hex(row.place),
            (&row.kind).into(),
            Cell::Hex(row.value),
            (&symbol).into(),
            row.provider.as_deref().unwrap_or("-").into(),
        ]);
    }
    table
}

fn write_calls(rows: &ExecutableRows, out: &mut Output) -> Result<()> {
    let Some(calls) = &rows.calls else { return Ok(()) };
    writeln!(out, "calls")?;
    for call in calls {
        let callee = shown(call.callee.as_deref().unwrap_or("?"));
        let object = match &call.callee_object {
            Some(object) if call.crosses_objects => format!(" ({object})"),
            _ => String::new(),
        };
        let caller = format!("{} ({})", call.caller, call.caller_object);
        let caller = shown(&caller);
        writeln!(
            out,
            "  {:#x} {caller} {} {callee}{object}, by {}",
            call.site, call.kind, call.evidence
        )?;
    }
    writeln!(out)?;
    Ok(())
}

fn write_places(rows: &ExecutableRows, out: &mut Output) -> Result<()> {
    for place in &rows.places {
        let object = place.object.as_deref().unwrap_or("nothing");
        let symbol = match (&place.symbol, place.symbol_offset) {
            (Some(symbol), Some(offset)) => format!(" {}+{offset:#x}", shown(symbol)),
            _ => String::new(),
        };
        writeln!(out, "{:#x}: {object}{symbol}", place.address)?;
        for frame in &place.source {
            let function = shown(frame.function.as_deref().unwrap_or("?"));
            let file = shown(frame.file.as_deref().unwrap_or("?"));
            let line = frame.line.unwrap_or(0);
            writeln!(out, "  {function} at {file}:{line}:{}", frame.column.unwrap_or(0))?;
        }
    }
    Ok(())
}

fn section(out: &mut Output, title: &str, table: &Table) -> Result<()> {
    if table.is_empty() {
        return Ok(());
    }
    writeln!(out, "{title}")?;
    let color = out.color();
    table.write(out, color)?;
    writeln!(out)?;
    Ok(())
}
