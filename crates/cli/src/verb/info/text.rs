//! `info` for people: tables.

use std::io::Write;

use anyhow::Result;
use hsaco::bytes::Str;
use hsaco::object::metadata::Argument;
use hsaco::object::{CodeObject, Kernel};
use serde_json::Value;

use super::model::{self, ElfInfo, KernelInfo, ObjectInfo, RelocationInfo};
use super::row::Row;
use crate::table::{Align, Cell, Table};
use crate::text::shown;
use crate::text_files::Page;
use crate::verb::ls::{object_line, version_name};

impl Page {
    /// Puts what comes before the kernels on an object's page.
    pub(super) fn head(&mut self, row: &Row<'_>, has_tables: bool) -> Result<()> {
        writeln!(self.out, "\n{}", object_line(&row.item))?;
        let info = ObjectInfo::new(&row.item, &row.index);
        if let (Some(object), Some(elf), true) = (&row.item.object, &info.elf, has_tables) {
            self.header(object, elf)?;
            self.tables(elf)?;
        }
        Ok(())
    }

    fn header(&mut self, object: &CodeObject<'_>, elf: &ElfInfo) -> Result<()> {
        let header = object.elf().header();
        let flags = format!("{:#x}, {}", elf.e_flags, elf.e_flags_text);
        let source = elf.symbol_source.unwrap_or("none");
        let optional = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        let version = elf.metadata.version;
        for (label, value) in [
            ("target", object.target().to_string()),
            ("version", format!("{} (ABI version {})", version_name(object), header.abi_version)),
            ("OS ABI", header.os_abi.to_string()),
            ("flags", flags),
            ("symbols from", source.to_owned()),
            ("metadata notes", elf.metadata.notes.to_string()),
            ("metadata version", optional(&version.map(|[a, b]| format!("{a}.{b}")))),
            ("metadata target", optional(&elf.metadata.target)),
        ] {
            writeln!(self.out, "  {label:<18}{}", shown(&value))?;
        }
        for format in &elf.metadata.printf {
            writeln!(self.out, "  {:<18}{}", "printf", shown(format))?;
        }
        if let Value::Object(unknown) = &elf.metadata.unknown {
            for (key, value) in unknown {
                writeln!(self.out, "  {:<18}{}", shown(key), shown(&value.to_string()))?;
            }
        }
        Ok(())
    }

    fn tables(&mut self, elf: &ElfInfo) -> Result<()> {
        let mut segments = Table::new(&[
            ("SEGMENT", Align::Left),
            ("FLAGS", Align::Left),
            ("OFFSET", Align::Right),
            ("ADDRESS", Align::Right),
            ("FILE SIZE", Align::Right),
            ("MEMORY SIZE", Align::Right),
            ("ALIGN", Align::Right),
        ]);
        for it in &elf.segments {
            segments.row([
                Cell::from(&it.kind),
                Cell::from(&it.flags),
                Cell::Hex(it.offset),
                Cell::Hex(it.address),
                Cell::Hex(it.file_size),
                Cell::Hex(it.memory_size),
                Cell::Hex(it.align),
            ]);
        }
        let mut sections = Table::new(&[
            ("INDEX", Align::Right),
            ("SECTION", Align::Left),
            ("TYPE", Align::Left),
            ("FLAGS", Align::Left),
            ("OFFSET", Align::Right),
            ("ADDRESS", Align::Right),
            ("SIZE", Align::Right),
            ("ALIGN", Align::Right),
        ]);
        for it in elf.sections.iter().skip(1) {
            sections.row([
                Cell::Number(it.index.into()),
                Cell::from(&it.name),
                Cell::from(&it.kind),
                Cell::from(&it.flags),
                Cell::Hex(it.offset),
                Cell::Hex(it.address),
                Cell::Hex(it.size),
                Cell::Hex(it.align),
            ]);
        }
        let mut notes = Table::new(&[
            ("NOTE", Align::Left),
            ("TYPE", Align::Right),
            ("OFFSET", Align::Right),
            ("SIZE", Align::Right),
            ("TEXT", Align::Left),
        ]);
        for it in &elf.notes {
            let text = it.text.as_deref().unwrap_or("-");
            notes.row([
                Cell::from(&it.owner),
                Cell::Number(it.kind.into()),
                Cell::Hex(it.offset),
                Cell::from(it.size),
                Cell::from(text.lines().next().unwrap_or_default()),
            ]);
        }
        self.titled(&[segments, sections, notes])
    }

    fn titled(&mut self, tables: &[Table]) -> Result<()> {
        tables.iter().try_for_each(|it| write_titled(&mut self.out, it, self.color))
    }

