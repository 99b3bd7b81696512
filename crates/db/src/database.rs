//! The database: files and their kernels.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use hsaco_analysis::Stream;
use hsaco_isa::{DecodeOptions, DecoderCache};
use hsaco_object::container::{self, Entry, EntryKind, entries};
use hsaco_object::{Error, ErrorKind, Result, Str};

use crate::data::Data;
use crate::kernel::Kernel;
use crate::name::Names;
use crate::object::Object;

/// How files are read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// How far to go into containers, and how large what is compressed may become.
    pub container: container::Options,
    /// How instructions are decoded.
    pub decode: DecodeOptions,
}

/// What adding a file brought.
#[derive(Clone, Debug, Default)]
pub struct Added {
    /// The new objects.
    pub objects: Vec<Arc<Object>>,
    /// What could not be read; the rest of the file was.
    pub problems: Vec<Error>,
}

/// What was worked out so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Kernels whose instructions were decoded.
    pub decoded_kernels: u64,
    /// Instructions decoded.
    pub decoded_instructions: u64,
    /// Bytes of code decoded.
    pub decoded_bytes: u64,
}

/// Kernels of many files. All methods may be called from any thread at any time.
#[derive(Debug, Default)]
pub struct Database {
    shared: Arc<Shared>,
    objects: RwLock<Vec<Arc<Object>>>,
    names: Mutex<Names>,
}

/// What all objects of a database share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) decoders: DecoderCache,
    kernels: AtomicU64,
    instructions: AtomicU64,
    bytes: AtomicU64,
}

impl Default for Shared {
    fn default() -> Self {
        Shared::new(Options::default())
    }
}

impl Shared {
    fn new(options: Options) -> Self {
        let (decoders, kernels, instructions, bytes) = Default::default();
        Shared { options, decoders, kernels, instructions, bytes }
    }

    /// Counts a decoded kernel.
    pub(crate) fn count(&self, stream: &Stream) {
        self.kernels.fetch_add(1, Ordering::Relaxed);
        self.instructions.fetch_add(stream.len() as u64, Ordering::Relaxed);
        self.bytes.fetch_add(u64::from(stream.size()), Ordering::Relaxed);
    }
}

impl Database {
    /// An empty database that reads files as usual.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty database.
    #[must_use]
    pub fn with_options(options: Options) -> Self {
        Database { shared: Arc::new(Shared::new(options)), ..Self::default() }
    }

    /// Adds every code object of a file, whatever holds it. Nothing is decoded.
    pub fn add(&self, name: &str, file: impl Into<Data>) -> Result<Added> {
        self.add_where(name, file, |_| true)
    }

