//! Numbers of objects and symbols, and what symbols stand for.

use hsaco_bytes::{Id, IndexVec};

/// The number of an object in its executable: the order in which objects were loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub(crate) u32);

impl Id for ObjectId {
    fn new(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// A number for each object: how far it is moved.
pub(crate) type Deltas = IndexVec<ObjectId, u64>;

impl ObjectId {
    /// As an index, from 0.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
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

/// What a symbol stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LoadedSymbolKind {
    /// A descriptor, and the code it starts.
    Kernel,
    /// Data in memory.
    Variable,
    /// Code that kernels and functions call.
    Function,
    /// Code that answers with the address of a function.
    IndirectFunction,
    /// Wanted from another object, or from a definition of the caller.
    External,
    /// Data in LDS.
    Lds,
    /// A number.
    Absolute,
}

impl LoadedSymbolKind {
    /// Every kind.
    pub const ALL: [LoadedSymbolKind; 7] = [
        LoadedSymbolKind::Kernel,
        LoadedSymbolKind::Variable,
        LoadedSymbolKind::Function,
        LoadedSymbolKind::IndirectFunction,
        LoadedSymbolKind::External,
        LoadedSymbolKind::Lds,
        LoadedSymbolKind::Absolute,
    ];

    /// The name to show.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LoadedSymbolKind::Kernel => "kernel",
            LoadedSymbolKind::Variable => "variable",
            LoadedSymbolKind::Function => "function",
            LoadedSymbolKind::IndirectFunction => "indirect_function",
            LoadedSymbolKind::External => "external",
            LoadedSymbolKind::Lds => "lds",
            LoadedSymbolKind::Absolute => "absolute",
        }
    }
}
