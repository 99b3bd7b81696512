//! The file that keeps an index of what other files hold, from one run to the next.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hsaco_db::index::{FileRecord, Index, Key, MAGIC, Stamp};

use crate::error::{FileError, Result};
use crate::output::write_file;

/// A file that was written this short a time ago may be written again without a change of its stamp.
const TOO_FRESH: Duration = Duration::from_secs(2);

/// An index on its way from and to its file.
#[derive(Debug)]
pub struct IndexFile {
    /// Why the file is made anew, if it was damaged.
    pub damage: Option<String>,
    path: PathBuf,
    known: Index,
    /// What this run found out.
    new: Index,
}

impl IndexFile {
    /// Reads the file; one that is not there is an index of nothing, one that is damaged as well.
    ///
    /// # Errors
    /// What the system says, and when the file is something else.
    pub fn open(path: &Path) -> Result<Self> {
        let (known, damage) = read(path).map_err(|error| error.in_file(path))?;
        Ok(Self { damage, path: path.to_owned(), known, new: Index::default() })
    }

    /// What a file holds, if it was not changed since.
    pub fn by_stamp(&self, file: &Path) -> Option<&FileRecord> {
        let (path, stamp) = (name_of(file)?, stamp_of(file)?);
        self.known.by_stamp(&path, stamp)
    }

    /// What content holds, if it was seen in any file.
    pub fn by_content(&self, key: Key) -> Option<&FileRecord> {
        self.new.by_content(key).or_else(|| self.known.by_content(key))
    }

    /// Takes in what a file holds. `stamp` is from before it was read.
    pub fn insert(&mut self, file: &Path, stamp: Option<Stamp>, key: Key, record: FileRecord) {
        if let Some(path) = name_of(file) {
            self.new.insert(&path, stamp.filter(is_old), key, record);
        }
    }

    /// Writes what is new, whole or not at all. What others wrote meanwhile is kept; of two that write at the same
    /// moment one may lose what it found, and finds it again.
    ///
    /// # Errors
    /// What the system says.
    pub fn save(self) -> Result<()> {
        if self.new.is_empty() {
            return Ok(());
        }
        let mut index = read(&self.path).map_or(self.known, |(index, _)| index);
        index.merge(self.new);
        let written = write_file(&self.path, &index.to_bytes());
        written.map_err(|error| FileError::from(error).in_file(&self.path))
    }
}

fn read(path: &Path) -> Result<(Index, Option<String>)> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Default::default()),
        Err(error) => return Err(error.into()),
    };
    let begins_so = bytes.iter().zip(MAGIC).all(|(byte, magic)| *byte == magic);
    if !begins_so {
        let text = "no index: it is left alone; --index wants a file of its own";
        return Err(FileError::new(text));
    }
    Ok(match Index::from_bytes(&bytes) {
        Ok(index) => (index, None),
        Err(error) => (Index::default(), Some(error.to_string()).filter(|_| !bytes.is_empty())),
    })
}

fn name_of(file: &Path) -> Option<String> {
    Some(std::path::absolute(file).ok()?.to_string_lossy().into_owned())
}

/// What the file system says of a file.
pub fn stamp_of(file: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(file).ok().filter(fs::Metadata::is_file)?;
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let identity = identity_of(&metadata);
    Some(Stamp { size: metadata.len(), modified: modified.as_nanos(), identity })
}

#[cfg(unix)]
fn identity_of(metadata: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    metadata.ino()
}

#[cfg(not(unix))]
fn identity_of(_metadata: &fs::Metadata) -> u64 {
    0
}

fn is_old(stamp: &Stamp) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    stamp.modified.saturating_add(TOO_FRESH.as_nanos()) < now.as_nanos()
}
