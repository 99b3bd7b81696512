//! What becomes of a file: its objects rewritten, all or none, and put back where they were.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::{Context, Result, bail};
use hsaco::container::{self, Container, Entry, EntryKind, put_back};
use hsaco::patch::{Digest, Digests, Manifest, Patched, Patcher, RefusalKind, Verdict};
use serde::Serialize;

use super::manifest::{ContainerDocument, Document, ObjectDocument, Sites};
use super::text::write_text;
use crate::input::Input;
use crate::output::Output;
use crate::scan::Verify;
use crate::{parallel, report};

/// Largest size that a compressed payload may unfold to.
pub(super) const MAX_SIZE: u64 = 4 << 30;

/// Rewriting an object is worth a thread.
pub(super) const OBJECT_WEIGHT: usize = 128;

/// What became of a file.
pub(super) struct Outcome {
    /// What to call the file.
    name: String,
    /// True when nobody named the file: it was found in a directory.
    pub(super) found: bool,
    objects: Vec<ObjectOutcome>,
}

/// What became of an object.
struct ObjectOutcome {
    /// Where it is in its file, unless it is the file.
    entry: Option<usize>,
    id: Option<String>,
    patched: Patched,
    digests: Digests,
}

#[derive(Serialize)]
#[serde(untagged)]
enum FileDocument<'m> {
    Object(Box<Document<Sites<'m>>>),
    Container(ContainerDocument<Sites<'m>>),
}

#[derive(Serialize)]
struct NamedDocument<'m> {
    file: &'m str,
    objects: Vec<ObjectDocument<Sites<'m>>>,
}

/// What became of several files, as JSON.
#[derive(Serialize)]
pub(super) struct Documents<'m> {
    schema_version: u32,
    files: Vec<NamedDocument<'m>>,
}

impl<'m> Documents<'m> {
    pub(super) fn new(outcomes: &'m [Outcome]) -> Self {
        let files = outcomes.iter();
        let files = files.map(|it| NamedDocument { file: &it.name, objects: it.documents() });
        Documents { schema_version: 1, files: files.collect() }
    }
}

/// True for a file that holds objects beside each other, or inside others.
pub(super) fn is_container(input: &Input) -> bool {
    !matches!(Container::detect(input), None | Some(Container::CodeObject))
}

impl Outcome {
    /// Of a file that is an object, which was rewritten.
    pub(super) fn new(input: &Input, patched: Patched) -> Self {
        let digests = digests(of_input(input), &patched);
        let object = ObjectOutcome { entry: None, id: None, patched, digests };
        Outcome { name: input.name.clone(), found: input.found, objects: vec![object] }
    }

