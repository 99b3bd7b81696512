//! `hsaco info`: everything about an object or a kernel.

use std::io::Write;

use anyhow::Result;
use hsaco::object::container::Container;
use hsaco::object::elf::{Section, Segment, section_type_name, segment_type_name};
use hsaco::object::metadata::{Argument, Metadata};
use hsaco::object::note::{self, IsaVersion, Note};
use hsaco::object::relocation::Relocation;
use hsaco::object::symbol::Symbol;
use hsaco::object::{CodeObject, Kernel, SymbolKind};
use serde::Serialize;
use serde_json::Value;

use crate::args::{Answer, Format, Inputs, KernelFilter, ObjectFilter};
use crate::json::{entries_to_json, map_to_json};
use crate::output::Output;
use crate::report::{Report, Status};
use crate::scan::{self, FileItem, ObjectItem, Verify, Visit};
use crate::schema::{self, FileStream};
use crate::select::KernelSelection;
use crate::table::{Align, Table};
use crate::verb::ls::{describe, kernel_row, kind_name, object_line, source_name, version_name};

/// Shows everything about code objects and kernels
///
/// Header, target, segments, sections, notes, metadata, kernels with every descriptor field and
/// argument, symbols and relocations. With --kernel only those kernels.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    objects: ObjectFilter,
    #[command(flatten)]
    kernels: KernelFilter,
    #[command(flatten)]
    answer: Answer,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.answer.color.apply();
    let mut out = Output::open(args.answer.output.as_deref())?;
    let kernels = KernelSelection::new(&args.kernels);
    let status = match args.answer.format {
        Format::Json => {
            let stream = FileStream::begin(&mut out)?;
            let mut visitor = JsonInfo { out: &mut out, stream, kernels: &kernels };
            let status = scan::run(&args.inputs, &args.objects, Verify::All, &mut visitor)?;
            let JsonInfo { out, stream, .. } = visitor;
            stream.end(out)?;
            status
        }
        Format::Text => {
            let mut visitor = TextInfo { out: &mut out, kernels: &kernels };
            scan::run(&args.inputs, &args.objects, Verify::All, &mut visitor)?
        }
    };
    out.finish()?;
    Ok(status)
}

/// One object of `info`.
#[derive(Serialize)]
struct ObjectInfo {
    index: usize,
    entry_id: Option<String>,
    offset: Option<u64>,
    size: u64,
    target: Option<String>,
    abi_version: Option<u8>,
    code_object_version: Option<u8>,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    elf: Option<ElfInfo>,
    problems: Vec<String>,
}

/// What only a code object has.
#[derive(Serialize)]
struct ElfInfo {
    os_abi: u8,
    e_flags: u32,
    e_flags_text: String,
    generic_version: u8,
    symbol_source: Option<&'static str>,
    segments: Vec<SegmentInfo>,
    sections: Vec<SectionInfo>,
    notes: Vec<NoteInfo>,
    metadata: MetadataInfo,
    kernels: Vec<KernelInfo>,
    symbols: Vec<SymbolInfo>,
    relocations: Vec<RelocationInfo>,
}

#[derive(Serialize)]
struct SegmentInfo {
    #[serde(rename = "type")]
    kind: String,
    flags: String,
    offset: u64,
    address: u64,
    file_size: u64,
    memory_size: u64,
    align: u64,
}

#[derive(Serialize)]
struct SectionInfo {
    index: u32,
    name: String,
    #[serde(rename = "type")]
    kind: String,
    flags: String,
    address: u64,
    offset: u64,
    size: u64,
    link: u32,
    info: u32,
    align: u64,
    entry_size: u64,
}

#[derive(Serialize)]
struct NoteInfo {
    owner: String,
    #[serde(rename = "type")]
    kind: u32,
    offset: u64,
    size: usize,
    text: Option<String>,
}

#[derive(Serialize)]
struct MetadataInfo {
    notes: usize,
    version: Option<[u64; 2]>,
    target: Option<String>,
    printf: Vec<String>,
    unknown: Value,
}

