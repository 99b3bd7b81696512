//! `hsaco ls`: what is in a file, in one screen.

mod indexed;

use std::borrow::Cow;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use hsaco::bytes::Str;
use hsaco::container::{Container, EntryKind};
use hsaco::demangle::demangle;
use hsaco::elf::file_type_name;
use hsaco::elf::symbol::Symbol;
use hsaco::isa::Generation;
use hsaco::object::{CodeObject, Index, Kernel, Resources};

use crate::args::{Answer, Format, Inputs, KernelFilter, ObjectFilter};
use crate::output::Output;
use crate::report::{Status, Trouble};
use crate::scan::{self, FileItem, ObjectItem, Verify, Visit};
use crate::schema::{self, Pieces};
use crate::select::KernelSelection;
use crate::table::{Align, Cell, ROWS_A_PART, Table, count, human_size};
use crate::text::shown;
use crate::text_files::describe;
use crate::{json_files, parallel};

/// Lists the code objects, kernels, functions and variables in files
///
/// A file with one code object is listed kernel by kernel; one with more is summed up by target,
/// unless --long asks for all of it. JSON always has all of it.
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
    /// List every object with its kernels, functions and variables
    #[arg(short, long)]
    long: bool,
    /// Show names as the linker sees them
    #[arg(long)]
    no_demangle: bool,
    /// Check the hash of large compressed payloads too (of small ones it always is)
    #[arg(long)]
    verify: bool,
    /// Keep what is found in this file, and open only files that it does not know or that changed since
    #[arg(long, value_name = "FILE")]
    index: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.answer.color.apply();
    let mut out = Output::answer(&args.answer)?;
    let verify = if args.verify { Verify::All } else { Verify::Cheap };
    let kernels = KernelSelection::new(&args.kernels);
    if let Some(index) = &args.index {
        let status = indexed::run(args, index, verify, &kernels, &mut out)?;
        out.finish()?;
        return Ok(kernels.conclude(status));
    }
    let status = match args.answer.format {
        Format::Json => {
            let read = |item: &ObjectItem<'_, '_>, trouble: &mut Trouble| {
                json_object(item, &kernels, trouble)
            };
            let selects = !kernels.is_all();
            json_files::list(&mut out, &args.inputs, &args.objects, verify, selects, read)?
        }
        Format::Text => {
            let mut lister = TextLister::new(args, &kernels, &mut out);
            scan::run(&args.inputs, &args.objects, verify, &mut lister)?
        }
    };
    out.finish()?;
    Ok(kernels.conclude(status))
}

