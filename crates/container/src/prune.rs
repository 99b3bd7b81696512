//! A file with the code of fewer targets.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use hsaco_bytes::{Error, ErrorKind, memory};
use hsaco_compress::Method;

use crate::bundle::{self, Bundle};
use crate::ccob::{self, default_level};
use crate::join::Joined;
use crate::outer::{Opened, OuterBundle, OuterBundles, between};
use crate::package::is_worthwhile;
use crate::trail::Trail;
use crate::walk::entries;
use crate::zip_write::{Fate, Prepared, content, rewrite};
use crate::{Container, Entry, EntryKind, WalkOptions, zip};

type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a bundle of a file could not be made smaller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PruneError {
    /// The member of a zip file that holds it, if one does.
    pub member: Option<String>,
    /// Where the bundle begins, in the file or member.
    pub offset: u64,
    /// Why.
    pub reason: PruneReason,
}

/// Why a bundle could not be made smaller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PruneReason {
    /// It cannot be read or written.
    Unreadable(Error),
    /// It has to stay where it is, and what stays of it takes more room when it is compressed again.
    NoRoom {
        /// How many bytes it takes.
        needed: usize,
        /// How many there are.
        room: usize,
    },
}

impl From<Error> for PruneReason {
    fn from(error: Error) -> Self {
        PruneReason::Unreadable(error)
    }
}

impl fmt::Display for PruneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(member) = &self.member {
            write!(f, "{member}: ")?;
        }
        write!(f, "bundle at {:#x}: ", self.offset)?;
        match &self.reason {
            PruneReason::Unreadable(error) => error.fmt(f),
            PruneReason::NoRoom { needed, room } => write!(
                f,
                "compressed again it takes {needed} bytes and has room for {room}; \
                 keep more targets, or extract the objects instead"
            ),
        }
    }
}

impl std::error::Error for PruneError {}

impl PruneError {
    fn new(offset: u64, reason: impl Into<PruneReason>) -> Self {
        Self { member: None, offset, reason: reason.into() }
    }

    fn within(mut self, member: &str) -> Self {
        let path = [Some(member.to_owned()), self.member.take()];
        self.member = Some(path.into_iter().flatten().collect::<Vec<_>>().join("/"));
        self
    }
}

impl OuterBundles {
    /// The file without the entries of its bundles that `keep` does not want; the host's are asked about, too. Files that
    /// are nothing but bundles get smaller. In others nothing moves, because code elsewhere in them points at the bundles:
    /// entries are taken out of the tables, and their bytes become zeros. A zip file has its members pruned so, and those that
    /// are a code object by themselves leave it; the list of files of a wheel says so.
    ///
    /// ```
    /// use hsaco_container::{WalkOptions, OuterBundles, entries};
    /// let file = std::fs::read("../../tests/fixtures/plain.bundle").unwrap();
    /// let mut bundles = OuterBundles::default();
    /// for entry in entries(&file, &WalkOptions::default()) {
    ///     bundles.add(&entry.unwrap(), None);
    /// }
    /// let small = bundles.prune(&file, 4 << 30, &|entry| entry.named_target() != Some("gfx1100")).unwrap();
    /// assert!(small.len() < file.len());
    /// ```
    ///
    /// # Errors
    /// When a bundle cannot be read, or not be written where it was.
    pub fn prune(
        &self,
        file: &[u8],
        max_size: u64,
        keep: &dyn Fn(&Entry<'_>) -> bool,
    ) -> Result<Vec<u8>, PruneError> {
        let pruner = Pruner { file, max_size, keep };
        match Container::detect(file) {
            Some(Container::Bundle | Container::CompressedBundle) => pruner.smaller(&self.0),
            Some(Container::Zip) => pruner.zip(),
            _ => pruner.in_place(&self.0),
        }
    }
}

struct Pruner<'p> {
    file: &'p [u8],
    max_size: u64,
    keep: &'p dyn Fn(&Entry<'_>) -> bool,
}

/// The entries of a bundle that stay.
struct Kept {
    ids: HashSet<String>,
    is_all: bool,
}

