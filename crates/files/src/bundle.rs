//! Files that become a bundle: objects into a new one, or what was taken apart together again by its manifest.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use hsaco_bytes::TextError;
use hsaco_container::manifest::{Manifest, SUFFIX};
use hsaco_container::{EntryKind, bundle};
use hsaco_isa::target::EntryId;
use hsaco_object::CodeObject;

use crate::error::{FileError, Result};
use crate::input;

const HOST_ID: &str = "host-x86_64-unknown-linux-gnu-";

/// The manifest that a path is, or that the directory holds which it is.
///
/// # Errors
/// When a directory holds none or several, or cannot be read.
pub fn manifest_of(path: &Path) -> Result<Option<PathBuf>> {
    if path.is_dir() {
        return find_manifest(path).map(Some).map_err(|error| error.in_file(path));
    }
    let is_json = |text: &[u8]| text.trim_ascii_start().starts_with(b"{");
    let mut start = Vec::new();
    // Anything else, a file that is not there included, is for the other form to judge.
    if let Ok(file) = fs::File::open(path) {
        file.take(64).read_to_end(&mut start)?;
    }
    Ok(is_json(&start).then(|| path.to_owned()))
}

/// The one manifest in a directory.
fn find_manifest(directory: &Path) -> Result<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(SUFFIX) {
            found.push(path);
        }
    }
    found.sort_unstable();
    match found.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(FileError::new(format!("no *{SUFFIX} in it; hsaco extract writes one"))),
        [first, second, ..] => Err(FileError::new(format!(
            "several manifests in it, such as {} and {}: name one of them",
            first.display(),
            second.display()
        ))),
    }
}

/// The bundles that a manifest describes, from the files beside it.
///
/// # Errors
/// When the manifest or a file that it names cannot be read, or does not fit the others.
pub fn rebuild_bundles(manifest: &Path, level: Option<i32>, max_size: u64) -> Result<Vec<u8>> {
    let directory = manifest.parent().unwrap_or(Path::new(""));
    let read = |name: &str| {
        let path = directory.join(name);
        fs::read(&path).map_err(|error| {
            let path = path.display();
            let text = format!("{path}, which the manifest names, cannot be read: {error}");
            TextError::new(text)
        })
    };
    let text = fs::read(manifest).map_err(|error| FileError::from(error).in_file(manifest))?;
    let described = Manifest::parse(&text);
    let rebuilt = described.and_then(|it| it.rebuild(&read, level, max_size));
    rebuilt.map_err(|error| FileError::from(error).in_file(manifest))
}

/// A new bundle of objects, each given as `FILE` or `ENTRY_ID=FILE`; every content's offset is a multiple of `align`.
///
/// # Errors
/// When a file cannot be read, an entry has no id, or two entries cannot be in one bundle.
pub fn pack_bundle(objects: &[OsString], align: u64) -> Result<Vec<u8>> {
    let mut entries = Vec::new();
    let mut is_derived = false;
    for object in objects {
        let (entry, derived) = packed(object)?;
        entries.push(entry);
        is_derived |= derived;
    }
    let is_host = |id: &String| EntryId::parse(id).is_some_and(|it| it.is_host());
    if is_derived && !entries.iter().any(|it| is_host(&it.id)) {
        entries.insert(0, Packed { id: HOST_ID.to_owned(), from: Cow::Borrowed(""), data: vec![] });
    }
    refuse_twins(&entries)?;
    let entries: Vec<_> = entries.into_iter().map(|it| (it.id, it.data)).collect();
    Ok(bundle::write(&entries, align))
}

/// An entry of a new bundle.
struct Packed<'a> {
    id: String,
    /// The argument it comes from.
    from: Cow<'a, str>,
    data: Vec<u8>,
}

/// Reads one argument; true if its id comes from the object.
fn packed(object: &OsStr) -> Result<(Packed<'_>, bool)> {
    let from = object.to_string_lossy();
    if let Some((id, file)) = object.to_str().and_then(|it| it.split_once('='))
        && let Some(id) = EntryId::parse(id)
    {
        let data = match file {
            "" => Vec::new(),
            file => read(OsStr::new(file)).map_err(|error| error.named(file))?,
        };
        return Ok((Packed { id: id.canonical(), from, data }, false));
    }
    let data = read(object);
    if data.is_err() && from.contains('=') {
        return Err(FileError::new(format!(
            "{from}: neither a file nor ENTRY_ID=FILE with an id such as {HOST_ID} or hipv4-amdgcn-amd-amdhsa--gfx942"
        )));
    }
    let data = data.map_err(|error| error.named(&from))?;
    let id = derived_id(&data).map_err(|error| error.named(&from))?;
    Ok((Packed { id, from, data }, true))
}

/// The bytes of a file, a URI, or standard input.
fn read(path: &OsStr) -> Result<Vec<u8>> {
    if Path::new(path).is_dir() {
        return Err(FileError::new("a directory, where a file is wanted"));
    }
    match input::inputs(&[path.to_owned()]).next() {
        Some(Ok(input)) => Ok(input.to_vec()),
        Some(Err(unopened)) => Err(unopened.error),
        None => Err(FileError::new("no such file")),
    }
}

fn derived_id(data: &[u8]) -> Result<String> {
    if EntryKind::detect(data) != EntryKind::CodeObject {
        return Err(FileError::new(
            "not a code object, so its target is not known: give it as ENTRY_ID=FILE, or extract its objects first",
        ));
    }
    let object = CodeObject::parse(data)?;
    let target = object.target().id().ok_or_else(|| {
        let target = object.target();
        FileError::new(format!("its target, {target}, is not known: give it as ENTRY_ID=FILE"))
    })?;
    Ok(format!("hipv4-amdgcn-amd-amdhsa--{target}"))
}

fn refuse_twins(entries: &[Packed<'_>]) -> Result<()> {
    let mut seen: Vec<&Packed<'_>> = Vec::new();
    for entry in entries {
        if let Some(twin) = seen.iter().find(|it| it.id == entry.id) {
            return Err(FileError::new(format!(
                "{} and {} are both for {}: a bundle holds one object for a target",
                twin.from, entry.from, entry.id
            )));
        }
        if let Some(rival) = seen.iter().find(|it| are_rivals(&it.id, &entry.id)) {
            return Err(FileError::new(format!(
                "{} and {} do not go into one bundle: both fit some devices; name the same features in both",
                rival.id, entry.id
            )));
        }
        seen.push(entry);
    }
    Ok(())
}

fn are_rivals(one: &str, other: &str) -> bool {
    let ids = EntryId::parse(one).zip(EntryId::parse(other));
    ids.is_some_and(|(one, other)| one.is_rival(&other))
}
