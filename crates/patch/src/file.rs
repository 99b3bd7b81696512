//! Files of objects: every object rewritten, or none, and put back where it was.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hsaco_bytes::{Error, ErrorKind, Result};
use hsaco_container::{Container, Entry, EntryKind, put_back};

use crate::digest::{Digest, Digests};
use crate::manifest::{Manifest, Patched, Verdict};
use crate::patcher::Patcher;
use crate::refusal::RefusalKind;

/// What became of a file: a code object, or anything that holds some.
///
/// ```
/// # let file = std::fs::read("../../tests/fixtures/plain.bundle")?;
/// use hsaco_patch::{Options, PatchedFile, Patcher, RuleSet};
/// let set = RuleSet::by_name("gfx1250-b0-to-a0").unwrap();
/// let patcher = Patcher::new(set, Options::default())?;
/// let options = hsaco_container::WalkOptions::default();
///
/// let mut patched = PatchedFile::new(&patcher, &file, &options)?;
/// PatchedFile::settle([&mut patched]);
/// assert!(patched.is_refused(), "no object of this file is for gfx1250");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PatchedFile {
    /// Its objects, in the order of the file.
    pub objects: Vec<PatchedObject>,
}

/// What became of an object of a file.
#[derive(Debug)]
pub struct PatchedObject {
    /// The number of its entry, as [`entries`](hsaco_container::entries) counts them; none where the object is the file.
    pub entry: Option<usize>,
    /// What the entry is for.
    pub entry_id: Option<String>,
    /// What became of it.
    pub patched: Patched,
    /// The digests of the object and of its result.
    pub digests: Digests,
}

/// The code objects of a file, with the numbers of their entries; nothing where the file is no container.
///
/// # Errors
/// When the container cannot be read, or holds no code object.
pub fn code_objects<'a>(
    file: &'a [u8],
    options: &hsaco_container::WalkOptions,
) -> Result<Option<Vec<(usize, Entry<'a>)>>> {
    if !is_container(file) {
        return Ok(None);
    }
    let mut objects = Vec::new();
    for (number, entry) in hsaco_container::entries(file, options).enumerate() {
        let entry = entry?;
        if entry.kind == EntryKind::CodeObject {
            objects.push((number, entry));
        }
    }
    Ok(Some(objects))
}

/// True for a file that holds objects beside each other, or inside others.
pub(crate) fn is_container(file: &[u8]) -> bool {
    !matches!(Container::detect(file), None | Some(Container::CodeObject))
}

impl PatchedObject {
    /// A file that is an object, with its digest.
    #[must_use]
    pub fn alone(original: Digest, patched: Patched) -> Self {
        let result = patched.bytes.as_deref().map_or(original, Digest::of);
        let digests = Digests { original, result };
        PatchedObject { entry: None, entry_id: None, patched, digests }
    }

    /// Rewrites an entry of a file.
    ///
    /// # Errors
    /// As [`Patcher::patch`].
    pub fn of_entry(patcher: &Patcher, number: usize, entry: &Entry<'_>) -> Result<Self> {
        let patched = patcher.patch(&entry.data)?;
        let object = Self::alone(Digest::of(&entry.data), patched);
        Ok(PatchedObject { entry: Some(number), entry_id: entry.id.clone(), ..object })
    }
}

impl From<PatchedObject> for PatchedFile {
    fn from(object: PatchedObject) -> Self {
        PatchedFile { objects: vec![object] }
    }
}

impl PatchedFile {
    /// Rewrites all objects of a file, one after the other.
    ///
    /// # Errors
    /// As [`Patcher::patch`], and when a container cannot be read or holds no code object.
    pub fn new(
        patcher: &Patcher,
        file: &[u8],
        options: &hsaco_container::WalkOptions,
    ) -> Result<Self> {
        let Some(entries) = code_objects(file, options)? else {
            return Ok(PatchedObject::alone(Digest::of(file), patcher.patch(file)?).into());
        };
        if entries.is_empty() {
            return Err(Error::new(ErrorKind::NotFound, "file", "it holds no code objects"));
        }
        let objects = entries.iter();
        let objects = objects.map(|(at, entry)| PatchedObject::of_entry(patcher, *at, entry));
        Ok(PatchedFile { objects: objects.collect::<Result<_>>()? })
    }

    /// Among objects that the rules are for, those of other processors stay as they are; alone they are refused.
    pub fn settle<'o>(files: impl IntoIterator<Item = &'o mut PatchedFile>) {
        let objects = files.into_iter().flat_map(|it| &mut it.objects);
        let manifests: Vec<&mut Manifest> = objects.map(|it| &mut it.patched.manifest).collect();
        if manifests.iter().all(|it| other_processor(it).is_some()) {
            return;
        }
        for manifest in manifests {
            if let Some(reason) = other_processor(manifest) {
                manifest.verdict = Verdict::Unchanged(reason);
                manifest.remarks.clear();
            }
        }
    }

    /// True where an object should be rewritten and cannot be: then the file has no result.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.objects.iter().any(|it| it.patched.manifest.verdict == Verdict::Refused)
    }

    /// Takes the bytes of the result: those of the file where nothing was changed.
    ///
    /// # Errors
    /// When an object does not go back into its container.
    pub fn take_bytes<'f>(
        &mut self,
        file: &'f [u8],
        options: &hsaco_container::WalkOptions,
    ) -> Result<Cow<'f, [u8]>> {
        let mut new = BTreeMap::new();
        for object in &mut self.objects {
            match (object.patched.bytes.take(), object.entry) {
                (Some(bytes), Some(entry)) => _ = new.insert(entry, bytes),
                (Some(bytes), None) => return Ok(Cow::Owned(bytes)),
                (None, _) => {}
            }
        }
        match new.is_empty() {
            true => Ok(Cow::Borrowed(file)),
            false => put_back(file, options, new).map(Cow::Owned),
        }
    }
}

/// That the rules are for another processor, and the object's.
fn other_processor(manifest: &Manifest) -> Option<String> {
    let mut refusals = manifest.refusals().map(|(_, refusal)| refusal);
    refusals.find(|it| it.kind == RefusalKind::Processor).map(|it| it.detail.clone())
}
