//! Opening what the command line names: files, directories, URIs, standard input.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use hsaco::object::uri::Uri;
use memmap2::Mmap;

/// One file's bytes.
pub struct Input {
    /// What to call it: as the user spelled it.
    pub name: String,
    /// True when nobody named the file: it was found in a directory, and may be anything.
    pub found: bool,
    data: Data,
    range: Range<usize>,
}

enum Data {
    Mapped(Mmap),
    Read(Vec<u8>),
}

impl Deref for Input {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.data.get(self.range.clone()).unwrap_or_default()
    }
}

impl AsRef<[u8]> for Input {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl hsaco::db::Owner for Input {
    fn release(&self, range: Range<usize>) {
        Input::release(self, range.start as u64, range.len() as u64);
    }
}

impl Deref for Data {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Read(bytes) => bytes,
        }
    }
}

impl Input {
    /// Lets the system take back the memory behind a part of the file that will not be read again.
    pub(crate) fn release(&self, offset: u64, size: u64) {
        let (Data::Mapped(map), Ok(offset), Ok(size)) =
            (&self.data, usize::try_from(offset), usize::try_from(size))
        else {
            return;
        };
        release_pages(map, self.range.start.saturating_add(offset), size);
    }
}

#[cfg(unix)]
fn release_pages(map: &Mmap, offset: usize, size: usize) {
    let size = size.min(map.len().saturating_sub(offset));
    let advice = memmap2::UncheckedAdvice::DontNeed;
    // SAFETY: the mapping is shared, read-only and of a file: dropped pages are read from the file
    // again when touched, so no byte that a reference can see changes.
    #[allow(unsafe_code)]
    let result = unsafe { map.unchecked_advise_range(advice, offset, size) };
    // Advice that is not taken costs memory and nothing else.
    drop(result);
}

#[cfg(not(unix))]
fn release_pages(_map: &Mmap, _offset: usize, _size: usize) {}

/// The files that arguments stand for, opened one at a time.
pub fn inputs(arguments: &[OsString]) -> Inputs {
    let pending = arguments.iter().map(|it| Pending { path: it.clone(), found: false }).collect();
    Inputs { pending }
}

/// Iterator over [`Input`]s; an error names what could not be opened.
pub struct Inputs {
    pending: VecDeque<Pending>,
}

struct Pending {
    path: OsString,
    found: bool,
}

/// An argument that could not be opened.
pub struct Unopened {
    /// What to call it: as the user spelled it.
    pub name: String,
    /// Why not.
    pub error: anyhow::Error,
}

/// Something that an argument stands for: a file, standard input, a URI.
pub(crate) struct Place {
    path: OsString,
    /// What to call it: as the user spelled it.
    pub(crate) name: String,
    /// True when nobody named the file.
    pub(crate) found: bool,
}

impl Place {
    /// The file that it is, unless it is something else.
    pub(crate) fn file(&self) -> Option<&Path> {
        (self.path != "-" && !self.is_uri()).then(|| Path::new(&self.path))
    }

    fn is_uri(&self) -> bool {
        self.name.starts_with("file://") || self.name.starts_with("memory://")
    }

    /// Opens it.
    pub(crate) fn open(self) -> Result<Input, Unopened> {
        let opened = if self.path == "-" {
            read_stdin().map(|bytes| (Data::Read(bytes), None))
        } else if self.is_uri() {
            open_uri(&self.name).map(|(data, range)| (data, Some(range)))
        } else {
            open_file(Path::new(&self.path)).map(|data| (data, None))
        };
        match opened {
            Ok((data, range)) => {
                let range = range.unwrap_or(0..data.len());
                Ok(Input { name: self.name, found: self.found, data, range })
            }
            Err(error) => Err(Unopened { name: self.name, error }),
        }
    }
}

impl Iterator for Inputs {
    type Item = Result<Input, Unopened>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.next_place()?.and_then(Place::open))
    }
}

impl Inputs {
    /// The next, before it is opened; a directory is replaced by what is in it.
    pub(crate) fn next_place(&mut self) -> Option<Result<Place, Unopened>> {
        loop {
            let Pending { path, found } = self.pending.pop_front()?;
            let name = path.to_string_lossy().into_owned();
            let place = Place { path, name, found };
            match place.file().map(|path| self.replace_directory(path)) {
                Some(Ok(true)) => {}
                None | Some(Ok(false)) => return Some(Ok(place)),
                Some(Err(error)) => return Some(Err(Unopened { name: place.name, error })),
            }
        }
    }

    fn replace_directory(&mut self, path: &Path) -> Result<bool> {
        let is_directory = std::fs::metadata(path)?.is_dir();
        if is_directory {
            self.push_directory(path)?;
        }
        Ok(is_directory)
    }

    /// Puts a directory's entries in front, sorted; links inside it are not followed, so that no
    /// cycle can be entered.
    fn push_directory(&mut self, path: &Path) -> Result<()> {
        let mut paths: Vec<PathBuf> = Vec::new();
        for entry in std::fs::read_dir(path)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() || kind.is_file() {
                paths.push(entry.path());
            }
        }
        paths.sort_unstable();
        for path in paths.into_iter().rev() {
            self.pending.push_front(Pending { path: path.into_os_string(), found: true });
        }
        Ok(())
    }
}

fn read_stdin() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn open_file(path: &Path) -> Result<Data> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() && metadata.len() > 0 {
        return Ok(Data::Mapped(map(&file)?));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Data::Read(bytes))
}

fn map(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: the map is only read, and read as bytes of which nothing is assumed. A file that
    // another process cuts short while it is read ends this process with a signal, as it would end
    // any tool that maps files; nothing is written before the answer is complete.
    #[allow(unsafe_code)]
    unsafe {
        Mmap::map(file)
    }
}

fn open_uri(text: &str) -> Result<(Data, Range<usize>)> {
    let Uri::File { path, range } = Uri::parse(text)? else {
        bail!("only file:// URIs can be opened: the memory of a process is not read");
    };
    let path = path_from_bytes(path)?;
    let data = open_file(&path).with_context(|| path.display().to_string())?;
    let length = data.len();
    let Some(range) = range else {
        return Ok((data, 0..length));
    };
    let start = usize::try_from(range.offset).ok();
    let end = range.offset.checked_add(range.size).and_then(|end| usize::try_from(end).ok());
    match start.zip(end) {
        Some((start, end)) if end <= length => Ok((data, start..end)),
        _ => bail!("{} has {length} bytes, and the URI asks for more", path.display()),
    }
}

#[cfg(unix)]
fn path_from_bytes(bytes: Vec<u8>) -> Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    Ok(PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(not(unix))]
fn path_from_bytes(bytes: Vec<u8>) -> Result<PathBuf> {
    Ok(PathBuf::from(String::from_utf8(bytes)?))
}
