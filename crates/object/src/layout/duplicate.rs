//! Kernels whose code is the same, byte for byte.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use foldhash::fast::FixedState;
use foldhash::quality;
use hsaco_bytes::Error;
use hsaco_container::{Entry, EntryKind, EntryPlace, Region, RegionVisitor, WalkOptions, visit};

use crate::CodeObject;

use super::Names;
use super::look::{Look, Looked, MAX_OVERLAP};
use super::object::kernel_codes;

/// Kernels that have the same code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// Bytes of the code, of one of them.
    pub size: u64,
    /// The kernels, two or more, in the order of the file.
    pub kernels: Vec<Code>,
}

/// The code of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The number of the object it is in.
    pub object: usize,
    /// The target of that object.
    pub target: Arc<str>,
    /// The mangled name.
    pub name: Arc<str>,
}

/// The kernels of a file whose code is the same as that of another one, those with most code first.
///
/// Code in the file itself is compared byte for byte. Code of compressed bundles, which are not kept
/// in memory, is taken for the same when two independent hashes of 64 bits are.
///
/// ```
/// use hsaco_container::WalkOptions;
/// use hsaco_object::layout::duplicates;
/// assert!(duplicates(b"no code at all", &WalkOptions::default()).is_empty());
/// ```
pub fn duplicates(data: &[u8], options: &WalkOptions) -> Vec<Duplicate> {
    let mut finder = Finder {
        data,
        number: 0,
        looked: Looked::default(),
        names: Names::default(),
        groups: HashMap::default(),
    };
    visit(data, options, &mut finder);
    finder.finish()
}

/// What identical code has in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Print {
    size: u64,
    hashes: [u64; 2],
}

impl Print {
    fn of(code: &[u8]) -> Self {
        let second = quality::FixedState::with_seed(0x9e37_79b9_7f4a_7c15);
        let hashes = [FixedState::default().hash_one(code), second.hash_one(code)];
        Self { size: code.len() as u64, hashes }
    }
}

struct Found {
    code: Code,
    /// Where the code is, if it is in the file.
    offset: Option<u64>,
}

struct Finder<'a> {
    data: &'a [u8],
    number: usize,
    looked: Looked,
    names: Names,
    groups: HashMap<Print, Vec<Found>, FixedState>,
}

impl RegionVisitor for Finder<'_> {
    fn region(&mut self, region: &Region<'_>) {
        self.looked.region(region);
    }

    fn entry(&mut self, place: EntryPlace, entry: &Entry<'_>) {
        if !entry.is_object() {
            return;
        }
        let number = self.number;
        self.number += 1;
        // Entries that are the same bytes of the file save nothing.
        let is_new = matches!(self.looked.look(place, entry, number), Look::New);
        if !is_new || entry.kind != EntryKind::CodeObject {
            return;
        }
        let Ok(object) = CodeObject::parse(&entry.data) else { return };
        let target = self.names.name(&object.target().to_string());
        let mut budget = (object.data().len() as u64).saturating_mul(MAX_OVERLAP);
        for (name, code) in kernel_codes(&object, &object.index()) {
            let Some(left) = budget.checked_sub(code.bytes.len() as u64) else { break };
            budget = left;
            let name = self.names.name(&name.to_str_lossy());
            let offset = entry.offset.map(|base| base.saturating_add(code.offset));
            let code_of = Code { object: number, target: target.clone(), name };
            self.groups
                .entry(Print::of(code.bytes))
                .or_default()
                .push(Found { code: code_of, offset });
        }
    }

    fn error(&mut self, _error: Error) {}
}

impl Finder<'_> {
    fn finish(self) -> Vec<Duplicate> {
        let data = self.data;
        let mut duplicates: Vec<_> = self
            .groups
            .into_iter()
            .filter(|(_, found)| found.len() > 1)
            .flat_map(|(print, found)| split(data, print.size, found))
            .collect();
        duplicates.sort_by(|a, b| {
            let first = |it: &Duplicate| it.kernels.first().map(|it| (it.object, it.name.clone()));
            let saved = |it: &Duplicate| it.size * (it.kernels.len() as u64 - 1);
            saved(b).cmp(&saved(a)).then_with(|| first(a).cmp(&first(b)))
        });
        duplicates
    }
}

/// Kernels with the same print, told apart by their bytes where these are in the file.
fn split(data: &[u8], size: u64, found: Vec<Found>) -> Vec<Duplicate> {
    let code = |offset: Option<u64>| hsaco_bytes::slice(data, offset?, size, "code").ok();
    let mut groups: Vec<(Option<&[u8]>, Duplicate)> = Vec::new();
    for Found { code: kernel, offset } in found {
        let code = code(offset);
        let same = |other: Option<&[u8]>| code.zip(other).is_none_or(|(a, b)| a == b);
        match groups.iter_mut().find(|(other, _)| same(*other)) {
            Some((_, group)) => group.kernels.push(kernel),
            None => groups.push((code, Duplicate { size, kernels: vec![kernel] })),
        }
    }
    groups.into_iter().map(|(_, group)| group).filter(|it| it.kernels.len() > 1).collect()
}
