//! Taking a file apart: its objects as files of their own, with a manifest from which its bundles are made again.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use hsaco_container::manifest::{Manifest, SUFFIX, Store};
use hsaco_container::{Container, Entry, OuterBundles};
use serde::Serialize;

use crate::error::{FileError, Result};
use crate::input::Input;
use crate::item::{ObjectItem, Trouble};
use crate::name::{file_name_part, object_uri, unique_stem};
use crate::output::write_file;
use crate::select::ObjectSelection;

/// One entry of a file.
#[derive(Debug)]
pub struct EntryItem<'e, 'a> {
    /// Its number among the file's objects; the host's entries have none.
    pub number: Option<usize>,
    /// The entry.
    pub entry: &'e Entry<'a>,
    /// The target: of the object, else of the entry's id.
    pub target: Option<String>,
    /// Whether it is among the objects that are selected.
    pub is_wanted: bool,
}

impl<'e, 'a> EntryItem<'e, 'a> {
    /// Looks at an entry; what is wrong with its object is noted.
    pub fn new(
        number: Option<usize>,
        entry: &'e Entry<'a>,
        selection: &ObjectSelection,
        trouble: &mut Trouble,
    ) -> Self {
        let Some(at) = number else {
            return EntryItem { number, entry, target: None, is_wanted: true };
        };
        let object = ObjectItem::new(at, entry, trouble);
        let is_wanted = object.is_wanted(selection);
        EntryItem { number, entry, target: object.target, is_wanted }
    }

    /// Its number, if it is an object that is not empty.
    #[must_use]
    pub fn object(&self) -> Option<usize> {
        self.number.filter(|_| !self.entry.data.is_empty())
    }

    /// The same, if it is wanted.
    #[must_use]
    pub fn wanted_object(&self) -> Option<usize> {
        self.object().filter(|_| self.is_wanted)
    }
}

/// What became of one file.
#[derive(Debug, Default, Serialize)]
pub struct ExtractedFile {
    /// As it was named.
    pub path: String,
    /// What it is.
    pub container: Option<&'static str>,
    /// Its objects.
    pub objects: Vec<ExtractedObject>,
    /// Files that only the manifest needs.
    pub other_files: Vec<OtherFile>,
    /// The manifest's file.
    pub manifest: Option<String>,
    /// What is wrong with it.
    pub error: Option<String>,
}

/// An object that was written or listed.
#[derive(Clone, Debug, Serialize)]
pub struct ExtractedObject {
    /// Its number in its file.
    pub index: usize,
    /// Where it was written.
    pub file: Option<String>,
    /// Where it is.
    pub uri: Option<String>,
    /// The id of its entry.
    pub entry_id: Option<String>,
    /// What it is for.
    pub target: Option<String>,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Where it begins, unless it is compressed.
    pub offset: Option<u64>,
    /// Its bytes.
    pub size: u64,
}

/// A file that only a manifest needs.
#[derive(Clone, Debug, Serialize)]
pub struct OtherFile {
    /// Its path.
    pub file: String,
    /// Its bytes.
    pub size: u64,
}

/// Something that was done, to be told.
#[derive(Clone, Debug)]
pub enum Extracted {
    /// An object was written, or where it is was found.
    Object(ExtractedObject),
    /// A file was written that the manifest needs, for this.
    Other(OtherFile, String),
    /// The manifest was written, of so many bundles.
    Manifest(String, usize),
}

/// What could not be done for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// So many objects have no URI, because they are compressed.
    Uris(usize),
    /// There is no manifest, because a compressed block holds no bundle.
    Manifest,
}

/// Writes the objects of files to a directory, or lists where they are.
#[derive(Debug)]
pub struct Extraction {
    /// Where to write; nothing is written without.
    directory: Option<PathBuf>,
    wants_manifest: bool,
    max_size: u64,
    /// What became of files so far.
    pub files: Vec<ExtractedFile>,
    /// What was done since this was last taken.
    pub done: Vec<Extracted>,
    /// The stems of all files so far, and of the current one.
    stems: HashSet<String>,
    stem: String,
    bundles: OuterBundles,
    /// Objects of the current file that have no URI.
    compressed: usize,
}

impl Extraction {
    /// Writes into a directory, or without one only lists; a manifest needs all entries, and a cap of what they unfold to.
    #[must_use]
    pub fn new(directory: Option<PathBuf>, wants_manifest: bool, max_size: u64) -> Self {
        Self {
            wants_manifest: wants_manifest && directory.is_some(),
            directory,
            max_size,
            files: Vec::new(),
            done: Vec::new(),
            stems: HashSet::new(),
            stem: String::new(),
            bundles: OuterBundles::default(),
            compressed: 0,
        }
    }

    /// Notes a file that could not be opened.
    pub fn unopened(&mut self, name: &str) {
        self.files.push(ExtractedFile { path: name.to_owned(), ..ExtractedFile::default() });
    }

    /// Begins a file.
    pub fn begin(&mut self, name: &str, container: Option<Container>) {
        self.unopened(name);
        self.row().container = container.map(Container::name);
        self.stem = unique_stem(name, &mut self.stems);
        self.bundles = OuterBundles::default();
        self.compressed = 0;
    }