    pub(super) fn kernel(&mut self, kernel: &Kernel<'_>, info: &KernelInfo<'_>) -> Result<()> {
        let row = &info.row;
        writeln!(self.out, "\nkernel {}", shown(&row.demangled))?;
        let mut facts = Table::new(&[("FACT", Align::Left), ("VALUE", Align::Left)]);
        let address = |value: Option<u64>| value.map_or(Cell::Unknown, Cell::Hex);
        for (label, value) in [
            ("name", Cell::Text(&row.name)),
            ("symbol", row.symbol.as_deref().map_or(Cell::Unknown, Cell::Text)),
            ("descriptor", address(row.descriptor)),
            ("entry", address(row.entry)),
            ("code size", row.code_size.into()),
            ("VGPRs", row.vgprs.into()),
            ("AGPRs", row.agprs.into()),
            ("SGPRs", row.sgprs.into()),
            ("LDS", row.lds.into()),
            ("scratch", row.scratch.into()),
            ("kernarg size", row.kernarg_size.into()),
            ("wavefront size", row.wavefront_size.into()),
            ("max workgroup", row.max_workgroup_size.into()),
        ] {
            facts.row([label.into(), value]);
        }
        for (key, value) in other_metadata(info) {
            facts.row([Cell::from(key), Cell::from(&value.to_string())]);
        }
        self.titled(&[facts])?;
        self.arguments(kernel)?;
        self.descriptor(info)
    }

    fn arguments(&mut self, kernel: &Kernel<'_>) -> Result<()> {
        let decoded = kernel.metadata().and_then(|it| it.decode().ok());
        let Some(arguments) = decoded.and_then(|it| it.arguments()) else {
            return Ok(());
        };
        let mut table = Table::new(&[
            ("OFFSET", Align::Right),
            ("SIZE", Align::Right),
            ("KIND", Align::Left),
            ("SPACE", Align::Left),
            ("ARGUMENT", Align::Left),
        ]);
        // What is wrong with the others was said when the object was read.
        for argument in arguments.flatten() {
            let space = argument.address_space.map(Str::to_str_lossy);
            table.row([
                Cell::from(argument.offset),
                Cell::from(argument.size),
                Cell::Text(&argument.value_kind.name().to_str_lossy()),
                space.as_deref().map_or(Cell::Unknown, Cell::Text),
                Cell::Text(&argument_name(&argument)),
            ]);
        }
        self.titled(&[table])
    }

    fn descriptor(&mut self, info: &KernelInfo<'_>) -> Result<()> {
        let Some(fields) = &info.descriptor_fields else {
            return Ok(());
        };
        let mut table = Table::new(&[("VALUE", Align::Right), ("DESCRIPTOR FIELD", Align::Left)]);
        for (name, value) in fields {
            table.row([Cell::from(*value), Cell::from(*name)]);
        }
        self.titled(&[table])?;
        for line in info.directives.iter().flatten() {
            writeln!(self.out, "  {}", shown(line))?;
        }
        Ok(())
    }
}

/// Writes the symbols and relocations of an object.
pub(super) fn write_symbols(
    out: &mut dyn Write,
    object: &CodeObject<'_>,
    color: bool,
) -> Result<()> {
    let mut symbols = Table::new(&[
        ("VALUE", Align::Right),
        ("SIZE", Align::Right),
        ("KIND", Align::Left),
        ("BINDING", Align::Left),
        ("VISIBILITY", Align::Left),
        ("SYMBOL", Align::Left),
    ]);
    for it in model::symbols(object) {
        symbols.row([
            Cell::Hex(it.value),
            Cell::from(it.size),
            Cell::from(it.kind),
            Cell::from(it.binding),
            Cell::from(it.visibility),
            Cell::from(&it.name),
        ]);
    }
    write_titled(out, &symbols, color)?;
    let mut relocations = Table::new(&[
        ("OFFSET", Align::Right),
        ("RELOCATION", Align::Left),
        ("ADDEND", Align::Right),
        ("SECTION", Align::Right),
        ("SYMBOL", Align::Left),
    ]);
    for it in object.relocations().0.iter().map(RelocationInfo::new) {
        relocations.row([
            Cell::Hex(it.offset),
            Cell::from(&it.kind),
            Cell::from(&it.addend.to_string()),
            Cell::from(it.section.map(u64::from)),
            it.symbol.as_ref().map_or(Cell::Unknown, Cell::from),
        ]);
    }
    write_titled(out, &relocations, color)
}

fn write_titled(out: &mut dyn Write, table: &Table, color: bool) -> Result<()> {
    if !table.is_empty() {
        writeln!(out)?;
        table.write(out, color)?;
    }
    Ok(())
}

/// The keys of a kernel's metadata that no row of its own shows.
fn other_metadata<'i>(info: &'i KernelInfo<'_>) -> impl Iterator<Item = (&'i String, &'i Value)> {
    const SHOWN: &[&str] = &[
        ".name",
        ".symbol",
        ".args",
        ".vgpr_count",
        ".agpr_count",
        ".sgpr_count",
        ".group_segment_fixed_size",
        ".private_segment_fixed_size",
        ".kernarg_segment_size",
        ".wavefront_size",
        ".max_flat_workgroup_size",
    ];
    let map = info.metadata.as_ref().and_then(Value::as_object);
    map.into_iter().flatten().filter(|(key, _)| !SHOWN.contains(&key.as_str()))
}

/// `float* in`, or what there is of it.
fn argument_name(argument: &Argument<'_>) -> String {
    let parts = [argument.type_name, argument.name];
    let parts: Vec<_> = parts.iter().flatten().map(ToString::to_string).collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(" ") }
}
