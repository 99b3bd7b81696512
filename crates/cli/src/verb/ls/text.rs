//! `ls` for people: tables.

use std::borrow::Cow;
use std::io::Write;

use anyhow::Result;
use hsaco::bytes::Str;
use hsaco::bytes::number::count;
use hsaco::container::Container;
use hsaco::object::Resources;
use hsaco_describe::list::{Contents, Listed, ObjectRow, SymbolList};
use hsaco_describe::names::Names;

use super::{Args, gather, index};
use crate::frame::object_line;
use crate::output::Output;
use crate::parallel;
use crate::report::Trouble;
use crate::scan::{FileItem, ObjectItem, Visit};
use crate::select::KernelSelection;
use crate::table::{Cell, ROWS_A_PART, Table, human_size};
use hsaco::bytes::escape::shown;

pub(super) struct TextLister<'o> {
    out: &'o mut Output,
    kernels: &'o KernelSelection,
    names: Names,
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
    /// The package that the file is in, and its path there.
    package: Option<String>,
    member: Option<String>,
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
pub(super) struct TextRow {
    member: Option<(String, Option<Container>)>,
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
        let index = index(item, trouble);
        self.row(Contents::Read(item, &index), trouble)
    }

    fn object(&mut self, row: TextRow) -> Result<()> {
        // Who asks for a kernel asks where it is.
        if !self.kernels.is_all() && row.summary.kernels == 0 {
            return Ok(());
        }
        self.turn_to(row.member)?;
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
        self.finish(error)
    }
}

impl TextLister<'_> {
    /// Files of a package are listed as those of a folder: what was seen of another one is complete.
    fn turn_to(&mut self, member: Option<(String, Option<Container>)>) -> Result<()> {
        let Some((path, container)) = member else { return Ok(()) };
        if self.file.member.as_ref() == Some(&path) {
            return Ok(());
        }
        let package = match &self.file.package {
            Some(package) => package.clone(),
            None => self.file.name.clone(),
        };
        if self.file.member.is_some() {
            self.finish(None)?;
        }
        let name = format!("{package}/{path}");
        self.file = FileSummary {
            name,
            container,
            member: Some(path),
            package: Some(package),
            ..FileSummary::default()
        };
        Ok(())
    }

    /// Writes what the file came to.
    fn finish(&mut self, error: Option<&str>) -> Result<()> {
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
        if self.long || (self.file.objects == 1 && !self.file.detail.is_empty()) {
            self.out.write_all(&self.file.detail)?;
        } else if self.file.objects > 0 {
            writeln!(self.out)?;
            let color = self.out.color();
            self.file.table().write(self.out, color)?;
        }
        Ok(())
    }
}

impl TargetSummary {
    fn new(contents: Contents<'_, '_>, kernels: usize) -> Self {
        let head = contents.head();
        Self {
            target: head.target.unwrap_or("unknown").to_owned(),
            version: head.version.unwrap_or_else(|| head.kind.to_owned()),
            objects: 1,
            kernels,
            functions: contents.symbol_count(SymbolList::Functions),
            variables: contents.symbol_count(SymbolList::Variables),
            size: head.size,
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
        let container = self.container.map_or("unknown", Container::title);
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
        let titles = "TARGET|VERSION|>OBJECTS|>KERNELS|>FUNCTIONS|>VARIABLES|>SIZE";
        let mut table = Table::titled(titles);
        for row in &self.targets {
            let (target, version) = ((&row.target).into(), (&row.version).into());
            let counts = [row.objects, row.kernels, row.functions, row.variables];
            let [objects, kernels, functions, variables] = counts.map(Cell::from);
            let size = human_size(row.size);
            table.row([target, version, objects, kernels, functions, variables, (&size).into()]);
        }
        table
    }
}

impl<'o> TextLister<'o> {
    pub(super) fn new(args: &Args, kernels: &'o KernelSelection, out: &'o mut Output) -> Self {
        Self {
            out,
            kernels,
            names: args.names(),
            long: args.long || !kernels.is_all(),
            selects: args.reading.objects.selects(),
            file: FileSummary::default(),
            files: 0,
        }
    }

