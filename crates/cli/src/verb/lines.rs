//! `hsaco lines`: which source lines code comes from, and which code a source line became.

use std::io::Write;
use std::ops::Range;

use anyhow::Result;
use hsaco::bytes::Str;
use hsaco::demangle::demangle;
use hsaco::dwarf::{DebugSections, Frame, Location, SourceMap};
use hsaco::object::{CodeMap, CodeObject, Kernel};
use serde::Serialize;

use crate::args::{Answer, Format, Inputs, KernelFilter, ObjectFilter};
use crate::json_files;
use crate::output::Output;
use crate::report::{Status, Trouble};
use crate::scan::{self, FileItem, ObjectItem, Verify, Visit};
use crate::select::KernelSelection;
use crate::sought::Sought;
use crate::text::shown;
use crate::verb::ls::object_line;

/// What to say where nothing maps code to its source.
pub(crate) const NO_LINES: &str = "no line information; compile with -g or -gline-tables-only";

/// Shows which source lines the code of kernels comes from
///
/// Each row is a stretch of code with one place in the source. With --at it is the other way round:
/// only code of those lines.
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
    /// Only code of this line (kernel.hip:17, or kernel.hip:17:9 with a column); a path may begin at any folder
    #[arg(long, value_name = "FILE:LINE")]
    at: Vec<PlacePattern>,
    /// Show the calls that were inlined, the innermost first
    #[arg(long)]
    inlines: bool,
}

/// A place that is asked for.
#[derive(Clone, Debug)]
pub(crate) struct PlacePattern {
    file: String,
    line: u32,
    column: Option<u32>,
}

impl std::str::FromStr for PlacePattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("'{text}' is not FILE:LINE or FILE:LINE:COLUMN");
        let (rest, last) = text.rsplit_once(':').ok_or_else(wanted)?;
        let last: u32 = last.parse().map_err(|_| wanted())?;
        let with_column =
            rest.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
        let (file, line, column) = match with_column {
            Some((file, line)) => (file, line, Some(last)),
            None => (rest, last, None),
        };
        if file.is_empty() {
            return Err(wanted());
        }
        Ok(Self { file: file.to_owned(), line, column })
    }
}

impl std::fmt::Display for PlacePattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        self.column.map_or(Ok(()), |column| write!(f, ":{column}"))
    }
}

impl PlacePattern {
    /// Whether a place is the one, its path being the same or ending in it.
    pub(crate) fn matches(&self, place: Location<'_>) -> bool {
        place.is_at(&self.file, self.line, self.column)
    }
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.answer.color.apply();
    let mut out = Output::answer(&args.answer)?;
    let kernels = KernelSelection::new(&args.kernels);
    let question = Question {
        kernels: &kernels,
        at: &args.at,
        found: Sought::default(),
        inlines: args.inlines,
        max_size: args.inputs.max_size,
    };
    let status = match args.answer.format {
        Format::Json => {
            let read = |item: &ObjectItem<'_, '_>, trouble: &mut Trouble| {
                Ok(vec![serde_json::to_vec(&question.json(item, trouble))?])
            };
            json_files::run(&mut out, &args.inputs, &args.objects, Verify::Cheap, read)?
        }
        Format::Text => {
            let mut visitor = TextLines { out: &mut out, question: &question };
            scan::run(&args.inputs, &args.objects, Verify::Cheap, &mut visitor)?
        }
    };
    out.finish()?;
    let places: Vec<String> = args.at.iter().map(ToString::to_string).collect();
    let missing = match places.is_empty() {
        true => NO_LINES.to_owned(),
        false => format!("no code comes from {}", places.join(" or ")),
    };
    Ok(question.found.conclude(kernels.conclude(status), Status::Unreadable, &missing))
}

/// What is asked of every object.
struct Question<'q> {
    kernels: &'q KernelSelection,
    at: &'q [PlacePattern],
    found: Sought,
    inlines: bool,
    max_size: u64,
}

/// A stretch of code with one place.
struct Stretch {
    code: Range<u64>,
    frames: Vec<Place>,
}

/// A place as text.
#[derive(Clone, PartialEq, Eq, Serialize)]
struct Place {
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
}

