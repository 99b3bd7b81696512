//! Layouts for people: a picture and a table for each kernel.

use std::io::{Result, Write};

use hsaco_bytes::escape::shown;
use hsaco_kernarg::{ArgumentLayout, Compact, KernelLayout, draw_segment};
use hsaco_table::text::{Align, Cell, Table};

use super::Layouts;

impl Layouts {
    /// Writes what there is to see of each kernel, with or without colours for a terminal.
    pub fn write(&self, out: &mut impl Write, color: bool) -> Result<()> {
        self.kernels.iter().try_for_each(|it| write_kernel(out, it, color))
    }
}

fn write_kernel(out: &mut impl Write, kernel: &KernelLayout, color: bool) -> Result<()> {
    writeln!(out, "\nkernel {}", shown(&kernel.demangled))?;
    if let Some(template) = &kernel.inferred_from {
        writeln!(out, "inferred: a guess, from the arguments of {}", shown(template))?;
    }
    for remark in &kernel.remarks {
        writeln!(out, "remark: {}", shown(remark))?;
    }
    match (&kernel.refused, &kernel.hash) {
        (Some(reason), _) => {
            let size =
                kernel.size.map_or("of unknown size".to_owned(), |size| format!("of {size} bytes"));
            writeln!(out, "prepacked buffers only, {size}: {}", shown(reason))?;
        }
        (None, hash) => {
            write_native(out, kernel, hash.as_deref().unwrap_or("-"), color)?;
        }
    }
    match (&kernel.compact, &kernel.compact_refused) {
        (Some(compact), _) => write_compact(out, compact)?,
        (None, Some(reason)) if kernel.refused.is_none() => {
            writeln!(out, "compact: none: {}", shown(reason))?;
        }
        _ => {}
    }
    write_registers(out, kernel, color)
}

fn write_native(
    out: &mut impl Write,
    kernel: &KernelLayout,
    hash: &str,
    color: bool,
) -> Result<()> {
    let alignment = kernel.alignment.map(|it| format!(", aligned to {it}")).unwrap_or_default();
    let size = kernel.size.unwrap_or(0);
    let required = kernel.required.unwrap_or(0);
    writeln!(out, "native: {size} bytes{alignment}; the caller brings {required}; layout {hash}")?;
    for line in draw_segment(u32::try_from(size).unwrap_or(u32::MAX), &kernel.arguments) {
        writeln!(out, "{}", shown(&line))?;
    }
    if !kernel.arguments.is_empty() {
        write_arguments(out, &kernel.arguments, color)?;
    }
    Ok(())
}

fn write_arguments(out: &mut impl Write, arguments: &[ArgumentLayout], color: bool) -> Result<()> {
    let preloaded = arguments.iter().any(|it| it.register.is_some());
    let mut table = Table::new(&[
        ("OFFSET", Align::Right),
        ("SIZE", Align::Right),
        ("KIND", Align::Left),
        ("TYPE", Align::Left),
        (if preloaded { "REGISTER" } else { "" }, Align::Left),
        ("ARGUMENT", Align::Left),
    ]);
    for argument in arguments {
        table.row([
            u64::from(argument.offset).into(),
            u64::from(argument.size).into(),
            Cell::from(&argument.kind),
            Cell::from(argument.ty.as_deref().unwrap_or("")),
            Cell::from(argument.register.as_deref().unwrap_or("")),
            Cell::from(&match argument.hidden {
                true => "-".to_owned(),
                false => argument.label(),
            }),
        ]);
    }
    table.write(out, color)
}

fn write_compact(out: &mut impl Write, compact: &Compact) -> Result<()> {
    let zero = if compact.zero_fill { ", the rest zero" } else { "" };
    let bindings = match compact.bindings.len() {
        1 => "1 binding".to_owned(),
        count => format!("{count} bindings"),
    };
    let size = compact.constant_size;
    writeln!(out, "compact: {bindings}, {size} bytes of constants{zero}")?;
    for (ordinal, word) in compact.bindings.iter().enumerate() {
        writeln!(out, "  binding {ordinal} to word {word}")?;
    }
    for span in &compact.spans {
        let (from, to) = (span.source, span.source.saturating_add(span.length));
        writeln!(out, "  constants {from} to {to} to byte {}", span.target)?;
    }
    Ok(())
}

fn write_registers(out: &mut impl Write, kernel: &KernelLayout, color: bool) -> Result<()> {
    if let Some(reason) = &kernel.registers_refused {
        writeln!(out, "registers at entry: not known: {reason}")?;
    }
    if kernel.registers.is_empty() {
        return Ok(());
    }
    let mut table = Table::titled("REGISTER|BITS|HOLDS");
    for row in &kernel.registers {
        let bits = row.low_bit.zip(row.bits).map(|(low, bits)| {
            let high = u32::from(low) + u32::from(bits).saturating_sub(1);
            format!("{low} to {high}")
        });
        table.row([
            Cell::from(&row.register),
            Cell::from(bits.as_deref().unwrap_or("")),
            Cell::from(&row.holds),
        ]);
    }
    table.write(out, color)
}
