//! `hsaco size`: what every byte of a file is for.

use std::collections::HashMap;
use std::io::Write;

use anyhow::Result;
use clap::ValueEnum;
use hsaco::bytes::Str;
use hsaco::container::{Container, Options};
use hsaco::demangle::demangle;
use hsaco::object::layout::{self, Code, Duplicate, Kind, Layout, Object, Owner, Piece};
use serde::Serialize;

use crate::args::{Answer, Format, Inputs, KernelFilter, ObjectFilter};
use crate::input::{self, Input};
use crate::output::Output;
use crate::report::{Report, Status};
use crate::scan::Verify;
use crate::schema::SCHEMA_VERSION;
use crate::select::{KernelSelection, ObjectSelection};
use crate::table::{Align, Cell, Table, count, grouped};

/// Shows what every byte of a file is for: target, object, section, kernel
///
/// The rows of a file add up to its size, whatever is wrong with it. Compressed bundles are one row
/// each, and what they hold is shown again as it is once decompressed. JSON has every row, by all
/// keys at once.
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
    /// What to group the bytes by, outermost first [default: target,section]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KEY")]
    by: Vec<By>,
    /// Show so many rows of each group, and the others as one; 0 shows all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// Show kernels that have the same code, and what one copy of each would save
    #[arg(long, conflicts_with = "by")]
    duplicates: bool,
    /// Show names as the linker sees them
    #[arg(long)]
    no_demangle: bool,
}

/// What bytes are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    Target,
    Object,
    Section,
    Kernel,
}

impl By {
    fn title(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Object => "object",
            Self::Section => "section",
            Self::Kernel => "kernel",
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.answer.color.apply();
    let selection = Selection::new(args)?;
    let options = Verify::Cheap.options(args.inputs.max_size);
    let mut out = Output::answer(&args.answer)?;
    let mut writer = Writer { args, out: &mut out, files: 0 };
    let mut report = Report::default();
    writer.begin()?;
    for input in input::inputs(&args.inputs.files) {
        match input {
            Ok(input) => measure(&input, &options, &selection, &mut writer, &mut report)?,
            Err(unopened) => {
                report.begin(&unopened.name);
                report.failure(&unopened.error);
                writer.unopened(&unopened.name, report.first())?;
            }
        }
    }
    writer.end()?;
    out.finish()?;
    let status = selection.objects.conclude(report.conclude(&args.inputs.files));
    Ok(selection.kernels.conclude(status))
}

/// One file, from its bytes to its answer.
fn measure(
    input: &Input,
    options: &Options,
    selection: &Selection,
    writer: &mut Writer<'_>,
    report: &mut Report,
) -> Result<()> {
    report.begin(&input.name);
    let container = Container::detect(input);
    if input.found && container.is_none() {
        return Ok(());
    }
    let layout = layout::layout(input, options);
    if input.found && layout.objects.is_empty() && layout.problems.is_empty() {
        return Ok(());
    }
    report.look_into();
    for problem in &layout.problems {
        let object = problem.object.and_then(|at| Some((at, layout.objects.get(at)?)));
        match object {
            Some((at, object)) if selection.wants_object(at, object) => {
                report.problem(&place(at, object), &problem.error);
            }
            Some(_) => {}
            None => report.problem("", &problem.error),
        }
    }
    let file = File { name: &input.name, container, layout: &layout, selection };
    if writer.args.duplicates {
        let mut duplicates = layout::duplicates(input, options);
        file.select(&mut duplicates);
        writer.duplicates(&file, &duplicates, report.first())
    } else {
        writer.file(&file, report.first())
    }
}

fn place(number: usize, object: &Object) -> String {
    match &object.target {
        Some(target) => format!("object {number} ({target})"),
        None => format!("object {number}"),
    }
}

/// Which bytes are wanted.
struct Selection {
    objects: ObjectSelection,
    kernels: KernelSelection,
    all_objects: bool,
}

impl Selection {
    fn new(args: &Args) -> Result<Self> {
        let ObjectFilter { target, device, object } = &args.objects;
        Ok(Self {
            objects: ObjectSelection::new(&args.objects)?,
            kernels: KernelSelection::new(&args.kernels),
            all_objects: target.is_empty() && device.is_none() && object.is_none(),
        })
    }

    fn is_all(&self) -> bool {
        self.all_objects && self.kernels.is_all()
    }

