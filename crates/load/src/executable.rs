//! An executable: objects that are loaded, put together, and asked.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use foldhash::fast::RandomState;
use hsaco_isa::{EFlags, TargetId};
use hsaco_object::relocation::RelocationType;
use hsaco_object::{Str, demangle};

use crate::apply::Addresses;
use crate::error::{Error, ErrorKind, Errors, Result};
use crate::image::{self, Applied, Image};
use crate::link;
use crate::name::{NameId, Names};
use crate::object::{Class, Kernel, Object};
use crate::resolve::{self, Bound, Definition, Resolution};
use crate::resource::{self, Raise};
use crate::symbol::{Of, Symbol, SymbolId, SymbolKind};

/// The number of an object in its executable: the order in which objects were loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub(crate) u32);

impl ObjectId {
    /// As an index, from 0.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// How an executable is frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freeze {
    /// Where the first object is placed, of those that were not told where; the others follow.
    pub base: u64,
    /// Whether kernels get what they need with all that they call; else that is only reported.
    pub fix_resources: bool,
}

impl Default for Freeze {
    fn default() -> Self {
        Self { base: 0x1000, fix_resources: true }
    }
}

/// Code objects that belong together, from the first loaded to the last question asked.
///
/// Objects come in any order. Nothing is looked for before [`freeze`](Self::freeze), which finds everything that is
/// wrong at once. What fails leaves the executable as it was.
///
/// ```
/// use hsaco_load::{Executable, Freeze};
/// let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
/// let mut executable = Executable::new(Some("gfx942:sramecc+:xnack-".parse()?));
/// executable.load("s1.co", file)?;
/// executable.freeze(Freeze { base: 0x7f00_0000_0000, ..Freeze::default() })?;
/// let helper = executable.symbol("helper").unwrap();
/// assert_eq!(helper.address(), Some(0x7f00_0000_1d00));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Executable<'a> {
    device: Option<TargetId>,
    flags: Option<EFlags>,
    pub(crate) names: Names,
    pub(crate) objects: Vec<Object<'a>>,
    pub(crate) definitions: Vec<Definition>,
    pub(crate) frozen: Option<Frozen>,
    by_name: OnceLock<HashMap<NameId, Vec<SymbolId>, RandomState>>,
    /// Where the symbols of each object begin, how large they are, and their numbers.
    places: OnceLock<Vec<Vec<(u64, u64, u32)>>>,
}

/// The symbols of an object that are in memory, by address; of two at one the larger is the last.
fn places(object: &Object<'_>) -> Vec<(u64, u64, u32)> {
    let all = (0_u32..).zip(&object.symbols).filter_map(|(symbol, entry)| match entry.place {
        crate::object::Place::Memory(start) => Some((start, entry.size, symbol)),
        _ => None,
    });
    let mut places: Vec<_> = all.collect();
    places.sort_unstable();
    places
}

/// What freezing has decided.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frozen {
    pub(crate) bound: Vec<Vec<Bound>>,
    pub(crate) deltas: Vec<u64>,
    pub(crate) images: Vec<Image>,
    pub(crate) log: Vec<Applied>,
    pub(crate) raises: Vec<Raise>,
    pub(crate) remarks: Vec<String>,
    /// The numbers of objects, by address.
    order: Vec<u32>,
}

/// A relocation that was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppliedRelocation<'e> {
    /// Whose it was.
    pub object: ObjectId,
    /// Where the value is.
    pub place: u64,
    /// What it computes.
    pub kind: RelocationType,
    /// The symbol that it names.
    pub symbol: Option<Str<'e>>,
    /// The object that provides the symbol; none for what the caller defined, and for nothing.
    pub provider: Option<ObjectId>,
    /// What is added.
    pub addend: i64,
    /// What was stored.
    pub value: u64,
    /// Whether the linker had applied it already, and kept it.
    pub is_static: bool,
}

/// What is at an address.
#[derive(Clone, Copy, Debug)]
pub struct Located<'e> {
    /// The object.
    pub object: ObjectId,
    /// The address in the object, before that was placed.
    pub object_address: u64,
    /// The symbol that it is in, or that comes before it, and how far behind its start.
    pub symbol: Option<(Symbol<'e>, u64)>,
}

impl<'a> Executable<'a> {
    /// An executable for a device, or for whatever the objects are for.
    #[must_use]
    pub fn new(device: Option<TargetId>) -> Self {
        Self { device, ..Self::default() }
    }

    /// The device, if there is one.
    #[must_use]
    pub fn device(&self) -> Option<TargetId> {
        self.device
    }

