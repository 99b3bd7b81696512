//! Everything about an object for people: lines and tables.

use std::io::{Result, Write};

use hsaco_bytes::Str;
use hsaco_bytes::escape::shown;
use hsaco_object::metadata::Argument;
use hsaco_object::{CodeObject, Kernel};
use hsaco_table::text::{Cell, Table};

use super::{ElfInfo, Info, KernelInfo};
use crate::Tree;

impl Info<'_> {
    /// Writes what is said of the object itself, with or without colours for a terminal.
    pub fn write_head(&self, out: &mut impl Write, color: bool) -> Result<()> {
        let (Some(object), Some(elf)) = (self.object(), self.elf()) else { return Ok(()) };
        self.write_header(object, &elf, out)?;
        write_tables(&[segments(&elf), sections(&elf), notes(&elf)], out, color)
    }

    /// Writes everything about a kernel.
    pub fn write_kernel(
        &self,
        kernel: &Kernel<'_>,
        out: &mut impl Write,
        color: bool,
    ) -> Result<()> {
        let Some(info) = self.kernel(kernel) else { return Ok(()) };
        writeln!(out, "\nkernel {}", shown(&info.row.demangled))?;
        write_tables(&[facts(&info)?, arguments(kernel)], out, color)?;
        let Some(fields) = &info.descriptor_fields else { return Ok(()) };
        let mut table = Table::titled(">VALUE|DESCRIPTOR FIELD");
        fields.iter().for_each(|(name, value)| table.row([(*value).into(), (*name).into()]));
        write_tables(&[table], out, color)?;
        for line in info.directives.iter().flatten() {
            writeln!(out, "  {}", shown(line))?;
        }
        Ok(())
    }

    /// Writes symbols and relocations.
    pub fn write_tail(&self, out: &mut impl Write, color: bool) -> Result<()> {
        write_tables(&[symbols(self), relocations(self)], out, color)
    }

    fn write_header(
        &self,
        object: &CodeObject<'_>,
        elf: &ElfInfo,
        out: &mut impl Write,
    ) -> Result<()> {
        let header = object.elf().header();
        let optional = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        let version = self.version().unwrap_or_default();
        let metadata = &elf.metadata;
        for (label, value) in [
            ("target", object.target().to_string()),
            ("version", format!("{version} (ABI version {})", header.abi_version)),
            ("OS ABI", header.os_abi.to_string()),
            ("flags", format!("{:#x}, {}", elf.e_flags, elf.e_flags_text)),
            ("symbols from", elf.symbol_source.unwrap_or("none").to_owned()),
            ("metadata notes", metadata.notes.to_string()),
            ("metadata version", optional(metadata.version.map(|[a, b]| format!("{a}.{b}")))),
            ("metadata target", optional(metadata.target.clone())),
        ] {
            writeln!(out, "  {label:<18}{}", shown(&value))?;
        }
        for format in &metadata.printf {
            writeln!(out, "  {:<18}{}", "printf", shown(format))?;
        }
        for (key, value) in &metadata.unknown {
            let value = serde_json::to_string(value)?;
            writeln!(out, "  {:<18}{}", shown(key), shown(&value))?;
        }
        Ok(())
    }
}

/// Writes those tables that are not empty, each below a blank line.
fn write_tables(tables: &[Table], out: &mut impl Write, color: bool) -> Result<()> {
    for table in tables.iter().filter(|it| !it.is_empty()) {
        writeln!(out)?;
        table.write(out, color)?;
    }
    Ok(())
}

fn segments(elf: &ElfInfo) -> Table {
    let titles = "SEGMENT|FLAGS|>OFFSET|>ADDRESS|>FILE SIZE|>MEMORY SIZE|>ALIGN";
    let mut table = Table::titled(titles);
    for it in &elf.segments {
        let sizes = [it.offset, it.address, it.file_size, it.memory_size, it.align];
        let [offset, address, file_size, memory_size, align] = sizes.map(Cell::Hex);
        let (kind, flags) = ((&it.kind).into(), (&it.flags).into());
        table.row([kind, flags, offset, address, file_size, memory_size, align]);
    }
    table
}

