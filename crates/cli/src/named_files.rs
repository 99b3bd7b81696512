//! The files that a command line names: none may be named for two things, of which one is to be written.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use clap::ArgMatches;

/// Arguments that name a file to be written.
const OUTPUTS: [&str; 5] = ["output", "manifest", "image", "write_baseline", "index"];
/// Arguments that name files to be read.
const INPUTS: [&str; 11] = [
    "files",
    "file",
    "inputs",
    "old",
    "new",
    "packets",
    "buffer",
    "baseline",
    "compare",
    "samples",
    "rewriting",
];

/// Why these arguments cannot be done: two of them name the same file.
pub(crate) fn conflict(arguments: &ArgMatches) -> Option<String> {
    if let Some((_, inner)) = arguments.subcommand() {
        return conflict(inner);
    }
    let outputs = named(arguments, &OUTPUTS);
    let inputs = named(arguments, &INPUTS);
    for (at, (id, path)) in outputs.iter().enumerate() {
        let others = outputs.get(at + 1..).unwrap_or_default();
        // A baseline may be compared with and written anew in one run.
        let read =
            inputs.iter().filter(|(other, _)| (*id, *other) != ("write_baseline", "baseline"));
        if let Some((other, _)) = others.iter().chain(read).find(|(_, it)| is_same(it, path)) {
            let path = path.display();
            return Some(format!("{path}: named by both {} and {}", spelt(id), spelt(other)));
        }
    }
    None
}

fn spelt(id: &str) -> String {
    match INPUTS.contains(&id) && id != "baseline" {
        true => "the input".to_owned(),
        false => format!("--{}", id.replace('_', "-")),
    }
}

/// The arguments with these ids, each with a file that it names.
fn named<'a>(arguments: &'a ArgMatches, ids: &[&'static str]) -> Vec<(&'static str, &'a Path)> {
    let values = |id: &'static str| {
        let given = arguments.try_get_raw(id).ok().flatten().into_iter().flatten();
        given.filter(|it| *it != OsStr::new("-")).map(move |it| (id, Path::new(it)))
    };
    ids.iter().flat_map(|id| values(id)).collect()
}

/// Whether two paths lead to one file that can be replaced; devices and directories may be named as often as one likes.
fn is_same(one: &Path, other: &Path) -> bool {
    let is_replaced = |path: &Path| fs::metadata(path).map_or(true, |it| it.is_file());
    is_replaced(one) && is_replaced(other) && (place(one) == place(other) || is_linked(one, other))
}

/// A path without links and detours, also of a file that is not there yet.
fn place(path: &Path) -> Option<PathBuf> {
    if let Ok(path) = fs::canonicalize(path) {
        return Some(path);
    }
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(fs::canonicalize(folder).ok()?.join(path.file_name()?))
}

#[cfg(unix)]
fn is_linked(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let identity = |path| fs::metadata(path).ok().map(|it| (it.dev(), it.ino()));
    identity(one).is_some() && identity(one) == identity(other)
}

#[cfg(not(unix))]
fn is_linked(_one: &Path, _other: &Path) -> bool {
    false
}
