//! `hsaco extract`: code objects out of any container, or a container with fewer of them.

mod prune;
mod walk;

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use hsaco::bytes::memory;
use hsaco::bytes::number::count;
use hsaco::container::{Container, WalkOptions};
use hsaco_files::{EntryItem, Extracted, ExtractedFile, Extraction, LeftOut};
use serde::Serialize;

use self::walk::Sink;
use super::bundle::write_bytes;
use crate::args::{Color, Format, Inputs, ObjectFilter};
use crate::input::Input;
use crate::json;
use crate::output::Output;
use crate::report::{self, Report, Status};
use crate::scan::Verify;
use crate::schema::SCHEMA_VERSION;
use crate::select::ObjectSelection;
use crate::table::human_size;

/// Writes the code objects of files to files of their own
///
/// Object 0 of lib.so for gfx90a:xnack- becomes lib.0.gfx90a_xnack-.co (.bc if it is bitcode, .spv
/// if SPIR-V). Beside the objects of offload bundles goes a manifest, lib.hsaco.json, from which
/// hsaco bundle makes the bundles again; it needs all objects, so -t, --device and --object leave it
/// out, and so does a file that could not be read whole.
///
/// With --keep-target, writes a copy of FILE that holds only the code of these targets. Files that
/// are nothing but bundles get smaller. In host files nothing moves: entries are taken out of
/// the bundles' tables and their bytes become zeros.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    objects: ObjectFilter,
    /// The directory to write to [default: .]; - writes the one selected object to standard output;
    /// with --keep-target the file to write
    #[arg(short, long, value_name = "DIR")]
    output: Option<OsString>,
    /// Write no manifest, nor the files that only it needs
    #[arg(long)]
    no_manifest: bool,
    /// Write nothing; list number, entry id and URI of every object that is not compressed
    #[arg(long, conflicts_with_all = ["output", "no_manifest"])]
    uri: bool,
    /// Write FILE without the code of other targets than this one (may be repeated; as -t)
    #[arg(long, value_name = "TARGET", requires = "output", conflicts_with_all = ["target", "device", "object", "no_manifest", "uri"])]
    keep_target: Vec<String>,
    /// Text for people, JSON for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// When to colour the answer
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    color: Color,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.color.apply();
    let selection = ObjectSelection::new(&args.objects)?;
    // What is handed out is what was packed.
    let options = Verify::All.options(args.inputs.max_size, &selection);
    if !args.keep_target.is_empty() {
        let output = args.output.as_deref().context("--keep-target needs -o FILE")?;
        return prune::run(&args.inputs.files, &args.keep_target, output, args.format, &options);
    }
    if args.output.as_deref() == Some(OsStr::new("-")) {
        return run_single(args, &selection, &options);
    }
    let directory = Path::new(args.output.as_deref().unwrap_or(OsStr::new("."))).to_owned();
    let wants_manifest = !args.no_manifest && !args.objects.selects();
    let directory = (!args.uri).then_some(directory);
    let mut extract = Extract {
        extraction: Extraction::new(directory, wants_manifest, options.max_size),
        text: (args.format == Format::Text)
            .then(|| Ok::<_, anyhow::Error>(Output::open(None)?.for_people(true)))
            .transpose()?,
        left_out: false,
    };
    let mut status = walk::run(&args.inputs.files, &selection, &options, &mut extract)?;
    if extract.left_out {
        status.note(Status::Unsupported);
    }
    extract.finish()?;
    Ok(selection.conclude(status))
}

/// Writes the one object that is selected to standard output.
fn run_single(args: &Args, selection: &ObjectSelection, options: &WalkOptions) -> Result<Status> {
    let mut single = Single::default();
    let status = walk::run(&args.inputs.files, selection, options, &mut single)?;
    if let ([_], Some(data)) = (single.names.as_slice(), single.data) {
        write_bytes(OsStr::new("-"), &data)?;
        return Ok(status);
    }
    let found = match single.names.as_slice() {
        [] => "none is".to_owned(),
        [one, two, ..] => format!("{} are, such as {one} and {two}", single.names.len()),
        [one] => format!("{one} is empty"),
    };
    bail!(
        "-o - wants exactly one object selected, and {found}; choose with -t, --device or --object"
    )
}

