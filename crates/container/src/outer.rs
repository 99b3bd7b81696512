//! The bundles of a file that lie in no other bundle: what is pruned, described, and made again.

use std::borrow::Cow;

use hsaco_bytes::Result;

use crate::bundle::Bundle;
use crate::ccob::{self, Ccob};
use crate::trail::{Trail, TrailStep};
use crate::{Container, Entry};

/// A bundle, plain or compressed, among the bytes of a file.
#[derive(Clone, Debug)]
pub struct OuterBundle {
    /// Where it begins.
    pub offset: u64,
    /// What it lies in: bundles with the same surroundings lie in one section.
    pub outer: Vec<TrailStep>,
    /// Its entries, those of bundles within it included.
    pub contents: Vec<OuterEntry>,
}

/// An entry of an [`OuterBundle`].
#[derive(Clone, Debug)]
pub struct OuterEntry {
    /// Its id.
    pub id: Option<String>,
    /// How many bytes it has.
    pub size: u64,
    /// Whether the entry stands in the table of the bundle itself.
    pub is_direct: bool,
    /// The file that it was written to.
    pub file: Option<String>,
}

/// The bundles of one file that lie in no other bundle, in its order.
///
/// ```
/// use hsaco_container::{WalkOptions, OuterBundles, entries};
/// let file = std::fs::read("../../tests/fixtures/back-to-back.bundle").unwrap();
/// let mut bundles = OuterBundles::default();
/// for entry in entries(&file, &WalkOptions::default()) {
///     bundles.add(&entry?, None);
/// }
/// assert_eq!(bundles.0.len(), 2);
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct OuterBundles(pub Vec<OuterBundle>);

impl OuterBundles {
    /// Adds an entry, with the file that it was written to, to the bundle that it lies in; false if it lies in none.
    pub fn add(&mut self, entry: &Entry<'_>, file: Option<String>) -> bool {
        let steps = entry.trail.steps();
        if steps.first().is_some_and(|step| step.container == Container::Zip) {
            // Bundles in members are those of the members.
            return is_prunable(&steps);
        }
        let Some((offset, depth, outer)) = outermost_bundle(&entry.trail) else {
            return false;
        };
        if self.0.last().is_none_or(|last| last.offset != offset) {
            self.0.push(OuterBundle { offset, outer, contents: Vec::new() });
        }
        let is_direct = entry.trail.depth() == depth;
        let (id, size) = (entry.id.clone(), entry.data.len() as u64);
        if let Some(bundle) = self.0.last_mut() {
            bundle.contents.push(OuterEntry { id, size, is_direct, file });
        }
        true
    }
}

/// Whether something in a zip file can be left out of it: as an entry of a bundle, or as a member.
fn is_prunable(steps: &[&TrailStep]) -> bool {
    let is_bundle = |step: &&TrailStep| {
        matches!(step.container, Container::Bundle | Container::CompressedBundle)
    };
    let around = steps.iter().position(is_bundle).unwrap_or(steps.len());
    let is_member = steps.last().is_some_and(|step| step.container == Container::Zip);
    let is_written = steps.iter().take(around).all(|step| step.container.is_written_back());
    is_written && (around < steps.len() || is_member)
}

/// Where the outermost bundle of a trail begins, how deep its own entries are, and what it lies in.
fn outermost_bundle(trail: &Trail) -> Option<(u64, usize, Vec<TrailStep>)> {
    let steps = trail.steps();
    let is_bundle = |step: &&TrailStep| {
        matches!(step.container, Container::Bundle | Container::CompressedBundle)
    };
    let at = steps.iter().position(is_bundle)?;
    let (outer, inner) = steps.split_at_checked(at)?;
    let first = inner.first()?;
    // Behind the compressed bundle comes the plain one that it unfolds to.
    let depth = at + if first.container == Container::CompressedBundle { 2 } else { 1 };
    Some((first.offset?, depth, outer.iter().map(|&step| step.clone()).collect()))
}

/// The bytes of a file from one place to another.
pub(crate) fn between(data: &[u8], start: u64, end: u64) -> &[u8] {
    let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    range.and_then(|(start, end)| data.get(start..end)).unwrap_or_default()
}

/// How many bytes of `data` the bundle at its start takes, and the plain bundle that it is.
pub(crate) struct Opened<'a> {
    pub(crate) size: u64,
    pub(crate) header: Option<Ccob>,
    pub(crate) plain: Cow<'a, [u8]>,
}

impl<'a> Opened<'a> {
    pub(crate) fn new(data: &'a [u8], max_size: u64) -> Result<Self> {
        if data.starts_with(ccob::MAGIC) {
            let header = Ccob::parse(data)?;
            let plain = header.payload(data, max_size)?.into();
            return Ok(Self { size: header.total_size, header: Some(header), plain });
        }
        let size = Bundle::parse(data)?.extent();
        Ok(Self { size, header: None, plain: between(data, 0, size).into() })
    }
}