    fn wants_object(&self, number: usize, object: &Object) -> bool {
        let text = object.target.as_deref().unwrap_or_default();
        self.objects.wants_target(number, text.parse().ok(), text, object.generic_version)
    }
}

/// One file and what is known of it.
struct File<'a> {
    name: &'a str,
    container: Option<Container>,
    layout: &'a Layout,
    selection: &'a Selection,
}

impl<'a> File<'a> {
    fn object(&self, owner: &Owner) -> Option<(usize, &'a Object)> {
        owner.object.and_then(|at| Some((at, self.layout.objects.get(at)?)))
    }

    /// The wanted ones of these pieces.
    fn wanted(&self, pieces: &'a [Piece]) -> Vec<&'a Piece> {
        if self.selection.is_all() {
            return pieces.iter().collect();
        }
        let mut wanted = HashMap::new();
        let mut wants_name = |name: &'a str| {
            *wanted
                .entry(name)
                .or_insert_with(|| self.selection.kernels.wants(Str::new(name.as_bytes())))
        };
        let mut wants = |piece: &&'a Piece| {
            let object = self.object(&piece.owner);
            object
                .map_or(self.selection.all_objects, |(at, it)| self.selection.wants_object(at, it))
                && (self.selection.kernels.is_all()
                    || piece.owner.name.as_deref().is_some_and(&mut wants_name))
        };
        pieces.iter().filter(|piece| wants(piece)).collect()
    }

    /// Leaves the wanted kernels, where there are two of them.
    fn select(&self, duplicates: &mut Vec<Duplicate>) {
        let wants = |code: &Code| {
            let object = self.layout.objects.get(code.object);
            object.is_none_or(|it| self.selection.wants_object(code.object, it))
                && self.selection.kernels.wants(Str::new(code.name.as_bytes()))
        };
        duplicates.iter_mut().for_each(|it| it.kernels.retain(wants));
        duplicates.retain(|it| it.kernels.len() > 1);
        duplicates.sort_by_key(|it| std::cmp::Reverse(saved(it)));
    }
}

/// Bytes that one copy for all would save.
fn saved(duplicate: &Duplicate) -> u64 {
    duplicate.size.saturating_mul((duplicate.kernels.len() as u64).saturating_sub(1))
}

/// How many targets the copies are for.
fn targets(duplicate: &Duplicate) -> usize {
    let mut targets: Vec<_> = duplicate.kernels.iter().map(|it| &it.target).collect();
    targets.sort_unstable();
    targets.dedup();
    targets.len()
}

/// Bytes that one copy for each target would save.
fn saved_within_targets(duplicate: &Duplicate) -> u64 {
    let copies = duplicate.kernels.len().saturating_sub(targets(duplicate));
    duplicate.size.saturating_mul(copies as u64)
}

/// Rows of JSON: one for each owner of bytes, in the order of objects, sections and names.
#[derive(Serialize)]
struct Row<'a> {
    target: Option<&'a str>,
    object: Option<usize>,
    kernel: Option<&'a str>,
    section: Option<&'a str>,
    kind: &'static str,
    bytes: u64,
}

#[derive(Serialize)]
struct JsonFile<'a> {
    path: &'a str,
    container: Option<&'static str>,
    size: Option<u64>,
    filtered: bool,
    rows: Vec<Row<'a>>,
    inflated: Vec<JsonInflated<'a>>,
    error: Option<&'a str>,
}

#[derive(Serialize)]
struct JsonInflated<'a> {
    offset: u64,
    within: Option<usize>,
    size: u64,
    targets: &'a [String],
    rows: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct JsonDuplicates<'a> {
    path: &'a str,
    container: Option<&'static str>,
    size: Option<u64>,
    filtered: bool,
    saved: u64,
    saved_within_targets: u64,
    duplicates: Vec<JsonDuplicate<'a>>,
    error: Option<&'a str>,
}

#[derive(Serialize)]
struct JsonDuplicate<'a> {
    bytes: u64,
    saved: u64,
    saved_within_targets: u64,
    kernels: Vec<JsonCode<'a>>,
}

#[derive(Serialize)]
struct JsonCode<'a> {
    target: &'a str,
    object: usize,
    kernel: &'a str,
}

