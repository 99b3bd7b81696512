//! All that is to be said of a rewritten file, kept: for callers in other languages.

use hsaco_bytes::{Error, ErrorKind, Result};
use hsaco_container::WalkOptions;

use crate::digest::Digest;
use crate::file::PatchedFile;
use crate::manifest::{Manifest, Verdict};
use crate::text::ManifestText;

/// What became of a file.
#[derive(Clone, Debug)]
pub struct PatchReport {
    /// Whether something was rewritten.
    pub is_changed: bool,
    /// The result, which is the file itself if nothing was rewritten; none where it should be and cannot be.
    pub bytes: Option<Vec<u8>>,
    /// Everything that was changed or refused, as JSON.
    pub manifest: Vec<u8>,
    /// The same for people.
    pub summary: String,
    /// Why there is no result.
    pub refusals: Vec<String>,
}

impl PatchReport {
    /// Of a file, of which all objects were rewritten.
    ///
    /// # Errors
    /// When the objects cannot be put back.
    pub fn new(mut patched: PatchedFile, file: &[u8], options: &WalkOptions) -> Result<Self> {
        PatchedFile::settle([&mut patched]);
        let is_refused = patched.is_refused();
        let mut manifests = patched.objects.iter().map(|it| &it.patched.manifest);
        let is_changed = !is_refused && manifests.any(|it| it.verdict == Verdict::Changed);
        let manifests = || patched.objects.iter().map(|it| &it.patched.manifest);
        let refusals = manifests().flat_map(Manifest::refusals).map(|(_, it)| it.to_string());
        let refusals = refusals.collect();
        let summary = patched.objects.iter().map(|it| {
            let name = it.entry_id.as_deref().unwrap_or("object");
            ManifestText { name, manifest: &it.patched.manifest }.to_string()
        });
        let summary = summary.collect();
        let bytes = match is_refused {
            true => None,
            false => Some(patched.take_bytes(file, options)?.into_owned()),
        };
        let mut manifest = Vec::new();
        let digest = || Digest::of(file);
        let written = patched.write_manifest(&mut manifest, digest, file.len(), bytes.as_deref());
        let unwritten = |error| Error::new(ErrorKind::Unsupported, "manifest", format!("{error}"));
        written.map_err(unwritten)?;
        Ok(Self { is_changed, bytes, manifest, summary, refusals })
    }
}