/// The name of what an entry holds.
pub(crate) fn kind_name(entry: EntryKind, object: Option<&CodeObject<'_>>) -> &'static str {
    match (entry, object) {
        (_, Some(object)) => file_type_name(object.elf().header().e_type).unwrap_or("unknown"),
        (entry, None) => entry.name(),
    }
}

/// Everything wrong with an object, told once.
fn report_problems(
    item: &ObjectItem<'_, '_>,
    object: &CodeObject<'_>,
    index: &Index<'_>,
    trouble: &mut Trouble,
) {
    let problems = object.problems();
    for problem in problems.iter().chain(index.problems()) {
        trouble.note(item.place(), item.located(problem.clone()));
    }
}

fn json_object(
    item: &ObjectItem<'_, '_>,
    kernels: &KernelSelection,
    trouble: &mut Trouble,
) -> Result<Option<Pieces>> {
    let mut head = schema::Object {
        index: item.number,
        entry_id: item.entry.id.as_deref(),
        offset: item.entry.offset,
        size: item.entry.data.len() as u64,
        target: item.target.as_deref(),
        abi_version: None,
        code_object_version: None,
        kind: kind_name(item.entry.kind, item.object.as_ref()),
    };
    let Some(object) = &item.object else {
        let json = schema::object(&head, Pieces::new(), &schema::Others::default());
        return json.map(|json| kernels.is_all().then_some(json));
    };
    head.abi_version = Some(object.elf().header().abi_version);
    head.code_object_version =
        object.abi_version().code_object_version().filter(|_| object.is_hsa());
    let index = object.index();
    report_problems(item, object, &index, trouble);
    let wanted = kernels.of(&index);
    if wanted.is_empty() && !kernels.is_all() {
        return Ok(None);
    }
    let kernels = json_kernels(item, object, &wanted, trouble)?;
    let others = schema::Others {
        functions: index.functions().iter().map(function_row).collect(),
        variables: index.variables().iter().map(variable_row).collect(),
    };
    schema::object(&head, kernels, &others).map(Some)
}

/// Kernels as JSON maps, and commas between them.
fn json_kernels(
    item: &ObjectItem<'_, '_>,
    object: &CodeObject<'_>,
    kernels: &[&Kernel<'_>],
    trouble: &mut Trouble,
) -> Result<Pieces> {
    let generation = object.target().generation();
    let chunks: Vec<_> = kernels.chunks(ROWS_A_PART).collect();
    let parts = parallel::map(&chunks, ROWS_A_PART, |chunk| {
        let mut own = Trouble::default();
        let size = chunk.iter().map(|it| schema::Kernel::json_size(it.name())).sum();
        let mut json = Vec::with_capacity(size);
        for kernel in *chunk {
            let row = kernel_row(kernel, generation, item, &mut own);
            if let Err(error) = row.push_json(&mut json) {
                return (Err(error), own);
            }
            json.push(b',');
        }
        (Ok(json), own)
    });
    let mut pieces = gather(parts, trouble).into_iter().collect::<Result<Pieces, _>>()?;
    if let Some(last) = pieces.last_mut() {
        last.pop();
    }
    Ok(pieces)
}

/// The rows of work that was shared out; the trouble of all parts is one.
pub(crate) fn gather<T>(parts: Vec<(T, Trouble)>, trouble: &mut Trouble) -> Vec<T> {
    let take = |(row, own)| {
        trouble.append(own);
        row
    };
    parts.into_iter().map(take).collect()
}

/// What a kernel needs, with trouble in its metadata reported.
fn resources(
    kernel: &Kernel<'_>,
    generation: Option<Generation>,
    item: &ObjectItem<'_, '_>,
    trouble: &mut Trouble,
) -> Resources {
    let (resources, metadata) = kernel.resources(generation);
    if let Err(error) = metadata {
        let place = format!("{}: kernel {}", item.place(), kernel.name());
        trouble.note(place, item.located(error));
    }
    resources
}

pub(crate) fn kernel_row<'a>(
    kernel: &Kernel<'a>,
    generation: Option<Generation>,
    item: &ObjectItem<'_, '_>,
    trouble: &mut Trouble,
) -> schema::Kernel<'a> {
    let resources = resources(kernel, generation, item, trouble);
    schema::Kernel {
        name: kernel.name().to_str_lossy(),
        demangled: source_name(kernel.name()),
        symbol: kernel.descriptor_symbol().map(|it| it.name.to_str_lossy()),
        descriptor: kernel.descriptor_address(),
        entry: kernel.entry(),
        code_size: kernel.code_size(),
        vgprs: resources.vgprs,
        agprs: resources.agprs,
        sgprs: resources.sgprs,
        lds: resources.lds,
        scratch: resources.scratch,
        kernarg_size: resources.kernarg_size,
        wavefront_size: resources.wavefront_size,
        max_workgroup_size: resources.max_workgroup_size,
    }
}

fn function_row<'a>(symbol: &Symbol<'a>) -> schema::Function<'a> {
    schema::Function {
        name: symbol.name.to_str_lossy(),
        demangled: source_name(symbol.name),
        address: symbol.value,
        size: symbol.size,
    }
}

fn variable_row<'a>(symbol: &Symbol<'a>) -> schema::Variable<'a> {
    schema::Variable { name: symbol.name.to_str_lossy(), address: symbol.value, size: symbol.size }
}

