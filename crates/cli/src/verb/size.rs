//! `hsaco size`: what every byte of a file is for.

use std::io::Write;

use anyhow::{Result, bail};
use hsaco::container::{Container, WalkOptions};
use hsaco::object::layout::{self, Duplicate, Object};
use hsaco_describe::names::Names;
use hsaco_describe::size::{Key, SizeStyle, Sizes, SizesRow, Wanted};
use hsaco_describe::tables::{self, SizeRecord};

use crate::args::{Answer, Format, named};
use crate::input::{self, Input};
use crate::output::Output;
use crate::report::{Report, Status};
use crate::scan::Verify;
use crate::schema::FileStream;
use crate::select::{KernelSelection, ObjectSelection};
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
    (Key::Target.name(), "", Key::Target),
    (Key::Object.name(), "", Key::Object),
    (Key::Section.name(), "", Key::Section),
    (Key::Kernel.name(), "", Key::Kernel),
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
    let options = Verify::Cheap.options(inputs.max_size, &selection);
    let mut out = Output::answer(&answer)?;
    let (is_json, stream) = (answer.format == Format::Json, FileStream::default());
    let style = args.style();
    let mut writer = Writer { args, out: &mut out, is_json, style, files: 0, stream, sheet };
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
    style: SizeStyle,
    files: usize,
    stream: FileStream,
    /// Where rows go instead, if a table is asked for.
    sheet: Option<Sheet>,
}

impl Args {
    fn names(&self) -> Names {
        self.style.or_mangled(self.no_demangle)
    }

    fn style(&self) -> SizeStyle {
        let default = || vec![Key::Target, Key::Section];
        let keys = if self.by.is_empty() { default() } else { self.by.clone() };
        let top = if self.top == 0 { usize::MAX } else { self.top };
        SizeStyle { keys, top, names: self.names() }
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
        self.separate()?;
        let color = self.out.color();
        Ok(file.write(&self.style, self.out, color)?)
    }

    /// A blank line between files.
    fn separate(&mut self) -> Result<()> {
        if self.files > 0 {
            writeln!(self.out)?;
        }
        self.files += 1;
        Ok(())
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
        self.separate()?;
        let color = self.out.color();
        Ok(file.write_duplicates(duplicates, &self.style, self.out, color)?)
    }
}
