//! `hsaco cfg`: the control flow of kernels and functions, as text, JSON, Graphviz or a picture.

use std::ffi::OsString;
use std::io::Write;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use hsaco::analysis::Function;
use hsaco::draw::{Bands, Graph};
use hsaco_describe::flow::Flow;

use crate::args::{Color, Format, Inputs, KernelFilter, ObjectFilter};
use crate::frame::Heading;
use crate::output::Output;
use crate::report::{Status, Trouble};
use crate::scan::{self, ObjectItem};
use crate::select::KernelSelection;
use crate::skeleton::{self, Asked, Look, Page, Verb};

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
    /// In svg, a small picture: chains of blocks, and in large graphs short conditional parts, as one box each, with the
    /// classes of their instructions
    #[arg(long, conflicts_with = "full")]
    overview: bool,
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
    if args.overview && args.format != FlowFormat::Svg {
        bail!("--overview is a picture: --format svg");
    }
    let kernels = KernelFilter { kernel: args.kernel.clone() };
    let format = match args.format {
        FlowFormat::Text => Format::Text,
        FlowFormat::Json => Format::Json,
        FlowFormat::Dot | FlowFormat::Svg => return picture(args, &kernels),
    };
    let Args { inputs, objects, color, .. } = args;
    let (kernels, output) = (Some(&kernels), args.output.as_deref());
    skeleton::run(args, Asked { inputs, objects, kernels, format, output, color: *color })
}

impl Verb for Args {
    type Row<'e> = Flow<'e>;
    const HEADING: Heading = Heading::ReadelfSpaced;

    fn read<'e>(&self, look: &mut Look<'_, 'e, '_>) -> Flow<'e> {
        Flow::new(look.item, look.kernels, self.instructions, look.trouble)
    }

    fn text(&self, row: &Flow<'_>, page: &mut Page) -> Result<()> {
        for (at, graph) in row.graphs().enumerate() {
            if at > 0 {
                writeln!(page.out)?;
            }
            write!(page.out, "{}", graph.to_text(self.instructions, page.color))?;
        }
        Ok(())
    }

    fn is_shown(&self, row: &Flow<'_>, _: &KernelSelection) -> bool {
        !row.is_empty()
    }
}

/// The picture of the one function that fits.
fn picture(args: &Args, kernels: &KernelFilter) -> Result<Status> {
    args.color.apply();
    let mut out = Output::open(args.output.as_deref())?;
    let kernels = KernelSelection::new(kernels);
    let read = |file: &str, item: &ObjectItem<'_, '_>, trouble: &mut Trouble| {
        candidates(args, &kernels, file, item, trouble)
    };
    let (found, status) = scan::gather(&args.inputs, &args.objects, read)?;
    if found.is_empty() && (status != Status::Fine || !kernels.is_all()) {
        return Ok(kernels.conclude(status));
    }
    out.write_all(only(args.format, found)?.as_bytes())?;
    out.finish()?;
    Ok(kernels.conclude(status))
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

/// The functions of an object that fit.
fn candidates(
    args: &Args,
    kernels: &KernelSelection,
    file: &str,
    item: &ObjectItem<'_, '_>,
    trouble: &mut Trouble,
) -> Vec<Candidate> {
    let flow = Flow::new(item, kernels, false, trouble);
    let is_exact = |it: &Function<'_>| it.name.is_some_and(|name| kernels.names_exactly(name));
    let functions = sole(flow.functions().collect(), |it| is_exact(it));
    let is_only = functions.len() == 1;
    let candidate = |function: &Function<'_>| {
        let name = match function.name {
            Some(name) => name.to_string(),
            None => format!("{:#x}", function.address),
        };
        let graph = if is_only { flow.graph(function) } else { None };
        Candidate {
            place: format!("{name} of {file}, {}", item.place()),
            is_exact: is_exact(function),
            picture: graph.map(|it| drawn(args, &it, &|blocks| flow.classes(function, blocks))),
        }
    };
    functions.into_iter().map(candidate).collect()
}

fn drawn(args: &Args, graph: &Graph, bands: Bands<'_>) -> Result<String> {
    let svg = || match args.overview {
        true => graph.overview_svg(bands),
        false => graph.to_svg(args.full),
    };
    match args.format {
        FlowFormat::Dot => Ok(graph.to_dot(args.instructions)),
        _ => svg().with_context(|| {
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
fn only(format: FlowFormat, found: Vec<Candidate>) -> Result<String> {
    let format = format.to_possible_value();
    let format = format.as_ref().map_or("", |it| it.get_name());
    let mut found = sole(found, |it| it.is_exact);
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

/// Functions that are named when too many fit.
const MOST_PLACES: usize = 6;

/// Those that are preferred, if there are any, else all.
fn sole<T>(all: Vec<T>, is_preferred: impl Fn(&T) -> bool) -> Vec<T> {
    match all.iter().any(&is_preferred) {
        true => all.into_iter().filter(is_preferred).collect(),
        false => all,
    }
}