/// A name as its author wrote it.
pub(crate) fn source_name(name: Str<'_>) -> Cow<'_, str> {
    demangle(name.as_bytes()).map_or_else(|| name.to_str_lossy(), Cow::Owned)
}

struct TextLister<'o> {
    out: &'o mut Output,
    kernels: &'o KernelSelection,
    mangled: bool,
    long: bool,
    /// True when not every object is wanted.
    selects: bool,
    file: FileSummary,
    files: usize,
}

/// What one file came to.
#[derive(Default)]
struct FileSummary {
    name: String,
    container: Option<Container>,
    objects: usize,
    targets: Vec<TargetSummary>,
    /// The first object in full, shown when it stays the only one; with --long every object.
    detail: Vec<u8>,
}

/// What one object came to, or all objects of a target.
#[derive(Default)]
struct TargetSummary {
    target: String,
    version: String,
    objects: usize,
    kernels: usize,
    functions: usize,
    variables: usize,
    size: u64,
}

/// One object as text.
struct TextRow {
    summary: TargetSummary,
    detail: Vec<u8>,
}

impl Visit for TextLister<'_> {
    type Row<'e> = TextRow;

    fn takes_any_file(&self) -> bool {
        true
    }

    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        self.begin_file(&file.input.name, file.container);
        Ok(())
    }

    fn read(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Result<TextRow> {
        let index = item.object.as_ref().map(CodeObject::index).unwrap_or_default();
        if let Some(object) = &item.object {
            report_problems(item, object, &index, trouble);
        }
        // The only object that is wanted may be any of the file.
        let detail = match self.long || self.selects || item.number == 0 {
            true => self.detail(item, &index, trouble)?,
            false => Vec::new(),
        };
        let kernels = match self.kernels.is_all() {
            true => index.kernels().len(),
            false => self.kernels.of(&index).len(),
        };
        Ok(TextRow { summary: TargetSummary::new(item, &index, kernels), detail })
    }

    fn object(&mut self, row: TextRow) -> Result<()> {
        // Who asks for a kernel asks where it is.
        if !self.kernels.is_all() && row.summary.kernels == 0 {
            return Ok(());
        }
        self.file.objects += 1;
        self.file.add(row.summary);
        if self.file.objects == 1 {
            self.file.detail = row.detail;
        } else if self.long {
            self.file.detail.extend(row.detail);
        }
        Ok(())
    }

    fn end(&mut self, error: Option<&str>) -> Result<()> {
        let is_without = !self.kernels.is_all() && self.file.objects == 0;
        if self.file.container.is_none() || is_without {
            return Ok(());
        }
        if self.files > 0 {
            writeln!(self.out)?;
        }
        self.files += 1;
        let nothing = match (error, self.selects) {
            (Some(_), _) => "nothing readable",
            (None, true) => "nothing selected",
            (None, false) => "no AMD GPU code",
        };
        writeln!(self.out, "{}", shown(&self.file.headline(nothing)))?;
        if self.long || self.file.objects == 1 {
            self.out.write_all(&self.file.detail)?;
        } else if self.file.objects > 1 {
            writeln!(self.out)?;
            let color = self.out.color();
            self.file.table().write(self.out, color)?;
        }
        Ok(())
    }
}

impl TargetSummary {
    fn new(item: &ObjectItem<'_, '_>, index: &Index<'_>, kernels: usize) -> Self {
        Self {
            target: item.target.clone().unwrap_or_else(|| "unknown".to_owned()),
            version: match &item.object {
                Some(object) => version_name(object),
                None => kind_name(item.entry.kind, None).to_owned(),
            },
            objects: 1,
            kernels,
            functions: index.functions().len(),
            variables: index.variables().len(),
            size: item.entry.data.len() as u64,
        }
    }

    fn add(&mut self, other: &Self) {
        self.objects += other.objects;
        self.kernels += other.kernels;
        self.functions += other.functions;
        self.variables += other.variables;
        self.size += other.size;
    }
}

