//! A copy of a file with the code of fewer targets.

use std::fs;
use std::path::Path;

use hsaco_bytes::TextError;
use hsaco_container::{Entry, OuterBundles};
use serde::Serialize;

use crate::error::{FileError, Result};
use crate::extract::EntryItem;
use crate::input::Input;
use crate::item::{ObjectItem, Trouble};
use crate::output::{holes, write_sparse};
use crate::select::ObjectSelection;

/// What stays of a file, and what cannot go.
#[derive(Debug, Default)]
pub struct Pruning {
    bundles: OuterBundles,
    /// How many objects stay.
    pub kept: usize,
    /// How many there are.
    pub objects: usize,
    /// The first object that should go but is in no bundle.
    stuck: Option<String>,
}

/// How large a pruned file is, in bytes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PrunedSizes {
    /// All of it.
    pub size: usize,
    /// Without its holes: what it takes on disk.
    pub stored: u64,
    /// How much less that is than the file it was made of.
    pub saved: u64,
}

impl Pruning {
    /// Takes an entry of the file; those that are wanted stay.
    pub fn entry(&mut self, item: &EntryItem<'_, '_>) {
        self.objects += usize::from(item.object().is_some());
        self.kept += usize::from(item.wanted_object().is_some());
        let in_bundle = self.bundles.add(item.entry, None);
        if let Some(number) = item.object()
            && !item.is_wanted
            && !in_bundle
            && self.stuck.is_none()
        {
            let target = item.target.as_deref().unwrap_or("unknown");
            let steps = item.entry.trail.steps();
            let reason = match steps.iter().find(|step| !step.container.is_written_back()) {
                Some(step) => format!("and what is in a {} is not written", step.container.title()),
                None => "is in no offload bundle and cannot be left out of its file".to_owned(),
            };
            let trail = &item.entry.trail;
            self.stuck = Some(format!("object {number} ({target}), in {trail}, {reason}"));
        }
    }

    /// The file without what is not selected, all of whose entries were taken.
    ///
    /// # Errors
    /// When an object that should go cannot, or a bundle cannot be written anew.
    pub fn finish(
        &self,
        input: &Input,
        selection: &ObjectSelection,
        max_size: u64,
    ) -> Result<Vec<u8>> {
        if let Some(stuck) = &self.stuck {
            return Err(TextError::new(format!("{}: {stuck}", input.name)).into());
        }
        // What is wrong with an object was told when the file was walked.
        let keep = |entry: &Entry<'_>| {
            ObjectItem::new(0, entry, &mut Trouble::default()).is_wanted(selection)
        };
        let pruned = self.bundles.prune(input, max_size, &keep);
        pruned.map_err(|error| FileError::new(error.to_string()).named(&input.name))
    }
}

/// Writes a pruned file, which is as executable as the one of `size` bytes that it was made of.
///
/// # Errors
/// When it cannot be written.
pub fn write_pruned(from: &Path, size: u64, to: &Path, bytes: &[u8]) -> Result<PrunedSizes> {
    write_sparse(to, bytes).map_err(|error| FileError::from(error).in_file(to))?;
    copy_permissions(from, to);
    let stored = bytes.len().saturating_sub(holes(bytes)) as u64;
    Ok(PrunedSizes { size: bytes.len(), stored, saved: size.saturating_sub(stored) })
}

/// A program must stay one. Where that is not allowed, the copy is as any new file is.
fn copy_permissions(from: &Path, to: &Path) {
    if let Ok(metadata) = fs::metadata(from)
        && metadata.is_file()
    {
        drop(fs::set_permissions(to, metadata.permissions()));
    }
}
