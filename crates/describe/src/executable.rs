//! The objects of files in one executable: of a container, those that a device runs.

mod text;

use std::collections::BTreeSet;
use std::fmt;

use hsaco_bytes::memory;
use hsaco_container::{EntryKind, Trail};
use hsaco_db::Wanted;
use hsaco_files::{ObjectItem, Trouble};
use hsaco_isa::TargetId;
use hsaco_load::{Error, Executable};

pub use text::{write_executable, write_places};

/// Loads objects as they are found.
#[derive(Debug)]
pub struct Loader<'p> {
    /// What was loaded so far.
    pub executable: Executable<'static>,
    device: Option<TargetId>,
    /// Where the objects of some files are to be, by the file's name.
    places: &'p [(String, u64)],
    file: String,
    /// Whether the file may hold several objects.
    is_container: bool,
    loaded: usize,
    /// Objects of a container that the device runs, of which it takes the closest of each bundle.
    candidates: Vec<Candidate>,
    /// The targets of those that it does not run.
    passed_over: BTreeSet<String>,
}

/// What an entry of a file is.
#[derive(Debug)]
pub struct Found(Find);

#[derive(Debug)]
enum Find {
    Nothing,
    Object(Candidate),
    /// An object that the device does not run: its target.
    ForAnother(String),
}

/// An object of a file.
#[derive(Debug)]
struct Candidate {
    number: usize,
    target: Option<TargetId>,
    trail: Trail,
    bytes: Vec<u8>,
}

/// What was not loaded.
#[derive(Debug)]
pub enum Refused {
    /// An object, by the loader.
    Object {
        /// The file, if it may hold several.
        container: Option<String>,
        /// Why.
        error: Error,
    },
    /// A file of which the device runs nothing.
    NothingFor {
        /// The file.
        file: String,
        /// The device.
        device: TargetId,
        /// What is in it.
        targets: Vec<String>,
    },
    /// A file without objects.
    NoObject {
        /// The file.
        file: String,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Object { error, .. } => error.fmt(f),
            Refused::NothingFor { file, device, targets } => {
                let targets = targets.join(", ");
                write!(f, "{file}: no object that {device} runs is in it, only for {targets}")
            }
            Refused::NoObject { file } => write!(f, "{file}: holds no object to load"),
        }
    }
}

impl<'p> Loader<'p> {
    /// Loads into an executable, for a device, if one is named.
    #[must_use]
    pub fn new(
        executable: Executable<'static>,
        device: Option<TargetId>,
        places: &'p [(String, u64)],
    ) -> Self {
        Loader {
            executable,
            device,
            places,
            file: String::new(),
            is_container: false,
            loaded: 0,
            candidates: Vec::new(),
            passed_over: BTreeSet::new(),
        }
    }

    /// Begins a file.
    pub fn begin(&mut self, file: &str, is_container: bool) {
        file.clone_into(&mut self.file);
        self.is_container = is_container;
        self.loaded = 0;
        self.candidates.clear();
        self.passed_over.clear();
    }

    /// Looks at an object, on any thread.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn find(
        &self,
        item: &ObjectItem<'_, '_>,
        trouble: &mut Trouble,
    ) -> hsaco_bytes::Result<Found> {
        let Some(object) = &item.object else {
            if item.entry.kind == EntryKind::Bitcode {
                let kind = hsaco_bytes::ErrorKind::Unsupported;
                let error = hsaco_bytes::Error::new(kind, "bitcode", "it is not compiled yet");
                trouble.note(item.place(), error);
            }
            return Ok(Found(Find::Nothing));
        };
        let target = object.target().id();
        let generic_version = object.e_flags().generic_version();
        if self.is_container && !self.wanted().takes(target, generic_version) {
            return Ok(Found(Find::ForAnother(object.target().to_string())));
        }
        Ok(Found(Find::Object(Candidate {
            number: item.number,
            target,
            trail: item.entry.trail.clone(),
            bytes: memory::copy(object.data(), "code object")?,
        })))
    }

    /// Loads what was found, unless what a device takes is known only at the end of the file.
    pub fn take(&mut self, found: Found) -> Option<Refused> {
        match found.0 {
            Find::Nothing => None,
            Find::ForAnother(target) => {
                self.passed_over.insert(target);
                None
            }
            Find::Object(object) if self.device.is_some() => {
                self.candidates.push(object);
                None
            }
            Find::Object(object) => self.load(object),
        }
    }

    /// Ends a file, in which something may have been wrong.
    pub fn end(&mut self, is_broken: bool) -> Vec<Refused> {
        let candidates = std::mem::take(&mut self.candidates);
        let are_of_one_bundle = |one: &Candidate, other: &Candidate| one.trail == other.trail;
        let chosen = self.wanted().closest(candidates, |it| it.target, are_of_one_bundle);
        let mut refused: Vec<_> = chosen.into_iter().filter_map(|it| self.load(it)).collect();
        if self.loaded == 0 && !is_broken {
            let file = self.file.clone();
            refused.push(match self.device {
                Some(device) if !self.passed_over.is_empty() => {
                    let targets = self.passed_over.iter().cloned().collect();
                    Refused::NothingFor { file, device, targets }
                }
                _ => Refused::NoObject { file },
            });
        }
        refused
    }

    fn wanted(&self) -> Wanted {
        self.device.map_or(Wanted::All, Wanted::Device)
    }

    fn load(&mut self, object: Candidate) -> Option<Refused> {
        let name = match self.is_container {
            true => format!("{}[{}]", self.file, object.number),
            false => self.file.clone(),
        };
        let place = self.places.iter().find(|(file, _)| *file == self.file);
        let loaded = match place {
            Some((_, base)) => self.executable.load_at(&name, object.bytes, *base),
            None => self.executable.load(&name, object.bytes),
        };
        self.loaded += 1;
        let container = self.is_container.then(|| self.file.clone());
        loaded.err().map(|error| Refused::Object { container, error })
    }
}
