//! Where answers go: standard output, or a file that is written whole or not at all.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::NamedTempFile;

/// The answer of a verb, on its way out.
pub(crate) enum Output {
    Stdout { out: BufWriter<PlainStdout>, color: bool },
    File(BufWriter<Destination>),
}

impl Output {
    /// Standard output, or with a path a file beside it that takes its place in [`finish`](Self::finish).
    pub(crate) fn open(path: Option<&OsStr>) -> Result<Self> {
        match path.filter(|&it| it != "-") {
            None => {
                let choice = anstream::AutoStream::choice(&io::stdout());
                let out = BufWriter::with_capacity(1 << 16, plain_stdout()?);
                Ok(Self::Stdout { out, color: choice != anstream::ColorChoice::Never })
            }
            Some(path) => Ok(Self::File(BufWriter::new(Destination::open(Path::new(path))?))),
        }
    }

    /// True when the answer may be coloured.
    pub(crate) fn color(&self) -> bool {
        matches!(self, Self::Stdout { color: true, .. })
    }

    /// Flushes, and puts a file in its place.
    pub(crate) fn finish(self) -> Result<()> {
        match self {
            Self::Stdout { mut out, .. } => Ok(out.flush()?),
            Self::File(out) => out.into_inner().map_err(io::IntoInnerError::into_error)?.finish(),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout { out, .. } => out.write(bytes),
            Self::File(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout { out, .. } => out.flush(),
            Self::File(out) => out.flush(),
        }
    }
}

/// Standard output that does not look for ends of lines: JSON is one line of megabytes.
#[cfg(unix)]
type PlainStdout = std::fs::File;

#[cfg(unix)]
fn plain_stdout() -> io::Result<PlainStdout> {
    use std::os::fd::AsFd;
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}

/// Elsewhere a console may want another encoding, which the standard library knows.
#[cfg(not(unix))]
type PlainStdout = io::Stdout;

#[cfg(not(unix))]
fn plain_stdout() -> io::Result<PlainStdout> {
    Ok(io::stdout())
}

/// Writes a file whole or not at all.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut destination = Destination::open(path)?;
    destination.write_all(bytes).with_context(|| path.display().to_string())?;
    destination.finish()
}

/// What a path names, to be written to.
pub(crate) enum Destination {
    /// A file beside it that takes its place.
    Beside { file: NamedTempFile, path: PathBuf },
    /// A device or a pipe, whose place nothing may take.
    Through(File),
}

impl Destination {
    fn open(path: &Path) -> Result<Self> {
        let found = fs::metadata(path);
        if found.is_ok_and(|it| !it.is_file() && !it.is_dir()) {
            let file = File::options().write(true).open(path);
            return file.map(Self::Through).with_context(|| path.display().to_string());
        }
        // A link stays one: the file that it leads to is replaced.
        let path = match path.is_symlink() {
            true => fs::canonicalize(path).with_context(|| path.display().to_string())?,
            false => path.to_owned(),
        };
        Ok(Self::Beside { file: temporary_beside(&path)?, path })
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::Beside { file, path } => {
                let placed = file.persist(&path).map_err(|it| it.error);
                placed.map(|_| ()).with_context(|| path.display().to_string())
            }
            Self::Through(mut file) => Ok(file.flush()?),
        }
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Beside { file, .. } => file.write(bytes),
            Self::Through(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Beside { file, .. } => file.flush(),
            Self::Through(file) => file.flush(),
        }
    }
}

fn temporary_beside(path: &Path) -> Result<NamedTempFile> {
    let directory = path.parent().filter(|it| !it.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".hsaco-");
    #[cfg(unix)]
    {
        // What a plain create would give: the umask takes from it what it takes.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    // The kind alone: the message names a file that nobody asked for.
    let created = builder.tempfile_in(directory).map_err(|error| io::Error::from(error.kind()));
    created.with_context(|| path.display().to_string())
}
