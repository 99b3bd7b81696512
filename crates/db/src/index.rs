//! What files hold, without the files: a persistent index of library trees.
//!
//! An [`Index`] knows files by their content, and paths by a stamp that changes when the file does. It is bytes and back,
//! nothing else: the caller reads and writes the file. Bytes that are no index, or not all of one, are an error.
//!
//! ```
//! use hsaco_db::index::{FileRecord, Index, Stamp, key_of};
//! let mut index = Index::default();
//! let (key, stamp) = (key_of(b"content"), Stamp { size: 7, modified: 1, identity: 2 });
//! index.insert("lib/a.so", Some(stamp), key, FileRecord::default());
//! let again = Index::from_bytes(&index.to_bytes())?;
//! assert!(again.by_stamp("lib/a.so", stamp).is_some() && again.by_content(key).is_some());
//! assert!(again.by_stamp("lib/a.so", Stamp { size: 8, ..stamp }).is_none());
//! # Ok::<(), hsaco_bytes::Error>(())
//! ```

mod codec;

use std::collections::BTreeMap;

use hsaco_bytes::{Error, ErrorKind, Result};
use hsaco_container::md5::digest;
use hsaco_elf::symbol::Symbol;
use hsaco_object::{CodeObject, Resources};

use codec::{Read, Write};

/// What an index begins with.
pub const MAGIC: [u8; 8] = *b"HSACOIDX";

/// The version of the bytes, which is that of what is recorded too: another one is read anew.
const VERSION: u32 = 2;

/// Content, as a number that other content does not have.
pub type Key = [u8; 16];

/// The key of a file's content.
#[must_use]
pub fn key_of(content: &[u8]) -> Key {
    digest(content)
}

/// What a file system says of a file that changes when its content does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// Bytes.
    pub size: u64,
    /// When it was last written, in nanoseconds.
    pub modified: u128,
    /// Which file it is, where the system numbers them.
    pub identity: u64,
}

/// What one file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileRecord {
    /// What the file is, by the name of the container; none if nothing known.
    pub container: Option<String>,
    /// The objects in the order of the file.
    pub objects: Vec<ObjectRecord>,
    /// Entries that hold no device code: the id, where it is, and how many bytes it has.
    pub others: Vec<(Option<String>, Option<u64>, u64)>,
}

/// What is known of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectRecord {
    /// Its number in the file.
    pub number: usize,
    /// The id of its entry.
    pub entry_id: Option<String>,
    /// The file of a package that it is in: its path, and what it is by the name of the container.
    pub member: Option<(String, String)>,
    /// Where it is in the file; none where it is compressed.
    pub offset: Option<u64>,
    /// Bytes.
    pub size: u64,
    /// The target, as text.
    pub target: Option<String>,
    /// The version of a generic target; 0 of others.
    pub generic_version: u8,
    /// What the entry holds, such as `ET_DYN` or `bitcode`.
    pub kind: String,
    /// The version of the code object in words, such as `V6`.
    pub version: String,
    /// `EI_ABIVERSION`.
    pub abi_version: Option<u8>,
    /// The code object version.
    pub code_object_version: Option<u8>,
    /// Kernels.
    pub kernels: Vec<KernelRecord>,
    /// Device functions.
    pub functions: Vec<SymbolRecord>,
    /// Variables.
    pub variables: Vec<SymbolRecord>,
    /// Variables in LDS.
    pub lds_variables: Vec<SymbolRecord>,
    /// What is wanted from other objects.
    pub externals: Vec<SymbolRecord>,
}

/// What is known of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelRecord {
    /// The mangled name.
    pub name: Vec<u8>,
    /// The name of its descriptor's symbol.
    pub symbol: Option<Vec<u8>>,
    /// Where its descriptor is.
    pub descriptor: Option<u64>,
    /// Where its code begins.
    pub entry: Option<u64>,
    /// Bytes of code.
    pub code_size: Option<u64>,
    /// What it needs of a device.
    pub resources: Resources,
}

/// A symbol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SymbolRecord {
    /// The mangled name.
    pub name: Vec<u8>,
    /// Where it is.
    pub address: u64,
    /// Bytes.
    pub size: u64,
}

