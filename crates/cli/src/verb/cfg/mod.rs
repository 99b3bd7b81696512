//! `hsaco cfg`: the control flow of kernels and functions, as text, JSON, Graphviz or a picture.

mod json;
mod text;

use std::ffi::OsString;
use std::io::Write;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use hsaco::analysis::{Code, Function, FunctionKind, Functions};
use hsaco::container::Container;
use hsaco::draw::Graph;

use crate::args::{Color, Inputs, KernelFilter, ObjectFilter};
use crate::output::Output;
use crate::report::{Status, Trouble};
use crate::scan::{self, FileItem, ObjectItem, Verify, Visit};
use crate::schema::Pieces;
use crate::select::KernelSelection;
use crate::verb::ls::object_line;
use crate::{code, json_files};

use json::{JsonFunction, ObjectFlow};
use text::TextStyle;

/// Shows the control flow of kernels: blocks, edges, loops, dominators
///
/// Text and JSON show every kernel that fits; dot (for Graphviz) and svg (a picture) show one.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    objects: ObjectFilter,
    /// Only kernels and functions of this name: as written, as mangled, or a regular expression found
    /// in either; without it all kernels, or all functions of an object that has no kernel
    #[arg(short, long, value_name = "NAME")]
    kernel: Vec<String>,
    /// Text for people, JSON for programs, dot for Graphviz, svg for a picture
    #[arg(long, value_enum, default_value_t = FlowFormat::Text)]
    format: FlowFormat,
    /// Also the instructions of each block (svg has them always)
    #[arg(long)]
    instructions: bool,
    /// In svg, all instructions of long blocks, and all of long instructions
    #[arg(long)]
    full: bool,
    /// Write the answer to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<OsString>,
    /// When to colour the answer
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    color: Color,
}

/// A form of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FlowFormat {
    Text,
    Json,
    Dot,
    Svg,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.color.apply();
    let mut out = Output::open(args.output.as_deref())?.for_people(args.format == FlowFormat::Text);
    let kernels = KernelSelection::new(&KernelFilter { kernel: args.kernel.clone() });
    let status = match args.format {
        FlowFormat::Text => {
            let style = TextStyle { instructions: args.instructions, color: out.color() };
            let several = args.inputs.files.len() > 1;
            let mut visitor =
                TextFlow { out: &mut out, kernels: &kernels, style, several, is_object: false };
            scan::run(&args.inputs, &args.objects, Verify::All, &mut visitor)?
        }
        FlowFormat::Json => {
            let read = |item: &ObjectItem<'_, '_>, trouble: &mut Trouble| {
                json_object(item, &kernels, args.instructions, trouble)
            };
            json_files::run(&mut out, &args.inputs, &args.objects, Verify::All, read)?
        }
        FlowFormat::Dot | FlowFormat::Svg => {
            let mut visitor =
                PictureFlow { args, kernels: &kernels, file: String::new(), found: Vec::new() };
            let status = scan::run(&args.inputs, &args.objects, Verify::All, &mut visitor)?;
            if visitor.found.is_empty() && (status != Status::Fine || !kernels.is_all()) {
                return Ok(kernels.conclude(status));
            }
            out.write_all(visitor.only()?.as_bytes())?;
            status
        }
    };
    out.finish()?;
    Ok(kernels.conclude(status))
}

/// The wanted functions of an object, and what it takes to look into them.
struct Chosen<'e> {
    code: Code<'e>,
    /// By number among the functions.
    wanted: Vec<usize>,
}

impl<'e> Chosen<'e> {
    fn new(
        item: &ObjectItem<'e, '_>,
        kernels: &KernelSelection,
        trouble: &mut Trouble,
    ) -> Option<Self> {
        let code = code::open(item, trouble)?;
        let wanted = wanted(code.functions(), kernels);
        Some(Self { code, wanted })
    }

    fn functions(&self) -> impl Iterator<Item = &Function<'e>> {
        self.wanted.iter().filter_map(|&it| self.code.functions().as_slice().get(it))
    }

    fn graph(&self, function: &Function<'_>) -> Graph {
        Graph::new(&self.code.decoder(function), self.code.functions(), function)
    }
}

fn wanted(functions: &Functions<'_>, kernels: &KernelSelection) -> Vec<usize> {
    let functions = functions.as_slice();
    let has_kernels = functions.iter().any(|it| it.kind == FunctionKind::Kernel);
    let is_wanted = |it: &Function<'_>| match kernels.is_all() {
        true => !has_kernels || it.kind == FunctionKind::Kernel,
        false => it.name.is_some_and(|name| kernels.wants(name)),
    };
    let numbered = functions.iter().enumerate();
    numbered.filter(|(_, it)| is_wanted(it)).map(|(number, _)| number).collect()
}

struct TextFlow<'o> {
    out: &'o mut Output,
    kernels: &'o KernelSelection,
    style: TextStyle,
    several: bool,
    is_object: bool,
}

