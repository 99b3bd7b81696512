//! Files that are written whole or not at all.

use std::fs::{self, File};
use std::io::{self, Seek as _, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Writes a file whole or not at all.
///
/// # Errors
/// What the system says.
pub fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = NewFile::create(path)?;
    file.write_all(bytes)?;
    file.finish()
}

/// Writes a file whole or not at all, with holes where blocks are zero.
///
/// # Errors
/// What the system says.
pub fn write_sparse(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = NewFile::create(path)?;
    file.write_sparse(bytes)?;
    file.finish()
}

/// Bytes that are left out together where all are zero: what file systems store apart.
const HOLE: usize = 4096;

/// Bytes of whole blocks of zeros, which take no room in a file that has holes.
///
/// ```
/// assert_eq!(hsaco_files::holes(&[0; 10_000]), 8192);
/// ```
#[must_use]
pub fn holes(bytes: &[u8]) -> usize {
    let blocks = bytes.chunks(HOLE).filter(|it| it.len() == HOLE && is_zero(it));
    blocks.count() * HOLE
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// A file that is being written, and takes the place of what a path names once it is finished.
///
/// ```
/// use std::io::Write as _;
/// let path = std::env::temp_dir().join(format!("hsaco-new-file-{}", std::process::id()));
/// let mut file = hsaco_files::NewFile::create(&path)?;
/// file.write_all(b"all of it")?;
/// assert!(!path.exists());
/// file.finish()?;
/// assert_eq!(std::fs::read(&path)?, b"all of it");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct NewFile(Destination);

#[derive(Debug)]
enum Destination {
    /// A file beside it that takes its place.
    Beside { file: NamedTempFile, path: PathBuf },
    /// A device or a pipe, whose place nothing may take.
    Through(File),
}

impl NewFile {
    /// Begins with a file; a device or a pipe is written through.
    ///
    /// # Errors
    /// What the system says.
    pub fn create(path: &Path) -> io::Result<Self> {
        let found = fs::metadata(path);
        if found.is_ok_and(|it| !it.is_file() && !it.is_dir()) {
            return File::options().write(true).open(path).map(Destination::Through).map(Self);
        }
        // A link stays one: the file that it leads to is replaced.
        let path = match path.is_symlink() {
            true => fs::canonicalize(path)?,
            false => path.to_owned(),
        };
        Ok(Self(Destination::Beside { file: temporary_beside(&path)?, path }))
    }

    fn write_sparse(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Destination::Beside { file, .. } = &mut self.0 else { return self.write_all(bytes) };
        for blocks in
            bytes.chunks(HOLE).collect::<Vec<_>>().chunk_by(|a, b| is_zero(a) == is_zero(b))
        {
            let size: usize = blocks.iter().map(|it| it.len()).sum();
            match blocks.first().is_some_and(|it| is_zero(it)) {
                true => drop(file.seek(io::SeekFrom::Current(i64::try_from(size).unwrap_or(0)))?),
                false => blocks.iter().try_for_each(|it| file.write_all(it))?,
            }
        }
        file.as_file().set_len(bytes.len() as u64)
    }

    /// Puts it in its place.
    ///
    /// # Errors
    /// What the system says.
    pub fn finish(self) -> io::Result<()> {
        match self.0 {
            Destination::Beside { file, path } => {
                file.persist(&path).map(drop).map_err(|it| it.error)
            }
            Destination::Through(mut file) => file.flush(),
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Destination::Beside { file, .. } => file.write(bytes),
            Destination::Through(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Destination::Beside { file, .. } => file.flush(),
            Destination::Through(file) => file.flush(),
        }
    }
}

fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    let directory = path.parent().filter(|it| !it.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    // The kind alone: the message names a file that is not asked for.
    let created = temporary(0o666).tempfile_in(directory);
    created.map_err(|error| io::Error::from(error.kind()))
}

/// Temporary files and directories with the permissions of a plain create: the umask takes from them what it takes.
pub(crate) fn temporary(_mode: u32) -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".hsaco-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(_mode));
    }
    builder
}
