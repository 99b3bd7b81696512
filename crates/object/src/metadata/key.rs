//! The keys that a map of metadata may have: a table for each map, and the search in it.

use hsaco_bytes::{Result, Str};

use crate::msgpack::{Entry, check_repeated};

use super::CONTEXT;
use super::read::twice;

/// What LLVM's verifier wants a key's value to be.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// It does not know the key.
    Any,
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    ValueKind,
    Integer,
    Boolean,
    /// So many integers.
    Integers(usize),
    Texts,
    /// Any number of maps, each of a kernel.
    Kernels,
    /// Any number of maps, each of an argument.
    Arguments,
}

/// One key: what LLVM wants of it, and how it is read.
pub(super) struct Key<R> {
    pub(super) name: &'static str,
    pub(super) required: bool,
    pub(super) shape: Shape,
    pub(super) read: R,
}

/// The keys of one map, in the order in which compilers write them: sorted.
pub(super) struct Table<R: 'static> {
    pub(super) keys: &'static [Key<R>],
    /// A bit for each key that LLVM wants.
    required: u64,
}

impl<R> Table<R> {
    pub(super) const fn new(keys: &'static [Key<R>]) -> Self {
        assert!(keys.len() < 64, "a bit for each key");
        let (mut required, mut left) = (0, keys);
        while let [others @ .., last] = left {
            required = required << 1 | last.required as u64;
            left = others;
        }
        Self { keys, required }
    }
}

/// Makes a [`Table`] out of lines of a need, a name, a shape and how to read it.
macro_rules! keys {
    ($($need:ident $name:literal $shape:expr, $read:expr;)*) => {
        $crate::metadata::key::Table::new(&[$($crate::metadata::key::Key {
            name: $name,
            required: $crate::metadata::key::$need,
            shape: $shape,
            read: $read,
        }),*])
    };
}
pub(super) use keys;

pub(super) const MUST: bool = true;
pub(super) const MAY: bool = false;

/// The search for the keys of one map.
pub(super) struct Keys<R: 'static> {
    table: &'static Table<R>,
    /// Where the next key is likely to be: behind the last.
    next: usize,
    /// A bit for each key that was there.
    seen: u64,
}

impl<R> Keys<R> {
    pub(super) fn new(table: &'static Table<R>) -> Self {
        Self { table, next: 0, seen: 0 }
    }

    /// The row of a key whose value is at an offset; an error where the key was there before.
    #[inline]
    pub(super) fn find(&mut self, name: Str<'_>, offset: u64) -> Result<Option<&'static Key<R>>> {
        let keys = self.table.keys;
        let (before, after) = keys.split_at_checked(self.next).unwrap_or((keys, &[]));
        let position = |keys: &[Key<R>]| keys.iter().position(|key| name == key.name);
        let found = position(after).map(|at| before.len() + at).or_else(|| position(before));
        let Some((at, key)) = found.and_then(|at| Some((at, keys.get(at)?))) else {
            return Ok(None);
        };
        let bit = 1 << at;
        if self.seen & bit != 0 {
            return Err(twice(name, offset));
        }
        self.seen |= bit;
        self.next = at + 1;
        Ok(Some(key))
    }

    /// A key that LLVM wants and that was not there.
    pub(super) fn missing(&self) -> Option<&'static Key<R>> {
        let missing = self.table.required & !self.seen;
        match missing {
            0 => None,
            missing => self.table.keys.get(missing.trailing_zeros() as usize),
        }
    }

    /// Fails when a key that the table does not have was there twice.
    pub(super) fn check_unknown(&self, unknown: &[Entry<'_>]) -> Result<()> {
        match unknown {
            [] | [_] => Ok(()),
            _ => check_repeated(unknown.iter().map(|it| (it.key, it.offset)).collect(), CONTEXT),
        }
    }
}
