//! What the values of register fields stand for.

use std::sync::{LazyLock, OnceLock};

use super::arch::Arch;
use super::code::{self, Code};
use super::generated::KINDS;
use super::table::{Kind, Source};

/// What each value of ten bits stands for.
pub(crate) type CodeTable = [Code; 1 << CODE_BITS];

pub(crate) const CODE_BITS: u32 = 10;

/// A table for each kind of register field, made when it is first needed.
pub(crate) struct Codes {
    arch: Arch,
    keys: &'static Keys,
    tables: Vec<OnceLock<Box<CodeTable>>>,
}

/// What decides on a table: how a field is read, and how wide the operand is.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key(Source, u8);

/// The tables that there are, and which of them a kind of operand uses.
struct Keys {
    all: Vec<Key>,
    of_kind: [u8; KINDS.len()],
}

static KEYS: LazyLock<Keys> = LazyLock::new(|| {
    let mut keys = Keys { all: Vec::new(), of_kind: [0; KINDS.len()] };
    for (kind, number) in KINDS.iter().zip(&mut keys.of_kind) {
        let key = key(kind);
        let position = keys.all.iter().position(|other| *other == key).unwrap_or_else(|| {
            keys.all.push(key);
            keys.all.len() - 1
        });
        *number = position as u8;
    }
    keys
});

impl Codes {
    pub(crate) fn new(arch: Arch) -> Self {
        Codes { arch, keys: &KEYS, tables: KEYS.all.iter().map(|_| OnceLock::new()).collect() }
    }

    /// The number of the table for a kind of operand.
    #[inline]
    pub(crate) fn number(&self, kind: u16) -> u8 {
        self.keys.of_kind.get(usize::from(kind)).copied().unwrap_or_default()
    }

    /// The table of that number, and how it reads fields.
    #[inline]
    pub(crate) fn table(&self, number: u8) -> Option<(&CodeTable, Source)> {
        let key = self.keys.all.get(usize::from(number))?;
        let table = self.tables.get(usize::from(number))?;
        Some((table.get_or_init(|| make(self.arch, *key)), key.0))
    }

    /// A table that was made before.
    #[inline]
    pub(crate) fn made(&self, number: u8) -> Option<&CodeTable> {
        self.tables.get(usize::from(number))?.get().map(|table| &**table)
    }
}

fn key(kind: &Kind) -> Key {
    match kind.source {
        // Every number that eight bits can hold is that of a register, however wide the operand.
        Source::Vgpr | Source::DualDestination => Key(Source::Vgpr, 1),
        source @ (Source::VgprLow
        | Source::Half
        | Source::HalfLow
        | Source::Mask
        | Source::SdwaMask) => Key(source, 1),
        source => Key(source, kind.dwords),
    }
}

#[cold]
fn make(arch: Arch, Key(source, dwords): Key) -> Box<CodeTable> {
    let mut codes = Box::new([Code::INVALID; 1 << CODE_BITS]);
    for (value, code) in (0..).zip(codes.iter_mut()) {
        *code = code::decode(arch, source, dwords, value);
    }
    codes
}
