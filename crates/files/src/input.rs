//! Opening what a command line names: files, directories, URIs, standard input.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};

use hsaco_container::uri::Uri;
use hsaco_container::{WalkOptions, member};
use hsaco_db::{Content, ContentView, Stored as _};
use memmap2::Mmap;

use crate::error::{FileError, Result};
use crate::mapping::{map, release_pages};
use crate::stored::StoredFile;

/// One file's bytes.
pub struct Input {
    /// What to call it: as the user spelled it.
    pub name: String,
    /// True when no argument names the file: it was found in a directory, and may be anything.
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

impl ContentView for Input {
    fn release(&self, part: Range<usize>) {
        if let Data::Mapped(map) = &self.data {
            release_pages(map, self.range.start.saturating_add(part.start), part.len());
        }
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
    /// Bytes that are in memory already, with what to call them.
    #[must_use]
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Self {
        let range = 0..bytes.len();
        Self { name: name.to_owned(), found: false, data: Data::Read(bytes), range }
    }

    /// Lets the system take back the memory behind a part of the file that will not be read again.
    pub fn release(&self, offset: u64, size: u64) {
        let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
        ContentView::release(self, at(offset)..at(offset.saturating_add(size)));
    }
}

/// The files that arguments stand for, opened one at a time.
pub fn inputs(arguments: &[OsString]) -> Inputs {
    let pending = arguments.iter().map(|it| Pending { path: it.clone(), found: false }).collect();
    Inputs { pending }
}

/// The files that arguments stand for, for a database: one at a time, and read when something of them is asked for.
pub fn stored_inputs(
    arguments: &[OsString],
) -> impl Iterator<Item = Result<StoredInput, Unopened>> + use<> {
    let mut inputs = inputs(arguments);
    std::iter::from_fn(move || Some(inputs.next_place()?.and_then(Place::store)))
}

/// A file for a database.
pub struct StoredInput {
    /// What to call it: as the user spelled it.
    pub name: String,
    /// True when no argument names the file: it was found in a directory, and may be anything.
    pub found: bool,
    /// What it holds.
    pub content: Content,
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
#[derive(Debug)]
pub struct Unopened {
    /// What to call it: as the user spelled it.
    pub name: String,
    /// Why not.
    pub error: FileError,
}

impl fmt::Display for Unopened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.error)
    }
}

impl std::error::Error for Unopened {}

/// Something that an argument stands for: a file, standard input, a URI.
#[derive(Clone, Debug)]
pub struct Place {
    path: OsString,
    /// What to call it: as the user spelled it.
    pub name: String,
    /// True when no argument names the file: it was found in a directory.
    pub found: bool,
}

impl Place {
    /// The file that it is, unless it is something else.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        (self.path != "-" && !self.is_uri()).then(|| Path::new(&self.path))
    }

    fn is_uri(&self) -> bool {
        self.name.starts_with("file://") || self.name.starts_with("memory://")
    }

    /// Opens it for a database, which reads of a file what it is asked for.
    fn store(self) -> Result<StoredInput, Unopened> {
        let stored = match self.path == "-" {
            true => Ok(None),
            false if self.is_uri() => store_uri(&self.name),
            false => match StoredFile::open(Path::new(&self.path)) {
                Err(_) if package_of(Path::new(&self.path)).is_some() => Ok(None),
                opened => opened.map_err(Into::into),
            },
        };
        match stored {
            Ok(Some(file)) => {
                let content = Content::stored(file);
                Ok(StoredInput { name: self.name, found: self.found, content })
            }
            Ok(None) => {
                let input = self.open()?;
                let content = hsaco_db::Data::from(input.to_vec()).into();
                Ok(StoredInput { name: input.name, found: input.found, content })
            }
            Err(error) => Err(Unopened { name: self.name, error }),
        }
    }

    /// Opens it.
    ///
    /// # Errors
    /// What the system says, or a URI that cannot be followed.
    pub fn open(self) -> Result<Input, Unopened> {
        let opened = if self.path == "-" {
            read_stdin().map(|bytes| (Data::Read(bytes), None))
        } else if self.is_uri() {
            open_uri(&self.name).map(|(data, range)| (data, Some(range)))
        } else {
            let path = Path::new(&self.path);
            let opened = open_file(path).or_else(|error| open_member(path).unwrap_or(Err(error)));
            opened.map(|data| (data, None))
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
    pub fn next_place(&mut self) -> Option<Result<Place, Unopened>> {
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
        // What is not there at all is told when it is opened: it may be a file of a package.
        let is_directory = path.is_dir();
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

/// The file within which a path goes on.
fn package_of(path: &Path) -> Option<&Path> {
    path.ancestors().skip(1).find(|it| it.is_file())
}

/// A file of a package, whose path goes on behind that of the package; `None` if there is no such package.
fn open_member(path: &Path) -> Option<Result<Data>> {
    let package = package_of(path)?;
    let inner = path.strip_prefix(package).ok()?.to_str()?;
    let read = open_file(package).and_then(|data| {
        member(&data, inner, &WalkOptions::default())
            .map(Data::Read)
            .map_err(|error| FileError::from(error).in_file(package))
    });
    Some(read)
}

fn open_uri(text: &str) -> Result<(Data, Range<usize>)> {
    let (path, range) = parse_uri(text)?;
    let data = open_file(&path).map_err(|it| it.in_file(&path))?;
    let length = data.len();
    match range.unwrap_or(0..length) {
        range if range.end <= length => Ok((data, range)),
        _ => Err(asks_for_more(&path, length)),
    }
}

fn store_uri(text: &str) -> Result<Option<StoredFile>> {
    let (path, range) = parse_uri(text)?;
    let file = StoredFile::open(&path).map_err(|it| FileError::from(it).in_file(&path))?;
    let Some(file) = file else { return Ok(None) };
    let length = file.size();
    let part = file.part(range.unwrap_or(0..length));
    part.map(Some).ok_or_else(|| asks_for_more(&path, length))
}

/// The file that a URI names, and which of its bytes if it does not name all.
fn parse_uri(text: &str) -> Result<(PathBuf, Option<Range<usize>>)> {
    let Uri::File { path, range } = Uri::parse(text)? else {
        let text = "only file:// URIs can be opened: the memory of a process is not read";
        return Err(FileError::new(text));
    };
    let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
    let range = range.map(|it| at(it.offset)..at(it.offset.saturating_add(it.size)));
    Ok((path_from_bytes(path)?, range))
}

fn asks_for_more(path: &Path, length: usize) -> FileError {
    FileError::new(format!("{} has {length} bytes, and the URI asks for more", path.display()))
}

#[cfg(unix)]
fn path_from_bytes(bytes: Vec<u8>) -> Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    Ok(PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(not(unix))]
fn path_from_bytes(bytes: Vec<u8>) -> Result<PathBuf> {
    let text = String::from_utf8(bytes);
    text.map(PathBuf::from).map_err(|error| FileError::new(error.to_string()))
}