impl ObjectRecord {
    /// Records what an object defines. What it is called and where it is, is up to the caller. Gives what is wrong with
    /// the object, or with the kernel that is named; the rest is recorded.
    pub fn read(&mut self, object: &CodeObject<'_>) -> Vec<(Option<String>, Error)> {
        let index = object.index();
        let problems = object.problems();
        let problems = problems.iter().chain(index.problems());
        let mut problems: Vec<_> = problems.map(|problem| (None, problem.clone())).collect();
        let generation = object.target().generation();
        for kernel in index.kernels() {
            let (resources, metadata) = kernel.resources(generation);
            if let Err(error) = metadata {
                problems.push((Some(kernel.name().to_string()), error));
            }
            self.kernels.push(KernelRecord {
                name: kernel.name().as_bytes().to_vec(),
                symbol: kernel.descriptor_symbol().map(|it| it.name.as_bytes().to_vec()),
                descriptor: kernel.descriptor_address(),
                entry: kernel.entry(),
                code_size: kernel.code_size(),
                resources,
            });
        }
        let symbols = |all: &[Symbol<'_>]| all.iter().map(SymbolRecord::new).collect();
        self.functions = symbols(index.functions());
        self.variables = symbols(index.variables());
        self.lds_variables = symbols(index.lds_variables());
        self.externals = symbols(index.externals());
        problems
    }
}

impl SymbolRecord {
    fn new(symbol: &Symbol<'_>) -> Self {
        let name = symbol.name.as_bytes().to_vec();
        SymbolRecord { name, address: symbol.value, size: symbol.size }
    }
}

/// What many files hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    paths: BTreeMap<String, (Stamp, Key)>,
    contents: BTreeMap<Key, FileRecord>,
}

impl Index {
    /// What the file of a path holds, if it is as it was.
    #[must_use]
    pub fn by_stamp(&self, path: &str, stamp: Stamp) -> Option<&FileRecord> {
        let (known, key) = self.paths.get(path)?;
        self.contents.get(key).filter(|_| *known == stamp)
    }

    /// What content holds, whatever file it is in.
    #[must_use]
    pub fn by_content(&self, key: Key) -> Option<&FileRecord> {
        self.contents.get(&key)
    }

    /// Takes in a file. Without a stamp its content will have to be looked at again.
    pub fn insert(&mut self, path: &str, stamp: Option<Stamp>, key: Key, record: FileRecord) {
        self.contents.insert(key, record);
        let before = match stamp {
            Some(stamp) => self.paths.insert(path.to_owned(), (stamp, key)),
            None => self.paths.remove(path),
        };
        if let Some((_, old)) = before {
            self.forget(old, key);
        }
    }

    /// Drops content that a file had and no file has any more.
    fn forget(&mut self, old: Key, new: Key) {
        if old != new && !self.paths.values().any(|(_, key)| *key == old) {
            self.contents.remove(&old);
        }
    }

    /// Takes in what another index knows, which comes first where both know a path.
    pub fn merge(&mut self, other: Self) {
        self.contents.extend(other.contents);
        for (path, (stamp, key)) in other.paths {
            if let Some((_, old)) = self.paths.insert(path, (stamp, key)) {
                self.forget(old, key);
            }
        }
    }