#[derive(Serialize)]
struct KernelInfo {
    #[serde(flatten)]
    row: schema::Kernel,
    metadata: Option<Value>,
    descriptor_bytes: Option<String>,
    #[serde(serialize_with = "fields_in_order")]
    descriptor_fields: Option<Vec<(&'static str, u64)>>,
    directives: Option<Vec<String>>,
}

/// A map whose order is that of the bits.
fn fields_in_order<S: serde::Serializer>(
    fields: &Option<Vec<(&'static str, u64)>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match fields {
        Some(fields) => serializer.collect_map(fields.iter().copied()),
        None => serializer.serialize_none(),
    }
}

#[derive(Serialize)]
struct SymbolInfo {
    name: String,
    demangled: String,
    kind: &'static str,
    value: u64,
    size: u64,
    #[serde(rename = "type")]
    elf_type: u8,
    binding: &'static str,
    visibility: &'static str,
    section: u32,
}

#[derive(Serialize)]
struct RelocationInfo {
    offset: u64,
    #[serde(rename = "type")]
    kind: String,
    symbol: Option<String>,
    addend: i64,
    section: Option<u32>,
}

impl ObjectInfo {
    fn new(item: &ObjectItem<'_, '_>, kernels: &KernelSelection, report: &mut Report) -> Self {
        let mut info = Self {
            index: item.number,
            entry_id: item.entry.id.clone(),
            offset: item.entry.offset,
            size: item.entry.data.len() as u64,
            target: item.target.clone(),
            abi_version: None,
            code_object_version: None,
            kind: kind_name(item.entry.kind, item.object.as_ref()),
            elf: None,
            problems: Vec::new(),
        };
        if let Some(object) = &item.object {
            info.abi_version = Some(object.elf().header().abi_version);
            info.code_object_version =
                object.abi_version().code_object_version().filter(|_| object.is_hsa());
            info.elf = Some(info.read(item, object, kernels, report));
            for problem in &info.problems {
                report.problem(&item.place(), problem);
            }
        }
        info
    }

    fn read(
        &mut self,
        item: &ObjectItem<'_, '_>,
        object: &CodeObject<'_>,
        kernels: &KernelSelection,
        report: &mut Report,
    ) -> ElfInfo {
        let index = object.index();
        let (relocations, relocation_problems) = object.relocations();
        let problems = object.problems();
        let problems = problems.iter().chain(index.problems()).chain(&relocation_problems);
        self.problems = problems.map(|it| item.located(it.clone()).to_string()).collect();
        let wanted = index.kernels().iter().filter(|it| kernels.wants(it.name()));
        let kernels = wanted.map(|it| KernelInfo::new(it, object, item, report)).collect();
        let table = object.symbol_table().ok().flatten();
        let symbols = table.iter().flat_map(|it| it.iter().flatten());
        ElfInfo {
            os_abi: object.elf().header().os_abi,
            e_flags: object.elf().header().flags,
            e_flags_text: object.e_flags().readelf_text(),
            generic_version: object.e_flags().generic_version(),
            symbol_source: table.map(|it| it.source().name()),
            segments: object.elf().segments().iter().map(SegmentInfo::new).collect(),
            sections: object.elf().sections().iter().map(SectionInfo::new).collect(),
            notes: object.notes().flatten().map(|it| NoteInfo::new(&it)).collect(),
            metadata: MetadataInfo::new(index.metadata()),
            kernels,
            symbols: symbols.map(|it| SymbolInfo::new(&it, object.is_v2())).collect(),
            relocations: relocations.iter().map(RelocationInfo::new).collect(),
        }
    }
}

impl SegmentInfo {
    fn new(segment: &Segment) -> Self {
        let kind = segment_type_name(segment.kind).map(str::to_owned);
        Self {
            kind: kind.unwrap_or_else(|| format!("{:#x}", segment.kind)),
            flags: flag_letters(u64::from(segment.flags), &[(4, 'R'), (2, 'W'), (1, 'X')]),
            offset: segment.offset,
            address: segment.address,
            file_size: segment.file_size,
            memory_size: segment.memory_size,
            align: segment.align,
        }
    }
}

impl SectionInfo {
    fn new(section: &Section<'_>) -> Self {
        let kind = section_type_name(section.kind).map(str::to_owned);
        Self {
            index: section.index,
            name: section.name.to_string(),
            kind: kind.unwrap_or_else(|| format!("{:#x}", section.kind)),
            flags: flag_letters(
                section.flags,
                &[(1, 'W'), (2, 'A'), (4, 'X'), (16, 'M'), (32, 'S')],
            ),
            address: section.address,
            offset: section.offset,
            size: section.size,
            link: section.link,
            info: section.info,
            align: section.align,
            entry_size: section.entry_size,
        }
    }
}

fn flag_letters(flags: u64, letters: &[(u64, char)]) -> String {
    letters.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, letter)| letter).collect()
}

