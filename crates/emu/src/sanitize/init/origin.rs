//! Where undefined values come from.

use std::collections::HashMap;
use std::fmt;

/// The number of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Origin(u32);

impl Origin {
    /// The place itself.
    pub(super) const NONE: Self = Self(0);
}

/// What was never written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Source {
    Register(String),
    Lds(u64),
    Scratch(u64),
    Memory(u64),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Register(name) => f.write_str(name),
            Self::Lds(address) => write!(f, "LDS at {address:#x}"),
            Self::Scratch(offset) => write!(f, "scratch memory at {offset:#x}"),
            Self::Memory(address) => write!(f, "memory at {address:#x}"),
        }
    }
}

/// All sources, each with the instruction that read it first.
#[derive(Default)]
pub(in super::super) struct Origins {
    list: Vec<(Source, u64)>,
    /// By the instruction: one source of each is enough.
    known: HashMap<u64, Origin>,
}

impl Origins {
    pub(super) fn add(&mut self, source: Source, address: u64) -> Origin {
        let next = Origin(u32::try_from(self.list.len() + 1).unwrap_or(u32::MAX));
        let origin = *self.known.entry(address).or_insert(next);
        if origin == next {
            self.list.push((source, address));
        }
        origin
    }

    pub(super) fn get(&self, origin: Origin) -> (String, u64) {
        let at = (origin.0 as usize).checked_sub(1).and_then(|it| self.list.get(it));
        at.map_or_else(|| ("a register".to_owned(), 0), |(source, at)| (source.to_string(), *at))
    }
}
