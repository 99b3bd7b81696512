//! `hsaco bundle`: packs objects into an offload bundle, or a taken-apart container together again.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use hsaco::bytes::TextError;
use hsaco::compress::Method;
use hsaco::container::ccob::{self, default_level};
use hsaco::container::manifest::{Manifest, SUFFIX};
use hsaco::container::{EntryKind, bundle};
use hsaco::isa::target::EntryId;
use hsaco::object::CodeObject;

use crate::args::parse_size;
use crate::report::Status;
use crate::{input, output};

/// Packs objects into an offload bundle, or puts together what extract took apart
///
/// A manifest (*.hsaco.json) of hsaco extract, or the directory with it, gives the bundles that it
/// describes. What was not changed comes out byte for byte as it was, compressed or not. Of a host
/// file it is the bundles that come out, one after the other, not the host file.
///
/// Objects, as ENTRY_ID=FILE or just FILE, give a new bundle. The id of a FILE comes from the object:
/// hipv4-amdgcn-amd-amdhsa--TARGET; an empty entry for the host goes before the first, unless there
/// is a host entry. ENTRY_ID= with no FILE is an empty entry. A plain bundle is byte for byte what
/// clang-offload-bundler --type=o writes for such inputs.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A manifest, a directory with one, or objects
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<OsString>,
    /// The file to write; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: OsString,
    /// Multiple of which every content's offset is [default: 1, as clang-offload-bundler; HIP's
    /// compiler passes 4096]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    align: Option<u64>,
    /// Compress the bundle
    #[arg(long, value_name = "METHOD", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "zstd")]
    compress: Option<Compression>,
    /// Version of the compressed bundle's header [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=3), requires = "compress")]
    bundle_version: Option<u16>,
    /// How hard to compress [default: 3 for zstd, 6 for zlib]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..=22))]
    level: Option<i32>,
    /// Largest size that one payload may have (K, M and G are powers of 1024)
    #[arg(long, value_name = "BYTES", default_value = "4G", value_parser = parse_size)]
    max_size: u64,
}

/// A way to compress, as the command line spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Compression {
    Zstd,
    Zlib,
}

const HOST_ID: &str = "host-x86_64-unknown-linux-gnu-";
const DEFAULT_VERSION: u16 = 3;

pub(crate) fn run(args: &Args) -> Result<Status> {
    let bytes = match manifest_path(&args.inputs)? {
        Some(path) => rebuild(args, &path).with_context(|| path.display().to_string())?,
        None => pack(args)?,
    };
    write_bytes(&args.output, &bytes)?;
    Ok(Status::Fine)
}

/// Writes bytes as they are: what standard output does for text must not touch them.
pub(crate) fn write_bytes(output: &OsStr, bytes: &[u8]) -> Result<()> {
    if output == "-" {
        let mut out = std::io::stdout().lock();
        out.write_all(bytes)?;
        return Ok(out.flush()?);
    }
    output::write_file(Path::new(output), bytes)
}

/// The manifest that a single input is or holds.
fn manifest_path(inputs: &[OsString]) -> Result<Option<PathBuf>> {
    let [only] = inputs else { return Ok(None) };
    let path = Path::new(only);
    if path.is_dir() {
        let found = find_manifest(path).with_context(|| path.display().to_string())?;
        return Ok(Some(found));
    }
    let is_json = |text: &[u8]| text.trim_ascii_start().starts_with(b"{");
    let mut start = Vec::new();
    // Anything else, a file that is not there included, is for the other form to judge.
    if let Ok(file) = std::fs::File::open(path) {
        file.take(64).read_to_end(&mut start)?;
    }
    Ok(is_json(&start).then(|| path.to_owned()))
}

fn rebuild(args: &Args, path: &Path) -> Result<Vec<u8>> {
    ensure!(
        args.align.is_none() && args.compress.is_none(),
        "how to align and compress is the manifest's to say: leave out --align and --compress"
    );
    let manifest = Manifest::parse(&std::fs::read(path)?)?;
    let directory = path.parent().unwrap_or(Path::new(""));
    let read = |name: &str| {
        let path = directory.join(name);
        std::fs::read(&path).map_err(|error| {
            let path = path.display();
            let text = format!("{path}, which the manifest names, cannot be read: {error}");
            TextError::new(text)
        })
    };
    Ok(manifest.rebuild(&read, args.level, args.max_size)?)
}

