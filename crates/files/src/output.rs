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

/// Bytes that are left out together where all are zero: what file systems store apart.
const HOLE: usize = 4096;

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// How much was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// All bytes.
    pub(crate) size: u64,
    /// Those of whole blocks of zeros, which take no room in a file that has holes.
    pub(crate) holes: u64,
}

/// A file that is written whole or not at all, with holes where blocks are zero.
#[derive(Debug)]
pub(crate) struct SparseFile {
    file: NewFile,
    written: Written,
    /// The beginning of a block.
    block: Vec<u8>,
}

impl SparseFile {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let written = Written { size: 0, holes: 0 };
        Ok(Self { file: NewFile::create(path)?, written, block: Vec::with_capacity(HOLE) })
    }

    pub(crate) fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        if !self.block.is_empty() {
            let missing = bytes.split_at(bytes.len().min(HOLE - self.block.len()));
            self.block.extend_from_slice(missing.0);
            bytes = missing.1;
            if self.block.len() < HOLE {
                return Ok(());
            }
            let block = std::mem::replace(&mut self.block, Vec::with_capacity(HOLE));
            self.write_blocks(&block)?;
        }
        let (blocks, rest) = bytes.split_at(bytes.len() / HOLE * HOLE);
        self.write_blocks(blocks)?;
        self.block.extend_from_slice(rest);
        Ok(())
    }

    pub(crate) fn write_zeros(&mut self, size: u64) -> io::Result<()> {
        static ZEROS: [u8; 16 * HOLE] = [0; 16 * HOLE];
        let mut left = size;
        while left > 0 {
            let some = usize::try_from(left).unwrap_or(usize::MAX).min(ZEROS.len());
            self.write_all(ZEROS.get(..some).unwrap_or_default())?;
            left -= some as u64;
        }
        Ok(())
    }

    fn write_blocks(&mut self, blocks: &[u8]) -> io::Result<()> {
        self.written.size += blocks.len() as u64;
        let mut rest = blocks;
        while let Some(first) = rest.get(..HOLE.min(rest.len())).filter(|it| !it.is_empty()) {
            let is_hole = is_zero(first);
            let run = rest.chunks(HOLE).take_while(|it| is_zero(it) == is_hole).map(<[u8]>::len);
            let (run, after) = rest.split_at(run.sum());
            match is_hole {
                true => {
                    self.file.skip(run)?;
                    self.written.holes += run.len() as u64;
                }
                false => self.file.write_all(run)?,
            }
            rest = after;
        }
        Ok(())
    }

    /// Puts it in its place.
    pub(crate) fn finish(mut self) -> io::Result<Written> {
        self.file.write_all(&self.block)?;
        self.written.size += self.block.len() as u64;
        self.file.set_size(self.written.size)?;
        self.file.finish()?;
        Ok(self.written)
    }
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

    /// Leaves zeros out where a file may have holes.
    fn skip(&mut self, zeros: &[u8]) -> io::Result<()> {
        match &mut self.0 {
            Destination::Beside { file, .. } => {
                let size = i64::try_from(zeros.len()).map_err(io::Error::other)?;
                file.seek(io::SeekFrom::Current(size)).map(drop)
            }
            Destination::Through(file) => file.write_all(zeros),
        }
    }

    /// Says where it ends: a hole there is no write.
    fn set_size(&self, size: u64) -> io::Result<()> {
        match &self.0 {
            Destination::Beside { file, .. } => file.as_file().set_len(size),
            Destination::Through(_) => Ok(()),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// However the bytes come, the file is the same, and the same blocks of it are holes.
    #[test]
    fn a_sparse_file_is_what_was_written() {
        let bytes: Vec<u8> =
            [vec![7; 3], vec![0; 9000], vec![1; 4096 * 3 - 100], vec![0; 4096 * 5 + 1]].concat();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for step in [1, 100, 4095, 4096, 5000, 100_000] {
            let mut file = SparseFile::create(&path).unwrap();
            bytes.chunks(step).for_each(|it| file.write_all(it).unwrap());
            let written = file.finish().unwrap();
            assert!(fs::read(&path).unwrap() == bytes, "{step}");
            assert_eq!(written, Written { size: bytes.len() as u64, holes: 4096 * 5 }, "{step}");
        }
        let mut file = SparseFile::create(&path).unwrap();
        file.write_all(b"a").unwrap();
        file.write_zeros(100_000).unwrap();
        assert_eq!(file.finish().unwrap(), Written { size: 100_001, holes: 4096 * 23 });
        assert_eq!(fs::read(&path).unwrap().len(), 100_001);
    }
}
