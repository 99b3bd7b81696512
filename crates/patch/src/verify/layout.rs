//! Bytes: what the manifest lists, and everything else as it was.

use std::ops::Range;

use hsaco_object::{CodeObject, Index};

use super::{ENOUGH, VerifyFinding, elf, kernel};
use crate::manifest::Manifest;
use crate::release::{Release, Walk};

/// One of the two files.
#[derive(Clone, Copy)]
pub(super) struct File<'p, 'a> {
    pub(super) object: &'p CodeObject<'a>,
    pub(super) index: &'p Index<'a>,
}

/// Whether a result is laid out as its original, but for what the manifest lists. It looks at the two files and does not
/// ask the writer.
pub(super) fn check(
    old: File<'_, '_>,
    new: File<'_, '_>,
    manifest: &Manifest,
    release: Release<'_>,
) -> Vec<VerifyFinding> {
    let mut found = Vec::new();
    let sizes = (old.object.data().len() as u64, new.object.data().len() as u64);
    if sizes != manifest.sizes {
        let (before, after) = manifest.sizes;
        let detail = format!("sizes are {sizes:?}, not ({before}, {after})");
        found.push(VerifyFinding::new("bytes", None, detail));
    }
    let problems = new.object.problems();
    found.extend(problems.first().map(|it| VerifyFinding::new("elf", None, it.to_string())));
    found.extend(changes(old, new, manifest, release));
    found.extend(unchanged_bytes(old, new, manifest, release));
    found.extend(elf::check(old.object.elf(), new.object.elf(), manifest));
    found.extend(kernel::check(old, new, manifest));
    found.truncate(ENOUGH);
    found
}

/// What the manifest says was and is there.
fn changes(
    old: File<'_, '_>,
    new: File<'_, '_>,
    manifest: &Manifest,
    release: Release<'_>,
) -> Vec<VerifyFinding> {
    let (old, new) = (old.object.elf(), new.object.elf());
    let mut wrong = Vec::new();
    let mut walk = Walk::new(release);
    for change in manifest.changes() {
        walk.at(old.file_offset(change.address).unwrap_or(0) as usize);
        let size = change.new.len() as u64;
        if !change.old.is_empty() && old.at_address(change.address, size) != Some(&change.old) {
            wrong.push((change.address, "the original does not hold what the manifest says"));
        }
        if new.at_address(change.address, size) != Some(&change.new) {
            wrong.push((change.address, "the result does not hold what the manifest says"));
        }
    }
    for stub in &manifest.stubs {
        let size = stub.code.len() as u64;
        if new.at_address(stub.address, size) != Some(&stub.code) {
            wrong.push((stub.address, "the result does not hold what the manifest says"));
        }
    }
    wrong
        .into_iter()
        .map(|(address, detail)| VerifyFinding::new("bytes", address, detail))
        .collect()
}

/// Every byte that the manifest does not list is as it was, at its offset.
fn unchanged_bytes(
    old: File<'_, '_>,
    new: File<'_, '_>,
    manifest: &Manifest,
    release: Release<'_>,
) -> Option<VerifyFinding> {
    let mut changed = changed_ranges(old, new, manifest);
    changed.sort_by_key(|range| range.start);
    let (old, new) = (old.object.data(), new.object.data());
    let end = old.len() as u64;
    let mut at = 0;
    let mut differing = None;
    let mut walk = Walk::new(release);
    for range in changed.into_iter().chain(std::iter::once(end..end)) {
        if at < range.start {
            let same = at as usize..range.start.min(end) as usize;
            let (left, right) = (old.get(same.clone()), new.get(same.clone()));
            if left != right {
                let pairs = left.unwrap_or_default().iter().zip(right.unwrap_or_default());
                let first = pairs.take_while(|(left, right)| left == right).count();
                differing = differing.or(Some(same.start + first));
            }
        }
        at = at.max(range.end);
        walk.at(at.min(end) as usize);
    }
    let detail = "a byte that the manifest does not list differs";
    differing.map(|offset| VerifyFinding::new("bytes", None, detail).at_offset(offset as u64))
}

/// The bytes of the original that may differ: code that the manifest lists, descriptors and notes of kernels whose numbers it
/// lists, and where headers say what was appended.
fn changed_ranges(old: File<'_, '_>, new: File<'_, '_>, manifest: &Manifest) -> Vec<Range<u64>> {
    let elf = old.object.elf();
    let mut changed = elf::changed_ranges(elf, new.object.elf());
    for change in manifest.changes().filter(|change| !change.old.is_empty()) {
        let start = elf.file_offset(change.address).unwrap_or(u64::MAX);
        changed.push(start..start.saturating_add(change.old.len() as u64));
    }
    let settled =
        |number: usize| manifest.kernels.get(number).is_some_and(|it| !it.settings.is_empty());
    let kernels = old.index.kernels().iter().enumerate();
    for (_, kernel) in kernels.filter(|(number, _)| settled(*number)) {
        let address = kernel.descriptor_symbol().map_or(u64::MAX, |it| it.value);
        let start = elf.file_offset(address).unwrap_or(u64::MAX);
        changed.push(start..start.saturating_add(64));
    }
    if (0..manifest.kernels.len()).any(settled) {
        let notes = elf.sections().iter().filter(|it| it.kind == hsaco_elf::SHT_NOTE);
        changed.extend(notes.map(|it| it.offset..it.offset.saturating_add(it.file_size())));
        let notes = elf.segments().iter().filter(|it| it.kind == hsaco_elf::PT_NOTE);
        changed.extend(notes.map(|it| it.offset..it.offset.saturating_add(it.file_size)));
    }
    changed
}
