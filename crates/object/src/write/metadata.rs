//! Changing what the notes say: a value here, a kernel there, every other byte as it stands.

use std::collections::{BTreeMap, BTreeSet};

use hsaco_bytes::{Error, ErrorKind, Result, Str};
use hsaco_elf::note::Note;

use crate::CodeObject;
use crate::msgpack::{Head, Reader};
use crate::note::{NT_AMD_HSA_METADATA, NT_AMDGPU_METADATA, OWNER_AMD, OWNER_AMDGPU};

use super::msgpack::{write_array_head, write_map_head, write_str};
use super::{Edit, NewValue, unsupported};

const CONTEXT: &str = "metadata edit";
const KERNELS: &str = "amdhsa.kernels";
const PRINTF: &str = "amdhsa.printf";
const VERSION: &str = "amdhsa.version";

/// Changes to the metadata of one code object: values of kernels and of the root, and kernels of
/// other objects. Unknown keys, the order of keys and every value that is not changed stay as
/// they are, byte for byte.
///
/// ```
/// use hsaco_object::{CodeObject, write::{Edit, MetadataEdit}};
/// # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
/// let object = CodeObject::parse(&file)?;
/// let mut metadata = MetadataEdit::of(&object)?;
/// metadata.set("foo", ".vgpr_count", 300_u64)?;
/// let mut edit = Edit::new(&file)?;
/// metadata.apply(&mut edit)?;
/// let edited = edit.finish()?;
/// let merged = CodeObject::parse(&edited)?.metadata();
/// assert_eq!(merged.kernels()[0].decode()?.vgpr_count, Some(300));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MetadataEdit<'a> {
    documents: Vec<Document<'a>>,
    /// Document and kernel by the name of the kernel's entry.
    names: BTreeMap<&'a [u8], (usize, usize)>,
    ambiguous: BTreeSet<&'a [u8]>,
}

/// One note.
#[derive(Clone, Debug)]
struct Document<'a> {
    /// Where the record begins in the file.
    offset: u64,
    root: MapEdit<'a>,
    kernels: Vec<KernelEdit<'a>>,
    is_changed: bool,
    /// Kernels of other documents, which follow these.
    added: Vec<Vec<u8>>,
}

#[derive(Clone, Debug)]
struct KernelEdit<'a> {
    raw: &'a [u8],
    base: u64,
    /// The map, once something of it changes.
    map: Option<MapEdit<'a>>,
}

/// A map whose values are looked at one by one.
#[derive(Clone, Debug, Default)]
struct MapEdit<'a> {
    head: &'a [u8],
    was: usize,
    entries: Vec<EntryEdit<'a>>,
}

#[derive(Clone, Debug)]
struct EntryEdit<'a> {
    key: Str<'a>,
    /// The key and the value as they stand; empty for a new entry.
    raw: &'a [u8],
    raw_value: &'a [u8],
    /// Where the value stands in the file.
    offset: u64,
    /// The key, when the entry is new.
    new_key: Option<Vec<u8>>,
    new_value: Option<Vec<u8>>,
}

impl<'a> MetadataEdit<'a> {
    /// Begins to change the metadata of a code object.
    ///
    /// # Errors
    /// When a note cannot be read, or is the YAML text of code object V2.
    pub fn of(object: &CodeObject<'a>) -> Result<Self> {
        let mut edit = Self::default();
        for note in object.notes() {
            let note = note?;
            if note.is(OWNER_AMD, NT_AMD_HSA_METADATA) {
                let detail = "metadata of code object V2, which is YAML text";
                return Err(unsupported(CONTEXT, detail).at(note.offset));
            }
            if note.is(OWNER_AMDGPU, NT_AMDGPU_METADATA) {
                edit.add_document(&note)?;
            }
        }
        Ok(edit)
    }

    fn add_document(&mut self, note: &Note<'a>) -> Result<()> {
        let document = Document::read(note)?;
        let number = self.documents.len();
        for (kernel, index) in document.kernels.iter().zip(0..) {
            let Some(name) = kernel.base_name()? else { continue };
            if self.names.insert(name, (number, index)).is_some() {
                self.ambiguous.insert(name);
            }
        }
        self.documents.push(document);
        Ok(())
    }

    /// How many notes there are.
    pub fn documents(&self) -> usize {
        self.documents.len()
    }

    /// Sets a value of the kernel whose entry has this name. A key that is there keeps its place; a
    /// new one goes before the first that is greater, which is where LLVM puts it.
    ///
    /// # Errors
    /// When there is no such kernel, or there are two.
    pub fn set(&mut self, kernel: &str, key: &str, value: impl Into<NewValue>) -> Result<()> {
        let value = value.into().to_bytes()?;
        let (document, map) = self.kernel(kernel)?;
        *document |= map.set(key, value);
        Ok(())
    }

    /// Removes a key of a kernel, and says whether it was there.
    ///
    /// # Errors
    /// When there is no such kernel, or there are two.
    pub fn remove(&mut self, kernel: &str, key: &str) -> Result<bool> {
        let (document, map) = self.kernel(kernel)?;
        let removed = map.remove(key);
        *document |= removed;
        Ok(removed)
    }