    /// Rewrites all objects of a file. Nothing where somebody has found the file in a directory and it holds none.
    pub(super) fn of(patcher: &Patcher, input: &Input) -> Result<Option<Self>> {
        if input.found && Container::detect(input).is_none() {
            return Ok(None);
        }
        if !is_container(input) {
            let release = |part: Range<usize>| input.release(part.start as u64, part.len() as u64);
            let patched = patcher.patch_releasing(input, &release);
            let patched = patched.with_context(|| input.name.clone())?;
            return Ok(Some(Outcome::new(input, patched)));
        }
        let mut objects: Vec<(usize, Entry<'_>)> = Vec::new();
        let entries = container::entries(input, &Verify::All.options(MAX_SIZE));
        for (number, entry) in entries.enumerate() {
            let entry = entry.with_context(|| input.name.clone())?;
            if entry.kind == EntryKind::CodeObject {
                objects.push((number, entry));
            }
        }
        if objects.is_empty() {
            if input.found {
                return Ok(None);
            }
            bail!("{}: it holds no code objects", input.name);
        }
        let patched = parallel::map(&objects, OBJECT_WEIGHT, |(_, entry)| {
            let patched = patcher.patch(&entry.data)?;
            let digests = digests(Digest::of(&entry.data), &patched);
            Ok::<_, hsaco::bytes::Error>((patched, digests))
        });
        let objects = objects.into_iter().zip(patched).map(|((number, entry), patched)| {
            let (patched, digests) = patched.with_context(|| place(&input.name, Some(number)))?;
            let id = entry.id.as_deref().map(str::to_owned);
            Ok(ObjectOutcome { entry: Some(number), id, patched, digests })
        });
        let objects = objects.collect::<Result<_>>()?;
        Ok(Some(Outcome { name: input.name.clone(), found: input.found, objects }))
    }

    /// Among objects that the rules are for, those of other processors stay as they are; alone they are refused.
    pub(super) fn settle<'o>(outcomes: impl Iterator<Item = &'o mut Outcome>) {
        let objects = outcomes.flat_map(|it| &mut it.objects);
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

    pub(super) fn is_refused(&self) -> bool {
        self.objects.iter().any(|it| it.patched.manifest.verdict == Verdict::Refused)
    }

    /// Takes the bytes of the result: those of the file where nothing was changed.
    pub(super) fn take_bytes<'i>(&mut self, input: &'i Input) -> Result<Cow<'i, [u8]>> {
        let mut new = BTreeMap::new();
        for object in &mut self.objects {
            match (object.patched.bytes.take(), object.entry) {
                (Some(bytes), Some(entry)) => _ = new.insert(entry, bytes),
                (Some(bytes), None) => return Ok(Cow::Owned(bytes)),
                (None, _) => {}
            }
        }
        if new.is_empty() {
            return Ok(Cow::Borrowed(input));
        }
        let bytes = put_back(input, &Verify::All.options(MAX_SIZE), new);
        bytes.map(Cow::Owned).with_context(|| input.name.clone())
    }

    /// What is written as the manifest of a file and of its result, if there is one.
    pub(super) fn document(&self, input: &Input, result: Option<&[u8]>) -> impl Serialize {
        if let [ObjectOutcome { entry: None, patched, digests, .. }] = self.objects.as_slice() {
            return FileDocument::Object(Box::new(Document::new(&patched.manifest, digests)));
        }
        let before = of_input(input);
        let sizes = (input.len() as u64, result.map_or(input.len(), <[u8]>::len) as u64);
        let objects = self.documents();
        let after = result.map(Digest::of);
        FileDocument::Container(ContainerDocument::new(sizes, before, after, objects))
    }

    fn documents(&self) -> Vec<ObjectDocument<Sites<'_>>> {
        let objects = self.objects.iter().map(|it| {
            let document = Document::new(&it.patched.manifest, &it.digests);
            ObjectDocument::new(it.entry.unwrap_or(0), it.id.as_deref(), document)
        });
        objects.collect()
    }

    pub(super) fn write_text(&self, out: &mut Output) -> Result<()> {
        for object in &self.objects {
            write_text(&place(&self.name, object.entry), &object.patched.manifest, out)?;
        }
        Ok(())
    }

    /// Says on standard error what was refused.
    pub(super) fn report(&self) {
        for object in &self.objects {
            report_refusals(&place(&self.name, object.entry), &object.patched.manifest);
        }
    }
}

/// The digest of a file, which need not be in memory as a whole.
fn of_input(input: &Input) -> Digest {
    const PART: usize = 4 << 20;
    let parts = input.chunks(PART).enumerate().map(|(number, part)| {
        let done = number.saturating_sub(1).saturating_mul(PART);
        input.release(done as u64, PART as u64);
        part
    });
    Digest::of_parts(parts)
}

/// The digests of an object and of its result.
fn digests(original: Digest, patched: &Patched) -> Digests {
    Digests { original, result: patched.bytes.as_deref().map_or(original, Digest::of) }
}

pub(super) fn place(name: &str, entry: Option<usize>) -> String {
    entry.map_or_else(|| name.to_owned(), |number| format!("{name}, entry {number}"))
}

/// That the rules are for another processor, and the object's.
fn other_processor(manifest: &Manifest) -> Option<String> {
    let mut refusals = manifest.refusals().map(|(_, refusal)| refusal);
    refusals.find(|it| it.kind == RefusalKind::Processor).map(|it| it.detail.clone())
}

fn report_refusals(place: &str, manifest: &Manifest) {
    for (remark, refusal) in manifest.refusals() {
        let place = match (remark.function.as_str(), remark.address) {
            ("", 0) => place.to_owned(),
            ("", address) => format!("{place}: at {address:#x}"),
            (function, address) => format!("{place}: {function} at {address:#x}"),
        };
        let rule = if remark.rule.is_empty() { "" } else { &format!("{}: ", remark.rule) };
        report::line(&place, &format!("{rule}{refusal}"));
    }
}
