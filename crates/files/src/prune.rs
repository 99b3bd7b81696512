//! A copy of a file with the code of fewer targets.

use std::path::Path;
use std::{fs, io};

use hsaco_bytes::TextError;
use hsaco_container::{Entry, FilePiece, OuterBundles, PruneError, Pruned};
use serde::Serialize;

use crate::error::{FileError, Result};
use crate::extract::EntryItem;
use crate::input::Input;
use crate::item::{ObjectItem, Trouble};
use crate::output::{SparseFile, Written};
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
    pub size: u64,
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
    /// When an object that should go cannot.
    pub fn finish<'p>(
        &'p self,
        input: &'p Input,
        keep: &'p dyn Fn(&Entry<'_>) -> bool,
        max_size: u64,
    ) -> Result<PrunedFile<'p>> {
        if let Some(stuck) = &self.stuck {
            return Err(TextError::new(format!("{}: {stuck}", input.name)).into());
        }
        Ok(PrunedFile { input, pieces: self.bundles.prune(input, max_size, keep) })
    }
}

/// Whether a selection wants an entry that is kept; what is wrong with its object was told when the file was walked.
#[must_use]
pub fn is_kept(entry: &Entry<'_>, selection: &ObjectSelection) -> bool {
    ObjectItem::new(0, entry, &mut Trouble::default()).is_wanted(selection)
}

/// A file with the code of fewer targets, which is made while it is written.
pub struct PrunedFile<'p> {
    input: &'p Input,
    pieces: Pruned<'p>,
}

impl PrunedFile<'_> {
    /// All of it, in memory.
    ///
    /// # Errors
    /// When a bundle cannot be written anew.
    pub fn bytes(self) -> Result<Vec<u8>> {
        self.pieces.bytes().map_err(|error| failure(self.input, &error))
    }

    /// Writes it, as executable as the file `from` that it is made of, with holes where blocks are zero.
    ///
    /// # Errors
    /// When a bundle cannot be written anew, or the file not be written.
    pub fn write(self, from: &Path, to: &Path) -> Result<PrunedSizes> {
        let unwritten = |error: io::Error| FileError::from(error).in_file(to);
        let Self { input, pieces } = self;
        let mut file = SparseFile::create(to).map_err(unwritten)?;
        for piece in pieces {
            let piece = piece.map_err(|error| failure(input, &error))?;
            write_piece(&piece, input, &mut file).map_err(unwritten)?;
        }
        let Written { size, holes } = file.finish().map_err(unwritten)?;
        copy_permissions(from, to);
        let stored = size.saturating_sub(holes);
        Ok(PrunedSizes { size, stored, saved: (input.len() as u64).saturating_sub(stored) })
    }
}

fn failure(input: &Input, error: &PruneError) -> FileError {
    FileError::new(error.to_string()).named(&input.name)
}

fn write_piece(piece: &FilePiece, input: &Input, file: &mut SparseFile) -> io::Result<()> {
    /// Bytes of the old file that are in memory at a time.
    const STEP: u64 = 4 << 20;
    match piece {
        FilePiece::New(bytes) => file.write_all(bytes),
        FilePiece::Zeros(size) => file.write_zeros(*size),
        FilePiece::Kept(range) => {
            let mut at = range.start;
            while at < range.end {
                let end = range.end.min(at.saturating_add(STEP));
                let part = usize::try_from(at).ok().zip(usize::try_from(end).ok());
                let part = part.and_then(|(start, end)| input.get(start..end));
                file.write_all(part.ok_or(io::ErrorKind::UnexpectedEof)?)?;
                input.release(at, end - at);
                at = end;
            }
            Ok(())
        }
    }
}

/// A program must stay one. Where that is not allowed, the copy is as any new file is.
fn copy_permissions(from: &Path, to: &Path) {
    if let Ok(metadata) = fs::metadata(from)
        && metadata.is_file()
    {
        drop(fs::set_permissions(to, metadata.permissions()));
    }
}