impl NoteInfo {
    fn new(note: &Note<'_>) -> Self {
        Self {
            owner: note.owner.to_string(),
            kind: note.kind,
            offset: note.offset,
            size: note.desc.len(),
            text: note_text(note),
        }
    }
}

/// What a V2 note says, in words.
fn note_text(note: &Note<'_>) -> Option<String> {
    if note.owner != note::OWNER_AMD {
        return None;
    }
    match note.kind {
        note::NT_AMD_HSA_CODE_OBJECT_VERSION => {
            let (major, minor) = note::code_object_version(note.desc).ok()?;
            Some(format!("{major}.{minor}"))
        }
        note::NT_AMD_HSA_ISA_VERSION => Some(IsaVersion::parse(note.desc).ok()?.to_string()),
        note::NT_AMD_HSA_METADATA | note::NT_AMD_HSA_ISA_NAME => {
            let text = String::from_utf8_lossy(note.desc);
            Some(text.trim_end_matches('\0').to_owned())
        }
        _ => None,
    }
}

impl MetadataInfo {
    fn new(metadata: &Metadata<'_>) -> Self {
        Self {
            notes: metadata.documents(),
            version: metadata.version().map(|(major, minor)| [major, minor]),
            target: metadata.target().map(|it| it.to_string()),
            printf: metadata.printf().iter().map(ToString::to_string).collect(),
            unknown: entries_to_json(metadata.unknown()),
        }
    }
}

impl KernelInfo {
    fn new(
        kernel: &Kernel<'_>,
        object: &CodeObject<'_>,
        item: &ObjectItem<'_, '_>,
        report: &mut Report,
    ) -> Self {
        let generation = object.target().generation();
        let version = object.abi_version().code_object_version().unwrap_or(6);
        let descriptor = kernel.descriptor();
        let described = descriptor.zip(generation);
        let fields = described.map(|(descriptor, generation)| {
            descriptor.fields(generation).map(|(field, value)| (field.name, value)).collect()
        });
        let directives = described.map(|(descriptor, generation)| {
            let lines = descriptor.directives(generation, version);
            lines.iter().map(ToString::to_string).collect()
        });
        Self {
            row: kernel_row(kernel, generation, item, report),
            metadata: kernel.metadata().and_then(|it| it.map().ok()).map(|it| map_to_json(&it)),
            descriptor_bytes: descriptor.map(|it| crate::json::hex(&it.to_bytes())),
            descriptor_fields: fields,
            directives,
        }
    }
}

impl SymbolInfo {
    fn new(symbol: &Symbol<'_>, is_v2: bool) -> Self {
        Self {
            name: symbol.name.to_string(),
            demangled: source_name(symbol.name),
            kind: SymbolKind::of(symbol, is_v2).name(),
            value: symbol.value,
            size: symbol.size,
            elf_type: symbol.kind,
            binding: symbol.binding.name(),
            visibility: symbol.visibility.name(),
            section: symbol.section,
        }
    }
}

impl RelocationInfo {
    fn new(relocation: &Relocation<'_>) -> Self {
        Self {
            offset: relocation.offset,
            kind: relocation.kind.to_string(),
            symbol: Some(relocation.symbol_name.to_string()).filter(|it| !it.is_empty()),
            addend: relocation.addend,
            section: relocation.section,
        }
    }
}