fn sections(elf: &ElfInfo) -> Table {
    let mut table = Table::titled(">INDEX|SECTION|TYPE|FLAGS|>OFFSET|>ADDRESS|>SIZE|>ALIGN");
    for it in elf.sections.iter().skip(1) {
        let [offset, address, size, align] =
            [it.offset, it.address, it.size, it.align].map(Cell::Hex);
        let [name, kind, flags] = [&it.name, &it.kind, &it.flags].map(Cell::from);
        let index = Cell::Number(it.index.into());
        table.row([index, name, kind, flags, offset, address, size, align]);
    }
    table
}

fn notes(elf: &ElfInfo) -> Table {
    let mut table = Table::titled("NOTE|>TYPE|>OFFSET|>SIZE|TEXT");
    for it in &elf.notes {
        let text = it.text.as_deref().unwrap_or("-").lines().next().unwrap_or_default();
        let (kind, offset) = (Cell::Number(it.kind.into()), Cell::Hex(it.offset));
        table.row([(&it.owner).into(), kind, offset, it.size.into(), text.into()]);
    }
    table
}

fn facts(info: &KernelInfo<'_>) -> Result<Table> {
    let row = &info.row;
    let mut table = Table::titled("FACT|VALUE");
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
        table.row([label.into(), value]);
    }
    for (key, value) in other_metadata(info) {
        table.row([key.into(), (&serde_json::to_string(value)?).into()]);
    }
    Ok(table)
}

fn arguments(kernel: &Kernel<'_>) -> Table {
    let mut table = Table::titled(">OFFSET|>SIZE|KIND|SPACE|ARGUMENT");
    let decoded = kernel.metadata().and_then(|it| it.decode().ok());
    // What is wrong with the others was said when the object was read.
    for it in decoded.and_then(|it| it.arguments()).into_iter().flatten().flatten() {
        let (kind, name) = (it.value_kind.name().to_str_lossy(), argument_name(&it));
        let space = it.address_space.map(Str::to_str_lossy);
        let space = space.as_deref().map_or(Cell::Unknown, Cell::Text);
        table.row([it.offset.into(), it.size.into(), Cell::Text(&kind), space, (&name).into()]);
    }
    table
}

fn symbols(row: &Info<'_>) -> Table {
    let mut table = Table::titled(">VALUE|>SIZE|KIND|BINDING|VISIBILITY|SYMBOL");
    for it in row.symbols() {
        let [kind, binding, visibility] = [it.kind, it.binding, it.visibility].map(Cell::Text);
        let (value, size) = (Cell::Hex(it.value), it.size.into());
        table.row([value, size, kind, binding, visibility, (&it.name).into()]);
    }
    table
}

fn relocations(row: &Info<'_>) -> Table {
    let mut table = Table::titled(">OFFSET|RELOCATION|>ADDEND|>SECTION|SYMBOL");
    for it in row.relocations() {
        let addend = it.addend.to_string();
        table.row([
            Cell::Hex(it.offset),
            (&it.kind).into(),
            (&addend).into(),
            it.section.map(u64::from).into(),
            it.symbol.as_ref().map_or(Cell::Unknown, Cell::from),
        ]);
    }
    table
}

/// The keys of a kernel's metadata that no row of its own shows.
fn other_metadata<'i>(info: &'i KernelInfo<'_>) -> impl Iterator<Item = (&'i String, &'i Tree)> {
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
    info.metadata.iter().flatten().filter(|(key, _)| !SHOWN.contains(&key.as_str()))
}

/// `float* in`, or what there is of it.
fn argument_name(argument: &Argument<'_>) -> String {
    let parts = [argument.type_name, argument.name];
    let parts: Vec<_> = parts.iter().flatten().map(ToString::to_string).collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(" ") }
}