    /// What all objects together are for.
    #[must_use]
    pub fn e_flags(&self) -> Option<EFlags> {
        self.flags
    }

    /// The target that all objects together are for.
    #[must_use]
    pub fn target(&self) -> Option<TargetId> {
        match self.objects.first() {
            Some(object) if object.flags.target_id().is_none() => Some(object.target),
            _ => self.flags?.target_id(),
        }
    }

    /// Whether nothing can be added any more.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }

    fn check_unfrozen(&self, what: &str) -> Result<()> {
        if self.frozen.is_none() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Frozen, format!("{what}: the executable is frozen")))
    }

    /// Says where a variable is that objects may refer to.
    ///
    /// # Errors
    /// The executable is frozen, or the name is defined already.
    pub fn define_variable(&mut self, name: &str, address: u64, size: u64) -> Result<SymbolId> {
        self.define(name, Class::Variable, address, size)
    }

    /// Says where a function is that objects may call. What it needs is not known to anybody here.
    ///
    /// # Errors
    /// The executable is frozen, or the name is defined already.
    pub fn define_function(&mut self, name: &str, address: u64) -> Result<SymbolId> {
        self.define(name, Class::Function, address, 0)
    }

    fn define(&mut self, name: &str, class: Class, address: u64, size: u64) -> Result<SymbolId> {
        self.check_unfrozen("defining")?;
        let known = self.names.find(Str::from(name));
        if self.definitions.iter().any(|it| Some(it.name) == known) {
            let detail = format!("`{name}` is defined by the caller already");
            return Err(Error::new(ErrorKind::DuplicateSymbol, detail));
        }
        let name = self.names.intern(Str::from(name));
        let number = u32::try_from(self.definitions.len()).unwrap_or(u32::MAX);
        self.definitions.push(Definition { name, class, address, size });
        self.by_name = OnceLock::new();
        Ok(SymbolId::definition(number))
    }

    /// Adds an object, to be placed with the others; `name` is what messages call it.
    ///
    /// # Errors
    /// The object cannot be read, does not run on the device or does not go with the others, or the executable is
    /// frozen. Nothing has changed then.
    pub fn load(&mut self, name: &str, bytes: impl Into<Cow<'a, [u8]>>) -> Result<ObjectId> {
        self.add(name, bytes.into(), None, Object::read)
    }

    /// Adds an object only to be asked for its symbols, even if no linker has seen it yet. An executable with a
    /// relocatable object cannot be frozen.
    ///
    /// ```
    /// use hsaco_load::{Executable, SymbolKind};
    /// let file = std::fs::read("../../tests/fixtures/lds.o")?;
    /// let mut executable = Executable::new(None);
    /// executable.inspect("lds.o", file)?;
    /// assert_eq!(executable.symbol("tile").unwrap().kind(), SymbolKind::Lds);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As those of [`load`](Self::load), but for that.
    pub fn inspect(&mut self, name: &str, bytes: impl Into<Cow<'a, [u8]>>) -> Result<ObjectId> {
        let bytes = bytes.into();
        match hsaco_object::CodeObject::parse(&bytes).is_ok_and(|it| it.is_relocatable()) {
            true => self.add(name, bytes, None, Object::read_relocatable),
            false => self.add(name, bytes, None, Object::read),
        }
    }

    /// Adds an object whose address 0 is to be `base`.
    ///
    /// # Errors
    /// As those of [`load`](Self::load).
    pub fn load_at(
        &mut self,
        name: &str,
        bytes: impl Into<Cow<'a, [u8]>>,
        base: u64,
    ) -> Result<ObjectId> {
        self.add(name, bytes.into(), Some(base), Object::read)
    }

    fn add(
        &mut self,
        name: &str,
        bytes: Cow<'a, [u8]>,
        base: Option<u64>,
        read: impl FnOnce(&str, Cow<'a, [u8]>, &mut Names) -> Result<Object<'a>>,
    ) -> Result<ObjectId> {
        self.check_unfrozen("loading")?;
        let before = self.names.len();
        let read = read(name, bytes, &mut self.names).and_then(|object| {
            let flags = self.check_target(&object)?;
            Ok((object, flags))
        });
        match read {
            Ok((object, flags)) => {
                self.flags = Some(flags);
                self.by_name = OnceLock::new();
                self.places = OnceLock::new();
                self.objects.push(Object { base, ..object });
                Ok(ObjectId(u32::try_from(self.objects.len() - 1).unwrap_or(u32::MAX)))
            }
            Err(error) => {
                self.names.truncate(before);
                Err(error)
            }
        }
    }

    /// Whether an object runs on the device and goes with the others: the flags of all of them together.
    fn check_target(&self, object: &Object<'_>) -> Result<EFlags> {
        let refused = |kind, detail: String| Err(Error::new(kind, detail).in_object(&object.name));
        if let Some(device) = self.device
            && let Err(error) = object.target.runs_on(device, object.flags.generic_version())
        {
            return refused(ErrorKind::WrongDevice, error.to_string());
        }
        let (Some(flags), Some(first)) = (self.flags, self.objects.first()) else {
            return Ok(object.flags);
        };
        match flags.merge(object.flags) {
            Ok(flags) => Ok(flags),
            Err(conflict) => {
                let detail = format!("does not go with {}: {conflict}", first.name);
                refused(ErrorKind::TargetMismatch, detail)
            }
        }
    }

    /// Puts the objects together: places them, finds who provides each name, applies relocations, and gives kernels
    /// what they need with all that they call.
    ///
    /// # Errors
    /// Everything that is wrong, at once. The executable is as it was then.
    pub fn freeze(&mut self, options: Freeze) -> std::result::Result<(), Errors> {
        self.check_unfrozen("freezing")?;
        self.frozen = Some(self.put_together(options.base)?);
        match resource::propagate(self) {
            Ok(found) => {
                resource::apply(self, found, options.fix_resources);
                Ok(())
            }
            Err(errors) => {
                self.frozen = None;
                Err(errors)
            }
        }
    }

    /// Places the objects, finds who provides each name, and applies relocations.
    fn put_together(&self, base: u64) -> std::result::Result<Frozen, Errors> {
        if let Some(object) = self.objects.iter().find(|it| !it.is_linked) {
            let error = Error::new(ErrorKind::NotLinked, "it was only to be inspected");
            return Err(error.in_object(&object.name).into());
        }
        let deltas = image::place(&self.objects, base, |object| object.base)?;
        let Resolution { bound, mut errors } =
            resolve::resolve(&self.objects, &self.definitions, &self.names);
        let mut images = self.unrelocated(&deltas)?;
        let log = self.addresses(&deltas, &bound).apply(&mut images, &mut errors);
        Errors::check(errors)?;
        let mut order: Vec<u32> = (0..).take(images.len()).collect();
        order.sort_by_key(|at| images.get(*at as usize).map(|image| image.range().start));
        Ok(Frozen { bound, deltas, images, log, order, ..Frozen::default() })
    }

    fn unrelocated(&self, deltas: &[u64]) -> Result<Vec<Image>> {
        let pairs = self.objects.iter().zip(deltas);
        pairs.map(|(object, delta)| Image::new(object, *delta)).collect()
    }

    /// What memory would hold if objects were moved so far, and the relocations that make it so.
    pub(crate) fn images(
        &self,
        deltas: &[u64],
        bound: &[Vec<Bound>],
    ) -> std::result::Result<(Vec<Image>, Vec<Applied>), Errors> {
        let mut errors = Vec::new();
        let mut images = self.unrelocated(deltas)?;
        let log = self.addresses(deltas, bound).apply(&mut images, &mut errors);
        Errors::check(errors)?;
        Ok((images, log))
    }

    /// One code object of all: with one note, all their symbols, and nothing left to resolve. Kernels that were
    /// raised are so in descriptor and metadata.
    ///
    /// ```
    /// use hsaco_load::{Executable, Freeze};
    /// # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
    /// let mut executable = Executable::new(None);
    /// executable.load("s1.co", file)?;
    /// executable.freeze(Freeze::default())?;
    /// let linked = executable.link()?;
    /// let object = hsaco_object::CodeObject::parse(&linked)?;
    /// assert_eq!(object.index().kernels().len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The executable is not frozen, or its metadata cannot become one note.
    pub fn link(&self) -> std::result::Result<Vec<u8>, Errors> {
        let raises: Vec<Raise> = self.raises().iter().filter(|it| it.is_applied).cloned().collect();
        Ok(link::link(self, &raises, link::Purpose::Loading)?.bytes)
    }

    fn addresses<'x>(&'x self, deltas: &'x [u64], bound: &'x [Vec<Bound>]) -> Addresses<'x, 'a> {
        Addresses {
            objects: &self.objects,
            definitions: &self.definitions,
            names: &self.names,
            deltas,
            bound,
        }
    }

    /// The objects, in the order in which they were loaded.
    pub fn objects(&self) -> impl ExactSizeIterator<Item = ObjectId> + use<> {
        (0..u32::try_from(self.objects.len()).unwrap_or(u32::MAX)).map(ObjectId)
    }

    /// The name under which an object was loaded.
    #[must_use]
    pub fn object_name(&self, object: ObjectId) -> &str {
        self.objects.get(object.index()).map_or("", |it| it.name.as_str())
    }

    /// The bytes that an object was loaded from.
    #[must_use]
    pub fn object_bytes(&self, object: ObjectId) -> &[u8] {
        self.objects.get(object.index()).map_or(&[], |it| &it.bytes)
    }

    /// What memory holds of an object, once frozen.
    #[must_use]
    pub fn image(&self, object: ObjectId) -> Option<&Image> {
        self.frozen.as_ref()?.images.get(object.index())
    }

    /// Every relocation that was applied, in the order in which that happened.
    pub fn relocations(&self) -> impl Iterator<Item = AppliedRelocation<'_>> {
        let log = self.frozen.iter().flat_map(|frozen| &frozen.log);
        log.map(|applied| AppliedRelocation {
            object: ObjectId(applied.object),
            place: applied.place,
            kind: applied.kind,
            symbol: applied.symbol.and_then(|symbol| {
                let object = self.objects.get(applied.object as usize)?;
                Some(self.names.name(object.symbols.get(symbol as usize)?.name))
            }),
            provider: match applied.bound {
                Some(Bound::Symbol { object, .. }) => Some(ObjectId(object)),
                _ => None,
            },
            addend: applied.addend,
            value: applied.value,
            is_static: applied.is_static,
        })
    }

    /// What kernels need beyond what they have, and what was done about it.
    #[must_use]
    pub fn raises(&self) -> &[Raise] {
        self.frozen.as_ref().map_or(&[], |frozen| &frozen.raises)
    }

    /// What could not be found out about what kernels need.
    #[must_use]
    pub fn remarks(&self) -> &[String] {
        self.frozen.as_ref().map_or(&[], |frozen| &frozen.remarks)
    }

    /// Every symbol: of each object in the order of its table, then what the caller defined.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol<'_>> {
        let objects = (0_u32..).zip(&self.objects);
        let of_objects = objects.flat_map(move |(number, object)| {
            let symbols = (0_u32..).zip(&object.symbols).filter(|(_, it)| it.kind.is_some());
            symbols.map(move |(symbol, entry)| Symbol {
                executable: self,
                of: Of::Object { number, object, symbol, entry },
            })
        });
        let definitions = (0_u32..).zip(&self.definitions);
        let of_caller = definitions.map(|(number, definition)| Symbol {
            executable: self,
            of: Of::Caller { number, definition },
        });
        of_objects.chain(of_caller)
    }

    /// The symbol of a number.
    #[must_use]
    pub fn symbol_by_id(&self, id: SymbolId) -> Option<Symbol<'_>> {
        match id.parts() {
            (Some(object), symbol) => self.symbol_at(object, symbol),
            (None, number) => self.definition_at(number),
        }
    }

    pub(crate) fn symbol_at(&self, number: u32, symbol: u32) -> Option<Symbol<'_>> {
        let object = self.objects.get(number as usize)?;
        let entry = object.symbols.get(symbol as usize)?;
        Some(Symbol { executable: self, of: Of::Object { number, object, symbol, entry } })
    }

    pub(crate) fn definition_at(&self, number: u32) -> Option<Symbol<'_>> {
        let definition = self.definitions.get(number as usize)?;
        Some(Symbol { executable: self, of: Of::Caller { number, definition } })
    }

    /// The symbol of a name: as it is in the file, without `.kd`, or as people read it. Of several, one that is
    /// defined and that other objects may see.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<Symbol<'_>> {
        let found = self.symbols_named(name);
        let rank = |it: &Symbol<'_>| {
            let is_kernel = it.kind() == SymbolKind::Kernel;
            (it.is_definition(), it.is_exported(), is_kernel, std::cmp::Reverse(it.id()))
        };
        found.into_iter().max_by_key(rank)
    }

    /// All symbols of a name.
    #[must_use]
    pub fn symbols_named(&self, name: &str) -> Vec<Symbol<'_>> {
        let by_name = self.by_name.get_or_init(|| {
            let mut by_name: HashMap<NameId, Vec<SymbolId>, RandomState> = HashMap::default();
            for symbol in self.symbols() {
                let names = [symbol.symbol_name(), symbol.name()];
                let ids = names.map(|name| self.names.find(name));
                by_name.entry_if_some(ids[0], symbol.id());
                if ids[0] != ids[1] {
                    by_name.entry_if_some(ids[1], symbol.id());
                }
            }
            by_name
        });
        let known = self.names.find(Str::from(name)).and_then(|name| by_name.get(&name));
        match known {
            Some(ids) => ids.iter().filter_map(|id| self.symbol_by_id(*id)).collect(),
            None => {
                let is_it = |it: &Symbol<'_>| demangle(it.name()).is_some_and(|it| it == name);
                self.symbols().filter(is_it).collect()
            }
        }
    }

    /// What is at an address of memory, once frozen.
    #[must_use]
    pub fn locate(&self, address: u64) -> Option<Located<'_>> {
        let frozen = self.frozen.as_ref()?;
        let start = |at: &u32| frozen.images.get(*at as usize).map_or(0, |it| it.range().start);
        let after = frozen.order.partition_point(|at| start(at) <= address);
        let number = *frozen.order.get(after.checked_sub(1)?)?;
        let image = frozen.images.get(number as usize)?;
        if !image.segments.iter().any(|it| it.range().contains(&address)) {
            return None;
        }
        let object_address = address.wrapping_sub(image.delta);
        let symbol = self.nearest(number, object_address);
        Some(Located { object: ObjectId(number), object_address, symbol })
    }

    /// The symbol that an address of an object is in, else the nearest before it in the same segment.
    fn nearest(&self, number: u32, address: u64) -> Option<(Symbol<'_>, u64)> {
        /// How many symbols may begin inside another one before that is lost sight of.
        const NESTED: usize = 8;
        let object = self.objects.get(number as usize)?;
        let segment = object
            .segments
            .iter()
            .find(|it| address.checked_sub(it.address).is_some_and(|into| into < it.memory_size))?;
        let places = self.places.get_or_init(|| self.objects.iter().map(places).collect());
        let places = places.get(number as usize)?;
        let before = places.get(..places.partition_point(|(start, ..)| *start <= address))?;
        let is_inside = |(start, size, _): &&(u64, u64, u32)| address - start < *size;
        let found = before.iter().rev().take(NESTED).find(is_inside).or(before.last());
        let (start, _, symbol) = *found.filter(|(start, ..)| *start >= segment.address)?;
        Some((self.symbol_at(number, symbol)?, address - start))
    }

    pub(crate) fn bound(&self, object: u32, symbol: u32) -> Option<Bound> {
        self.frozen.as_ref()?.bound.get(object as usize)?.get(symbol as usize).copied()
    }

    pub(crate) fn delta(&self, object: u32) -> Option<u64> {
        self.frozen.as_ref()?.deltas.get(object as usize).copied()
    }

    /// Where a symbol is, or who provides it.
    pub(crate) fn address(&self, bound: Bound) -> Option<u64> {
        let frozen = self.frozen.as_ref()?;
        let bound = match bound {
            Bound::Symbol { object, symbol } => {
                let entry = self.objects.get(object as usize)?.symbols.get(symbol as usize)?;
                if entry.is_defined() { bound } else { self.bound(object, symbol)? }
            }
            other => other,
        };
        self.addresses(&frozen.deltas, &frozen.bound).of(bound)
    }

    pub(crate) fn kernel(&self, object: u32, kernel: u32) -> Option<&Kernel> {
        self.objects.get(object as usize)?.kernels.get(kernel as usize)
    }
}

/// Whether an object can be loaded by itself: read, placed and relocated. No device is asked, no code is looked at,
/// and nothing is kept.
///
/// ```
/// # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
/// assert!(hsaco_load::check_object(&file).is_ok());
/// let errors = hsaco_load::check_object(&file[..100]).unwrap_err();
/// assert_eq!(errors[0].kind(), hsaco_load::ErrorKind::BadSegment);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Everything for which [`Executable::load`] or [`Executable::freeze`] would refuse it.
pub fn check_object(bytes: &[u8]) -> std::result::Result<(), Errors> {
    let mut executable = Executable::new(None);
    executable.load("", bytes)?;
    executable.put_together(Freeze::default().base)?;
    Ok(())
}

/// Adds to a list in a map, where there is a key.
trait EntryIfSome {
    fn entry_if_some(&mut self, key: Option<NameId>, value: SymbolId);
}

impl EntryIfSome for HashMap<NameId, Vec<SymbolId>, RandomState> {
    fn entry_if_some(&mut self, key: Option<NameId>, value: SymbolId) {
        if let Some(key) = key {
            self.entry(key).or_default().push(value);
        }
    }
}
