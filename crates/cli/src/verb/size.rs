//! `hsaco size`: what every byte of a file is for.

use std::io::Write;

use anyhow::{Result, bail};
use hsaco::bytes::number::{count, grouped};
use hsaco::container::{Container, WalkOptions};
use hsaco::object::layout::{self, Duplicate, Object, Piece};
use hsaco_describe::names::Names;
use hsaco_describe::size::{
    Key, Sizes, SizesRow, Sum, Wanted, saved, saved_within_targets, targets,
};
use hsaco_describe::tables::{self, SizeRecord};

use crate::args::{Answer, Format, named};
use crate::input::{self, Input};
use crate::output::Output;
use crate::report::{Report, Status};
use crate::scan::Verify;
use crate::schema::FileStream;
use crate::select::{KernelSelection, ObjectSelection};
use crate::table::{Cell, Table};
use crate::tabular::{NameStyle, Sheet, TableReading};

/// Shows what every byte of a file is for: target, object, section, kernel
///
/// The rows of a file add up to its size, whatever is wrong with it. Compressed bundles are one row
/// each, and what they hold is shown again as it is once decompressed. JSON has every row, by all
/// keys at once.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reading: TableReading,
    #[command(flatten)]
    style: NameStyle,
    /// What to group the bytes by, outermost first [default: target,section]
    #[arg(long, value_parser = named(&KEYS), value_delimiter = ',', value_name = "KEY")]
    by: Vec<Key>,
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
const KEYS: [(&str, &str, Key); 4] = [
    ("target", "", Key::Target),
    ("object", "", Key::Object),
    ("section", "", Key::Section),
    ("kernel", "", Key::Kernel),
];

pub(crate) fn run(args: &Args) -> Result<Status> {
    let TableReading { inputs, objects, kernels, answer } = &args.reading;
    answer.color.apply();
    let (answer, sheet) = match answer.plain()? {
        Ok(answer) => (answer, None),
        Err(_) if args.duplicates => bail!("--duplicates has text and JSON, and no table"),
        Err(format) => {
            let (view, output) = (&answer.view, answer.output.as_deref());
            let sheet = Sheet::new::<SizeRecord<'_>>(format, view, output, args.names())?;
            (Answer { format: Format::Text, output: None, color: answer.color }, Some(sheet))
        }
    };
    let (selection, kernels) = (ObjectSelection::new(objects)?, KernelSelection::new(kernels));
    let all_objects = !objects.selects();
    let wanted = Wanted { objects: &selection, all_objects, kernels: &kernels };
    let options = Verify::Cheap.options(inputs.max_size);
    let mut out = Output::answer(&answer)?;
    let (is_json, stream) = (answer.format == Format::Json, FileStream::default());
    let mut writer = Writer { args, out: &mut out, is_json, files: 0, stream, sheet };
    let mut report = Report::default();
    writer.begin()?;
    for input in input::inputs(&inputs.files) {
        match input {
            Ok(input) => measure(&input, &options, wanted, &mut writer, &mut report)?,
            Err(unopened) => {
                report.begin(&unopened.name);
                report.failure(&unopened.error);
                writer.unopened(&unopened.name, report.first())?;
            }
        }
    }
    let shown = writer.end()?.map(Sheet::finish).transpose()?.unwrap_or_default();
    out.finish()?;
    Ok(shown.max(kernels.conclude(selection.conclude(report.conclude(&inputs.files)))))
}

/// One file, from its bytes to its answer.
fn measure(
    input: &Input,
    options: &WalkOptions,
    wanted: Wanted<'_>,
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
            Some((at, object)) if wanted.wants_object(at, object) => {
                report.problem(&place(at, object), &problem.error);
            }
            Some(_) => {}
            None => report.problem("", &problem.error),
        }
    }
    let file = Sizes { path: &input.name, container, layout: &layout, wanted };
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

struct Writer<'w> {
    args: &'w Args,
    out: &'w mut Output,
    is_json: bool,
    files: usize,
    stream: FileStream,
    /// Where rows go instead, if a table is asked for.
    sheet: Option<Sheet>,
}

impl Args {
    fn names(&self) -> Names {
        self.style.or_mangled(self.no_demangle)
    }
}

