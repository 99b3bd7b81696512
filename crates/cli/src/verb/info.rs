//! `hsaco info`: everything about an object or a kernel.

use std::io::Write;

use anyhow::Result;
use hsaco::bytes::Str;
use hsaco::listing::Sink as _;
use hsaco::object::metadata::Argument;
use hsaco::object::{CodeObject, Kernel};
use hsaco_describe::Tree;
use hsaco_describe::info::{ElfInfo, Info, KernelInfo};

use crate::args::{Format, Reading};
use crate::frame::{self, Frame, Heading, Rows};
use crate::output::Output;
use crate::report::{Status, Trouble};
use crate::scan::{ObjectItem, Verify};
use crate::select::KernelSelection;
use crate::skeleton::Page;
use crate::stream;
use crate::table::{Cell, Table};
use hsaco::bytes::escape::shown;

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
    let status = frame::run(&rows, frame, (inputs, objects, Verify::All), &mut out)?;
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
        if let (Some(object), Some(elf), true) = (row.object(), row.elf(), self.kernels.is_all()) {
            let mut page = Page { out: Vec::new(), color };
            page.header(row, object, &elf)?;
            page.titled(&[segments(&elf), sections(&elf), notes(&elf)])?;
            out.write_all(&page.out)?;
        }
        let wanted: Vec<_> = row.kernels().collect();
        let parts: Vec<_> = wanted.chunks(TOGETHER).collect();
        stream::write(&parts, out, |kernels, part| {
            for kernel in *kernels {
                let Some(info) = row.kernel(kernel) else { continue };
                let mut page = Page { out: std::mem::take(part.bytes()), color };
                let written = page.kernel(kernel, &info);
                *part.bytes() = page.out;
                written.map_err(std::io::Error::other)?;
                part.pass()?;
            }
            Ok(())
        })?;
        if self.kernels.is_all() {
            let mut page = Page { out: Vec::new(), color };
            page.titled(&[symbols(row), relocations(row)])?;
            out.write_all(&page.out)?;
        }
        Ok(())
    }
}

impl Page {
    fn header(&mut self, row: &Info<'_>, object: &CodeObject<'_>, elf: &ElfInfo) -> Result<()> {
        let header = object.elf().header();
        let optional = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        let version = row.version().unwrap_or_default();
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
            writeln!(self.out, "  {label:<18}{}", shown(&value))?;
        }
        for format in &metadata.printf {
            writeln!(self.out, "  {:<18}{}", "printf", shown(format))?;
        }
        for (key, value) in &metadata.unknown {
            let value = serde_json::to_string(value)?;
            writeln!(self.out, "  {:<18}{}", shown(key), shown(&value))?;
        }
        Ok(())
    }

    /// Writes those tables that are not empty, each below a blank line.
    fn titled(&mut self, tables: &[Table]) -> Result<()> {
        for table in tables.iter().filter(|it| !it.is_empty()) {
            writeln!(self.out)?;
            table.write(&mut self.out, self.color)?;
        }
        Ok(())
    }

    fn kernel(&mut self, kernel: &Kernel<'_>, info: &KernelInfo<'_>) -> Result<()> {
        writeln!(self.out, "\nkernel {}", shown(&info.row.demangled))?;
        self.titled(&[facts(info)?, arguments(kernel)])?;
        let Some(fields) = &info.descriptor_fields else { return Ok(()) };
        let mut table = Table::titled(">VALUE|DESCRIPTOR FIELD");
        fields.iter().for_each(|(name, value)| table.row([(*value).into(), (*name).into()]));
        self.titled(&[table])?;
        for line in info.directives.iter().flatten() {
            writeln!(self.out, "  {}", shown(line))?;
        }
        Ok(())
    }
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