    /// Sets a value of the root of every note.
    ///
    /// # Errors
    /// When the key is that of the kernels, or there is no note.
    pub fn set_root(&mut self, key: &str, value: impl Into<NewValue>) -> Result<()> {
        if key == KERNELS || self.documents.is_empty() {
            let detail = format!("{key} in {} notes", self.documents.len());
            return Err(Error::new(ErrorKind::NotFound, CONTEXT, detail));
        }
        let value = value.into().to_bytes()?;
        for document in &mut self.documents {
            document.is_changed |= document.root.set(key, value.clone());
        }
        Ok(())
    }

    /// Appends the kernels and format strings of other metadata to the first note: what comgr does
    /// with notes that the linker put side by side.
    ///
    /// # Errors
    /// When versions differ, or there is no note to append to.
    pub fn append(&mut self, other: &MetadataEdit<'_>) -> Result<()> {
        let Some(first) = self.documents.first_mut() else {
            return Err(Error::new(ErrorKind::NotFound, CONTEXT, "a note to append to"));
        };
        other.documents.iter().try_for_each(|it| first.append(it))
    }

    /// All notes as one document: the first one, and what the others add to it.
    ///
    /// # Errors
    /// When there is none, or versions differ.
    pub fn to_document(&self) -> Result<Vec<u8>> {
        let mut documents = self.documents.iter();
        let Some(first) = documents.next() else {
            return Err(Error::new(ErrorKind::NotFound, CONTEXT, "a metadata note"));
        };
        let mut merged = first.clone();
        documents.try_for_each(|it| merged.append(it))?;
        merged.bytes()
    }

    /// Replaces the contents of the notes that changed.
    ///
    /// # Errors
    /// When a note cannot be written.
    pub fn apply(&self, edit: &mut Edit<'_>) -> Result<()> {
        for document in self.documents.iter().filter(|it| it.is_changed) {
            edit.set_note(document.offset, document.bytes()?);
        }
        Ok(())
    }

    /// Whether a kernel's document has changed, and the kernel's map.
    fn kernel(&mut self, name: &str) -> Result<(&mut bool, &mut MapEdit<'a>)> {
        if self.ambiguous.contains(name.as_bytes()) {
            let detail = format!("two kernels with the name {name}");
            return Err(Error::new(ErrorKind::Ambiguous, CONTEXT, detail));
        }
        let missing = || Error::new(ErrorKind::NotFound, CONTEXT, format!("kernel {name}"));
        let &(document, kernel) = self.names.get(name.as_bytes()).ok_or_else(missing)?;
        let document = self.documents.get_mut(document).ok_or_else(missing)?;
        let kernel = document.kernels.get_mut(kernel).ok_or_else(missing)?;
        let map = match kernel.map.take() {
            Some(map) => map,
            None => MapEdit::read(&mut Reader::new(kernel.raw, kernel.base))?,
        };
        Ok((&mut document.is_changed, kernel.map.insert(map)))
    }
}

impl<'a> Document<'a> {
    fn read(note: &Note<'a>) -> Result<Self> {
        let mut reader = Reader::new(note.desc, note.desc_offset);
        let root = MapEdit::read(&mut reader)?;
        reader.finish()?;
        let kernels = match root.entries.iter().find(|it| it.key == KERNELS) {
            Some(entry) => read_kernels(entry.raw_value, entry.offset)?,
            None => Vec::new(),
        };
        Ok(Self { offset: note.offset, root, kernels, is_changed: false, added: Vec::new() })
    }

    fn append(&mut self, other: &Document<'_>) -> Result<()> {
        let (version, theirs) = (self.root.value(VERSION), other.root.value(VERSION));
        if version != theirs {
            let detail = "amdhsa.version differs between the notes";
            return Err(Error::new(ErrorKind::Mismatch, CONTEXT, detail).at(other.offset));
        }
        for kernel in &other.kernels {
            self.added.push(kernel.bytes()?);
        }
        self.added.extend(other.added.iter().cloned());
        if let Some(printf) = other.root.value(PRINTF) {
            self.append_printf(printf)?;
        }
        for entry in &other.root.entries {
            let key = entry.name();
            let known = [KERNELS, PRINTF, VERSION].iter().any(|it| it.as_bytes() == key);
            if !known && self.root.value_of(key).is_none() {
                self.root.insert(key, entry.value().to_vec());
            }
        }
        self.is_changed = true;
        Ok(())
    }

    /// The format strings of both, each once: they begin with a number of their own.
    fn append_printf(&mut self, theirs: &[u8]) -> Result<()> {
        let strings = |bytes: &[u8]| match NewValue::of(Reader::new(bytes, 0).value()?)? {
            NewValue::Array(items) => Ok(items),
            _ => Err(Error::malformed(CONTEXT, self.offset, "amdhsa.printf is not an array")),
        };
        let mut all = self.root.value(PRINTF).map_or(Ok(Vec::new()), strings)?;
        for item in strings(theirs)? {
            if !all.contains(&item) {
                all.push(item);
            }
        }
        self.root.set(PRINTF, NewValue::Array(all).to_bytes()?);
        Ok(())
    }

