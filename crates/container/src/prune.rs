//! A file with the code of fewer targets.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt;

use hsaco_bytes::{Error, ErrorKind};
use hsaco_compress::Method;

use crate::bundle::{self, Bundle};
use crate::ccob::{self, Ccob, default_level};
use crate::join::{Before, Joint};
use crate::outer::{Opened, OuterBundle, OuterBundles, between};
use crate::package::is_worthwhile;
use crate::piece::FilePiece;
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
    /// let small = bundles.prune(&file, 4 << 30, &|entry| entry.named_target() != Some("gfx1100"));
    /// assert!(small.bytes().unwrap().len() < file.len());
    /// ```
    pub fn prune<'p>(
        &'p self,
        file: &'p [u8],
        max_size: u64,
        keep: &'p dyn Fn(&Entry<'_>) -> bool,
    ) -> Pruned<'p> {
        let way = match Container::detect(file) {
            Some(Container::Bundle | Container::CompressedBundle) => Way::Smaller(Joint::default()),
            Some(Container::Zip) => Way::Zip,
            _ => Way::InPlace,
        };
        let pruner = Pruner { file, max_size, keep };
        let is_zip = matches!(way, Way::Zip);
        let bundles = if is_zip { &[] } else { self.0.as_slice() };
        Pruned {
            pruner,
            way,
            bundles: bundles.iter(),
            end: 0,
            is_over: false,
            next: VecDeque::new(),
        }
    }
}

/// A pruned file, piece by piece: no more of it is in memory than one bundle, or than a zip file has.
pub struct Pruned<'p> {
    pruner: Pruner<'p>,
    way: Way,
    bundles: std::slice::Iter<'p, OuterBundle>,
    /// Where the last bundle ended.
    end: u64,
    is_over: bool,
    /// What is ready.
    next: VecDeque<FilePiece>,
}

/// How a file is pruned.
enum Way {
    /// Bundles one after the other, each without what goes.
    Smaller(Joint),
    /// Nothing moves.
    InPlace,
    /// One member after the other.
    Zip,
}

impl Iterator for Pruned<'_> {
    type Item = Result<FilePiece, PruneError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.next.is_empty() && !self.is_over {
            if let Err(error) = self.go_on() {
                self.is_over = true;
                return Some(Err(error));
            }
        }
        self.next.pop_front().map(Ok)
    }
}

impl Pruned<'_> {
    /// All of the file.
    ///
    /// # Errors
    /// When a bundle cannot be read, or not be written where it was.
    pub fn bytes(self) -> Result<Vec<u8>, PruneError> {
        let (file, mut bytes) = (self.pruner.file, Vec::new());
        for piece in self {
            piece?.append(file, &mut bytes).map_err(|error| PruneError::new(0, error))?;
        }
        Ok(bytes)
    }

    /// The pieces up to the end of the next bundle, or of the file.
    fn go_on(&mut self) -> Result<(), PruneError> {
        let length = self.pruner.file.len() as u64;
        let Some(&OuterBundle { offset, .. }) = self.bundles.next() else {
            self.is_over = true;
            self.next.push_back(match self.way {
                Way::Zip => FilePiece::New(self.pruner.zip()?),
                _ => FilePiece::Kept(self.end..length),
            });
            return Ok(());
        };
        let fail = |reason: PruneReason| PruneError::new(offset, reason);
        if offset < self.end {
            let overlap = Error::malformed("bundle", offset, "it begins within another");
            return Err(fail(overlap.into()));
        }
        let (pieces, size) = match &mut self.way {
            Way::Smaller(_) => self.pruner.pruned(offset).map_err(|it| fail(it.into()))?,
            _ => self.pruner.blanked(offset).map_err(fail)?,
        };
        let before = between(self.pruner.file, self.end, offset);
        let new_size = pieces.iter().map(FilePiece::size).sum();
        self.next.push_back(match &mut self.way {
            Way::Smaller(joint) => match joint.push(before, new_size, size) {
                Before::Same => FilePiece::Kept(self.end..offset),
                Before::Zeros(size) => FilePiece::Zeros(size),
            },
            _ => FilePiece::Kept(self.end..offset),
        });
        self.next.extend(pieces.into_iter().map(|it| it.moved(offset)));
        self.end = offset.saturating_add(size);
        Ok(())
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

    /// The bundle at a place without what goes, as pieces from there on, and how many bytes it had.
    fn pruned(&self, offset: u64) -> Result<(Vec<FilePiece>, u64)> {
        let opened = Opened::new(self.from(offset), self.max_size)?;
        let kept = self.kept(&opened.plain)?;
        let keep = |id: &str| kept.ids.contains(id);
        let pieces = match &opened.header {
            _ if kept.is_all => vec![FilePiece::Kept(0..opened.size)],
            None => bundle::prune_in_pieces(&opened.plain, keep)?,
            Some(header) => {
                let plain = bundle::prune(&opened.plain, keep)?;
                let level = default_level(header.method);
                vec![FilePiece::New(ccob::write(&plain, header.version, header.method, level)?)]
            }
        };
        Ok((pieces, opened.size))
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
                packed: None,
                trail: Trail::default(),
            };
            return Ok((!(self.keep)(&entry)).then_some(Fate::Removed));
        }
        let options = WalkOptions { max_size: self.max_size, ..WalkOptions::default() };
        let mut bundles = OuterBundles::default();
        for entry in entries(&old, &options) {
            bundles.add(&entry.map_err(fail)?, None);
        }
        let new = bundles.prune(&old, self.max_size, self.keep).bytes()?;
        if new == old {
            return Ok(None);
        }
        drop(old);
        Prepared::new(member, new).map(|new| Some(Fate::Changed(new))).map_err(fail)
    }

    /// The bundle at a place, as pieces from there on, and how many bytes it has and had.
    fn blanked(&self, offset: u64) -> Result<(Vec<FilePiece>, u64), PruneReason> {
        let opened = Opened::new(self.from(offset), self.max_size)?;
        let kept = self.kept(&opened.plain)?;
        let keep = |id: &str| kept.ids.contains(id);
        let pieces = match &opened.header {
            _ if kept.is_all => vec![FilePiece::Kept(0..opened.size)],
            None => bundle::blank(&opened.plain, keep)?,
            Some(header) => {
                let plain = bundle::prune(&opened.plain, keep)?;
                vec![FilePiece::New(packed_into(header, &plain, opened.size)?)]
            }
        };
        Ok((pieces, opened.size))
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
                packed: None,
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

/// A bundle, compressed so that it takes `room` bytes.
fn packed_into(header: &Ccob, plain: &[u8], room: u64) -> Result<Vec<u8>, PruneReason> {
    let too_large = |_| Error::new(ErrorKind::LimitExceeded, "bundle", "it is too large");
    let room = usize::try_from(room).map_err(too_large)?;
    let mut needed = usize::MAX;
    for &level in levels(header.method) {
        let mut block = ccob::write(plain, header.version, header.method, level)?;
        if block.len() <= room {
            block.resize(room, 0);
            return Ok(block);
        }
        needed = needed.min(block.len());
    }
    Err(PruneReason::NoRoom { needed, room })
}

/// First what is usual, then what packs best.
fn levels(method: Method) -> &'static [i32] {
    match method {
        Method::Zstd => &[3, 19],
        Method::Zlib => &[6, 10],
    }
}
