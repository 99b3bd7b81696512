//! One table of all files and objects: filtered, sorted, as text, CSV, JSON lines or Parquet.

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use hsaco_describe::names::Names;
use hsaco_describe::tables::{Place, Record, columns};
use hsaco_table::{Rows, TableView, Writer};

use crate::args::{Answer, Color, Format, Inputs, KernelFilter, ObjectFilter, named};
use crate::output::Output;
use crate::report::{self, Status, Trouble};
use crate::scan::{self, FileItem, ObjectItem, Verify, Visit};

/// How to answer, where there is a table of the answer.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct TableAnswer {
    /// Text for people; for programs JSON, or the rows of a table (docs/tables.md)
    #[arg(long, value_enum, default_value_t = TableFormat::Text)]
    pub(crate) format: TableFormat,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
    /// Write the answer to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<std::ffi::OsString>,
    /// When to colour the answer
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
}

/// What verbs take that read kernels and have a table.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct TableReading {
    #[command(flatten)]
    pub(crate) inputs: Inputs,
    #[command(flatten)]
    pub(crate) objects: ObjectFilter,
    #[command(flatten)]
    pub(crate) kernels: KernelFilter,
    #[command(flatten)]
    pub(crate) answer: TableAnswer,
}

/// Which rows of a table are shown, and how.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct ViewArgs {
    /// Only rows of which this is true: 'vgprs > 128 || occupancy < 4', 'name ~ "gemm" && spills = 0'
    #[arg(long = "where", value_name = "EXPRESSION")]
    filter: Option<String>,
    /// Sort rows by these columns; after a - the largest comes first (-vgprs,name)
    #[arg(long, value_name = "COLUMNS", allow_hyphen_values = true)]
    sort: Option<String>,
    /// Show these columns only (name,vgprs)
    #[arg(long, value_name = "COLUMNS")]
    columns: Option<String>,
}

/// A form of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// People
    Text,
    /// Programs: one document
    Json,
    /// Spreadsheets: a line for each row
    Csv,
    /// Programs: an object for each row
    Jsonl,
    /// Databases: the rows by column; wants -o
    Parquet,
}

/// How names are shown.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct NameStyle {
    /// How to show names
    #[arg(long, value_name = "STYLE", default_value = "full", value_parser = named(&STYLES))]
    pub(crate) names: Names,
}

const STYLES: [(&str, &str, Names); 3] = [
    (
        "short",
        "The function alone, without namespace, template arguments and parameters",
        Names::Short,
    ),
    ("full", "As in the source", Names::Full),
    ("mangled", "As the linker sees them", Names::Mangled),
];

impl NameStyle {
    /// The style, unless a flag asks for mangled names.
    pub(crate) fn or_mangled(self, mangled: bool) -> Names {
        if mangled { Names::Mangled } else { self.names }
    }
}

impl TableAnswer {
    /// The same answer, if it is to be no table; else how the table is written.
    pub(crate) fn plain(&self) -> Result<Result<Answer, TableFormat>> {
        let format = match self.format {
            TableFormat::Text if !self.view.is_asked() => Format::Text,
            TableFormat::Json if !self.view.is_asked() => Format::Json,
            TableFormat::Json => {
                bail!(
                    "--where, --sort and --columns are about rows: use --format jsonl, csv or parquet"
                )
            }
            TableFormat::Parquet if self.output.is_none() => {
                bail!("--format parquet needs -o FILE")
            }
            table => return Ok(Err(table)),
        };
        Ok(Ok(Answer { format, output: self.output.clone(), color: self.color }))
    }
}

impl ViewArgs {
    /// Whether a table is asked for.
    pub(crate) fn is_asked(&self) -> bool {
        self.filter.is_some() || self.sort.is_some() || self.columns.is_some()
    }
}

/// A table on its way out.
pub(crate) struct Sheet {
    writer: Writer,
    out: Output,
    /// How many rows there were before they were filtered.
    rows: usize,
    filtered: bool,
}

impl Sheet {
    /// A table of records, of which people are shown their names in a style.
    pub(crate) fn new<R: Record>(
        format: TableFormat,
        view: &ViewArgs,
        output: Option<&std::ffi::OsStr>,
        names: Names,
    ) -> Result<Self> {
        let name = |it: &&'static str| match (*it, names) {
            ("demangled", Names::Short) => "short",
            ("demangled", Names::Mangled) => R::MANGLED,
            (other, _) => other,
        };
        let shown: Vec<&str> = R::SHOWN.iter().map(name).collect();
        let ViewArgs { filter, sort, columns: named } = view;
        let wanted = TableView {
            filter: filter.as_deref(),
            order: sort.as_deref(),
            columns: named.as_deref(),
            shown: &shown,
        };
        // What is wrong is said before anything is written.
        Writer::new(R::TABLE, &columns::<R>(), hsaco_table::Format::Csv, wanted)
            .context("the rows that are asked for")?;
        let is_text = format == TableFormat::Text;
        let out = Output::open(output)?.for_people(is_text);
        let format = match format {
            TableFormat::Csv => hsaco_table::Format::Csv,
            TableFormat::Jsonl => hsaco_table::Format::Jsonl,
            TableFormat::Parquet => hsaco_table::Format::Parquet,
            TableFormat::Text | TableFormat::Json => {
                hsaco_table::Format::Text { color: out.color() }
            }
        };
        let writer = Writer::new(R::TABLE, &columns::<R>(), format, wanted)?;
        Ok(Self { writer, out, rows: 0, filtered: filter.is_some() })
    }

    /// Takes all rows of a file or object.
    pub(crate) fn add(&mut self, rows: Rows) -> Result<()> {
        let count = rows.len();
        self.take(count, &self.writer.select(rows))
    }

    fn take(&mut self, count: usize, selected: &Rows) -> Result<()> {
        self.rows += count;
        Ok(self.writer.write(selected, &mut self.out)?)
    }

    /// Writes the rest. A filter that is true of nothing is said to be, and ends as a search that finds nothing.
    pub(crate) fn finish(mut self) -> Result<Status> {
        let count = self.writer.finish(&mut self.out)?;
        self.out.finish()?;
        if count == 0 && self.filtered {
            report::note(&format!("--where is true of none of {} rows", self.rows));
            return Ok(Status::Findings);
        }
        Ok(Status::Fine)
    }
}

/// Writes the table of what `read` makes of each wanted object of each input.
pub(crate) fn run(
    sheet: Sheet,
    (inputs, filter, verify): (&Inputs, &ObjectFilter, Verify),
    read: impl Fn(Place<'_>, &ObjectItem<'_, '_>, &mut Trouble) -> Rows + Sync,
) -> Result<Status> {
    let mut visitor = Visitor { sheet, read, path: String::new() };
    let status = scan::run(inputs, filter, verify, &mut visitor)?;
    Ok(status.max(visitor.sheet.finish()?))
}

struct Visitor<R> {
    sheet: Sheet,
    read: R,
    path: String,
}

impl<R> Visit for Visitor<R>
where
    R: Fn(Place<'_>, &ObjectItem<'_, '_>, &mut Trouble) -> Rows + Sync,
{
    type Row<'e> = (usize, Rows);

    fn takes_any_file(&self) -> bool {
        false
    }

    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        self.path.clone_from(&file.input.name);
        Ok(())
    }

    fn read(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Result<(usize, Rows)> {
        let rows = (self.read)(Place::new(&self.path, item), item, trouble);
        Ok((rows.len(), self.sheet.writer.select(rows)))
    }

    fn object(&mut self, (count, rows): (usize, Rows)) -> Result<()> {
        self.sheet.take(count, &rows)
    }
}
