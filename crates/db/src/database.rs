//! The database: files and their kernels.

use std::any::Any;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hsaco_bytes::{Error, ErrorKind, Result, Str};
use hsaco_container::{Entry, EntryKind, WalkOptions};
use hsaco_object::CodeObject;

use crate::catalog::Catalog;
use crate::content::{Content, ContentView};
use crate::kernel::IndexedKernel;
use crate::object::{Found, Object};
use crate::shared::{Counts, DatabaseOptions, Shared};
use crate::wanted::Wanted;

/// What adding a file brought.
#[derive(Clone, Debug, Default)]
pub struct Added {
    /// The new objects.
    pub objects: Vec<Arc<Object>>,
    /// What could not be read; the rest of the file was.
    pub problems: Vec<Error>,
}

impl Added {
    /// An error if there is no object: what was wrong first, else that none is wanted of what there is.
    fn or_nothing(self, wanted: Wanted, passed_over: &[String]) -> Result<Self> {
        if !self.objects.is_empty() {
            return Ok(self);
        }
        let nothing = || wanted.nothing(passed_over.iter());
        Err(self.problems.into_iter().next().unwrap_or_else(nothing))
    }
}

/// Of wanted objects those that remain where a device chooses.
fn closest<O: AsRef<Object>>(wanted: Wanted, objects: Vec<O>) -> Vec<O> {
    let target = |it: &O| it.as_ref().target_id();
    wanted.closest(objects, target, |one, other| one.as_ref().shares_bundle(other.as_ref()))
}

/// An entry of a file that is indexed.
struct EntryPlace<'f> {
    /// The name under which the file is added.
    name: &'f Arc<str>,
    number: usize,
    entry: &'f Entry<'f>,
    file: &'f Content,
    /// All of the file.
    view: &'f [u8],
}

/// What becomes of an object of a file.
enum Choice {
    Taken(Box<Object>),
    /// It is not wanted: its target.
    PassedOver(String),
}

/// What was found in a file.
#[derive(Default)]
struct Indexed {
    objects: Vec<Object>,
    problems: Vec<Error>,
    /// The targets of objects that are not wanted.
    passed_over: Vec<String>,
}

/// Kernels of many files. All methods may be called from any thread at any time.
#[derive(Debug, Default)]
pub struct Database {
    shared: Arc<Shared>,
    catalog: Mutex<Catalog>,
}

/// Which objects of a file are added, and which of their kernels. Unless all objects are wanted, compressed bundles are
/// unpacked only as far as the ids of their entries say: what is wrong behind that is not seen, and payloads of more than
/// 1 MiB are not compared with their hashes.
#[derive(Clone, Copy, Default)]
pub struct Which<'f> {
    /// The objects.
    pub objects: Wanted,
    /// Whether a kernel of a mangled name is wanted; without it all are.
    pub kernels: Option<&'f dyn Fn(Str<'_>) -> bool>,
}