struct JsonInfo<'o> {
    out: &'o mut Output,
    stream: FileStream,
    kernels: &'o KernelSelection,
}

impl Visit for JsonInfo<'_> {
    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        let container = file.container.map(Container::name);
        self.stream.begin_file(self.out, &file.input.name, container)
    }

    fn object(&mut self, item: &ObjectItem<'_, '_>, report: &mut Report) -> Result<()> {
        self.stream.object(self.out, &ObjectInfo::new(item, self.kernels, report))
    }

    fn unopened(&mut self, name: &str, error: Option<&str>) -> Result<()> {
        self.stream.begin_file(self.out, name, None)?;
        self.end(error)
    }

    fn end(&mut self, error: Option<&str>) -> Result<()> {
        self.stream.end_file(self.out, error)
    }
}

struct TextInfo<'o> {
    out: &'o mut Output,
    kernels: &'o KernelSelection,
}

impl Visit for TextInfo<'_> {
    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        let container = file.container.map_or("unknown", describe);
        writeln!(self.out, "{}: {container}", file.input.name)?;
        Ok(())
    }

    fn object(&mut self, item: &ObjectItem<'_, '_>, report: &mut Report) -> Result<()> {
        let info = ObjectInfo::new(item, self.kernels, report);
        writeln!(self.out, "\n{}", object_line(item))?;
        let (Some(object), Some(elf)) = (&item.object, &info.elf) else {
            return Ok(());
        };
        if self.kernels.is_all() {
            self.header(object, elf)?;
            self.tables(elf)?;
        }
        let wanted = |it: &&Kernel<'_>| self.kernels.wants(it.name());
        let index = object.index();
        let kernels: Vec<_> = index.kernels().iter().filter(wanted).collect();
        for (kernel, info) in kernels.into_iter().zip(&elf.kernels) {
            self.kernel(kernel, info, item, report)?;
        }
        if self.kernels.is_all() {
            self.symbols(elf)?;
        }
        Ok(())
    }

    fn end(&mut self, _error: Option<&str>) -> Result<()> {
        Ok(())
    }
}

