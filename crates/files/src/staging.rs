//! Results of many files: written beside the directory that they are for, and put there together.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{FileError, Result};
use crate::input::{Place, inputs};
use crate::output::temporary;

/// A file, and where its result goes in the directory of the results.
#[derive(Debug)]
pub struct StagedSource {
    /// The file.
    pub place: Place,
    /// The name of its result.
    pub relative: PathBuf,
}

/// All files that arguments stand for, with distinct names for their results.
///
/// ```
/// let sources = hsaco_files::sources(&["src/lib.rs".into()])?;
/// assert_eq!(sources[0].relative.to_str(), Some("lib.rs"));
/// # Ok::<(), hsaco_files::FileError>(())
/// ```
///
/// # Errors
/// When a directory cannot be read, something is no file, or two files have one name.
pub fn sources(arguments: &[OsString]) -> Result<Vec<StagedSource>> {
    let mut sources = Vec::new();
    let mut names: BTreeMap<PathBuf, String> = BTreeMap::new();
    for argument in arguments {
        let mut places = inputs(std::slice::from_ref(argument));
        while let Some(place) = places.next_place() {
            let place = place.map_err(|it| it.error.named(&it.name))?;
            let relative = relative(argument, &place)?;
            if let Some(other) = names.insert(relative.clone(), place.name.clone()) {
                let (name, target) = (&place.name, relative.display());
                let text = format!("{other} and {name} would both be written to {target}");
                return Err(FileError::new(text));
            }
            sources.push(StagedSource { place, relative });
        }
    }
    Ok(sources)
}

/// What a result is called: its place in the directory that was named, or the name of the file.
fn relative(argument: &OsString, place: &Place) -> Result<PathBuf> {
    let Some(path) = place.file() else {
        let text = "it has no name that its result could have";
        return Err(FileError::new(text).named(&place.name));
    };
    let relative = match place.found {
        true => path.strip_prefix(argument).ok().map(Path::to_owned),
        false => path.file_name().map(PathBuf::from),
    };
    relative.ok_or_else(|| FileError::new("no file").named(&place.name))
}

/// Results that wait until all of them are there.
#[derive(Debug)]
pub struct Staging {
    folder: TempDir,
    target: PathBuf,
    files: Vec<PathBuf>,
}

impl Staging {
    /// For a directory, which need not exist; one that is none of the arguments', nor inside of them.
    ///
    /// # Errors
    /// When it is, is in the way of a result, or cannot be written to.
    pub fn new(path: &Path, arguments: &[OsString], sources: &[StagedSource]) -> Result<Self> {
        let exists = path.exists();
        if exists && !path.is_dir() {
            return Err(FileError::new("a file, and the results need a directory").in_file(path));
        }
        let (around, name) = match exists {
            true => (path, None),
            false => (parent(path), path.file_name()),
        };
        let named = |error: std::io::Error| FileError::from(error).in_file(path);
        let around = fs::canonicalize(around).map_err(named)?;
        let target = name.map_or_else(|| around.clone(), |name| around.join(name));
        for argument in arguments {
            let folder = fs::canonicalize(argument).unwrap_or_default();
            if folder.is_dir() && target.starts_with(&folder) {
                let text = format!("inside of {}, which is read", Path::new(argument).display());
                return Err(FileError::new(text).in_file(path));
            }
        }
        let mut results = sources.iter().map(|it| &it.relative);
        if let Some(taken) = results.find(|it| target.join(it).is_dir()) {
            let text = "a directory, where a result is to be";
            return Err(FileError::new(text).in_file(&path.join(taken)));
        }
        let folder = temporary(0o777).tempdir_in(&around).map_err(named)?;
        Ok(Staging { folder, target, files: Vec::new() })
    }

    /// Writes a result.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&mut self, relative: PathBuf, bytes: &[u8]) -> Result<()> {
        let path = self.folder.path().join(&relative);
        let written = fs::create_dir_all(parent(&path)).and_then(|()| fs::write(&path, bytes));
        written.map_err(|error| FileError::from(error).in_file(&self.target.join(&relative)))?;
        self.files.push(relative);
        Ok(())
    }

    /// Puts everything in its place.
    ///
    /// # Errors
    /// What the system says.
    pub fn commit(self) -> Result<()> {
        if !self.target.exists() {
            let moved = fs::rename(self.folder.keep(), &self.target);
            return moved.map_err(|error| FileError::from(error).in_file(&self.target));
        }
        for relative in &self.files {
            let target = self.target.join(relative);
            let from = self.folder.path().join(relative);
            let moved =
                fs::create_dir_all(parent(&target)).and_then(|()| fs::rename(from, &target));
            moved.map_err(|error| FileError::from(error).in_file(&target))?;
        }
        Ok(())
    }
}

/// The directory that a path is in.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
