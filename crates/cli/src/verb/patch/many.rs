//! Several files, or all those of directories that hold code: rewritten into a directory, all or none.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use hsaco::patch::Patcher;
use tempfile::TempDir;

use super::Args;
use super::outcome::{Documents, Outcome};
use crate::args::Format;
use crate::input::{self, Place};
use crate::output::Output;
use crate::report::Status;

/// A file, and where its result goes in the directory of the results.
struct Source {
    place: Place,
    relative: PathBuf,
}

/// True where there is more than one file to be written, or one into a directory.
pub(super) fn is_asked(args: &Args) -> bool {
    let is_folder = |name: &OsString| Path::new(name).is_dir();
    args.files.len() != 1
        || args.files.iter().any(is_folder)
        || args.output.as_ref().is_some_and(is_folder)
}

/// Rewrites all of them, or writes nothing.
pub(super) fn patch(args: &Args, patcher: &Patcher) -> Result<Status> {
    ensure!(args.manifest.is_none(), "--manifest is for one file at a time");
    let sources = sources(args)?;
    let mut staging = match &args.output {
        Some(target) => Some(Staging::new(args, Path::new(target), &sources)?),
        None => None,
    };
    let mut outcomes = Vec::new();
    for Source { place, relative } in sources {
        let input = place.open()?;
        let Some(mut outcome) = Outcome::of(patcher, &input)? else { continue };
        // A file that is named is to be rewritten; of those of directories, some may be for other processors.
        if !outcome.found {
            Outcome::settle(std::iter::once(&mut outcome));
        }
        if let Some(staging) = &mut staging {
            staging.write(relative, &outcome.take_bytes(&input)?)?;
        }
        outcomes.push(outcome);
    }
    ensure!(!outcomes.is_empty(), "no file holds code");
    Outcome::settle(outcomes.iter_mut().filter(|it| it.found));
    let is_refused = outcomes.iter().any(Outcome::is_refused);
    if let Some(staging) = staging.filter(|_| !is_refused) {
        staging.commit()?;
    }
    let mut out = Output::open(None)?.for_people(args.format == Format::Text);
    match args.format {
        Format::Json => {
            serde_json::to_writer(&mut out, &Documents::new(&outcomes))?;
            writeln!(out)?;
        }
        Format::Text => outcomes.iter().try_for_each(|it| it.write_text(&mut out))?,
    }
    out.finish()?;
    outcomes.iter().for_each(Outcome::report);
    Ok(if is_refused { Status::Findings } else { Status::Fine })
}

/// All files, with distinct names.
fn sources(args: &Args) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    let mut names: BTreeMap<PathBuf, String> = BTreeMap::new();
    for argument in &args.files {
        let mut places = input::inputs(std::slice::from_ref(argument));
        while let Some(place) = places.next_place() {
            let place = place?;
            let Some(path) = place.file() else {
                bail!("{}: it has no name that its result could have", place.name);
            };
            let relative = match place.found {
                true => path.strip_prefix(argument).ok().map(Path::to_owned),
                false => path.file_name().map(PathBuf::from),
            };
            let relative = relative.with_context(|| format!("{}: no file", place.name))?;
            if let Some(other) = names.insert(relative.clone(), place.name.clone()) {
                bail!("{other} and {} would both be written to {}", place.name, relative.display());
            }
            sources.push(Source { place, relative });
        }
    }
    Ok(sources)
}

/// Results that wait until all of them are there.
struct Staging {
    folder: TempDir,
    target: PathBuf,
    files: Vec<PathBuf>,
}

impl Staging {
    /// For a directory, which need not exist; one that is none of the inputs', nor inside of them.
    fn new(args: &Args, path: &Path, sources: &[Source]) -> Result<Self> {
        let context = || path.display().to_string();
        let exists = path.exists();
        if exists && !path.is_dir() {
            bail!("{}: a file, and the results need a directory", path.display());
        }
        let (around, name) = match exists {
            true => (path, None),
            false => (parent(path), path.file_name()),
        };
        let around = fs::canonicalize(around).with_context(context)?;
        let target = name.map_or_else(|| around.clone(), |name| around.join(name));
        for argument in &args.files {
            let folder = fs::canonicalize(argument).unwrap_or_default();
            if folder.is_dir() && target.starts_with(&folder) {
                let folder = Path::new(argument).display();
                bail!("{}: inside of {folder}, which is read", path.display());
            }
        }
        let mut results = sources.iter().map(|it| &it.relative);
        if let Some(taken) = results.find(|it| target.join(it).is_dir()) {
            let taken = path.join(taken);
            bail!("{}: a directory, where a result is to be", taken.display());
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(".hsaco-");
        #[cfg(unix)]
        {
            // What a plain create would give: the umask takes from it what it takes.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o777));
        }
        let folder = builder.tempdir_in(&around).with_context(context)?;
        Ok(Staging { folder, target, files: Vec::new() })
    }

    fn write(&mut self, relative: PathBuf, bytes: &[u8]) -> Result<()> {
        let path = self.folder.path().join(&relative);
        let written = fs::create_dir_all(parent(&path)).and_then(|()| fs::write(&path, bytes));
        written.with_context(|| self.target.join(&relative).display().to_string())?;
        self.files.push(relative);
        Ok(())
    }

    /// Puts everything in its place.
    fn commit(self) -> Result<()> {
        if !self.target.exists() {
            let folder = self.folder.keep();
            return fs::rename(folder, &self.target)
                .with_context(|| self.target.display().to_string());
        }
        for relative in &self.files {
            let target = self.target.join(relative);
            let from = self.folder.path().join(relative);
            let moved =
                fs::create_dir_all(parent(&target)).and_then(|()| fs::rename(from, &target));
            moved.with_context(|| target.display().to_string())?;
        }
        Ok(())
    }
}

/// The directory that a path is in.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