impl Visit for TextFlow<'_> {
    type Row<'e> = Vec<u8>;

    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        self.is_object = file.container == Some(Container::CodeObject);
        if self.several || file.input.found {
            writeln!(self.out, "\nFile: {}", file.input.name)?;
        }
        Ok(())
    }

    fn read(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        let Some(chosen) = Chosen::new(item, self.kernels, trouble) else { return Ok(text) };
        if !self.is_object && !chosen.wanted.is_empty() {
            writeln!(text, "\n{}", object_line(item))?;
        }
        for (at, function) in chosen.functions().enumerate() {
            if at > 0 || !self.is_object {
                writeln!(text)?;
            }
            text::write(&mut text, &chosen.graph(function), self.style)?;
        }
        Ok(text)
    }

    fn object(&mut self, text: Vec<u8>) -> Result<()> {
        self.out.write_all(&text)?;
        Ok(())
    }

    fn end(&mut self, _error: Option<&str>) -> Result<()> {
        Ok(())
    }
}

fn json_object(
    item: &ObjectItem<'_, '_>,
    kernels: &KernelSelection,
    instructions: bool,
    trouble: &mut Trouble,
) -> Result<Pieces> {
    let chosen = Chosen::new(item, kernels, trouble);
    let graphs: Vec<Graph> = chosen
        .iter()
        .flat_map(|chosen| chosen.functions().map(|function| chosen.graph(function)))
        .collect();
    let row = ObjectFlow {
        index: item.number,
        entry_id: item.entry.id.as_deref(),
        target: item.target.as_deref(),
        functions: graphs.iter().map(|it| JsonFunction::new(it, instructions)).collect(),
    };
    Ok(vec![serde_json::to_vec(&row)?])
}

/// A function that fits, of which a picture may be wanted.
struct Candidate {
    /// Its name and where it is.
    place: String,
    /// Whether the name is what was asked for, to the letter.
    is_exact: bool,
    /// Of one that no other of its object competes with.
    picture: Option<Result<String>>,
}

struct PictureFlow<'o> {
    args: &'o Args,
    kernels: &'o KernelSelection,
    file: String,
    found: Vec<Candidate>,
}

impl PictureFlow<'_> {
    fn picture(&self, graph: &Graph) -> Result<String> {
        match self.args.format {
            FlowFormat::Dot => Ok(graph.to_dot(self.args.instructions)),
            _ => graph.to_svg(self.args.full).with_context(|| {
                format!(
                    "{}: {} blocks with so many edges make no picture; --format dot, json and text \
                     show them",
                    graph.name,
                    graph.blocks.len()
                )
            }),
        }
    }

    /// The one picture that was asked for.
    fn only(self) -> Result<String> {
        let format = self.args.format.to_possible_value();
        let format = format.as_ref().map_or("", |it| it.get_name());
        let mut found = sole(self.found, |it| it.is_exact);
        match (found.pop(), found.as_slice()) {
            (Some(Candidate { picture: Some(picture), .. }), []) => picture,
            (None, _) => bail!("there is no code for --format {format} to show"),
            (Some(last), others) => {
                let places: Vec<&str> =
                    others.iter().chain([&last]).map(|it| it.place.as_str()).collect();
                let shown = places.iter().take(MOST_PLACES).copied().collect::<Vec<_>>().join("; ");
                let more = places.len().saturating_sub(MOST_PLACES);
                let more = if more > 0 { format!("; and {more} more") } else { String::new() };
                bail!(
                    "--format {format} shows one function, and {} fit: {shown}{more}. Choose one with \
                     -k NAME, and with --object N or -t TARGET where several objects have it; --format \
                     text and json show all",
                    places.len()
                )
            }
        }
    }
}

/// Functions that are named when too many fit.
const MOST_PLACES: usize = 6;

/// Those that are preferred, if there are any, else all.
fn sole<T>(all: Vec<T>, is_preferred: impl Fn(&T) -> bool) -> Vec<T> {
    match all.iter().any(&is_preferred) {
        true => all.into_iter().filter(is_preferred).collect(),
        false => all,
    }
}

impl Visit for PictureFlow<'_> {
    type Row<'e> = Vec<Candidate>;

    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        self.file.clone_from(&file.input.name);
        Ok(())
    }

    fn read(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Result<Vec<Candidate>> {
        let Some(chosen) = Chosen::new(item, self.kernels, trouble) else { return Ok(Vec::new()) };
        let is_exact =
            |it: &Function<'_>| it.name.is_some_and(|name| self.kernels.names_exactly(name));
        let functions = sole(chosen.functions().collect(), |it| is_exact(it));
        let is_only = functions.len() == 1;
        let candidate = |function: &Function<'_>| {
            let name = match function.name {
                Some(name) => name.to_string(),
                None => format!("{:#x}", function.address),
            };
            Candidate {
                place: format!("{name} of {}, {}", self.file, item.place()),
                is_exact: is_exact(function),
                picture: is_only.then(|| self.picture(&chosen.graph(function))),
            }
        };
        Ok(functions.into_iter().map(candidate).collect())
    }

    fn object(&mut self, row: Vec<Candidate>) -> Result<()> {
        self.found.extend(row);
        Ok(())
    }

    fn end(&mut self, _error: Option<&str>) -> Result<()> {
        Ok(())
    }
}