impl Pruner<'_> {
    fn from(&self, offset: u64) -> &[u8] {
        between(self.file, offset, self.file.len() as u64)
    }

    /// Bundles one after the other, each without what goes.
    fn smaller(&self, bundles: &[OuterBundle]) -> Result<Vec<u8>, PruneError> {
        let mut joined = Joined::default();
        let mut end = 0;
        for OuterBundle { offset, .. } in bundles {
            let before = between(self.file, end, *offset);
            let added = self.pruned(*offset).and_then(|(pruned, size)| {
                joined.push(before, &pruned, size)?;
                Ok(offset.saturating_add(size))
            });
            end = added.map_err(|error| PruneError::new(*offset, error))?;
        }
        let ended = joined.end(self.from(end));
        ended.map_err(|error| PruneError::new(end, error))?;
        Ok(joined.bytes)
    }

    /// The bundle at a place without what goes, and how many bytes it has now.
    fn pruned(&self, offset: u64) -> Result<(Vec<u8>, u64)> {
        let rest = self.from(offset);
        let opened = Opened::new(rest, self.max_size)?;
        let kept = self.kept(&opened.plain)?;
        if kept.is_all {
            return Ok((memory::copy(between(rest, 0, opened.size), "bundle")?, opened.size));
        }
        let plain = bundle::prune(&opened.plain, |id| kept.ids.contains(id))?;
        let pruned = match &opened.header {
            None => plain,
            Some(header) => {
                let level = default_level(header.method);
                ccob::write(&plain, header.version, header.method, level)?
            }
        };
        Ok((pruned, opened.size))
    }

    /// A zip file, one member after the other.
    fn zip(&self) -> Result<Vec<u8>, PruneError> {
        let fail = |error| PruneError::new(0, error);
        let mut fates = BTreeMap::new();
        for (index, member) in zip::members(self.file).into_iter().enumerate() {
            let member = member.map_err(fail)?;
            let fate = self.member(&member).map_err(|error| error.within(&member.name))?;
            fates.extend(fate.map(|fate| (index, fate)));
        }
        rewrite(self.file, fates, self.max_size).map_err(fail)
    }

    /// What becomes of a member of a zip file; `None` if it stays as it is.
    fn member(&self, member: &zip::Member) -> Result<Option<Fate>, PruneError> {
        let fail = |error| PruneError::new(0, error);
        let old = content(self.file, member, self.max_size).map_err(fail)?;
        if !is_worthwhile(&old, member.size) {
            return Ok(None);
        }
        if EntryKind::detect(&old) == EntryKind::CodeObject {
            let entry = Entry {
                id: None,
                kind: EntryKind::CodeObject,
                data: old.into(),
                offset: None,
                trail: Trail::default(),
            };
            return Ok((!(self.keep)(&entry)).then_some(Fate::Removed));
        }
        let options = WalkOptions { max_size: self.max_size, ..WalkOptions::default() };
        let mut bundles = OuterBundles::default();
        for entry in entries(&old, &options) {
            bundles.add(&entry.map_err(fail)?, None);
        }
        let new = bundles.prune(&old, self.max_size, self.keep)?;
        if new == old {
            return Ok(None);
        }
        drop(old);
        Prepared::new(member, new).map(|new| Some(Fate::Changed(new))).map_err(fail)
    }

    /// The file with nothing moved.
    fn in_place(&self, bundles: &[OuterBundle]) -> Result<Vec<u8>, PruneError> {
        let copied = memory::copy(self.file, "file");
        let mut out = copied.map_err(|error| PruneError::new(0, error))?;
        for OuterBundle { offset, .. } in bundles {
            let fail = |reason: PruneReason| PruneError::new(*offset, reason);
            let pruned = self.blanked(*offset).map_err(fail)?;
            let start = usize::try_from(*offset).ok();
            let range = start.and_then(|start| out.get_mut(start..)?.get_mut(..pruned.len()));
            let outside = || Error::malformed("bundle", *offset, "outside the file");
            range.ok_or_else(|| fail(outside().into()))?.copy_from_slice(&pruned);
        }
        Ok(out)
    }

    /// The bundle at a place, as many bytes as it was.
    fn blanked(&self, offset: u64) -> Result<Vec<u8>, PruneReason> {
        let data = self.from(offset);
        let opened = Opened::new(data, self.max_size)?;
        let kept = self.kept(&opened.plain)?;
        if kept.is_all {
            return Ok(memory::copy(between(data, 0, opened.size), "bundle")?);
        }
        let Some(header) = &opened.header else {
            return Ok(bundle::blank(data, |id| kept.ids.contains(id))?);
        };
        let plain = bundle::prune(&opened.plain, |id| kept.ids.contains(id))?;
        let too_large = |_| Error::new(ErrorKind::LimitExceeded, "bundle", "it is too large");
        let room = usize::try_from(opened.size).map_err(too_large)?;
        let mut needed = usize::MAX;
        for &level in levels(header.method) {
            let mut block = ccob::write(&plain, header.version, header.method, level)?;
            if block.len() <= room {
                block.resize(room, 0);
                return Ok(block);
            }
            needed = needed.min(block.len());
        }
        Err(PruneReason::NoRoom { needed, room })
    }

    fn kept(&self, plain: &[u8]) -> Result<Kept> {
        let bundle = Bundle::parse(plain)?;
        let mut kept = Kept { ids: HashSet::new(), is_all: true };
        for entry in &bundle.entries {
            let id = entry.id.to_string();
            let data = bundle.content(plain, entry)?;
            let entry = Entry {
                id: Some(id.clone()),
                kind: if entry.is_host() { EntryKind::Host } else { EntryKind::detect(data) },
                data: data.into(),
                offset: None,
                trail: Trail::default(),
            };
            if (self.keep)(&entry) {
                kept.ids.insert(id);
            } else {
                kept.is_all &= entry.kind == EntryKind::Host;
            }
        }
        Ok(kept)
    }
}

/// First what is usual, then what packs best.
fn levels(method: Method) -> &'static [i32] {
    match method {
        Method::Zstd => &[3, 19],
        Method::Zlib => &[6, 10],
    }
}
