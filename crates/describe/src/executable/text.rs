//! Executables for people: tables of memory, symbols and relocations, lines of calls and places.

use std::io::{Result, Write};

use hsaco_bytes::escape::shown;
use hsaco_bytes::number::count;
use hsaco_load::{Executable, ExecutableRows, LoadedSymbolKind, RelocationRow};
use hsaco_table::text::{Cell, Table};

/// Writes memory, symbols, relocations, calls and needs of an executable, with or without colours for a terminal.
pub fn write_executable(
    rows: &ExecutableRows,
    executable: &Executable<'_>,
    out: &mut impl Write,
    color: bool,
) -> Result<()> {
    section(out, "memory", &memory(rows), color)?;
    if rows.frozen {
        section(out, "symbols", &symbols(executable), color)?;
    }
    section(out, "relocations", &relocations(&rows.relocations), color)?;
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

fn write_calls(rows: &ExecutableRows, out: &mut impl Write) -> Result<()> {
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
    writeln!(out)
}

/// Writes what is at the addresses that were asked about.
pub fn write_places(rows: &ExecutableRows, out: &mut impl Write) -> Result<()> {
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

fn section(out: &mut impl Write, title: &str, table: &Table, color: bool) -> Result<()> {
    if table.is_empty() {
        return Ok(());
    }
    writeln!(out, "{title}")?;
    table.write(out, color)?;
    writeln!(out)
}
