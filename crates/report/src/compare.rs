//! What is different from an older file.

use std::collections::HashMap;
use std::convert::Infallible;

use hsaco_bytes::Str;
use hsaco_describe::side::{Compared, Side, compare, each_pair, subject};
use hsaco_diff::{
    Changes, Detail, DiffLine, FunctionDiff, Group, KernelChange, ResourceChange, Side as FoundIn,
    Trend, ValueChange, What,
};
use hsaco_files::{KernelSelection, ObjectItem, Trouble};
use serde::Serialize;

/// All of a function is shown around what differs.
const WHOLE: usize = usize::MAX / 4;
/// Lines of a function that are kept.
const MOST_LINES: usize = 50_000;

/// What is different from an older file, kernel by kernel.
#[derive(Debug, Default)]
pub struct OlderFiles {
    changed: HashMap<Key, FunctionDiff>,
    resources: HashMap<Key, KernelChange>,
    summary: Summary,
}

/// The number of an object in the newer file, and a function of it.
type Key = (usize, String);

/// What the overview says of it.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Summary {
    old: String,
    new: String,
    /// Kernels that take another amount of something.
    changed: Vec<ChangeRow>,
    same: usize,
    added: usize,
    /// Kernels and functions that are no more.
    removed: Vec<String>,
    regressions: usize,
}

/// A kernel that takes another amount of something.
#[derive(Debug, Serialize)]
struct ChangeRow {
    /// The object, by number in its file.
    object: usize,
    name: String,
    demangled: String,
    worse: bool,
    resources: Vec<ResourceChange>,
}

/// How a function differs, for its page.
#[derive(Debug, Serialize)]
pub(crate) struct PageChanges<'c> {
    resources: Option<&'c [ResourceChange]>,
    metadata: &'c [ValueChange],
    descriptor: &'c [ValueChange],
    arguments: &'c [ValueChange],
    removed: Option<usize>,
    added: Option<usize>,
    reencoded: Option<usize>,
    /// Instructions of both that are not where they were, counted from the function's start.
    moved: usize,
    /// Addresses before and now, and the instruction.
    lines: Vec<(Option<u64>, Option<u64>, &'c str)>,
    /// Whether there are more.
    is_cut: bool,
}

impl OlderFiles {
    /// Compares two files, the older first, and says what is wrong with each.
    pub fn new(
        (a, b): (&mut Side<'_>, &mut Side<'_>),
        kernels: &KernelSelection,
    ) -> (Self, [Trouble; 2]) {
        let is_chosen = |name: Str<'_>| kernels.wants(name);
        let chosen: Option<&(dyn Fn(Str<'_>) -> bool + Sync)> =
            if kernels.is_all() { None } else { Some(&is_chosen) };
        let Compared { comparison, identical, trouble } =
            compare(a, b, What { chosen, functions: true, code: true });
        let mut changes = comparison.changes();
        changes.same += identical;
        let (old, new) = (a.input.name.clone(), b.input.name.clone());
        let detail = Detail { code: true, context: WHOLE };
        let needed = |group: &Group| comparison.needed(group);
        let compare = |group: &Group, items: Option<(&ObjectItem<'_, '_>, &ObjectItem<'_, '_>)>| {
            let subjects = items.map(|(a, b)| (subject(a), subject(b)));
            comparison.object(detail, group, subjects)
        };
        let mut found = Self::default();
        let Ok(()) = each_pair((a, b), comparison.groups(), needed, compare, |object| {
            let number = object.b.as_ref().map(|it| it.index);
            for function in object.functions {
                found.add(number, function);
            }
            Ok::<(), Infallible>(())
        });
        found.finish(changes, old, new);
        (found, trouble)
    }

    fn add(&mut self, object: Option<usize>, function: FunctionDiff) {
        match (function.found_in, object) {
            (FoundIn::OnlyA, _) | (_, None) => self.summary.removed.push(function.demangled),
            (_, Some(object)) => {
                self.changed.insert((object, function.name.clone()), function);
            }
        }
    }

    fn finish(&mut self, changes: Changes, old: String, new: String) {
        let regressions = changes.regressions();
        let row = |it: &KernelChange| ChangeRow {
            object: it.b.index,
            name: it.name.clone(),
            demangled: it.demangled.clone(),
            worse: it.is(Trend::Worse),
            resources: it.resources.clone(),
        };
        self.summary = Summary {
            old,
            new,
            changed: changes.kernels.iter().map(row).collect(),
            same: changes.same,
            added: changes.only_b,
            removed: std::mem::take(&mut self.summary.removed),
            regressions,
        };
        let keyed = changes.kernels.into_iter().map(|it| ((it.b.index, it.name.clone()), it));
        self.resources = keyed.collect();
    }

    pub(crate) fn summary(&self) -> &Summary {
        &self.summary
    }

    /// A word for how a function of the newer file differs.
    pub(crate) fn change(&self, object: usize, name: &str) -> &'static str {
        match self.changed.get(&(object, name.to_owned())).map(|it| it.found_in) {
            None => "same",
            Some(FoundIn::OnlyB) => "new",
            Some(_) => "changed",
        }
    }

    /// How a function of the newer file differs; none where it does not.
    pub(crate) fn page(&self, object: usize, name: &str) -> Option<PageChanges<'_>> {
        let key = (object, name.to_owned());
        let diff = self.changed.get(&key).filter(|it| it.found_in == FoundIn::Both)?;
        let all = || diff.hunks.iter().flatten();
        Some(PageChanges {
            resources: self.resources.get(&key).map(|it| it.resources.as_slice()),
            metadata: &diff.metadata,
            descriptor: &diff.descriptor,
            arguments: &diff.arguments,
            removed: diff.removed,
            added: diff.added,
            reencoded: diff.reencoded,
            moved: moved(all()),
            lines: all().take(MOST_LINES).map(|it| (it.a, it.b, it.text.as_str())).collect(),
            is_cut: all().nth(MOST_LINES).is_some(),
        })
    }
}

/// How many instructions of both are not where they were, counted from the first instruction of each.
fn moved<'l>(lines: impl Iterator<Item = &'l DiffLine> + Clone) -> usize {
    let first = |of: fn(&DiffLine) -> Option<u64>| lines.clone().find_map(of).unwrap_or(0);
    let (a, b) = (first(|it| it.a), first(|it| it.b));
    let offset = |at: u64, start: u64| at.wrapping_sub(start);
    let both = lines.filter_map(|it| Some((offset(it.a?, a), offset(it.b?, b))));
    both.filter(|(old, new)| old != new).count()
}
