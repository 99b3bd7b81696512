//! Symbols, as an executable shows them.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use hsaco_bytes::Str;
use hsaco_demangle::demangle;
use hsaco_elf::symbol::{Binding, Visibility};

use crate::executable::Executable;
use crate::id::{LoadedSymbolKind, ObjectId, SymbolId};
use crate::name::NameId;
use crate::object::{Entry, Kernel, KernelInfo, Object, Place};
use crate::resolve::{Bound, Definition};

/// A symbol of an executable.
///
/// ```
/// use hsaco_load::{Executable, LoadedSymbolKind};
/// let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
/// let mut executable = Executable::new(None);
/// let object = executable.load("s1.co", file)?;
/// let helper = executable.symbol("helper").unwrap();
/// assert_eq!(helper.kind(), LoadedSymbolKind::Function);
/// assert_eq!((helper.object(), helper.value(), helper.size()), (Some(object), Some(0x1d00), 16));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Symbol<'e> {
    pub(crate) executable: &'e Executable<'e>,
    pub(crate) of: Of<'e>,
}

/// Whose symbol it is.
#[derive(Clone, Copy)]
pub(crate) enum Of<'e> {
    Object { number: u32, object: &'e Object<'e>, symbol: u32, entry: &'e Entry },
    Caller { number: u32, definition: &'e Definition },
}

impl<'e> Symbol<'e> {
    fn entry(&self) -> Option<&'e Entry> {
        match self.of {
            Of::Object { entry, .. } => Some(entry),
            Of::Caller { .. } => None,
        }
    }

    /// Its number.
    #[must_use]
    pub fn id(&self) -> SymbolId {
        match self.of {
            Of::Object { number, symbol, .. } => SymbolId::new(number, symbol),
            Of::Caller { number, .. } => SymbolId::definition(number),
        }
    }

    /// Its name, a kernel's without `.kd`.
    #[must_use]
    pub fn name(&self) -> Str<'e> {
        match self.of {
            Of::Object { entry, .. } => self.executable.names.name(entry.shown),
            Of::Caller { definition, .. } => self.executable.names.name(definition.name),
        }
    }

    /// Its name as the file has it and HSA wants it: a kernel's ends in `.kd`.
    #[must_use]
    pub fn symbol_name(&self) -> Str<'e> {
        match self.of {
            Of::Object { entry, .. } => self.executable.names.name(entry.name),
            Of::Caller { definition, .. } => self.executable.names.name(definition.name),
        }
    }

    /// Its name as people read it.
    #[must_use]
    pub fn readable_name(&self) -> String {
        demangle(self.name().as_bytes()).unwrap_or_else(|| self.name().to_string())
    }

    /// What it stands for.
    #[must_use]
    pub fn kind(&self) -> LoadedSymbolKind {
        match self.of {
            Of::Object { entry, .. } => entry.kind.unwrap_or(LoadedSymbolKind::Function),
            Of::Caller { definition, .. } => match definition.class {
                crate::object::Class::Function => LoadedSymbolKind::Function,
                _ => LoadedSymbolKind::Variable,
            },
        }
    }

    /// The object that it is in; none for what the caller defined.
    #[must_use]
    pub fn object(&self) -> Option<ObjectId> {
        match self.of {
            Of::Object { number, .. } => Some(ObjectId(number)),
            Of::Caller { .. } => None,
        }
    }

    /// Its address in its own object, before that is placed; the value of a number.
    #[must_use]
    pub fn value(&self) -> Option<u64> {
        match self.of {
            Of::Object { entry, .. } => match entry.place {
                Place::Memory(value) | Place::Number(value) => Some(value),
                Place::Elsewhere | Place::Lds(_) => None,
            },
            Of::Caller { definition, .. } => Some(definition.address),
        }
    }

    /// Where it is in memory, once the executable is frozen; for a kernel that is its descriptor. An external's
    /// is that of who provides it.
    #[must_use]
    pub fn address(&self) -> Option<u64> {
        match self.of {
            Of::Object { number, symbol, .. } => {
                self.executable.address(Bound::Symbol { object: number, symbol })
            }
            Of::Caller { definition, .. } => Some(definition.address),
        }
    }

    /// Who provides an external, once the executable is frozen; none where it is weak and undefined.
    #[must_use]
    pub fn provider(&self) -> Option<Symbol<'e>> {
        let Of::Object { number, symbol, .. } = self.of else { return None };
        match self.executable.bound(number, symbol)? {
            Bound::Symbol { object, symbol } => self.executable.symbol_at(object, symbol),
            Bound::Definition(number) => self.executable.definition_at(number),
            Bound::Zero | Bound::Nowhere => None,
        }
    }

    /// Bytes that it takes, as far as the file says it.
    #[must_use]
    pub fn size(&self) -> u64 {
        match self.of {
            Of::Object { entry, .. } => entry.size,
            Of::Caller { definition, .. } => definition.size,
        }
    }

    /// The alignment of a variable: its section's, as far as its address has it. 0 where it has no place.
    #[must_use]
    pub fn align(&self) -> u64 {
        self.entry().map_or(0, |entry| entry.align)
    }

    /// Whether nothing may write to it.
    #[must_use]
    pub fn is_const(&self) -> bool {
        self.entry().is_some_and(|entry| entry.is_const)
    }

    /// Whether it has a place, or a value, in its own object.
    #[must_use]
    pub fn is_definition(&self) -> bool {
        self.entry().is_none_or(Entry::is_defined)
    }

    /// Whether other objects may refer to it.
    #[must_use]
    pub fn is_exported(&self) -> bool {
        self.entry().is_none_or(Entry::is_exported)
    }

    /// Who can see it at link time.
    #[must_use]
    pub fn binding(&self) -> Binding {
        self.entry().map_or(Binding::Global, |entry| entry.binding)
    }

    /// Who can see it at load time.
    #[must_use]
    pub fn visibility(&self) -> Visibility {
        self.entry().map_or(Visibility::Default, |entry| entry.visibility)
    }

    fn loaded_kernel(&self) -> Option<(&'e Object<'e>, u32, &'e Kernel)> {
        let Of::Object { number, object, entry, .. } = self.of else { return None };
        let kernel = entry.kernel.filter(|_| entry.kind == Some(LoadedSymbolKind::Kernel))?;
        Some((object, number, self.executable.kernel(number, kernel)?))
    }

    /// What a runtime must know to launch a kernel; after freezing, what that has raised.
    #[must_use]
    pub fn kernel(&self) -> Option<KernelInfo> {
        self.loaded_kernel().map(|(_, _, kernel)| kernel.info)
    }

    /// Where the code of a kernel or function is, and how much of it: in memory once frozen, else in its object.
    #[must_use]
    pub fn code(&self) -> Option<(u64, u64)> {
        let place = |number, address: u64| {
            self.executable.delta(number).map_or(address, |delta| address.wrapping_add(delta))
        };
        if let Some((_, number, kernel)) = self.loaded_kernel() {
            return Some((place(number, kernel.entry), kernel.code_size));
        }
        let is_code =
            matches!(self.kind(), LoadedSymbolKind::Function | LoadedSymbolKind::IndirectFunction);
        let Of::Object { number, entry, .. } = self.of else { return None };
        match entry.place {
            Place::Memory(address) if is_code => Some((place(number, address), entry.size)),
            _ => None,
        }
    }
}

impl std::fmt::Debug for Symbol<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} at {:x?}", self.kind().name(), self.name(), self.address())
    }
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

impl Executable<'_> {
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
            let is_kernel = it.kind() == LoadedSymbolKind::Kernel;
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
                let is_it =
                    |it: &Symbol<'_>| demangle(it.name().as_bytes()).is_some_and(|it| it == name);
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
}

/// The symbols of an object that are in memory, by address; of two at one the larger is the last.
fn places(object: &Object<'_>) -> Vec<(u64, u64, u32)> {
    let all = (0_u32..).zip(&object.symbols).filter_map(|(symbol, entry)| match entry.place {
        Place::Memory(start) => Some((start, entry.size, symbol)),
        _ => None,
    });
    let mut places: Vec<_> = all.collect();
    places.sort_unstable();
    places
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