impl Which<'_> {
    fn is_all(&self) -> bool {
        self.objects == Wanted::All && self.kernels.is_none()
    }

    fn wants_kernel(&self, name: Str<'_>) -> bool {
        self.kernels.is_none_or(|is_wanted| is_wanted(name))
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
    pub fn with_options(options: DatabaseOptions) -> Self {
        Database { shared: Arc::new(Shared::new(options)), ..Self::default() }
    }

    /// An empty database that carries something of its owner's, to which its objects lead: [`Object::carried`].
    #[must_use]
    pub fn carrying(what: Arc<dyn Any + Send + Sync>) -> Self {
        Database { shared: Arc::new(Shared::carrying(what)), ..Self::default() }
    }

    /// Adds every code object of a file, whatever holds it. Nothing is decoded.
    pub fn add(&self, name: &str, file: impl Into<Content>) -> Result<Added> {
        self.add_some(name, file, &Which::default())
    }

    /// Adds a file, of its kernels only those whose mangled names are wanted.
    pub fn add_where(
        &self,
        name: &str,
        file: impl Into<Content>,
        is_wanted: impl Fn(Str<'_>) -> bool,
    ) -> Result<Added> {
        self.add_some(name, file, &Which { kernels: Some(&is_wanted), ..Which::default() })
    }

    /// Adds some objects and kernels of a file. A kernel that is there stays as it is, and is there once: a file that is
    /// added again brings what it did not bring before. One that is not as it was takes the place of what it was.
    pub fn add_some(
        &self,
        name: &str,
        file: impl Into<Content>,
        which: &Which<'_>,
    ) -> Result<Added> {
        let file = file.into();
        let place = file.place(name);
        let known = self.catalog().whole(&place);
        if let Some(all) = known {
            let (objects, others): (Vec<_>, Vec<_>) =
                all.into_iter().partition(|it| it.is_wanted(which.objects));
            let passed_over: Vec<_> = others.iter().map(|it| it.target().to_owned()).collect();
            let objects = closest(which.objects, objects);
            return Added { objects, problems: Vec::new() }.or_nothing(which.objects, &passed_over);
        }
        let Indexed { objects, problems, passed_over } = self.index(name, &file, which)?;
        file.check()?;
        let objects = self.catalog().add(place, file, which.is_all(), objects);
        Added { objects, problems }.or_nothing(which.objects, &passed_over)
    }

    /// Indexes the wanted objects of a file.
    fn index(&self, name: &str, file: &Content, which: &Which<'_>) -> Result<Indexed> {
        let name: Arc<str> = Arc::from(name);
        let view = file.view()?;
        let bytes = (*view).as_ref();
        let mut indexed = Indexed::default();
        let mut found = Vec::new();
        let mut seen = Seen::default();
        let mut number = 0;
        let hash = which.objects.hash_check(self.shared.options.container.hash);
        let options = WalkOptions { hash, ..self.shared.options.container };
        let wanted = (which.objects != Wanted::All).then_some(&which.objects as _);
        for entry in view.entries(&options, wanted) {
            let entry = match entry {
                Ok(entry) if entry.is_object() => entry,
                Ok(_) => continue,
                Err(error) => {
                    indexed.problems.push(error);
                    continue;
                }
            };
            let place = EntryPlace { name: &name, number, entry: &entry, file, view: bytes };
            match self.index_entry(&place, which) {
                Ok(Choice::Taken(object)) => found.push(*object),
                Ok(Choice::PassedOver(target)) => indexed.passed_over.push(target),
                Err(error) => {
                    let base = entry.offset.unwrap_or(0);
                    indexed.problems.push(error.rebased(base));
                }
            }
            number += 1;
            seen.add(&entry, &*view);
        }
        seen.release(&*view);
        indexed.objects = closest(which.objects, found);
        Ok(indexed)
    }

    /// Indexes an entry of a file, if it is wanted.
    fn index_entry(&self, place: &EntryPlace<'_>, which: &Which<'_>) -> Result<Choice> {
        let EntryPlace { name, number, entry, file, view } = *place;
        match entry.kind {
            EntryKind::Bitcode | EntryKind::Spirv => return Err(not_compiled(entry.kind)),
            EntryKind::Unread => {
                return Ok(Choice::PassedOver(entry.named_target().unwrap_or("?").to_owned()));
            }
            _ => {}
        }
        let object = CodeObject::parse(&entry.data)?;
        if !which.objects.takes(object.target().id(), object.e_flags().generic_version()) {
            return Ok(Choice::PassedOver(object.target().to_string()));
        }
        let unpacked = (self.shared.options.container.max_size, &self.shared.unpacked);
        let place =
            Found { file: name, number, entry, content: file.entry(view, entry, unpacked)? };
        let is_wanted = |name: Str<'_>| which.wants_kernel(name);
        let intern = |name: Str<'_>| self.catalog().names.intern(name);
        let indexed = Object::index(place, &object, &is_wanted, &intern, &self.shared);
        Ok(Choice::Taken(Box::new(indexed)))
    }

    fn catalog(&self) -> MutexGuard<'_, Catalog> {
        self.catalog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All objects, in the order in which they were added.
    #[must_use]
    pub fn objects(&self) -> Vec<Arc<Object>> {
        self.catalog().objects.clone()
    }

    /// All kernels, in the order in which they were added.
    pub fn kernels(&self) -> impl Iterator<Item = IndexedKernel> + use<> {
        self.objects().into_iter().flat_map(|object| object.kernels())
    }

    /// The kernels of a name: mangled or readable, with or without `.kd`. The same name in several objects is as
    /// many kernels.
    #[must_use]
    pub fn kernels_named(&self, name: &str) -> Vec<IndexedKernel> {
        self.catalog().find(name)
    }

    /// The only kernel of a name.
    pub fn kernel(&self, name: &str) -> Result<IndexedKernel> {
        self.kernel_for(name, Wanted::All)
    }

    /// The only kernel of a name in the objects for a target or a device. Of several a device takes the closest.
    pub fn kernel_for(&self, name: &str, wanted: Wanted) -> Result<IndexedKernel> {
        let named = self.kernels_named(name);
        let is_wanted = |it: &&IndexedKernel| it.object().is_wanted(wanted);
        let found: Vec<_> = named.iter().filter(is_wanted).collect();
        let found = wanted.closest(found, |it| it.object().target_id(), |_, _| true);
        let places = |all: &mut dyn Iterator<Item = &IndexedKernel>| {
            all.map(|it| format!("{:?}", it.object())).collect::<Vec<_>>().join(", ")
        };
        match *found {
            [kernel] => Ok(kernel.clone()),
            [] => {
                let wanted = wanted.words().map(|it| format!(" {it}")).unwrap_or_default();
                let others = match named.is_empty() {
                    true => String::new(),
                    false => format!(", only in {}", places(&mut named.iter())),
                };
                let detail = format!("`{name}`{wanted}{others}");
                Err(Error::new(ErrorKind::NotFound, "kernel", detail))
            }
            _ => {
                let places = places(&mut found.iter().copied());
                let detail = format!("`{name}` is {} kernels: {places}", found.len());
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
        self.shared.counts()
    }
}

/// The part of a file that was indexed and is not needed for now.
#[derive(Default)]
struct Seen(Option<Range<usize>>);

impl Seen {
    /// So much may be in memory that is not needed.
    const ENOUGH: usize = 16 << 20;

    /// Takes note of an entry that is a part of the file.
    fn add(&mut self, entry: &Entry<'_>, file: &dyn ContentView) {
        let Some(start) = entry.offset.and_then(|it| usize::try_from(it).ok()) else { return };
        let end = start.saturating_add(entry.data.len());
        let before = self.0.take().unwrap_or(start..end);
        self.0 = Some(before.start.min(start)..before.end.max(end));
        if self.0.as_ref().is_some_and(|it| it.len() >= Self::ENOUGH) {
            self.release(file);
        }
    }

    fn release(&mut self, file: &dyn ContentView) {
        if file.as_ref().len() >= Self::ENOUGH {
            self.0.take().into_iter().for_each(|range| file.release(range));
        }
    }
}

fn not_compiled(kind: EntryKind) -> Error {
    let detail = format!("{} has no kernels before it is compiled", kind.name());
    Error::new(ErrorKind::Unsupported, "entry", detail)
}