impl FileSummary {
    fn add(&mut self, object: TargetSummary) {
        let same =
            |it: &&mut TargetSummary| it.target == object.target && it.version == object.version;
        match self.targets.iter_mut().find(same) {
            Some(row) => row.add(&object),
            None => self.targets.push(object),
        }
    }

    /// One line about the file; `nothing` is what to say when no object is listed.
    fn headline(&self, nothing: &str) -> String {
        let container = self.container.map_or("unknown", describe);
        if self.objects == 0 {
            return format!("{}: {container}, {nothing}", self.name);
        }
        let sum = |of: fn(&TargetSummary) -> usize| self.targets.iter().map(of).sum();
        let mut parts = vec![container.to_owned()];
        if self.container != Some(Container::CodeObject) {
            parts.push(count(self.objects, "object"));
        }
        if let [only] = self.targets.as_slice() {
            parts.push(only.target.clone());
            parts.push(only.version.clone());
        }
        parts.push(count(sum(|it| it.kernels), "kernel"));
        for (number, what) in
            [(sum(|it| it.functions), "function"), (sum(|it| it.variables), "variable")]
        {
            if number > 0 {
                parts.push(count(number, what));
            }
        }
        format!("{}: {}", self.name, parts.join(", "))
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[
            ("TARGET", Align::Left),
            ("VERSION", Align::Left),
            ("OBJECTS", Align::Right),
            ("KERNELS", Align::Right),
            ("FUNCTIONS", Align::Right),
            ("VARIABLES", Align::Right),
            ("SIZE", Align::Right),
        ]);
        for row in &self.targets {
            table.row([
                Cell::from(&row.target),
                Cell::from(&row.version),
                Cell::from(row.objects),
                Cell::from(row.kernels),
                Cell::from(row.functions),
                Cell::from(row.variables),
                Cell::from(&human_size(row.size)),
            ]);
        }
        table
    }
}

/// `V6`, or the platform's name for objects that have no such version.
pub(crate) fn version_name(object: &CodeObject<'_>) -> String {
    match object.elf().header().os_abi {
        hsaco::elf::ELFOSABI_AMDGPU_HSA => object.abi_version().to_string(),
        hsaco::elf::ELFOSABI_AMDGPU_PAL => "PAL".to_owned(),
        hsaco::elf::ELFOSABI_AMDGPU_MESA3D => "Mesa".to_owned(),
        other => format!("OS ABI {other}"),
    }
}

impl<'o> TextLister<'o> {
    fn new(args: &Args, kernels: &'o KernelSelection, out: &'o mut Output) -> Self {
        Self {
            out,
            kernels,
            mangled: args.no_demangle,
            long: args.long || !kernels.is_all(),
            selects: args.objects.selects(),
            file: FileSummary::default(),
            files: 0,
        }
    }

    fn begin_file(&mut self, name: &str, container: Option<Container>) {
        self.file = FileSummary { name: name.to_owned(), container, ..FileSummary::default() };
    }