/// The one manifest in a directory.
fn find_manifest(directory: &Path) -> Result<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(SUFFIX) {
            found.push(path);
        }
    }
    found.sort_unstable();
    match found.as_slice() {
        [only] => Ok(only.clone()),
        [] => bail!("no *{SUFFIX} in it; hsaco extract writes one"),
        [first, second, ..] => bail!(
            "several manifests in it, such as {} and {}: name one of them",
            first.display(),
            second.display()
        ),
    }
}

/// A new bundle of objects.
fn pack(args: &Args) -> Result<Vec<u8>> {
    let mut entries = Vec::new();
    let mut is_derived = false;
    for input in &args.inputs {
        let (entry, derived) = packed(input)?;
        entries.push(entry);
        is_derived |= derived;
    }
    let is_host = |id: &String| EntryId::parse(id).is_some_and(|it| it.is_host());
    if is_derived && !entries.iter().any(|it| is_host(&it.id)) {
        entries.insert(0, Packed { id: HOST_ID.to_owned(), from: Cow::Borrowed(""), data: vec![] });
    }
    refuse_twins(&entries)?;
    let entries: Vec<_> = entries.into_iter().map(|it| (it.id, it.data)).collect();
    let plain = bundle::write(&entries, args.align.unwrap_or(1));
    let Some(compression) = args.compress else {
        return Ok(plain);
    };
    let method = match compression {
        Compression::Zstd => Method::Zstd,
        Compression::Zlib => Method::Zlib,
    };
    let level = args.level.unwrap_or(default_level(method));
    Ok(ccob::write(&plain, args.bundle_version.unwrap_or(DEFAULT_VERSION), method, level)?)
}

/// An entry of a new bundle.
struct Packed<'a> {
    id: String,
    /// The argument it comes from.
    from: Cow<'a, str>,
    data: Vec<u8>,
}

/// Reads one argument; true if its id comes from the object.
fn packed(input: &OsStr) -> Result<(Packed<'_>, bool)> {
    let from = input.to_string_lossy();
    if let Some((id, file)) = input.to_str().and_then(|it| it.split_once('='))
        && let Some(id) = EntryId::parse(id)
    {
        let data = match file {
            "" => Vec::new(),
            file => read(OsStr::new(file)).with_context(|| file.to_owned())?,
        };
        return Ok((Packed { id: id.canonical(), from, data }, false));
    }
    let data = read(input);
    if data.is_err() && from.contains('=') {
        bail!(
            "{from}: neither a file nor ENTRY_ID=FILE with an id such as {HOST_ID} or hipv4-amdgcn-amd-amdhsa--gfx942"
        );
    }
    let data = data.with_context(|| from.clone().into_owned())?;
    let id = derived_id(&data).with_context(|| from.clone().into_owned())?;
    Ok((Packed { id, from, data }, true))
}

/// The bytes of a file, a URI, or standard input.
fn read(path: &OsStr) -> Result<Vec<u8>> {
    ensure!(!Path::new(path).is_dir(), "a directory, where a file is wanted");
    match input::inputs(&[path.to_owned()]).next() {
        Some(Ok(input)) => Ok(input.to_vec()),
        Some(Err(unopened)) => Err(unopened.error.into()),
        None => bail!("no such file"),
    }
}

fn derived_id(data: &[u8]) -> Result<String> {
    let kind = EntryKind::detect(data);
    ensure!(
        kind == EntryKind::CodeObject,
        "not a code object, so its target is not known: give it as ENTRY_ID=FILE, or extract its objects first"
    );
    let object = CodeObject::parse(data)?;
    let target = object.target().id().with_context(|| {
        format!("its target, {}, is not known: give it as ENTRY_ID=FILE", object.target())
    })?;
    Ok(format!("hipv4-amdgcn-amd-amdhsa--{target}"))
}

fn refuse_twins(entries: &[Packed<'_>]) -> Result<()> {
    let mut seen: Vec<&Packed<'_>> = Vec::new();
    for entry in entries {
        if let Some(twin) = seen.iter().find(|it| it.id == entry.id) {
            bail!(
                "{} and {} are both for {}: a bundle holds one object for a target",
                twin.from,
                entry.from,
                entry.id
            );
        }
        if let Some(rival) = seen.iter().find(|it| are_rivals(&it.id, &entry.id)) {
            bail!(
                "{} and {} do not go into one bundle: both fit some devices; name the same features in both",
                rival.id,
                entry.id
            );
        }
        seen.push(entry);
    }
    Ok(())
}

fn are_rivals(one: &str, other: &str) -> bool {
    let ids = EntryId::parse(one).zip(EntryId::parse(other));
    ids.is_some_and(|(one, other)| one.is_rival(&other))
}
