//! The folder of a data set: Parquet files by table and digest, each written whole or not at all.

use std::io;
use std::path::{Path, PathBuf};

use crate::output::write_file;

/// A data set: `TABLE/part=ab/DIGEST.parquet` for what is known by the digest of a file's content, and `TABLE/rows.parquet` for the rest.
///
/// ```
/// let folder = std::env::temp_dir().join(format!("hsaco-dataset-{}", std::process::id()));
/// let dataset = hsaco_files::Dataset::new(&folder);
/// assert!(!dataset.has("kernels", "abcd"));
/// dataset.put("kernels", "abcd", b"PAR1")?;
/// assert!(dataset.has("kernels", "abcd"));
/// assert!(folder.join("kernels/part=ab/abcd.parquet").is_file());
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dataset(PathBuf);

impl Dataset {
    /// The data set in a folder, which need not be there yet.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    fn path(&self, table: &str, digest: &str) -> PathBuf {
        let part = format!("part={}", digest.get(..2).unwrap_or("00"));
        self.0.join(table).join(part).join(format!("{digest}.parquet"))
    }

    /// Whether rows of a digest are there.
    #[must_use]
    pub fn has(&self, table: &str, digest: &str) -> bool {
        self.path(table, digest).is_file()
    }

    /// Writes the rows of a digest.
    ///
    /// # Errors
    /// What the system says.
    pub fn put(&self, table: &str, digest: &str, parquet: &[u8]) -> io::Result<()> {
        write_in(&self.path(table, digest), parquet)
    }

    /// Writes rows that are not by digest.
    ///
    /// # Errors
    /// What the system says.
    pub fn put_all(&self, table: &str, parquet: &[u8]) -> io::Result<()> {
        write_in(&self.0.join(table).join("rows.parquet"), parquet)
    }
}

fn write_in(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    write_file(path, bytes)
}