    /// Adds a file, of its kernels only those whose mangled names are wanted.
    pub fn add_where(
        &self,
        name: &str,
        file: impl Into<Data>,
        is_wanted: impl Fn(Str<'_>) -> bool,
    ) -> Result<Added> {
        let (name, file) = (Arc::from(name), file.into());
        let mut added = Added::default();
        let mut names = Vec::new();
        let mut seen = Seen::default();
        let objects = entries(file.as_ref(), &self.shared.options.container);
        let mut number = 0;
        for entry in objects {
            let entry = match entry {
                Ok(entry) if entry.is_object() => entry,
                Ok(_) => continue,
                Err(error) => {
                    added.problems.push(error);
                    continue;
                }
            };
            let at = |error: Error| entry.offset.map_or(error.clone(), |base| error.rebased(base));
            let indexed = match entry.kind {
                EntryKind::Bitcode | EntryKind::Spirv => Err(not_compiled(entry.kind)),
                _ => Object::index(&name, number, &entry, &file, &is_wanted, &self.shared),
            };
            match indexed {
                Ok(object) => {
                    names.push(object.kernel_names().map(|it| it.to_string()).collect());
                    added.objects.push(Arc::new(object));
                }
                Err(error) => added.problems.push(at(error)),
            }
            number += 1;
            seen.add(&entry, &file);
        }
        seen.release(&file);
        if added.objects.is_empty() {
            let nothing =
                || Error::new(ErrorKind::NotFound, "file", "no AMD GPU code object is in it");
            return Err(added.problems.into_iter().next().unwrap_or_else(nothing));
        }
        let mut all = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        self.names.lock().unwrap_or_else(PoisonError::into_inner).add(all.len(), names);
        all.extend(added.objects.iter().cloned());
        Ok(added)
    }

    /// All objects, in the order in which they were added.
    #[must_use]
    pub fn objects(&self) -> Vec<Arc<Object>> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All kernels, in the order in which they were added.
    pub fn kernels(&self) -> impl Iterator<Item = Kernel> + use<> {
        self.objects().into_iter().flat_map(|object| object.kernels())
    }

    /// The kernels of a name: mangled or readable, with or without `.kd`. The same name in several objects is as
    /// many kernels.
    #[must_use]
    pub fn kernels_named(&self, name: &str) -> Vec<Kernel> {
        let objects = self.objects();
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let found = names.find(&objects, name);
        let kernel = |(object, number): (usize, usize)| {
            Some(Kernel::new(Arc::clone(objects.get(object)?), number))
        };
        found.into_iter().filter_map(kernel).collect()
    }

    /// The only kernel of a name.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let mut found = self.kernels_named(name);
        match found.len() {
            0 => Err(Error::new(ErrorKind::NotFound, "kernel", format!("`{name}`"))),
            1 => Ok(found.swap_remove(0)),
            count => {
                let places: Vec<_> = found.iter().map(|it| format!("{:?}", it.object())).collect();
                let detail = format!("`{name}` is {count} kernels: {}", places.join(", "));
                Err(Error::new(ErrorKind::Ambiguous, "kernel", detail))
            }
        }
    }

    /// Where the code of a source line is, in every object that says so: a path matches if it ends in `file`.
    pub fn code_of_line(
        &self,
        file: &str,
        line: u32,
        column: Option<u32>,
    ) -> Result<Vec<(Arc<Object>, Range<u64>)>> {
        let mut found = Vec::new();
        for object in self.objects() {
            let stretches = object.with_source(|sections, map| map.stretches(sections))?;
            let wanted = stretches.into_iter().filter(|(_, it)| it.is_at(file, line, column));
            found.extend(wanted.map(|(range, _)| (Arc::clone(&object), range)));
        }
        Ok(found)
    }

    /// What was worked out so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            decoded_kernels: of(&self.shared.kernels),
            decoded_instructions: of(&self.shared.instructions),
            decoded_bytes: of(&self.shared.bytes),
        }
    }
}

/// The part of a file that was indexed and is not needed for now.
#[derive(Default)]
struct Seen(Option<Range<usize>>);

impl Seen {
    /// So much may be in memory that is not needed.
    const ENOUGH: usize = 16 << 20;

    /// Takes note of an entry that is a part of the file.
    fn add(&mut self, entry: &Entry<'_>, file: &Data) {
        let Some(start) = entry.offset.and_then(|it| usize::try_from(it).ok()) else { return };
        let end = start.saturating_add(entry.data.len());
        let before = self.0.take().unwrap_or(start..end);
        self.0 = Some(before.start.min(start)..before.end.max(end));
        if self.0.as_ref().is_some_and(|it| it.len() >= Self::ENOUGH) {
            self.release(file);
        }
    }

    fn release(&mut self, file: &Data) {
        if file.as_ref().len() >= Self::ENOUGH {
            self.0.take().into_iter().for_each(|range| file.release(range));
        }
    }
}

fn not_compiled(kind: EntryKind) -> Error {
    let detail = format!("{} has no kernels before it is compiled", kind.name());
    Error::new(ErrorKind::Unsupported, "entry", detail)
}