impl Question<'_> {
    /// The wanted kernels of an object, each with its stretches; none where the object has no lines.
    fn answers<'e>(
        &self,
        item: &ObjectItem<'e, '_>,
        trouble: &mut Trouble,
    ) -> Vec<(Str<'e>, Vec<Stretch>)> {
        let Some(object) = &item.object else { return Vec::new() };
        let index = item.index(object, trouble);
        let kernels = self.kernels.of(&index);
        match self.stretches(object, &kernels) {
            Ok(stretches) => {
                self.found.note(stretches.iter().any(|it| !it.is_empty()));
                kernels.iter().map(|it| it.name()).zip(stretches).collect()
            }
            Err(error) => {
                trouble.note(item.place(), item.located(error));
                Vec::new()
            }
        }
    }

    fn stretches(
        &self,
        object: &CodeObject<'_>,
        kernels: &[&Kernel<'_>],
    ) -> hsaco::bytes::Result<Vec<Vec<Stretch>>> {
        let sections = DebugSections::new(object, self.max_size)?;
        let map = SourceMap::new(&sections)?;
        let code = CodeMap::new(object, &object.index());
        let of = |kernel: &&Kernel<'_>| {
            let start = kernel.entry().unwrap_or_default();
            let size = code.kernel(kernel).map_or(0, |code| code.bytes.len() as u64);
            let base = sections.address_of(kernel.entry_section(), 0);
            self.stretches_of(&sections, &map, base, start..start.saturating_add(size))
        };
        kernels.iter().map(of).collect()
    }

    fn stretches_of(
        &self,
        sections: &DebugSections<'_>,
        map: &SourceMap,
        base: u64,
        code: Range<u64>,
    ) -> hsaco::bytes::Result<Vec<Stretch>> {
        const WORD: usize = 4;
        let mut found: Vec<Stretch> = Vec::new();
        for address in code.clone().step_by(WORD) {
            let frames = self.frames(sections, map, address.wrapping_add(base))?;
            let end = address.saturating_add(WORD as u64).min(code.end);
            match found.last_mut() {
                Some(last) if last.code.end == address && last.frames == frames => {
                    last.code.end = end;
                }
                _ if !frames.is_empty() => found.push(Stretch { code: address..end, frames }),
                _ => {}
            }
        }
        Ok(found)
    }

    /// The places of an instruction, if they are asked for.
    fn frames(
        &self,
        sections: &DebugSections<'_>,
        map: &SourceMap,
        address: u64,
    ) -> hsaco::bytes::Result<Vec<Place>> {
        let frames = if self.inlines {
            map.frames(sections, address)?
        } else {
            let location = map.location(sections, address)?;
            location.map(|it| Frame { function: None, location: Some(it) }).into_iter().collect()
        };
        let is_wanted = |frame: &Frame<'_>| {
            frame.location.is_some_and(|place| self.at.iter().any(|it| it.matches(place)))
        };
        if !self.at.is_empty() && !frames.iter().any(is_wanted) {
            return Ok(Vec::new());
        }
        Ok(frames.into_iter().map(Place::new).collect())
    }

    fn json(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> JsonObject {
        let kernel = |(name, stretches): (Str<'_>, Vec<Stretch>)| JsonKernel {
            name: name.to_string(),
            lines: stretches.into_iter().map(JsonLine::new).collect(),
        };
        JsonObject {
            index: item.number,
            target: item.target.clone(),
            kernels: self.answers(item, trouble).into_iter().map(kernel).collect(),
        }
    }
}

impl Place {
    fn new(frame: Frame<'_>) -> Self {
        let place = frame.location;
        Self {
            function: frame.function,
            file: place.map(|it| it.file.to_owned()),
            line: place.and_then(|it| it.line),
            column: place.and_then(|it| it.column),
        }
    }

    /// `file:line:column`, as compilers write it; code that the compiler made up has no line.
    fn text(&self) -> String {
        let file = self.file.as_deref().unwrap_or("?");
        match (self.line, self.column) {
            (Some(line), Some(column)) => format!("{file}:{line}:{column}"),
            (Some(line), None) => format!("{file}:{line}"),
            (None, _) => format!("{file}:?"),
        }
    }
}

#[derive(Serialize)]
struct JsonObject {
    index: usize,
    target: Option<String>,
    kernels: Vec<JsonKernel>,
}

#[derive(Serialize)]
struct JsonKernel {
    name: String,
    lines: Vec<JsonLine>,
}

#[derive(Serialize)]
struct JsonLine {
    start: u64,
    end: u64,
    #[serde(flatten)]
    place: Place,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    inlined_at: Vec<Place>,
}

impl JsonLine {
    fn new(stretch: Stretch) -> Self {
        let mut frames = stretch.frames.into_iter();
        let nowhere = Place { function: None, file: None, line: None, column: None };
        Self {
            start: stretch.code.start,
            end: stretch.code.end,
            place: frames.next().unwrap_or(nowhere),
            inlined_at: frames.collect(),
        }
    }
}

struct TextLines<'o, 'q> {
    out: &'o mut Output,
    question: &'q Question<'q>,
}

impl Visit for TextLines<'_, '_> {
    type Row<'e> = String;

    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        Ok(writeln!(self.out, "{}", shown(&file.input.name))?)
    }

    fn read(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Result<String> {
        use std::fmt::Write;
        let mut text = format!("{}\n", object_line(item));
        let answers = self.question.answers(item, trouble);
        let nothing = nothing(trouble);
        for (name, stretches) in answers {
            if stretches.is_empty() && !self.question.at.is_empty() {
                continue;
            }
            let readable = demangle(name.as_bytes()).unwrap_or_else(|| name.to_string());
            writeln!(text, "  {}", shown(&readable))?;
            if stretches.is_empty() {
                writeln!(text, "    {nothing}")?;
            }
            for stretch in stretches {
                write_stretch(&mut text, &stretch)?;
            }
        }
        Ok(text)
    }

    fn object(&mut self, text: String) -> Result<()> {
        Ok(self.out.write_all(text.as_bytes())?)
    }

    fn end(&mut self, _error: Option<&str>) -> Result<()> {
        Ok(())
    }
}

/// What to say of a kernel without lines: of a damaged object nobody knows whether it had some.
pub(crate) fn nothing(trouble: &Trouble) -> &'static str {
    match trouble.is_empty() {
        true => NO_LINES,
        false => "no line information could be read",
    }
}

fn write_stretch(text: &mut String, stretch: &Stretch) -> Result<()> {
    use std::fmt::Write;
    let mut code = format!("{:#x}..{:#x}", stretch.code.start, stretch.code.end);
    for frame in &stretch.frames {
        let function = frame.function.as_deref().map(|name| {
            format!("  {}", demangle(name.as_bytes()).unwrap_or_else(|| name.to_owned()))
        });
        let line = format!("{}{}", frame.text(), function.unwrap_or_default());
        writeln!(text, "    {code:<16}  {}", shown(&line))?;
        code.clear();
    }
    Ok(())
}