impl<'a> File<'a> {
    fn rows(&self, pieces: &'a [Piece]) -> Vec<Row<'a>> {
        let mut pieces = self.wanted(pieces);
        pieces.sort_by(|a, b| a.owner.cmp(&b.owner));
        let same = pieces.chunk_by(|a, b| a.owner == b.owner);
        let row = |pieces: &[&'a Piece]| {
            let owner = &pieces.first()?.owner;
            Some(Row {
                target: self.object(owner).and_then(|(_, it)| it.target.as_deref()),
                object: owner.object,
                kernel: owner.name.as_deref(),
                section: owner.section.as_deref(),
                kind: owner.kind.name(),
                bytes: pieces.iter().map(|it| length(it)).sum(),
            })
        };
        same.filter_map(row).collect()
    }

    fn json(&self, error: Option<&'a str>) -> JsonFile<'a> {
        let inflated = self.layout.inflated.iter().map(|it| JsonInflated {
            offset: it.offset,
            within: it.within,
            size: it.size,
            targets: &it.targets,
            rows: self.rows(&it.pieces),
        });
        JsonFile {
            path: self.name,
            container: self.container.map(Container::name),
            size: Some(self.layout.size),
            filtered: !self.selection.is_all(),
            rows: self.rows(&self.layout.pieces),
            inflated: inflated.collect(),
            error,
        }
    }

    fn json_duplicates(
        &self,
        duplicates: &'a [Duplicate],
        error: Option<&'a str>,
    ) -> JsonDuplicates<'a> {
        let code =
            |it: &'a Code| JsonCode { target: &it.target, object: it.object, kernel: &it.name };
        let duplicate = |it: &'a Duplicate| JsonDuplicate {
            bytes: it.size,
            saved: saved(it),
            saved_within_targets: saved_within_targets(it),
            kernels: it.kernels.iter().map(code).collect(),
        };
        JsonDuplicates {
            path: self.name,
            container: self.container.map(Container::name),
            size: Some(self.layout.size),
            filtered: !self.selection.is_all(),
            saved: duplicates.iter().map(saved).sum(),
            saved_within_targets: duplicates.iter().map(saved_within_targets).sum(),
            duplicates: duplicates.iter().map(duplicate).collect(),
            error,
        }
    }
}

fn length(piece: &Piece) -> u64 {
    piece.range.end - piece.range.start
}

struct Writer<'w> {
    args: &'w Args,
    out: &'w mut Output,
    files: usize,
}

