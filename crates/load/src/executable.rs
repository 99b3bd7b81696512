//! An executable: objects that are loaded, and what freezing has decided about them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use foldhash::fast::RandomState;
use hsaco_bytes::{Str, memory};
use hsaco_elf::relocation::RelocationType;
use hsaco_isa::TargetId;
use hsaco_isa::target::EFlags;

use crate::apply::Addresses;
use crate::error::{ErrorKind, Errors, Result, refusal};
use crate::id::{Deltas, ObjectId, SymbolId};
use crate::image::{Applied, Image};
use crate::name::{NameId, Names};
use crate::object::{Class, Kernel, Object};
use crate::raise::Raise;
use crate::resolve::{Bound, Definition};

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
    pub(crate) by_name: OnceLock<HashMap<NameId, Vec<SymbolId>, RandomState>>,
    /// Where the symbols of each object begin, how large they are, and their numbers.
    pub(crate) places: OnceLock<Vec<Vec<(u64, u64, u32)>>>,
}

/// What freezing has decided.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frozen {
    pub(crate) bound: Vec<Vec<Bound>>,
    pub(crate) deltas: Deltas,
    pub(crate) images: Vec<Image>,
    pub(crate) log: Vec<Applied>,
    pub(crate) raises: Vec<Raise>,
    pub(crate) remarks: Vec<String>,
    /// The numbers of objects, by address.
    pub(crate) order: Vec<u32>,
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

    pub(crate) fn check_unfrozen(&self, what: &str) -> Result<()> {
        if self.frozen.is_none() {
            return Ok(());
        }
        Err(refusal(ErrorKind::Frozen, format!("{what}: the executable is frozen")))
    }

    /// Says where a variable is that objects may refer to.
    ///
    /// # Errors
    /// The executable is frozen, or the name is defined already.
    pub fn define_variable(&mut self, name: &str, address: u64, size: u64) -> Result<SymbolId> {
        self.define(name, Class::Variable, address, size)
    }

    /// Says where a function is that objects may call. What it needs is unknown here.
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
            return Err(refusal(ErrorKind::DuplicateSymbol, detail));
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
    /// use hsaco_load::{Executable, LoadedSymbolKind};
    /// let file = std::fs::read("../../tests/fixtures/lds.o")?;
    /// let mut executable = Executable::new(None);
    /// executable.inspect("lds.o", file)?;
    /// assert_eq!(executable.symbol("tile").unwrap().kind(), LoadedSymbolKind::Lds);
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

    pub(crate) fn add(
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
        let refused = |kind, detail: String| Err(refusal(kind, detail).in_object(&object.name));
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

    pub(crate) fn unrelocated(&self, deltas: &Deltas) -> Result<Vec<Image>> {
        let pairs = self.objects.iter().zip(deltas.iter());
        pairs.map(|(object, delta)| Image::new(object, *delta)).collect()
    }

    /// What memory would hold if objects were moved so far, and the relocations that make it so.
    pub(crate) fn images(
        &self,
        deltas: &Deltas,
        bound: &[Vec<Bound>],
    ) -> std::result::Result<(Vec<Image>, Vec<Applied>), Errors> {
        let mut errors = Vec::new();
        let mut images = self.unrelocated(deltas)?;
        let log = self.addresses(deltas, bound).apply(&mut images, &mut errors);
        Errors::check(errors)?;
        Ok((images, log))
    }

    pub(crate) fn addresses<'x>(
        &'x self,
        deltas: &'x Deltas,
        bound: &'x [Vec<Bound>],
    ) -> Addresses<'x, 'a> {
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

    /// From the lowest address of any object to the highest; empty before all is frozen.
    #[must_use]
    pub fn span(&self) -> Range<u64> {
        let images = self.frozen.iter().flat_map(|frozen| &frozen.images);
        let (low, high) = images
            .map(Image::range)
            .fold((u64::MAX, 0), |all, image| (all.0.min(image.start), all.1.max(image.end)));
        if low == u64::MAX { 0..0 } else { low..high }
    }

    /// What memory holds from the lowest address to the highest, gaps as zeros. Objects that are far apart take much.
    ///
    /// # Errors
    /// When there is not so much memory.
    pub fn flat_image(&self) -> hsaco_bytes::Result<Vec<u8>> {
        let span = self.span();
        let at = |address: u64| usize::try_from(address - span.start).unwrap_or(usize::MAX);
        let mut bytes = memory::zeros(at(span.end), "image")?;
        let images = self.frozen.iter().flat_map(|frozen| &frozen.images);
        for segment in images.flat_map(|image| &image.segments) {
            let place = bytes.get_mut(at(segment.address)..);
            if let Some(place) = place.and_then(|it| it.get_mut(..segment.bytes.len())) {
                place.copy_from_slice(&segment.bytes);
            }
        }
        Ok(bytes)
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

    pub(crate) fn bound(&self, object: u32, symbol: u32) -> Option<Bound> {
        self.frozen.as_ref()?.bound.get(object as usize)?.get(symbol as usize).copied()
    }

    pub(crate) fn delta(&self, object: u32) -> Option<u64> {
        self.frozen.as_ref()?.deltas.as_slice().get(object as usize).copied()
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
