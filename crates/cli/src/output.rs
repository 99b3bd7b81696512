//! Where answers go: standard output, or a file that is written whole or not at all.

use std::ffi::OsStr;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use hsaco_files::NewFile;

use crate::args::{Answer, Format};
use hsaco::bytes::Guard;

/// The answer of a verb, on its way out.
pub(crate) struct Output {
    to: To,
    /// What keeps commands to terminals out of text for people.
    guard: Option<Guard>,
}

enum To {
    /// Shared with the progress that standard error shows, if both are the terminal and nothing was written yet.
    Stdout {
        out: BufWriter<PlainStdout>,
        color: bool,
        is_shared: bool,
    },
    File(BufWriter<NewFile>, PathBuf),
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
                let is_shared = io::stdout().is_terminal();
                Ok(Self { to: To::Stdout { out, color, is_shared }, guard: None })
            }
            Some(path) => {
                let path = Path::new(path);
                let file = NewFile::create(path).with_context(|| path.display().to_string())?;
                let to = To::File(BufWriter::new(file), path.to_owned());
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
            To::File(out, path) => {
                let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.finish().with_context(|| path.display().to_string())
            }
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
            Self::Stdout { out, is_shared, .. } => {
                if std::mem::take(is_shared) {
                    hsaco_files::progress::end();
                }
                out.write(bytes)
            }
            Self::File(out, _) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout { out, .. } => out.flush(),
            Self::File(out, _) => out.flush(),
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
    hsaco_files::write_file(path, bytes).with_context(|| path.display().to_string())
}
