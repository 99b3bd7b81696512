//! `hsaco load`: what a loader would do, without a device.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use hsaco::bytes::memory;
use hsaco::load::{CallEdge, CallTarget, Errors, Executable, Freeze, FunctionRef};
use serde::Serialize;

use crate::args::{Answer, Format, Inputs, ObjectFilter};
use crate::executable::{self, RaiseRow, SymbolRow, Together, parse_address, parse_definition};
use crate::output::{self, Output};
use crate::report::{self, Status};
use crate::schema::SCHEMA_VERSION;
use crate::table::{Align, Cell, Table};
use crate::text::shown;

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
    let answer = Loaded::new(args, &executable, errors.as_ref())?;
    let mut out = Output::answer(&args.answer)?;
    match args.answer.format {
        Format::Json => {
            serde_json::to_writer(&mut out, &answer)?;
            writeln!(out)?;
        }
        Format::Text if !args.locate.is_empty() => answer.write_places(&mut out)?,
        Format::Text => answer.write(&mut out, &executable)?,
    }
    out.finish()?;
    for place in answer.places.iter().filter(|it| it.object.is_none()) {
        report::error(&format!("no object has memory at {:#x}", place.address));
        status.note(Status::Unreadable);
    }
    Ok(status)
}

/// The lowest and the highest address.
fn span(executable: &Executable<'_>) -> (u64, u64) {
    let ranges = || executable.objects().filter_map(|it| Some(executable.image(it)?.range()));
    let low = ranges().map(|it| it.start).min().unwrap_or(0);
    (low, ranges().map(|it| it.end).max().unwrap_or(low))
}

/// What memory holds, gaps as zeros.
fn image(executable: &Executable<'_>) -> Result<Vec<u8>> {
    const MOST: u64 = 1 << 30;
    let (low, high) = span(executable);
    let size = high - low;
    ensure!(size <= MOST, "an image of {size:#x} bytes: place the objects closer together");
    let mut bytes = memory::zeros(usize::try_from(size).context("a size")?, "image")?;
    for image in executable.objects().filter_map(|it| executable.image(it)) {
        for segment in &image.segments {
            let start = usize::try_from(segment.address - low).context("an address")?;
            let place = bytes.get_mut(start..).and_then(|it| it.get_mut(..segment.bytes.len()));
            if let Some(place) = place {
                place.copy_from_slice(&segment.bytes);
            }
        }
    }
    Ok(bytes)
}

/// The whole answer.
#[derive(Serialize)]
struct Loaded {
    schema_version: u32,
    target: Option<String>,
    /// Whether everything was resolved.
    frozen: bool,
    objects: Vec<ObjectRow>,
    symbols: Vec<SymbolRow>,
    relocations: Vec<RelocationRow>,
    resources: Vec<RaiseRow>,
    remarks: Vec<String>,
    errors: Vec<ErrorRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<Vec<CallRow>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    places: Vec<PlaceRow>,
}

#[derive(Serialize)]
struct ObjectRow {
    name: String,
    /// Where its address 0 is.
    base: Option<u64>,
    segments: Vec<SegmentRow>,
}

#[derive(Serialize)]
struct SegmentRow {
    address: u64,
    size: u64,
    /// Bytes that are not zeros of the loader's.
    file_size: usize,
    permissions: String,
    /// Where it is in the image.
    image_offset: u64,
}

#[derive(Serialize)]
struct RelocationRow {
    object: String,
    place: u64,
    #[serde(rename = "type")]
    kind: String,
    symbol: Option<String>,
    provider: Option<String>,
    addend: i64,
    value: u64,
    #[serde(rename = "static")]
    is_static: bool,
}

#[derive(Serialize)]
struct ErrorRow {
    kind: &'static str,
    object: Option<String>,
    message: String,
    help: Option<String>,
}

#[derive(Serialize)]
struct CallRow {
    caller: String,
    caller_object: String,
    site: u64,
    kind: &'static str,
    callee: Option<String>,
    callee_object: Option<String>,
    evidence: &'static str,
    crosses_objects: bool,
}

#[derive(Serialize)]
struct PlaceRow {
    address: u64,
    object: Option<String>,
    object_address: Option<u64>,
    symbol: Option<String>,
    symbol_offset: Option<u64>,
    source: Vec<FrameRow>,
}

#[derive(Serialize)]
struct FrameRow {
    function: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
}

impl Loaded {
    fn new(args: &Args, executable: &Executable<'_>, errors: Option<&Errors>) -> Result<Self> {
        let name = |it| executable.object_name(it).to_owned();
        let relocations = executable.relocations().map(|it| RelocationRow {
            object: name(it.object),
            place: it.place,
            kind: it.kind.to_string(),
            symbol: it.symbol.map(|symbol| symbol.to_string()),
            provider: it.provider.map(name),
            addend: it.addend,
            value: it.value,
            is_static: it.is_static,
        });
        let error = |it: &hsaco::load::Error| ErrorRow {
            kind: it.kind().name(),
            object: it.object().map(str::to_owned),
            message: it.detail().to_owned(),
            help: it.help().map(str::to_owned),
        };
        let is_frozen = executable.is_frozen();
        let calls = match args.calls && is_frozen {
            true => {
                Some(executable.calls()?.iter().map(|it| CallRow::new(executable, it)).collect())
            }
            false => None,
        };
        Ok(Self {
            schema_version: SCHEMA_VERSION,
            target: executable.target().map(|it| it.to_string()),
            frozen: is_frozen,
            objects: objects(executable),
            symbols: executable.symbols().map(|it| SymbolRow::new(executable, &it)).collect(),
            relocations: relocations.collect(),
            resources: executable.raises().iter().map(|it| RaiseRow::new(executable, it)).collect(),
            remarks: executable.remarks().to_vec(),
            errors: errors.into_iter().flat_map(|it| it.iter()).map(error).collect(),
            calls,
            places: args
                .locate
                .iter()
                .map(|it| PlaceRow::new(executable, *it))
                .collect::<Result<_>>()?,
        })
    }

