//! Files for a database, which outlives the moment of opening them: they are read when something of them is asked for, and
//! never mapped for longer than it takes to index them.
//!
//! A mapping shows whatever the file holds now, and ends the process with a signal where the file became shorter. A read
//! does neither, and with the file's stamp before and after it shows that the bytes are those that were indexed.

use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use hsaco_bytes::{Error, ErrorKind};
use hsaco_container::{WalkOptions, WantedTargets};
use hsaco_db::{ContentView, FoundEntries, Stored};
use memmap2::Mmap;

use crate::ahead::UnpackedEntries;
use crate::mapping::{map, release_pages};

/// Files up to this size are read to be indexed, larger ones are mapped for that time.
const SMALL: usize = 16 << 20;

/// So many files are kept open, and can be read after they were removed or replaced. Others are opened again.
const KEPT_OPEN: usize = 64;

/// How long a file system may give the same time to two changes.
const SAME_TIME: Duration = Duration::from_millis(20);

static OPEN: AtomicUsize = AtomicUsize::new(0);

/// A file, or a part of it, as it was when it was opened.
pub(crate) struct StoredFile {
    path: PathBuf,
    place: String,
    stamp: Stamp,
    range: Range<usize>,
    kept: Option<Kept>,
}

/// A file that is kept open, and counted.
struct Kept(File);

impl Kept {
    fn new(file: File) -> Option<Self> {
        let is_one_too_many = OPEN.fetch_add(1, Ordering::Relaxed) >= KEPT_OPEN;
        let kept = Kept(file);
        (!is_one_too_many).then_some(kept)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What changes when a file's content does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    identity: Identity,
}

/// What else a system says of a file: which it is, when anything about it changed, and how many names it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    file: (u64, u64),
    changed: (i64, i64),
    names: u64,
}

impl Stamp {
    fn new(metadata: &Metadata) -> Self {
        let (size, modified) = (metadata.len(), metadata.modified().ok());
        Stamp { size, modified, identity: Identity::new(metadata) }
    }

    /// Whether a file's content is still what it was. Setting the time of modification back changes another time,
    /// which changes too when the file gets or loses a name: then it says nothing.
    fn is_still(&self, now: &Stamp) -> bool {
        let (before, after) = (self.identity, now.identity);
        self.size == now.size
            && self.modified == now.modified
            && before.file == after.file
            && (before.changed == after.changed || before.names != after.names)
    }
}

impl Identity {
    #[cfg(unix)]
    fn new(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Identity {
            file: (metadata.dev(), metadata.ino()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            names: metadata.nlink(),
        }
    }

    #[cfg(not(unix))]
    fn new(_metadata: &Metadata) -> Self {
        Identity { file: (0, 0), changed: (0, 0), names: 0 }
    }
}

impl StoredFile {
    /// Opens a regular file; nothing for what is none, such as a pipe, or for an empty one.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.len() == 0 {
            return Ok(None);
        }
        settle(&metadata);
        let stamp = Stamp::new(&file.metadata()?);
        let size = usize::try_from(stamp.size).map_err(io::Error::other)?;
        let path = std::fs::canonicalize(path)?;
        let place = path.to_string_lossy().into_owned();
        Ok(Some(StoredFile { path, place, stamp, range: 0..size, kept: Kept::new(file) }))
    }

    /// A part of the file; nothing if it does not have that many bytes.
    pub(crate) fn part(self, range: Range<usize>) -> Option<Self> {
        let is_inside = range.start <= range.end && range.end <= self.range.end;
        let place = format!("{}#{range:?}", self.place);
        is_inside.then_some(StoredFile { place, range, ..self })
    }

    /// Does something with the file, and says whether it was as it was before and after.
    fn with<T>(&self, work: impl Fn(&File) -> io::Result<T>) -> Result<T, Error> {
        let opened;
        let file = match &self.kept {
            Some(kept) => &kept.0,
            None => {
                opened = File::open(&self.path).map_err(|error| unreadable(&error))?;
                &opened
            }
        };
        self.check_stamp(file)?;
        let done = work(file);
        self.check_stamp(file)?;
        done.map_err(|error| unreadable(&error))
    }

    fn check_stamp(&self, file: &File) -> Result<(), Error> {
        let now = file.metadata().map_err(|error| unreadable(&error))?;
        let now = Stamp::new(&now);
        if self.stamp.is_still(&now) {
            return Ok(());
        }
        let detail = match (self.stamp.size, now.size) {
            (before, now) if before != now => {
                format!("it had {before} bytes when it was indexed and has {now} now; add it again")
            }
            _ => "it was written to after it was indexed; add it again".to_owned(),
        };
        Err(Error::new(ErrorKind::Changed, "file", detail))
    }

    fn read_parts(&self, file: &File, parts: &[Range<usize>]) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(parts.iter().map(Range::len).sum());
        for part in parts {
            let start = bytes.len();
            bytes.resize(start + part.len(), 0);
            let offset = self.range.start.saturating_add(part.start);
            read_at(file, bytes.get_mut(start..).unwrap_or_default(), offset as u64)?;
        }
        Ok(bytes)
    }
}

impl Stored for StoredFile {
    fn place(&self) -> &str {
        &self.place
    }

    fn size(&self) -> usize {
        self.range.len()
    }

    fn view(&self) -> Result<Box<dyn ContentView + '_>, Error> {
        if self.size() <= SMALL {
            let bytes = self.read(std::slice::from_ref(&(0..self.size())))?;
            return Ok(Box::new(InMemory(bytes)));
        }
        let map = self.with(map)?;
        Ok(Box::new(Mapped { map, range: self.range.clone() }))
    }

    fn read(&self, parts: &[Range<usize>]) -> Result<Vec<u8>, Error> {
        self.with(|file| self.read_parts(file, parts))
    }

    fn check(&self) -> Result<(), Error> {
        self.with(|_| Ok(()))
    }
}

struct InMemory(Vec<u8>);

impl AsRef<[u8]> for InMemory {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl ContentView for InMemory {
    fn entries<'v>(
        &'v self,
        options: &WalkOptions,
        wanted: Option<&'v dyn WantedTargets>,
    ) -> FoundEntries<'v> {
        Box::new(UnpackedEntries::new(self, options, wanted))
    }
}

struct Mapped {
    map: Mmap,
    range: Range<usize>,
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        self.map.get(self.range.clone()).unwrap_or_default()
    }
}

impl ContentView for Mapped {
    fn release(&self, range: Range<usize>) {
        release_pages(&self.map, self.range.start.saturating_add(range.start), range.len());
    }

    fn entries<'v>(
        &'v self,
        options: &WalkOptions,
        wanted: Option<&'v dyn WantedTargets>,
    ) -> FoundEntries<'v> {
        Box::new(UnpackedEntries::new(self, options, wanted))
    }
}

/// Waits until the next change of a file that was written just now gives it another time.
fn settle(metadata: &Metadata) {
    let age = metadata.modified().ok().and_then(|it| SystemTime::now().duration_since(it).ok());
    if let Some(left) = age.and_then(|age| SAME_TIME.checked_sub(age)) {
        std::thread::sleep(left);
    }
}

/// A file that was indexed and cannot be read any more.
fn unreadable(error: &io::Error) -> Error {
    let detail = format!("it cannot be read any more: {error}");
    Error::new(ErrorKind::Changed, "file", detail)
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
        let at = offset.saturating_add(done as u64);
        match std::os::windows::fs::FileExt::seek_read(file, rest, at)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => done += count,
        }
    }
    Ok(())
}