    /// Takes an entry of the file that was begun.
    ///
    /// # Errors
    /// When its file cannot be written, or its URI is not known.
    pub fn entry(&mut self, name: &str, item: &EntryItem<'_, '_>) -> Result<()> {
        let file = match item.wanted_object() {
            Some(number) => self.object(name, item, number)?,
            None => None,
        };
        self.bundles.add(item.entry, file);
        Ok(())
    }

    /// Ends a file, which is whole if every container in it could be followed to its end.
    ///
    /// # Errors
    /// When the manifest, or a file that it needs, cannot be written.
    pub fn end(&mut self, input: &Input, is_whole: bool) -> Result<Vec<LeftOut>> {
        let mut left_out = Vec::new();
        if self.wants_manifest && is_whole && !self.bundles.0.is_empty() && !self.manifest(input)? {
            left_out.push(LeftOut::Manifest);
        }
        if self.directory.is_none() && self.compressed > 0 {
            left_out.push(LeftOut::Uris(self.compressed));
        }
        Ok(left_out)
    }

    /// Notes what is wrong with the file.
    pub fn set_error(&mut self, error: Option<&str>) {
        self.row().error = error.map(str::to_owned);
    }

    /// The file that was begun last.
    fn row(&mut self) -> &mut ExtractedFile {
        if self.files.is_empty() {
            self.files.push(ExtractedFile::default());
        }
        let last = self.files.len() - 1;
        #[allow(clippy::indexing_slicing, reason = "there is one")]
        &mut self.files[last]
    }

    /// Writes or lists one object, and returns the name of its file.
    fn object(
        &mut self,
        input: &str,
        item: &EntryItem<'_, '_>,
        number: usize,
    ) -> Result<Option<String>> {
        let size = item.entry.data.len() as u64;
        let (mut name, mut uri) = (None, None);
        if self.directory.is_some() {
            let target = item.target.as_deref().unwrap_or("unknown");
            let extension = item.entry.kind.extension();
            let file = format!("{}.{number}.{}.{extension}", self.stem, file_name_part(target));
            self.write(&file, &item.entry.data)?;
            name = Some(file);
        } else if let Some(offset) = item.entry.offset {
            uri = Some(object_uri(input, offset, size)?.to_string());
        } else {
            self.compressed += 1;
        }
        let object = ExtractedObject {
            index: number,
            file: name.as_ref().map(|it| self.shown(it)),
            uri,
            entry_id: item.entry.id.clone(),
            target: item.target.clone(),
            kind: item.entry.kind.name(),
            offset: item.entry.offset,
            size,
        };
        self.done.push(Extracted::Object(object.clone()));
        self.row().objects.push(object);
        Ok(name)
    }

    /// The path of a file in the directory, as it is shown.
    fn shown(&self, name: &str) -> String {
        let directory = self.directory.as_deref().filter(|&it| it != Path::new("."));
        directory.unwrap_or(Path::new("")).join(name).display().to_string()
    }

    fn write(&self, name: &str, data: &[u8]) -> Result<()> {
        let directory = self.directory.as_deref().unwrap_or(Path::new("."));
        let named = |error, path: &Path| FileError::from(error).in_file(path);
        fs::create_dir_all(directory).map_err(|error| named(error, directory))?;
        let path = directory.join(name);
        write_file(&path, data).map_err(|error| named(error, &path))
    }

    /// Writes a file that only the manifest needs.
    fn write_other(&mut self, name: &str, data: &[u8], what: &str) -> Result<()> {
        self.write(name, data)?;
        let other = OtherFile { file: self.shown(name), size: data.len() as u64 };
        self.done.push(Extracted::Other(other.clone(), what.to_owned()));
        self.row().other_files.push(other);
        Ok(())
    }

    /// Writes the manifest of the current file; false if there is none.
    fn manifest(&mut self, input: &Input) -> Result<bool> {
        let bundles = std::mem::take(&mut self.bundles);
        let container = self.row().container.unwrap_or_default();
        let (name, max_size) = (&input.name, self.max_size);
        let described = Manifest::describe(name, container, input, &bundles, max_size, self)?;
        let Some(described) = described else { return Ok(false) };
        let name = format!("{}{SUFFIX}", self.stem);
        self.write(&name, described.to_json().as_bytes())?;
        let shown = self.shown(&name);
        self.done.push(Extracted::Manifest(shown.clone(), described.len()));
        self.row().manifest = Some(shown);
        Ok(true)
    }
}

/// What a manifest needs goes beside the objects.
impl Store for Extraction {
    type Error = FileError;

    fn block(&mut self, bundle: usize, bytes: &[u8]) -> Result<String> {
        let name = format!("{}.{bundle}.ccob", self.stem);
        self.write_other(&name, bytes, "compressed bundle as it is")?;
        Ok(name)
    }

    fn entry(&mut self, bundle: usize, index: usize, id: &str, bytes: &[u8]) -> Result<String> {
        let name = format!("{}.{bundle}-{index}.{}.bin", self.stem, file_name_part(id));
        self.write_other(&name, bytes, id)?;
        Ok(name)
    }
}
