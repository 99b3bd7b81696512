//! What belongs together in two files, before anything of it is looked at closely.

use crate::model::{Detail, FunctionDiff, ObjectDiff, Side, changes};
use crate::pairing::{self, Group};
use crate::record::{ComparedObject, FunctionRecord, ObjectRecord};
use crate::resources::{Changes, KernelChange};

/// Two files whose functions are paired.
#[derive(Debug)]
pub struct Comparison {
    a: Vec<ObjectRecord>,
    b: Vec<ObjectRecord>,
    groups: Vec<Group>,
}

impl Comparison {
    /// Pairs the functions of two files. Files of one object each are compared whatever their targets are.
    #[must_use]
    pub fn new(a: Vec<ObjectRecord>, b: Vec<ObjectRecord>, ignores_targets: bool) -> Self {
        let groups = pairing::groups(&a, &b, ignores_targets);
        Self { a, b, groups }
    }

    /// What is to be shown together.
    #[must_use]
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The numbers of the objects that [`object`](Self::object) has to see for this group, if any.
    #[must_use]
    pub fn needed(&self, group: &Group) -> Option<(usize, usize)> {
        let (a, b) = self.records(group);
        a.zip(b).filter(|_| !group.different.is_empty()).map(|(a, b)| (a.name.index, b.name.index))
    }

    fn records(&self, group: &Group) -> (Option<&ObjectRecord>, Option<&ObjectRecord>) {
        let (x, y) = group.objects;
        (x.and_then(|x| self.a.get(x)), y.and_then(|y| self.b.get(y)))
    }

    /// What changed of what kernels take of the device.
    #[must_use]
    pub fn changes(&self) -> Changes {
        let mut changes = Changes::default();
        for group in &self.groups {
            let (a, b) = self.records(group);
            changes.only_a += functions(a, &group.only.0).filter(|it| it.is_kernel).count();
            changes.only_b += functions(b, &group.only.1).filter(|it| it.is_kernel).count();
            changes.same += group.identical;
            let Some((a, b)) = a.zip(b) else { continue };
            for &(old, new) in &group.different {
                let pair = a.functions.get(old).zip(b.functions.get(new));
                let Some((old, new)) = pair.filter(|(old, _)| old.is_kernel) else { continue };
                let names = (a.name.clone(), b.name.clone());
                let change = KernelChange::new(&old.name, names, (old.metrics, new.metrics));
                changes.same += usize::from(change.is_none());
                changes.kernels.extend(change);
            }
        }
        changes
    }

    /// What is different in a group, given the objects that are [`needed`](Self::needed).
    #[must_use]
    pub fn object(
        &self,
        detail: Detail,
        group: &Group,
        subjects: Option<(ComparedObject<'_>, ComparedObject<'_>)>,
    ) -> ObjectDiff {
        let (a, b) = self.records(group);
        let name = |it: &ObjectRecord| it.name.clone();
        let mut diff = ObjectDiff {
            a: a.map(name),
            b: b.map(name),
            header: Vec::new(),
            functions: Vec::new(),
            identical: group.identical,
        };
        // Of an object that the other file has not it is enough to name it.
        let Some((a, b)) = a.zip(b) else { return diff };
        diff.header = changes(a.header.clone(), b.header.clone());
        if let Some((old, new)) = subjects {
            let pairs = group.different.iter().filter_map(|(old, _)| a.functions.get(*old));
            let compared = detail.functions(&old, &new, &pairs.collect::<Vec<_>>());
            let (same, different): (Vec<_>, Vec<_>) =
                compared.into_iter().partition(FunctionDiff::is_empty);
            diff.identical += same.len();
            diff.functions = different;
        }
        let only = |record, list, side| {
            functions(Some(record), list).map(move |it| FunctionDiff::new(it, side))
        };
        diff.functions.extend(only(a, &group.only.0, Side::OnlyA));
        diff.functions.extend(only(b, &group.only.1, Side::OnlyB));
        diff.functions.sort_by(|a, b| a.name.cmp(&b.name));
        diff
    }
}

/// Functions of an object by their places.
fn functions<'r>(
    record: Option<&'r ObjectRecord>,
    places: &'r [usize],
) -> impl Iterator<Item = &'r FunctionRecord> {
    places.iter().filter_map(move |&it| record?.functions.get(it))
}