    fn bytes(&self) -> Result<Vec<u8>> {
        let mut root = self.root.clone();
        if !self.kernels.is_empty() || !self.added.is_empty() {
            let mut kernels = Vec::new();
            write_array_head(&mut kernels, self.kernels.len() + self.added.len())?;
            for kernel in &self.kernels {
                kernels.extend(kernel.bytes()?);
            }
            kernels.extend(self.added.iter().flatten());
            root.set(KERNELS, kernels);
        }
        root.bytes()
    }
}

fn read_kernels(raw: &[u8], base: u64) -> Result<Vec<KernelEdit<'_>>> {
    let mut reader = Reader::new(raw, base);
    let Head::Array(count) = reader.head()? else {
        return Err(Error::malformed(CONTEXT, base, "amdhsa.kernels is not an array"));
    };
    let kernel = |_| {
        let start = reader;
        reader.skip()?;
        Ok(KernelEdit { raw: reader.since(&start), base: start.offset(), map: None })
    };
    (0..count).map(kernel).collect()
}

impl<'a> KernelEdit<'a> {
    /// The name of the entry: `.symbol` without `.kd`, else `.name`.
    fn base_name(&self) -> Result<Option<&'a [u8]>> {
        let mut reader = Reader::new(self.raw, self.base);
        let Head::Map(count) = reader.head()? else {
            return Err(Error::malformed(CONTEXT, self.base, "a kernel is not a map"));
        };
        let (mut name, mut symbol) = (None, None);
        for _ in 0..count {
            match reader.key()?.as_bytes() {
                b".name" => name = reader.value()?.as_str(),
                b".symbol" => symbol = reader.value()?.as_str(),
                _ => reader.skip()?,
            }
        }
        let base = symbol.map(|it| it.strip_suffix(".kd").unwrap_or(it)).or(name);
        Ok(base.map(Str::as_bytes))
    }

    fn bytes(&self) -> Result<Vec<u8>> {
        self.map.as_ref().map_or_else(|| Ok(self.raw.to_vec()), MapEdit::bytes)
    }
}

impl<'a> MapEdit<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self> {
        let start = *reader;
        let Head::Map(count) = reader.head()? else {
            return Err(Error::malformed(CONTEXT, start.offset(), "not a map"));
        };
        let head = reader.since(&start);
        let mut entries = Vec::new();
        for _ in 0..count {
            let key_at = *reader;
            let key = reader.key()?;
            let value_at = *reader;
            reader.skip()?;
            entries.push(EntryEdit {
                key,
                raw: reader.since(&key_at),
                raw_value: reader.since(&value_at),
                offset: value_at.offset(),
                new_key: None,
                new_value: None,
            });
        }
        Ok(Self { head, was: entries.len(), entries })
    }

    fn value(&self, key: &str) -> Option<&[u8]> {
        self.value_of(key.as_bytes())
    }

    fn value_of(&self, key: &[u8]) -> Option<&[u8]> {
        self.entries.iter().find(|it| it.name() == key).map(EntryEdit::value)
    }

    /// Sets a value, and says whether that changed anything.
    fn set(&mut self, key: &str, value: Vec<u8>) -> bool {
        let Some(entry) = self.entries.iter_mut().find(|it| it.name() == key.as_bytes()) else {
            self.insert(key.as_bytes(), value);
            return true;
        };
        let is_new = entry.value() != value;
        if is_new {
            entry.new_value = Some(value);
        }
        is_new
    }

    fn insert(&mut self, key: &[u8], value: Vec<u8>) {
        let at = self.entries.iter().position(|it| it.name() > key);
        let entry = EntryEdit {
            key: Str::default(),
            raw: &[],
            raw_value: &[],
            offset: 0,
            new_key: Some(key.to_vec()),
            new_value: Some(value),
        };
        self.entries.insert(at.unwrap_or(self.entries.len()), entry);
    }

    fn remove(&mut self, key: &str) -> bool {
        let before = self.entries.len();
        self.entries.retain(|it| it.name() != key.as_bytes());
        self.entries.len() != before
    }

    fn bytes(&self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        match self.entries.len() == self.was {
            true => out.extend_from_slice(self.head),
            false => write_map_head(&mut out, self.entries.len())?,
        }
        for entry in &self.entries {
            match &entry.new_key {
                Some(key) => write_str(&mut out, key)?,
                None => {
                    let key = entry.raw.len() - entry.raw_value.len();
                    out.extend_from_slice(entry.raw.get(..key).unwrap_or_default());
                }
            }
            out.extend_from_slice(entry.value());
        }
        Ok(out)
    }
}

impl EntryEdit<'_> {
    fn name(&self) -> &[u8] {
        self.new_key.as_deref().unwrap_or(self.key.as_bytes())
    }

    fn value(&self) -> &[u8] {
        self.new_value.as_deref().unwrap_or(self.raw_value)
    }
}