    fn name<'a>(&self, name: Str<'a>) -> Cow<'a, str> {
        if self.mangled { name.to_str_lossy() } else { source_name(name) }
    }

    fn detail(
        &self,
        item: &ObjectItem<'_, '_>,
        index: &Index<'_>,
        trouble: &mut Trouble,
    ) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        let color = self.out.color();
        if self.file.container != Some(Container::CodeObject) {
            writeln!(text, "\n{}", object_line(item))?;
        }
        let kernels = self.kernel_tables(item, index, trouble);
        push_titled(&mut text, &kernels, color);
        if self.kernels.is_all() {
            for (title, symbols) in [
                ("FUNCTION", index.functions()),
                ("VARIABLE", index.variables()),
                ("LDS VARIABLE", index.lds_variables()),
                ("EXTERNAL", index.externals()),
            ] {
                push_titled(&mut text, &[self.symbol_table(title, symbols)], color);
            }
        }
        Ok(text)
    }

    fn kernel_tables(
        &self,
        item: &ObjectItem<'_, '_>,
        index: &Index<'_>,
        trouble: &mut Trouble,
    ) -> Vec<Table> {
        let generation = item.object.as_ref().and_then(|it| it.target().generation());
        let wanted = self.kernels.of(index);
        let chunks: Vec<_> = wanted.chunks(ROWS_A_PART).collect();
        // Demangling is most of the work of a row that needs it.
        let needs_demangling = |it: &&Kernel<'_>| it.name().as_bytes().starts_with(b"_Z");
        let is_heavy = !self.mangled && wanted.first().is_some_and(needs_demangling);
        let weight = if is_heavy { ROWS_A_PART } else { ROWS_A_PART / 16 };
        let parts = parallel::map(&chunks, weight, |chunk| {
            let mut own = Trouble::default();
            let mut table = kernel_table();
            let names: usize = chunk.iter().map(|it| it.name().as_bytes().len()).sum();
            table.reserve(chunk.len(), if is_heavy { 2 * names } else { names });
            for kernel in *chunk {
                let resources = resources(kernel, generation, item, &mut own);
                let name = self.name(kernel.name());
                table.row(kernel_cells(&resources, kernel.code_size(), &name));
            }
            (table, own)
        });
        gather(parts, trouble)
    }

    fn symbol_table(&self, title: &'static str, symbols: &[Symbol<'_>]) -> Table {
        let mut table =
            Table::new(&[("ADDRESS", Align::Right), ("SIZE", Align::Right), (title, Align::Left)]);
        for symbol in symbols {
            let name = self.name(symbol.name);
            table.row([Cell::Hex(symbol.value), Cell::from(symbol.size), Cell::Text(&name)]);
        }
        table
    }
}

fn push_titled(out: &mut Vec<u8>, parts: &[Table], color: bool) {
    if parts.iter().any(|it| !it.is_empty()) {
        out.push(b'\n');
        Table::push_parts(parts, out, color);
    }
}

/// `object 3: gfx942, V6, ET_DYN, 7.8 KiB at 0x1000, hipv4-amdgcn-amd-amdhsa--gfx942`
pub(crate) fn object_line(item: &ObjectItem<'_, '_>) -> String {
    let line = object_parts(
        item.number,
        item.target.clone(),
        item.object.as_ref().map(version_name),
        kind_name(item.entry.kind, item.object.as_ref()),
        (item.entry.data.len() as u64, item.entry.offset),
        item.entry.id.clone(),
    );
    shown(&line).into_owned()
}

fn object_parts(
    number: usize,
    target: Option<String>,
    version: Option<String>,
    kind: &str,
    (size, offset): (u64, Option<u64>),
    entry_id: Option<String>,
) -> String {
    let mut parts = vec![target.unwrap_or_else(|| "unknown".to_owned())];
    parts.extend(version);
    parts.push(kind.to_owned());
    let size = human_size(size);
    parts.push(match offset {
        Some(offset) => format!("{size} at {offset:#x}"),
        None => format!("{size} decompressed"),
    });
    parts.extend(entry_id);
    format!("object {number}: {}", parts.join(", "))
}

fn kernel_table() -> Table {
    let right = |title| (title, Align::Right);
    Table::new(&[
        right("VGPRS"),
        right("AGPRS"),
        right("SGPRS"),
        right("LDS"),
        right("SCRATCH"),
        right("KERNARG"),
        right("WAVE"),
        right("MAX WG"),
        right("CODE"),
        ("KERNEL", Align::Left),
    ])
}

fn kernel_cells<'a>(
    resources: &Resources,
    code_size: Option<u64>,
    name: &'a str,
) -> [Cell<'a>; 10] {
    [
        resources.vgprs.into(),
        resources.agprs.into(),
        resources.sgprs.into(),
        resources.lds.into(),
        resources.scratch.into(),
        resources.kernarg_size.into(),
        resources.wavefront_size.into(),
        resources.max_workgroup_size.into(),
        code_size.into(),
        name.into(),
    ]
}
