//! What becomes of a file, with its name.

use std::borrow::Cow;
use std::io::Write as _;
use std::ops::Range;
use std::thread;

use anyhow::{Context, Result, ensure};
use hsaco::container::{self, Container};
use hsaco::patch::{
    Digest, Manifest, ManifestText, Patched, PatchedFile, PatchedObject, Patcher, code_objects,
};

use crate::input::Input;
use crate::output::Output;
use crate::report;

/// What became of a file.
pub(super) struct Outcome {
    /// What to call the file.
    pub(super) name: String,
    /// True when no argument names the file: it was found in a directory.
    pub(super) found: bool,
    pub(super) file: PatchedFile,
}

impl Outcome {
    fn new(input: &Input, file: PatchedFile) -> Self {
        Outcome { name: input.name.clone(), found: input.found, file }
    }

    /// Of a file that is an object, which was rewritten.
    pub(super) fn of_object(input: &Input, patched: Patched) -> Self {
        Outcome::new(input, PatchedObject::alone(digest(input), patched).into())
    }

    /// Rewrites all objects of a file. Nothing where the file was found in a directory and holds none.
    pub(super) fn of(patcher: &Patcher, input: &Input) -> Result<Option<Self>> {
        if input.found && Container::detect(input).is_none() {
            return Ok(None);
        }
        let named = || input.name.clone();
        let entries =
            code_objects(input, &container::WalkOptions::default()).with_context(named)?;
        let Some(entries) = entries else {
            let release = |part: Range<usize>| input.release(part.start as u64, part.len() as u64);
            let (digest, patched) = thread::scope(|scope| {
                let digest = scope.spawn(|| digest(input));
                let patched = patcher.patch_releasing(input, &release);
                (digest.join(), patched)
            });
            let digest = digest.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let object = PatchedObject::alone(digest, patched.with_context(named)?);
            return Ok(Some(Outcome::new(input, object.into())));
        };
        if input.found && entries.is_empty() {
            return Ok(None);
        }
        ensure!(!entries.is_empty(), "{}: it holds no code objects", input.name);
        let objects = hsaco_files::map_objects(&entries, |number, entry| {
            let patched = PatchedObject::of_entry(patcher, number, entry);
            patched.with_context(|| place(&input.name, Some(number)))
        });
        let objects = objects.into_iter().collect::<Result<_>>()?;
        Ok(Some(Outcome::new(input, PatchedFile { objects })))
    }

    /// Takes the bytes of the result.
    pub(super) fn take_bytes<'i>(&mut self, input: &'i Input) -> Result<Cow<'i, [u8]>> {
        let bytes = self.file.take_bytes(input, &container::WalkOptions::default());
        bytes.with_context(|| self.name.clone())
    }

    /// Writes the manifest of the file and of its result, if there is one.
    pub(super) fn write_manifest(
        &self,
        out: &mut Output,
        input: &Input,
        result: Option<&[u8]>,
    ) -> Result<()> {
        Ok(self.file.write_manifest(out, || digest(input), input.len(), result)?)
    }

    pub(super) fn write_text(&self, out: &mut Output) -> Result<()> {
        for (place, manifest) in self.manifests() {
            write!(out, "{}", ManifestText { name: &place, manifest })?;
        }
        Ok(())
    }

    /// Says on standard error what was refused.
    pub(super) fn report(&self) {
        for (place, manifest) in self.manifests() {
            report_refusals(&place, manifest);
        }
    }

    fn manifests(&self) -> impl Iterator<Item = (String, &Manifest)> {
        self.file.objects.iter().map(|it| (place(&self.name, it.entry), &it.patched.manifest))
    }
}

/// The digest of a file, which need not be in memory as a whole.
fn digest(input: &Input) -> Digest {
    const PART: usize = 4 << 20;
    let parts = input.chunks(PART).enumerate().map(|(number, part)| {
        let done = number.saturating_sub(1).saturating_mul(PART);
        input.release(done as u64, PART as u64);
        part
    });
    Digest::of_parts(parts)
}

pub(super) fn place(name: &str, entry: Option<usize>) -> String {
    entry.map_or_else(|| name.to_owned(), |number| format!("{name}, entry {number}"))
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
