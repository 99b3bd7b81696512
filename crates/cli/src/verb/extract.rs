//! `hsaco extract`: code objects out of any container, or a container with fewer of them.

mod prune;
mod walk;

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use hsaco::bytes::memory;
use hsaco::container::manifest::{Manifest, SUFFIX, Store};
use hsaco::container::{Container, Options, OuterBundles};
use hsaco_files::{file_name_part, object_uri, unique_stem};
use serde::Serialize;

use self::walk::{Item, Sink};
use super::bundle::write_bytes;
use crate::args::{Color, Format, Inputs, ObjectFilter};
use crate::input::Input;
use crate::output::{self, Output};
use crate::report::{self, Report, Status};
use crate::scan::Verify;
use crate::schema::SCHEMA_VERSION;
use crate::select::ObjectSelection;
use crate::table::{count, human_size};

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
    let options = Verify::All.options(args.inputs.max_size);
    if !args.keep_target.is_empty() {
        let output = args.output.as_deref().context("--keep-target needs -o FILE")?;
        return prune::run(&args.inputs.files, &args.keep_target, output, args.format, &options);
    }
    let selection = ObjectSelection::new(&args.objects)?;
    if args.output.as_deref() == Some(OsStr::new("-")) {
        return run_single(args, &selection, &options);
    }
    let directory = Path::new(args.output.as_deref().unwrap_or(OsStr::new("."))).to_owned();
    let is_filtered = args.objects.device.is_some()
        || args.objects.object.is_some()
        || !args.objects.target.is_empty();
    let mut extract = Extract {
        directory: (!args.uri).then_some(directory),
        wants_manifest: !args.no_manifest && !is_filtered && !args.uri,
        max_size: options.max_size,
        text: (args.format == Format::Text)
            .then(|| Ok::<_, anyhow::Error>(Output::open(None)?.for_people(true)))
            .transpose()?,
        files: Vec::new(),
        stems: HashSet::new(),
        stem: String::new(),
        bundles: OuterBundles::default(),
        compressed: 0,
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
fn run_single(args: &Args, selection: &ObjectSelection, options: &Options) -> Result<Status> {
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
    fn entry(&mut self, input: &Input, item: &Item<'_, '_>, _report: &mut Report) -> Result<()> {
        let Some(number) = item.number.filter(|_| item.wanted && !item.entry.data.is_empty())
        else {
            return Ok(());
        };
        let target = item.target.as_deref().unwrap_or("unknown");
        self.names.push(format!("{} object {number} ({target})", input.name));
        if self.data.is_none() {
            self.data = Some(memory::copy(&item.entry.data, "object")?);
        }
        Ok(())
    }
}

/// What became of one input, for programs.
#[derive(Serialize)]
struct FileAnswer {
    path: String,
    container: Option<&'static str>,
    objects: Vec<ObjectAnswer>,
    other_files: Vec<OtherFile>,
    manifest: Option<String>,
    error: Option<String>,
}

#[derive(Serialize)]
struct ObjectAnswer {
    index: usize,
    file: Option<String>,
    uri: Option<String>,
    entry_id: Option<String>,
    target: Option<String>,
    #[serde(rename = "type")]
    kind: &'static str,
    offset: Option<u64>,
    size: u64,
}

#[derive(Serialize)]
struct OtherFile {
    file: String,
    size: u64,
}

/// Writes objects to a directory, or lists where they are.
struct Extract {
    /// Where to write; nothing is written without.
    directory: Option<PathBuf>,
    wants_manifest: bool,
    max_size: u64,
    text: Option<Output>,
    files: Vec<FileAnswer>,
    /// The stems of all files so far, and of the current one.
    stems: HashSet<String>,
    stem: String,
    bundles: OuterBundles,
    /// Objects of the current file that have no URI.
    compressed: usize,
    /// Whether a part of the answer cannot be given.
    left_out: bool,
}

impl Sink for Extract {
    fn begin(&mut self, input: &Input, container: Option<Container>) -> Result<()> {
        self.push_file(&input.name, container.map(Container::name));
        self.stem = unique_stem(&input.name, &mut self.stems);
        self.bundles = OuterBundles::default();
        self.compressed = 0;
        Ok(())
    }

    fn entry(&mut self, input: &Input, item: &Item<'_, '_>, _report: &mut Report) -> Result<()> {
        let is_object = item.wanted && !item.entry.data.is_empty();
        let file = match item.number.filter(|_| is_object) {
            Some(number) => self.object(input, item, number)?,
            None => None,
        };
        self.bundles.add(item.entry, file);
        Ok(())
    }

    fn end(&mut self, input: &Input, whole: bool, report: &mut Report) -> Result<()> {
        if self.wants_manifest && whole && !self.bundles.0.is_empty() {
            self.manifest(input)?;
        }
        if self.directory.is_none() && self.compressed > 0 {
            self.left_out = true;
            let number = count(self.compressed, "compressed object");
            report::error(&format!("{}: no URI for {number}: extract them", input.name));
        }
        self.set_error(report);
        Ok(())
    }

    fn unopened(&mut self, name: &str, report: &Report) -> Result<()> {
        self.push_file(name, None);
        self.set_error(report);
        Ok(())
    }
}

impl Extract {
    fn push_file(&mut self, name: &str, container: Option<&'static str>) {
        self.files.push(FileAnswer {
            path: name.to_owned(),
            container,
            objects: Vec::new(),
            other_files: Vec::new(),
            manifest: None,
            error: None,
        });
    }

    fn set_error(&mut self, report: &Report) {
        if let Some(file) = self.files.last_mut() {
            file.error = report.first().map(str::to_owned);
        }
    }

    /// Writes or lists one object, and returns the name of its file.
    fn object(
        &mut self,
        input: &Input,
        item: &Item<'_, '_>,
        number: usize,
    ) -> Result<Option<String>> {
        let size = item.entry.data.len() as u64;
        let (mut name, mut uri) = (None, None);
        if self.directory.is_some() {
            let target = item.target.as_deref().unwrap_or("unknown");
            let extension = item.entry.kind.extension();
            let file = format!("{}.{number}.{}.{extension}", self.stem, file_name_part(target));
            let mut parts = vec![target.to_owned(), human_size(size)];
            parts.extend(item.entry.id.clone());
            self.write(&file, &item.entry.data, &one_line(&parts.join(", ")))?;
            name = Some(file);
        } else if let Some(offset) = item.entry.offset {
            let text = object_uri(&input.name, offset, size)?.to_string();
            let id = one_line(item.entry.id.as_deref().unwrap_or("-"));
            self.say(format_args!("{number}\t{id}\t{text}"))?;
            uri = Some(text);
        } else {
            self.compressed += 1;
        }
        let answer = ObjectAnswer {
            index: number,
            file: name.as_ref().map(|it| self.shown(it)),
            uri,
            entry_id: item.entry.id.clone(),
            target: item.target.clone(),
            kind: item.entry.kind.name(),
            offset: item.entry.offset,
            size,
        };
        if let Some(file) = self.files.last_mut() {
            file.objects.push(answer);
        }
        Ok(name)
    }

    /// The path of a file in the directory, as it is shown.
    fn shown(&self, name: &str) -> String {
        let directory = self.directory.as_deref().filter(|&it| it != Path::new("."));
        directory.unwrap_or(Path::new("")).join(name).display().to_string()
    }

    fn say(&mut self, line: std::fmt::Arguments<'_>) -> Result<()> {
        if let Some(out) = &mut self.text {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }

    fn write(&mut self, name: &str, data: &[u8], what: &str) -> Result<()> {
        let directory = self.directory.as_deref().unwrap_or(Path::new("."));
        std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
        output::write_file(&directory.join(name), data)?;
        let shown = self.shown(name);
        self.say(format_args!("{shown}: {what}"))
    }

    /// Writes a file that only the manifest needs.
    fn write_other(&mut self, name: &str, data: &[u8], what: &str) -> Result<()> {
        let size = data.len() as u64;
        self.write(name, data, &format!("{}, {}", one_line(what), human_size(size)))?;
        let other = OtherFile { file: self.shown(name), size };
        if let Some(file) = self.files.last_mut() {
            file.other_files.push(other);
        }
        Ok(())
    }

    fn manifest(&mut self, input: &Input) -> Result<()> {
        let bundles = std::mem::take(&mut self.bundles);
        let container = self.files.last().and_then(|it| it.container).unwrap_or_default();
        let (name, max_size) = (&input.name, self.max_size);
        let described = Manifest::describe(name, container, input, &bundles, max_size, self)?;
        let Some(described) = described else {
            self.left_out = true;
            report::error(&format!(
                "{}: no manifest: a compressed block in it holds no bundle",
                input.name
            ));
            return Ok(());
        };
        let name = format!("{}{SUFFIX}", self.stem);
        let what = format!("manifest of {}", count(described.len(), "bundle"));
        self.write(&name, described.to_json().as_bytes(), &what)?;
        let shown = self.shown(&name);
        if let Some(file) = self.files.last_mut() {
            file.manifest = Some(shown);
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
            files: Vec<FileAnswer>,
        }
        let mut out = Output::open(None)?;
        let answer = Answer { schema_version: SCHEMA_VERSION, files: self.files };
        serde_json::to_writer(&mut out, &answer)?;
        writeln!(out)?;
        out.finish()
    }
}

/// What a manifest needs goes beside the objects.
impl Store for Extract {
    type Error = anyhow::Error;

    fn block(&mut self, bundle: usize, bytes: &[u8]) -> Result<String> {
        let name = format!("{}.{bundle}.ccob", self.stem);
        self.write_other(&name, bytes, "compressed bundle as it is")?;
        Ok(name)
    }

    fn entry(&mut self, bundle: usize, index: usize, id: &str, bytes: &[u8]) -> Result<String> {
        let name = format!("{}.{bundle}-{index}.{}.bin", self.stem, file_name_part(id));
        self.write_other(&name, bytes, id)?;
        Ok(name)
    }
}

/// Text from a file as one line, whatever bytes it has.
fn one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control(), "\u{fffd}")
}