/// Keeps the first wanted object, and counts the others.
#[derive(Default)]
struct Single {
    names: Vec<String>,
    data: Option<Vec<u8>>,
}

impl Sink for Single {
    fn entry(&mut self, input: &Input, item: &EntryItem<'_, '_>) -> Result<()> {
        let Some(number) = item.wanted_object() else { return Ok(()) };
        let target = item.target.as_deref().unwrap_or("unknown");
        self.names.push(format!("{} object {number} ({target})", input.name));
        if self.data.is_none() {
            self.data = Some(memory::copy(&item.entry.data, "object")?);
        }
        Ok(())
    }
}

/// Tells what is written to a directory, or where objects are.
struct Extract {
    extraction: Extraction,
    text: Option<Output>,
    /// Whether a part of the answer cannot be given.
    left_out: bool,
}

impl Sink for Extract {
    fn begin(&mut self, input: &Input, container: Option<Container>) -> Result<()> {
        self.extraction.begin(&input.name, container);
        Ok(())
    }

    fn entry(&mut self, input: &Input, item: &EntryItem<'_, '_>) -> Result<()> {
        let extracted = self.extraction.entry(&input.name, item);
        self.tell()?;
        Ok(extracted?)
    }

    fn end(&mut self, input: &Input, whole: bool, report: &mut Report) -> Result<()> {
        let ended = self.extraction.end(input, whole);
        self.tell()?;
        for left_out in ended? {
            self.left_out = true;
            let what = match left_out {
                LeftOut::Manifest => "no manifest: a compressed block in it holds no bundle".into(),
                LeftOut::Uris(number) => {
                    let number = count(number, "compressed object");
                    format!("no URI for {number}: extract them")
                }
            };
            report::error(&format!("{}: {what}", input.name));
        }
        self.extraction.set_error(report.first());
        Ok(())
    }

    fn unopened(&mut self, name: &str, report: &Report) -> Result<()> {
        self.extraction.unopened(name);
        self.extraction.set_error(report.first());
        Ok(())
    }
}

impl Extract {
    /// Tells what was done.
    fn tell(&mut self) -> Result<()> {
        for done in std::mem::take(&mut self.extraction.done) {
            if let (Some(out), Some(line)) = (&mut self.text, line(&done)) {
                writeln!(out, "{line}")?;
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<()> {
        if let Some(out) = self.text {
            return out.finish();
        }
        #[derive(Serialize)]
        struct Answer {
            schema_version: u32,
            files: Vec<ExtractedFile>,
        }
        let mut out = Output::open(None)?;
        let files = self.extraction.files;
        json::document(&mut out, &Answer { schema_version: SCHEMA_VERSION, files })?;
        out.finish()
    }
}

/// What was done, in a line; nothing of objects that are neither written nor found.
fn line(done: &Extracted) -> Option<String> {
    Some(match done {
        Extracted::Object(object) => match (&object.file, &object.uri) {
            (Some(file), _) => {
                let target = object.target.as_deref().unwrap_or("unknown");
                let mut parts = vec![target.to_owned(), human_size(object.size)];
                parts.extend(object.entry_id.clone());
                format!("{file}: {}", one_line(&parts.join(", ")))
            }
            (None, Some(uri)) => {
                let id = one_line(object.entry_id.as_deref().unwrap_or("-"));
                format!("{}\t{id}\t{uri}", object.index)
            }
            (None, None) => return None,
        },
        Extracted::Other(other, what) => {
            format!("{}: {}, {}", other.file, one_line(what), human_size(other.size))
        }
        Extracted::Manifest(file, bundles) => {
            format!("{file}: manifest of {}", count(*bundles, "bundle"))
        }
    })
}

/// Text from a file as one line, whatever bytes it has.
fn one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control(), "\u{fffd}")
}