    /// How many contents are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.contents.len()
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.contents.is_empty()
    }

    /// The index as bytes: what they are, how many and which they must be, and then what is known.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut body = Vec::new();
        body.number(self.contents.len() as u64);
        for (key, record) in &self.contents {
            body.extend_from_slice(key);
            record.write(&mut body);
        }
        body.number(self.paths.len() as u64);
        for (path, (stamp, key)) in &self.paths {
            body.text(path.as_bytes());
            stamp.write(&mut body);
            body.extend_from_slice(key);
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((body.len() as u64).to_le_bytes());
        bytes.extend(digest(&body));
        bytes.extend(body);
        bytes
    }

    /// The index again. Bytes that are missing or changed are noticed: nothing of them is believed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut input = Read::new(bytes);
        if input.array::<8>().is_none_or(|magic| magic != MAGIC) {
            return Err(Error::new(ErrorKind::NotRecognised, "index", "no index begins so").at(0));
        }
        let version = input.array().map(u32::from_le_bytes);
        if version.is_some_and(|version| version != VERSION) {
            let detail = format!("version {}, not {VERSION}", version.unwrap_or_default());
            return Err(Error::new(ErrorKind::Unsupported, "index", detail).at(8));
        }
        let size = input.array().map(u64::from_le_bytes);
        let sum: Option<Key> = input.array();
        let body = input.rest();
        if size != Some(body.len() as u64) {
            let (has, wants) = (body.len(), size.unwrap_or_default());
            let detail = format!("{has} bytes follow the header, which announces {wants}");
            return Err(Error::new(ErrorKind::Truncated, "index", detail).at(12));
        }
        if sum != Some(digest(body)) {
            let detail = "its bytes are not those that were written";
            return Err(Error::new(ErrorKind::Malformed, "index", detail).at(20));
        }
        let malformed = || Error::new(ErrorKind::Malformed, "index", "it ends within a record");
        Self::read(&mut Read::new(body)).ok_or_else(malformed)
    }

    fn read(input: &mut Read<'_>) -> Option<Self> {
        let mut index = Self::default();
        for _ in 0..input.number()? {
            let key = input.array()?;
            index.contents.insert(key, FileRecord::read(input)?);
        }
        for _ in 0..input.number()? {
            let path = input.string()?;
            let stamp = Stamp::read(input)?;
            index.paths.insert(path, (stamp, input.array()?));
        }
        input.rest().is_empty().then_some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Index {
        let file = include_bytes!("../../../tests/fixtures/lines.dwarf5.co");
        let object = CodeObject::parse(file).unwrap();
        let mut record = ObjectRecord { target: Some("gfx942".to_owned()), ..Default::default() };
        assert_eq!(record.read(&object), []);
        assert_eq!((record.kernels.len(), record.functions.len()), (4, 1));
        let container = Some("code object".to_owned());
        let others = vec![(Some("host".to_owned()), None, 3)];
        let file_record = FileRecord { container, objects: vec![record], others };
        let mut index = Index::default();
        let stamp = Stamp { size: 3, modified: u128::MAX, identity: 9 };
        index.insert("a", Some(stamp), key_of(file), file_record);
        index.insert("b", None, key_of(b""), FileRecord::default());
        index
    }

    #[test]
    fn an_index_is_the_same_again() {
        let index = example();
        assert_eq!(Index::from_bytes(&index.to_bytes()).unwrap(), index);
        assert_eq!(index.len(), 2);
    }

    #[test]
    fn every_part_of_an_index_and_every_changed_byte_is_refused() {
        let bytes = example().to_bytes();
        for end in 0..bytes.len() {
            assert!(Index::from_bytes(&bytes[..end]).is_err(), "{end}");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            assert!(Index::from_bytes(&changed).is_err(), "{at}");
        }
    }

    /// With a sum that is right, counts that are not must not be believed.
    #[test]
    fn counts_without_records_are_refused() {
        let body = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((body.len() as u64).to_le_bytes());
        bytes.extend(digest(&body));
        bytes.extend(body);
        assert_eq!(Index::from_bytes(&bytes).unwrap_err().kind(), ErrorKind::Malformed);
    }

    #[test]
    fn what_is_merged_comes_first() {
        let (mut old, mut new) = (Index::default(), Index::default());
        let stamp = |modified| Stamp { size: 1, modified, identity: 1 };
        old.insert("a", Some(stamp(1)), key_of(b"1"), FileRecord::default());
        old.insert("b", Some(stamp(1)), key_of(b"1"), FileRecord::default());
        new.insert("a", Some(stamp(2)), key_of(b"2"), FileRecord::default());
        old.merge(new);
        assert!(old.by_stamp("a", stamp(2)).is_some() && old.by_stamp("a", stamp(1)).is_none());
        assert!(old.by_stamp("b", stamp(1)).is_some());
    }
}