impl Writer<'_> {
    fn is_json(&self) -> bool {
        self.args.answer.format == Format::Json
    }

    fn begin(&mut self) -> Result<()> {
        if self.is_json() {
            write!(self.out, "{{\"schema_version\":{SCHEMA_VERSION},\"files\":[")?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        if self.is_json() {
            writeln!(self.out, "]}}")?;
        }
        Ok(())
    }

    fn unopened(&mut self, name: &str, error: Option<&str>) -> Result<()> {
        if !self.is_json() {
            return Ok(());
        }
        self.json(&JsonFile {
            path: name,
            container: None,
            size: None,
            filtered: false,
            rows: Vec::new(),
            inflated: Vec::new(),
            error,
        })
    }

    fn json(&mut self, file: &impl Serialize) -> Result<()> {
        if self.files > 0 {
            self.out.write_all(b",")?;
        }
        self.files += 1;
        Ok(serde_json::to_writer(&mut *self.out, file)?)
    }

    fn file(&mut self, file: &File<'_>, error: Option<&str>) -> Result<()> {
        if self.is_json() {
            return self.json(&file.json(error));
        }
        let layout = file.layout;
        let keys: Vec<_> = self.keys().iter().map(|it| it.title()).collect();
        let size = grouped(layout.size);
        self.headline(&format!("{}: {size} bytes by {}", file.name, keys.join(", ")))?;
        let pieces = file.wanted(&layout.pieces);
        // Of a file that is compressed, a filter leaves only what is inflated.
        if !pieces.is_empty() || layout.inflated.is_empty() {
            self.sums(file, &pieces, layout.size)?;
        }
        if layout.inflated.is_empty() {
            return Ok(());
        }
        let size = layout.inflated.iter().map(|it| it.size).sum();
        let mut targets: Vec<_> =
            layout.inflated.iter().flat_map(|it| &it.targets).map(String::as_str).collect();
        targets.sort_unstable();
        targets.dedup();
        let payloads = count(layout.inflated.len(), "compressed bundle");
        let (inflated, targets) = (grouped(size), targets.join(", "));
        writeln!(self.out, "\n{payloads} ({targets}): {inflated} bytes inflated")?;
        let pieces: Vec<_> =
            layout.inflated.iter().flat_map(|it| file.wanted(&it.pieces)).collect();
        self.sums(file, &pieces, size)
    }

    fn keys(&self) -> &[By] {
        if self.args.by.is_empty() { &[By::Target, By::Section] } else { &self.args.by }
    }

    fn headline(&mut self, text: &str) -> Result<()> {
        if self.files > 0 {
            writeln!(self.out)?;
        }
        self.files += 1;
        writeln!(self.out, "{text}")?;
        Ok(())
    }

    /// The table of pieces that are all or part of `size` bytes.
    fn sums(&mut self, file: &File<'_>, pieces: &[&Piece], size: u64) -> Result<()> {
        let keys = self.keys();
        let labels = Labels::new(file);
        let mut sum = Sum::default();
        for piece in pieces {
            sum.add(keys.iter().map(|&key| labels.of(key, &piece.owner)), length(piece));
        }
        let mut rows = Rows {
            table: Table::new(&[
                ("BYTES", Align::Right),
                ("PERCENT", Align::Right),
                ("WHAT", Align::Left),
            ]),
            size,
            top: if self.args.top == 0 { usize::MAX } else { self.args.top },
            mangled: self.args.no_demangle,
        };
        rows.add_inner(&sum, 0);
        let total = match file.selection.is_all() {
            true => "TOTAL".to_owned(),
            false => format!("TOTAL of what was asked for, of {} bytes", grouped(size)),
        };
        rows.add(sum.bytes, &total);
        writeln!(self.out)?;
        let color = self.out.color();
        Ok(rows.table.write(self.out, color)?)
    }

    fn duplicates(
        &mut self,
        file: &File<'_>,
        duplicates: &[Duplicate],
        error: Option<&str>,
    ) -> Result<()> {
        if self.is_json() {
            return self.json(&file.json_duplicates(duplicates, error));
        }
        if duplicates.is_empty() {
            return self.headline(&format!("{}: no kernels with the same code", file.name));
        }
        let all: u64 = duplicates.iter().map(saved).sum();
        let within: u64 = duplicates.iter().map(saved_within_targets).sum();
        self.headline(&format!(
            "{}: {} of kernels with the same code; one copy of each would save {} bytes, {} of them \
             within one target",
            file.name,
            count(duplicates.len(), "group"),
            grouped(all),
            grouped(within),
        ))?;
        writeln!(self.out)?;
        let color = self.out.color();
        Ok(self.duplicate_table(duplicates).write(self.out, color)?)
    }

    fn duplicate_table(&self, duplicates: &[Duplicate]) -> Table {
        let right = |title| (title, Align::Right);
        let mut table = Table::new(&[
            right("SAVES"),
            right("CODE"),
            right("COPIES"),
            right("TARGETS"),
            ("KERNEL", Align::Left),
        ]);
        let top = if self.args.top == 0 { usize::MAX } else { self.args.top };
        for duplicate in duplicates.iter().take(top) {
            table.row([
                (&grouped(saved(duplicate))).into(),
                (&grouped(duplicate.size)).into(),
                duplicate.kernels.len().into(),
                targets(duplicate).into(),
                (&names(duplicate, self.args.no_demangle)).into(),
            ]);
        }
        let others = duplicates.get(top..).unwrap_or_default();
        if !others.is_empty() {
            table.row([
                (&grouped(others.iter().map(saved).sum())).into(),
                Cell::Unknown,
                others.iter().map(|it| it.kernels.len()).sum::<usize>().into(),
                Cell::Unknown,
                (&format!("[{}]", count(others.len(), "other"))).into(),
            ]);
        }
        table
    }
}

/// The name of the first kernel, and how many other names there are.
fn names(duplicate: &Duplicate, mangled: bool) -> String {
    let mut names: Vec<&str> = duplicate.kernels.iter().map(|it| &*it.name).collect();
    let first = names.first().map(|name| shown(name, mangled)).unwrap_or_default();
    names.sort_unstable();
    names.dedup();
    match names.len() {
        0 | 1 => first,
        several => format!("{first} [and {}]", count(several - 1, "other name")),
    }
}

fn shown(name: &str, mangled: bool) -> String {
    let demangled = if mangled { None } else { demangle(name.as_bytes()) };
    demangled.unwrap_or_else(|| name.to_owned())
}