    fn write(&self, out: &mut Output, executable: &Executable<'_>) -> Result<()> {
        let color = out.color();
        let mut map = Table::new(&[
            ("address", Align::Right),
            ("size", Align::Right),
            ("access", Align::Left),
            ("object", Align::Left),
        ]);
        for object in &self.objects {
            for segment in &object.segments {
                let cells = [
                    Cell::Hex(segment.address),
                    Cell::Hex(segment.size),
                    Cell::from(&segment.permissions),
                    Cell::from(&object.name),
                ];
                map.row(cells);
            }
        }
        section(out, "memory", &map, color)?;
        let mut symbols = Table::new(&[
            ("address", Align::Right),
            ("size", Align::Right),
            ("kind", Align::Left),
            ("object", Align::Left),
            ("name", Align::Left),
        ]);
        for symbol in executable.symbols().filter(|_| self.frozen) {
            if symbol.kind() == hsaco::load::SymbolKind::Absolute {
                continue;
            }
            let object = symbol.object().map_or("-", |it| executable.object_name(it));
            let address = symbol.address().map_or(Cell::Unknown, Cell::Hex);
            let name = symbol.readable_name();
            let cells = [
                address,
                Cell::Hex(symbol.size()),
                symbol.kind().name().into(),
                object.into(),
                (&name).into(),
            ];
            symbols.row(cells);
        }
        section(out, "symbols", &symbols, color)?;
        let mut log = Table::new(&[
            ("place", Align::Right),
            ("type", Align::Left),
            ("value", Align::Right),
            ("symbol", Align::Left),
            ("of", Align::Left),
        ]);
        for row in &self.relocations {
            let symbol = row.symbol.as_deref().unwrap_or("-");
            let addend = if row.addend == 0 || row.symbol.is_none() {
                String::new()
            } else {
                format!("{:+}", row.addend)
            };
            let symbol = format!("{symbol}{addend}");
            let of = row.provider.as_deref().unwrap_or("-");
            log.row([
                Cell::Hex(row.place),
                (&row.kind).into(),
                Cell::Hex(row.value),
                (&symbol).into(),
                of.into(),
            ]);
        }
        section(out, "relocations", &log, color)?;
        self.write_calls(out)?;
        for line in executable::needs_lines(executable) {
            writeln!(out, "{}", shown(&line))?;
        }
        if !self.errors.is_empty() {
            writeln!(out, "not loaded: {}", crate::table::count(self.errors.len(), "error"))?;
        }
        Ok(())
    }

    fn write_calls(&self, out: &mut Output) -> Result<()> {
        let Some(calls) = &self.calls else { return Ok(()) };
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

    fn write_places(&self, out: &mut Output) -> Result<()> {
        for place in &self.places {
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
}

fn section(out: &mut Output, title: &str, table: &Table, color: bool) -> Result<()> {
    if table.is_empty() {
        return Ok(());
    }
    writeln!(out, "{title}")?;
    table.write(out, color)?;
    writeln!(out)?;
    Ok(())
}

fn objects(executable: &Executable<'_>) -> Vec<ObjectRow> {
    let (low, _) = span(executable);
    let one = |id| {
        let image = executable.image(id);
        let segments = image.into_iter().flat_map(|it| &it.segments).map(|it| SegmentRow {
            address: it.address,
            size: it.size,
            file_size: it.bytes.len(),
            permissions: it.permissions(),
            image_offset: it.address - low,
        });
        ObjectRow {
            name: executable.object_name(id).to_owned(),
            base: image.map(|it| it.delta),
            segments: segments.collect(),
        }
    };
    executable.objects().map(one).collect()
}

impl CallRow {
    fn new(executable: &Executable<'_>, edge: &CallEdge) -> Self {
        let object = |it: &FunctionRef| executable.object_name(it.object).to_owned();
        let name =
            |it: &FunctionRef| it.name.clone().unwrap_or_else(|| format!("{:#x}", it.address));
        let (callee, callee_object) = match &edge.callee {
            CallTarget::Function(callee) => (Some(name(callee)), Some(object(callee))),
            CallTarget::Defined(name) => (Some(name.clone()), None),
            CallTarget::Unknown => (None, None),
        };
        Self {
            caller: name(&edge.caller),
            caller_object: object(&edge.caller),
            site: edge.site,
            kind: edge.kind.name(),
            callee,
            callee_object,
            evidence: edge.evidence.name(),
            crosses_objects: edge.crosses_objects(),
        }
    }
}

impl PlaceRow {
    fn new(executable: &Executable<'_>, address: u64) -> Result<Self> {
        let located = executable.locate(address);
        let symbol = located.and_then(|it| it.symbol);
        let source = executable.source(address)?.into_iter().map(|it| FrameRow {
            function: it.function,
            file: it.file,
            line: it.line,
            column: it.column,
        });
        Ok(Self {
            address,
            object: located.map(|it| executable.object_name(it.object).to_owned()),
            object_address: located.map(|it| it.object_address),
            symbol: symbol.map(|(it, _)| it.readable_name()),
            symbol_offset: symbol.map(|(_, offset)| offset),
            source: source.collect(),
        })
    }
}
