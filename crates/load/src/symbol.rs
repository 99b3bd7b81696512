//! Symbols, as whoever asks an executable sees them.

use hsaco_object::symbol::{Binding, Visibility};
use hsaco_object::{Str, demangle};

use crate::executable::{Executable, ObjectId};
use crate::object::{Entry, Kernel, KernelInfo, Object, Place};
use crate::resolve::{Bound, Definition};

/// What a symbol stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SymbolKind {
    /// A descriptor, and the code it starts.
    Kernel,
    /// Data in memory.
    Variable,
    /// Code that kernels and functions call.
    Function,
    /// Code that answers with the address of a function.
    IndirectFunction,
    /// Wanted from another object, or from whoever defines it.
    External,
    /// Data in LDS.
    Lds,
    /// A number.
    Absolute,
}

impl SymbolKind {
    /// Every kind.
    pub const ALL: [SymbolKind; 7] = [
        SymbolKind::Kernel,
        SymbolKind::Variable,
        SymbolKind::Function,
        SymbolKind::IndirectFunction,
        SymbolKind::External,
        SymbolKind::Lds,
        SymbolKind::Absolute,
    ];

    /// The name to show.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            SymbolKind::Kernel => "kernel",
            SymbolKind::Variable => "variable",
            SymbolKind::Function => "function",
            SymbolKind::IndirectFunction => "indirect_function",
            SymbolKind::External => "external",
            SymbolKind::Lds => "lds",
            SymbolKind::Absolute => "absolute",
        }
    }
}

/// A symbol of an executable.
///
/// ```
/// use hsaco_load::{Executable, SymbolKind};
/// let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
/// let mut executable = Executable::new(None);
/// let object = executable.load("s1.co", file)?;
/// let helper = executable.symbol("helper").unwrap();
/// assert_eq!(helper.kind(), SymbolKind::Function);
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

/// The number of a symbol: it stays the same while the executable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(u64);

const CALLER: u64 = u32::MAX as u64;

impl SymbolId {
    pub(crate) fn new(object: u32, symbol: u32) -> Self {
        Self(u64::from(object) << 32 | u64::from(symbol))
    }

    pub(crate) fn definition(number: u32) -> Self {
        Self(CALLER << 32 | u64::from(number))
    }

    /// The object, or none for what the caller defined; and the number in it.
    pub(crate) fn parts(self) -> (Option<u32>, u32) {
        let object = Some(self.0 >> 32).filter(|object| *object != CALLER);
        let low = |value: u64| u32::try_from(value & u64::from(u32::MAX)).unwrap_or(u32::MAX);
        (object.map(low), low(self.0))
    }

    /// As a number that C can hold; never 0.
    #[must_use]
    pub fn to_raw(self) -> u64 {
        self.0 + 1
    }

    /// From that number.
    #[must_use]
    pub fn from_raw(raw: u64) -> Option<Self> {
        raw.checked_sub(1).map(Self)
    }
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
        demangle(self.name()).unwrap_or_else(|| self.name().to_string())
    }

    /// What it stands for.
    #[must_use]
    pub fn kind(&self) -> SymbolKind {
        match self.of {
            Of::Object { entry, .. } => entry.kind.unwrap_or(SymbolKind::Function),
            Of::Caller { definition, .. } => match definition.class {
                crate::object::Class::Function => SymbolKind::Function,
                _ => SymbolKind::Variable,
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

    /// Who provides an external, once the executable is frozen; nobody where it is weak and undefined.
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
        let kernel = entry.kernel.filter(|_| entry.kind == Some(SymbolKind::Kernel))?;
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
        let is_code = matches!(self.kind(), SymbolKind::Function | SymbolKind::IndirectFunction);
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