/// What a group of bytes has in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Label<'a> {
    Text(&'a str),
    Kernel(&'a str),
    Object(usize, &'a str),
    /// What is left of a section beside kernels.
    Rest(&'a str),
    Padding(&'a str),
    Kind(Kind),
}

impl Label<'_> {
    fn text(self, mangled: bool) -> String {
        match self {
            Self::Text("") => "[no name]".to_owned(),
            Self::Text(text) => text.to_owned(),
            Self::Kernel(name) => shown(name, mangled),
            Self::Object(number, target) => format!("object {number} ({target})"),
            Self::Rest(section) => format!("[{section}]"),
            Self::Padding(section) => format!("[{section} padding]"),
            Self::Kind(kind) => format!("[{}]", kind.name().replace('_', " ")),
        }
    }
}

/// The labels of the pieces of one file.
struct Labels<'a> {
    objects: &'a [Object],
}

impl<'a> Labels<'a> {
    fn new(file: &File<'a>) -> Self {
        Self { objects: &file.layout.objects }
    }

    fn of(&self, key: By, owner: &'a Owner) -> Label<'a> {
        let section = owner.section.as_deref();
        let object = owner.object.and_then(|at| Some((at, self.objects.get(at)?)));
        let target = object.map(|(_, it)| it.target.as_deref().unwrap_or("unknown target"));
        match (key, object, target, section, owner.name.as_deref()) {
            (By::Target, _, Some(target), ..) => Label::Text(target),
            (By::Object, Some((at, _)), Some(target), ..) => Label::Object(at, target),
            (By::Target | By::Object, ..) => Label::Text(outside(owner.kind)),
            (By::Kernel, .., Some(name)) => Label::Kernel(name),
            (By::Section, _, _, Some(section), _) => Label::Text(section),
            (By::Kernel, _, _, Some(section), _) if owner.kind == Kind::Padding => {
                Label::Padding(section)
            }
            (By::Kernel, _, _, Some(section), _) => Label::Rest(section),
            _ => Label::Kind(owner.kind),
        }
    }
}

/// What bytes that are of no object are part of.
fn outside(kind: Kind) -> &'static str {
    match kind {
        Kind::BundleHeader | Kind::BundleEntryHeader | Kind::BundlePadding => "[bundle]",
        Kind::OffloadHeader | Kind::OffloadEntryHeader | Kind::OffloadStrings => "[offload binary]",
        Kind::ArchiveHeader | Kind::ArchiveTable | Kind::MemberHeader | Kind::Member => "[archive]",
        Kind::Compressed => "[compressed]",
        Kind::OtherEntry => "[other entry]",
        Kind::Unknown => "[unknown]",
        _ => "[host]",
    }
}

/// Bytes, and the parts they come from.
#[derive(Default)]
struct Sum<'a> {
    bytes: u64,
    parts: HashMap<Label<'a>, Sum<'a>>,
}

impl<'a> Sum<'a> {
    fn add(&mut self, mut labels: impl Iterator<Item = Label<'a>>, bytes: u64) {
        self.bytes += bytes;
        if let Some(label) = labels.next() {
            self.parts.entry(label).or_default().add(labels, bytes);
        }
    }
}

/// A table of sums within sums.
struct Rows {
    table: Table,
    /// What a hundred percent is.
    size: u64,
    top: usize,
    mangled: bool,
}

impl Rows {
    fn add(&mut self, bytes: u64, text: &str) {
        let percent = percent(bytes, self.size);
        self.table.row([(&grouped(bytes)).into(), (&percent).into(), text.into()]);
    }

    fn add_inner(&mut self, sum: &Sum<'_>, depth: usize) {
        let mut parts: Vec<_> = sum.parts.iter().collect();
        parts.sort_by_key(|(label, part)| (std::cmp::Reverse(part.bytes), **label));
        let indent = "  ".repeat(depth);
        for (label, part) in parts.iter().take(self.top) {
            let text = label.text(self.mangled);
            self.add(part.bytes, &format!("{indent}{text}"));
            // One part of the same name says nothing more.
            let alike =
                part.parts.len() == 1 && part.parts.keys().all(|it| it.text(self.mangled) == text);
            if !alike {
                self.add_inner(part, depth + 1);
            }
        }
        let others = parts.get(self.top..).unwrap_or_default();
        if !others.is_empty() {
            let bytes = others.iter().map(|(_, part)| part.bytes).sum();
            self.add(bytes, &format!("{indent}[{}]", count(others.len(), "other")));
        }
    }
}

/// `12.3%`, cut and not rounded, so that only all of it is a hundred.
fn percent(part: u64, whole: u64) -> String {
    let thousandths = u128::from(part) * 1000 / u128::from(whole.max(1));
    format!("{}.{}%", thousandths / 10, thousandths % 10)
}