    pub(super) fn begin_file(&mut self, name: &str, container: Option<Container>) {
        self.file = FileSummary { name: name.to_owned(), container, ..FileSummary::default() };
    }

    fn name<'a>(&self, name: Str<'a>) -> Cow<'a, str> {
        self.names.of(name)
    }

    /// What is shown of an object.
    pub(super) fn row(&self, contents: Contents<'_, '_>, trouble: &mut Trouble) -> Result<TextRow> {
        // The only object that is wanted may be any of the file.
        let head = contents.head();
        let detail = match self.long || self.selects || head.index == 0 || is_member(&head) {
            true => self.detail(contents, trouble)?,
            false => Vec::new(),
        };
        let kernels = contents.count(self.kernels);
        let named = |name: &str| Container::ALL.iter().copied().find(|it| it.name() == name);
        let member = head.member.map(|path| (path.into_owned(), named(head.member_container)));
        Ok(TextRow { member, summary: TargetSummary::new(contents, kernels), detail })
    }

    fn detail(&self, contents: Contents<'_, '_>, trouble: &mut Trouble) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        let color = self.out.color();
        let head = contents.head();
        // Objects of a package are read before their file is turned to.
        let is_whole_file = match head.member {
            Some(_) => is_member(&head),
            None => self.file.container == Some(Container::CodeObject),
        };
        if !is_whole_file {
            writeln!(text, "\n{}", shown(&object_line(&head)))?;
        }
        push_titled(&mut text, &self.kernel_tables(contents, trouble), color);
        if self.kernels.is_all() {
            for (titles, list) in [
                (">ADDRESS|>SIZE|FUNCTION", SymbolList::Functions),
                (">ADDRESS|>SIZE|VARIABLE", SymbolList::Variables),
                (">ADDRESS|>SIZE|LDS VARIABLE", SymbolList::LdsVariables),
                (">ADDRESS|>SIZE|EXTERNAL", SymbolList::Externals),
            ] {
                let mut table = Table::titled(titles);
                for (name, address, size) in contents.symbols(list) {
                    let name = self.name(name);
                    table.row([Cell::Hex(address), size.into(), Cell::Text(&name)]);
                }
                push_titled(&mut text, &[table], color);
            }
        }
        Ok(text)
    }

    fn kernel_tables(&self, contents: Contents<'_, '_>, trouble: &mut Trouble) -> Vec<Table> {
        let wanted = contents.kernels(self.kernels);
        let chunks: Vec<_> = wanted.chunks(ROWS_A_PART).collect();
        // Demangling is most of the work of a row that needs it.
        let needs_demangling = |it: &Listed<'_, '_>| it.name().as_bytes().starts_with(b"_Z");
        let is_heavy = self.names != Names::Mangled && wanted.first().is_some_and(needs_demangling);
        let weight = if is_heavy { ROWS_A_PART } else { ROWS_A_PART / 16 };
        let parts = parallel::map(&chunks, weight, |chunk| {
            let mut own = Trouble::default();
            let mut table = Table::titled(KERNEL_TITLES);
            let names: usize = chunk.iter().map(|it| it.name().as_bytes().len()).sum();
            table.reserve(chunk.len(), if is_heavy { 2 * names } else { names });
            for kernel in *chunk {
                let (resources, error) = kernel.resources();
                contents.note(kernel.name(), error, &mut own);
                let name = self.name(kernel.name());
                table.row(kernel_cells(&resources, kernel.code_size(), &name));
            }
            (table, own)
        });
        gather(parts, trouble)
    }
}

/// Whether an object is a file of a package by itself.
fn is_member(head: &ObjectRow<'_>) -> bool {
    head.member.is_some() && head.member_container == Container::CodeObject.name()
}

fn push_titled(out: &mut Vec<u8>, parts: &[Table], color: bool) {
    if parts.iter().any(|it| !it.is_empty()) {
        out.push(b'\n');
        Table::push_parts(parts, out, color);
    }
}

const KERNEL_TITLES: &str =
    ">VGPRS|>AGPRS|>SGPRS|>LDS|>SCRATCH|>KERNARG|>WAVE|>MAX WG|>CODE|KERNEL";

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
