//! Where answers go: standard output, or a file that is written whole or not at all.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal as _, Seek as _, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::NamedTempFile;

use crate::args::{Answer, Format};
use crate::text::Guard;

/// The answer of a verb, on its way out.
pub(crate) struct Output {
    to: To,
    /// What keeps commands to terminals out of text for people.
    guard: Option<Guard>,
}

enum To {
    Stdout { out: BufWriter<PlainStdout>, color: bool },
    File(BufWriter<Destination>),
}

impl Output {
    /// Where an answer goes, in the form that was asked for.
    pub(crate) fn answer(answer: &Answer) -> Result<Self> {
        let out = Self::open(answer.output.as_deref())?;
        Ok(out.for_people(answer.format == Format::Text))
    }

    /// The same; text for people tells terminals nothing but lines and our colours.
    pub(crate) fn for_people(mut self, is_text: bool) -> Self {
        self.guard = is_text.then(|| Guard::new(self.color()));
        self
    }

    /// The same; what is compared byte for byte with other tools is guarded only on its way to a terminal.
    pub(crate) fn exact(self, is_text: bool) -> Self {
        let is_terminal = matches!(self.to, To::Stdout { .. }) && io::stdout().is_terminal();
        self.for_people(is_text && is_terminal)
    }

    /// Standard output, or with a path a file beside it that takes its place in [`finish`](Self::finish).
    pub(crate) fn open(path: Option<&OsStr>) -> Result<Self> {
        match path.filter(|&it| it != "-") {
            None => {
                let choice = anstream::AutoStream::choice(&io::stdout());
                let out = BufWriter::with_capacity(1 << 16, plain_stdout()?);
                let color = choice != anstream::ColorChoice::Never;
                Ok(Self { to: To::Stdout { out, color }, guard: None })
            }
            Some(path) => {
                let to = To::File(BufWriter::new(Destination::open(Path::new(path))?));
                Ok(Self { to, guard: None })
            }
        }
    }

    /// True when the answer may be coloured.
    pub(crate) fn color(&self) -> bool {
        matches!(self.to, To::Stdout { color: true, .. })
    }

    /// Flushes, and puts a file in its place.
    pub(crate) fn finish(mut self) -> Result<()> {
        if let Some(guard) = &mut self.guard {
            guard.finish(&mut self.to)?;
        }
        match self.to {
            To::Stdout { mut out, .. } => Ok(out.flush()?),
            To::File(out) => out.into_inner().map_err(io::IntoInnerError::into_error)?.finish(),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.guard {
            Some(guard) => guard.write(bytes, &mut self.to).map(|()| bytes.len()),
            None => self.to.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Write for To {
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

/// Bytes that are left out together where all are zero: what file systems store apart.
const HOLE: usize = 4096;

/// Bytes of whole blocks of zeros, which take no room in a file that has holes.
pub(crate) fn holes(bytes: &[u8]) -> usize {
    let blocks = bytes.chunks(HOLE).filter(|it| it.len() == HOLE && is_zero(it));
    blocks.count() * HOLE
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// Writes a file whole or not at all, with holes where blocks are zero.
pub(crate) fn write_sparse(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut destination = Destination::open(path)?;
    destination.write_sparse(bytes).with_context(|| path.display().to_string())?;
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

    fn write_sparse(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Self::Beside { file, .. } = self else { return self.write_all(bytes) };
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