impl TextInfo<'_> {
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
            writeln!(self.out, "  {label:<18}{value}")?;
        }
        for format in &elf.metadata.printf {
            writeln!(self.out, "  {:<18}{format}", "printf")?;
        }
        if let Value::Object(unknown) = &elf.metadata.unknown {
            for (key, value) in unknown {
                writeln!(self.out, "  {key:<18}{value}")?;
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
                it.kind.clone(),
                it.flags.clone(),
                format!("{:#x}", it.offset),
                format!("{:#x}", it.address),
                format!("{:#x}", it.file_size),
                format!("{:#x}", it.memory_size),
                format!("{:#x}", it.align),
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
                it.index.to_string(),
                it.name.clone(),
                it.kind.clone(),
                it.flags.clone(),
                format!("{:#x}", it.offset),
                format!("{:#x}", it.address),
                format!("{:#x}", it.size),
                format!("{:#x}", it.align),
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
                it.owner.clone(),
                it.kind.to_string(),
                format!("{:#x}", it.offset),
                it.size.to_string(),
                text.lines().next().unwrap_or_default().to_owned(),
            ]);
        }
        self.titled(&[segments, sections, notes])
    }

    fn titled(&mut self, tables: &[Table]) -> Result<()> {
        for table in tables.iter().filter(|it| !it.is_empty()) {
            writeln!(self.out)?;
            table.write(self.out)?;
        }
        Ok(())
    }

    fn kernel(
        &mut self,
        kernel: &Kernel<'_>,
        info: &KernelInfo,
        item: &ObjectItem<'_, '_>,
        report: &mut Report,
    ) -> Result<()> {
        let row = &info.row;
        writeln!(self.out, "\nkernel {}", row.demangled)?;
        let number = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |it| it.to_string());
        let address =
            |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |it| format!("{it:#x}"));
        for (label, value) in [
            ("name", row.name.clone()),
            ("symbol", row.symbol.clone().unwrap_or_else(|| "-".to_owned())),
            ("descriptor", address(row.descriptor)),
            ("entry", address(row.entry)),
            ("code size", number(row.code_size)),
            ("VGPRs", number(row.vgprs)),
            ("AGPRs", number(row.agprs)),
            ("SGPRs", number(row.sgprs)),
            ("LDS", number(row.lds)),
            ("scratch", number(row.scratch)),
            ("kernarg size", number(row.kernarg_size)),
            ("wavefront size", number(row.wavefront_size)),
            ("max workgroup", number(row.max_workgroup_size)),
        ] {
            writeln!(self.out, "  {label:<18}{value}")?;
        }
        self.metadata(info)?;
        self.arguments(kernel, item, report)?;
        self.descriptor(info)
    }

    /// The keys that the rows above do not show.
    fn metadata(&mut self, info: &KernelInfo) -> Result<()> {
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
        let Some(Value::Object(map)) = &info.metadata else {
            return Ok(());
        };
        for (key, value) in map.iter().filter(|(key, _)| !SHOWN.contains(&key.as_str())) {
            writeln!(self.out, "  {key:<34}{value}")?;
        }
        Ok(())
    }

    fn arguments(
        &mut self,
        kernel: &Kernel<'_>,
        item: &ObjectItem<'_, '_>,
        report: &mut Report,
    ) -> Result<()> {
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
        for argument in arguments {
            match argument {
                Ok(argument) => table.row(argument_cells(&argument)),
                Err(error) => {
                    let place = format!("{}: kernel {}", item.place(), kernel.name());
                    report.problem(&place, &item.located(error));
                }
            }
        }
        self.titled(&[table])
    }

    fn descriptor(&mut self, info: &KernelInfo) -> Result<()> {
        let Some(fields) = &info.descriptor_fields else {
            return Ok(());
        };
        let mut table = Table::new(&[("VALUE", Align::Right), ("DESCRIPTOR FIELD", Align::Left)]);
        for (name, value) in fields {
            table.row([value.to_string(), (*name).to_owned()]);
        }
        self.titled(&[table])?;
        for line in info.directives.iter().flatten() {
            writeln!(self.out, "  {line}")?;
        }
        Ok(())
    }

    fn symbols(&mut self, elf: &ElfInfo) -> Result<()> {
        let mut symbols = Table::new(&[
            ("VALUE", Align::Right),
            ("SIZE", Align::Right),
            ("KIND", Align::Left),
            ("BINDING", Align::Left),
            ("VISIBILITY", Align::Left),
            ("SYMBOL", Align::Left),
        ]);
        for it in &elf.symbols {
            symbols.row([
                format!("{:#x}", it.value),
                it.size.to_string(),
                it.kind.to_owned(),
                it.binding.to_owned(),
                it.visibility.to_owned(),
                it.name.clone(),
            ]);
        }
        let mut relocations = Table::new(&[
            ("OFFSET", Align::Right),
            ("RELOCATION", Align::Left),
            ("ADDEND", Align::Right),
            ("SECTION", Align::Right),
            ("SYMBOL", Align::Left),
        ]);
        for it in &elf.relocations {
            relocations.row([
                format!("{:#x}", it.offset),
                it.kind.clone(),
                it.addend.to_string(),
                it.section.map_or_else(|| "-".to_owned(), |it| it.to_string()),
                it.symbol.clone().unwrap_or_else(|| "-".to_owned()),
            ]);
        }
        self.titled(&[symbols, relocations])
    }
}

fn argument_cells(argument: &Argument<'_>) -> [String; 5] {
    let name = argument.name.map(|it| it.to_string());
    let type_name = argument.type_name.map(|it| it.to_string());
    let what = [type_name, name].into_iter().flatten().collect::<Vec<_>>().join(" ");
    [
        argument.offset.to_string(),
        argument.size.to_string(),
        argument.value_kind.name().to_string(),
        argument.address_space.map_or_else(|| "-".to_owned(), |it| it.to_string()),
        if what.is_empty() { "-".to_owned() } else { what },
    ]
}