impl Writer<'_> {
    fn begin(&mut self) -> Result<()> {
        if self.is_json {
            self.stream.begin(self.out)?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<Option<Sheet>> {
        if self.is_json {
            self.stream.end(self.out)?;
        }
        Ok(self.sheet.take())
    }

    fn unopened(&mut self, name: &str, error: Option<&str>) -> Result<()> {
        if !self.is_json {
            return Ok(());
        }
        self.stream.file(self.out, &SizesRow::unopened(name, error))
    }

    fn file(&mut self, file: &Sizes<'_>, error: Option<&str>) -> Result<()> {
        if let Some(sheet) = &mut self.sheet {
            return sheet.add(tables::rows(None, &SizeRecord::all(&file.row(error))));
        }
        if self.is_json {
            return self.stream.file(self.out, &file.row(error));
        }
        let layout = file.layout;
        let titles = KEYS.iter().map(|(title, _, key)| (key, *title));
        let title = |key: &Key| titles.clone().find(|(it, _)| *it == key).map(|(_, it)| it);
        let keys: Vec<_> = self.keys().iter().filter_map(title).collect();
        let size = grouped(layout.size);
        self.headline(&format!("{}: {size} bytes by {}", file.path, keys.join(", ")))?;
        let pieces = file.pieces(&layout.pieces);
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
            layout.inflated.iter().flat_map(|it| file.pieces(&it.pieces)).collect();
        self.sums(file, &pieces, size)
    }

    fn keys(&self) -> &[Key] {
        if self.args.by.is_empty() { &[Key::Target, Key::Section] } else { &self.args.by }
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
    fn sums<'a>(&mut self, file: &Sizes<'a>, pieces: &[&'a Piece], size: u64) -> Result<()> {
        let sum = file.sum(self.keys(), pieces);
        let mut rows = Rows {
            table: Table::titled(">BYTES|>PERCENT|WHAT"),
            size,
            top: if self.args.top == 0 { usize::MAX } else { self.args.top },
            names: self.args.names(),
        };
        rows.add_inner(&sum, 0);
        let total = match file.wanted.is_all() {
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
        file: &Sizes<'_>,
        duplicates: &[Duplicate],
        error: Option<&str>,
    ) -> Result<()> {
        if self.is_json {
            return self.stream.file(self.out, &file.duplicates_row(duplicates, error));
        }
        if duplicates.is_empty() {
            return self.headline(&format!("{}: no kernels with the same code", file.path));
        }
        let all: u64 = duplicates.iter().map(saved).sum();
        let within: u64 = duplicates.iter().map(saved_within_targets).sum();
        self.headline(&format!(
            "{}: {} of kernels with the same code; one copy of each would save {} bytes, {} of them \
             within one target",
            file.path,
            count(duplicates.len(), "group"),
            grouped(all),
            grouped(within),
        ))?;
        writeln!(self.out)?;
        let color = self.out.color();
        Ok(self.duplicate_table(duplicates).write(self.out, color)?)
    }

    fn duplicate_table(&self, duplicates: &[Duplicate]) -> Table {
        let mut table = Table::titled(">SAVES|>CODE|>COPIES|>TARGETS|KERNEL");
        let top = if self.args.top == 0 { usize::MAX } else { self.args.top };
        for duplicate in duplicates.iter().take(top) {
            table.row([
                (&grouped(saved(duplicate))).into(),
                (&grouped(duplicate.size)).into(),
                duplicate.kernels.len().into(),
                targets(duplicate).into(),
                (&names(duplicate, self.args.names())).into(),
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
fn names(duplicate: &Duplicate, style: Names) -> String {
    let mut names: Vec<&str> = duplicate.kernels.iter().map(|it| &*it.name).collect();
    let first = names.first().map(|name| style.of((*name).into()).into_owned()).unwrap_or_default();
    names.sort_unstable();
    names.dedup();
    match names.len() {
        0 | 1 => first,
        several => format!("{first} [and {}]", count(several - 1, "other name")),
    }
}

/// A table of sums within sums.
struct Rows {
    table: Table,
    /// What a hundred percent is.
    size: u64,
    top: usize,
    names: Names,
}

impl Rows {
    fn add(&mut self, bytes: u64, text: &str) {
        let percent = percent(bytes, self.size);
        self.table.row([(&grouped(bytes)).into(), (&percent).into(), text.into()]);
    }

    fn add_inner(&mut self, sum: &Sum<'_>, depth: usize) {
        let parts = sum.parts();
        let indent = "  ".repeat(depth);
        for (label, part) in parts.iter().take(self.top) {
            let text = label.text(self.names);
            self.add(part.bytes, &format!("{indent}{text}"));
            // One part of the same name says nothing more.
            let inner = part.parts();
            let alike = inner.len() == 1 && inner.iter().all(|(it, _)| it.text(self.names) == text);
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
