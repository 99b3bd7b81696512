//! Bytes of files: in memory, or in files that are read when something of them is asked for.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use hsaco_bytes::{Result, memory};
use hsaco_container::{Entry, PackedRange, WalkOptions, WantedTargets, entries};

use crate::data::Data;
use crate::index::key_of;
use crate::unpacked::UnpackedObjects;

/// A file that stays where it is. The database keeps none of its bytes: it reads what it is asked for.
///
/// An implementation does the reading, and notices when the file has changed: such bytes must not be read as
/// what was indexed.
pub trait Stored: Send + Sync {
    /// Which bytes of which file these are: the same text, however its path was spelled.
    fn place(&self) -> &str;

    /// How many bytes there are.
    fn size(&self) -> usize;

    /// All of them, while they are indexed.
    fn view(&self) -> Result<Box<dyn ContentView + '_>>;

    /// Some parts of them, one after the other. An error of kind [`Changed`](hsaco_bytes::ErrorKind::Changed) if the file is not
    /// as it was.
    fn read(&self, parts: &[Range<usize>]) -> Result<Vec<u8>>;

    /// The same error, if the file is not as it was.
    fn check(&self) -> Result<()>;
}

/// All bytes of a file, for a short time.
pub trait ContentView: AsRef<[u8]> {
    /// These bytes were looked at and are not needed for now: the memory behind them may be let go.
    fn release(&self, range: Range<usize>) {
        let _ = range;
    }

    /// The walk through them; an implementation may unpack compressed bundles ahead of it, on every core.
    fn entries<'v>(
        &'v self,
        options: &WalkOptions,
        wanted: Option<&'v dyn WantedTargets>,
    ) -> FoundEntries<'v> {
        let walk = entries(self.as_ref(), options);
        match wanted {
            Some(wanted) => Box::new(walk.only(wanted)),
            None => Box::new(walk),
        }
    }
}

/// The entries of a file, as [`entries`] finds them.
pub type FoundEntries<'v> = Box<dyn Iterator<Item = Result<Entry<'v>>> + 'v>;

struct Borrowed<'a>(&'a [u8]);

impl AsRef<[u8]> for Borrowed<'_> {
    fn as_ref(&self) -> &[u8] {
        self.0
    }
}

impl ContentView for Borrowed<'_> {}

struct Unpacked(Data);

impl AsRef<[u8]> for Unpacked {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl ContentView for Unpacked {}

/// What a file holds, or a part of that. Cloning copies nothing.
///
/// ```
/// use hsaco_db::{Content, Database};
/// let content: Content = std::fs::read("../../tests/fixtures/s1.gfx942.co")?.into();
/// Database::new().add("s1.co", content)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Content(Keeper);

#[derive(Clone)]
enum Keeper {
    Memory(Data),
    Stored(Arc<dyn Stored>, Range<usize>),
    /// A part of an object that is unpacked when something of it is asked for.
    Packed(Arc<PackedObject>, Range<usize>),
}

impl Content {
    /// What a file holds that is read when something of it is asked for.
    pub fn stored(file: impl Stored + 'static) -> Self {
        let range = 0..file.size();
        Content(Keeper::Stored(Arc::new(file), range))
    }

    /// What tells it from the content of other files; `name` is what bytes in memory are called.
    pub(crate) fn place(&self, name: &str) -> String {
        match &self.0 {
            Keeper::Memory(data) => format!("{name}\0{:x?}", key_of(data.as_ref())),
            Keeper::Stored(file, _) => file.place().to_owned(),
            Keeper::Packed(..) => name.to_owned(),
        }
    }

    /// An error if the file is not as it was.
    pub(crate) fn check(&self) -> Result<()> {
        match &self.0 {
            Keeper::Memory(_) | Keeper::Packed(..) => Ok(()),
            Keeper::Stored(file, _) => file.check(),
        }
    }

    /// All bytes of the file, while they are indexed.
    pub(crate) fn view(&self) -> Result<Box<dyn ContentView + '_>> {
        match &self.0 {
            Keeper::Memory(data) => Ok(Box::new(Borrowed(data.as_ref()))),
            Keeper::Stored(file, _) => file.view(),
            Keeper::Packed(object, range) => {
                let data = object.data()?.range(range.clone());
                Ok(Box::new(Unpacked(data)))
            }
        }
    }

    /// What an entry of the file holds, which `view` shows: a part of the file; of what is packed a compressed bundle holds it
    /// that can be unpacked again, or else the database a copy.
    pub(crate) fn entry(
        &self,
        view: &[u8],
        entry: &Entry<'_>,
        (cap, unpacked): (u64, &Arc<UnpackedObjects>),
    ) -> Result<Self> {
        let bytes = &entry.data;
        if let Some(range) = &entry.packed {
            let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
            let bundle = self.part(at(range.bundle.start)..at(range.bundle.end));
            let (number, unpacked) = (unpacked.number(), Arc::clone(unpacked));
            unpacked.offer(number, bytes);
            let object = PackedObject { number, bundle, range: range.clone(), cap, unpacked };
            return Ok(Content(Keeper::Packed(Arc::new(object), 0..bytes.len())));
        }
        if bytes.shared().is_some() {
            return Ok(memory::copy(bytes, "object")?.into());
        }
        let start = bytes.as_ptr().addr().saturating_sub(view.as_ptr().addr());
        Ok(self.part(start..start.saturating_add(bytes.len())))
    }

    fn part(&self, part: Range<usize>) -> Self {
        Content(match &self.0 {
            Keeper::Memory(data) => Keeper::Memory(data.range(part)),
            Keeper::Stored(file, range) => Keeper::Stored(Arc::clone(file), within(range, &part)),
            Keeper::Packed(object, range) => {
                Keeper::Packed(Arc::clone(object), within(range, &part))
            }
        })
    }

    /// The bytes, if they are in memory.
    pub(crate) fn in_memory(&self) -> Option<&[u8]> {
        match &self.0 {
            Keeper::Memory(data) => Some(data.as_ref()),
            Keeper::Stored(..) | Keeper::Packed(..) => None,
        }
    }

    /// All bytes.
    pub(crate) fn read(&self) -> Result<Cow<'_, [u8]>> {
        match &self.0 {
            Keeper::Memory(data) => Ok(Cow::Borrowed(data.as_ref())),
            Keeper::Stored(file, range) => file.read(std::slice::from_ref(range)).map(Cow::Owned),
            Keeper::Packed(object, range) => {
                Ok(Cow::Owned(object.data()?.range(range.clone()).to_vec()))
            }
        }
    }

    /// Some parts of the bytes, one after the other.
    pub(crate) fn read_parts(&self, parts: &[Range<usize>]) -> Result<Vec<u8>> {
        match &self.0 {
            Keeper::Memory(data) => Ok(parts_of(data, parts)),
            Keeper::Stored(file, range) => {
                let parts: Vec<_> = parts.iter().map(|part| within(range, part)).collect();
                file.read(&parts)
            }
            Keeper::Packed(object, range) => {
                Ok(parts_of(&object.data()?.range(range.clone()), parts))
            }
        }
    }

    /// A part of the bytes, in memory.
    pub(crate) fn load(&self, part: Range<usize>) -> Result<Data> {
        match self.part(part).0 {
            Keeper::Memory(data) => Ok(data),
            Keeper::Stored(file, range) => file.read(&[range]).map(Data::from),
            // A copy: a share would keep all of the object.
            Keeper::Packed(object, range) => Ok(Data::from(object.data()?.range(range).to_vec())),
        }
    }
}

/// An object in a compressed bundle of a file.
struct PackedObject {
    /// By which it is known among those that were unpacked.
    number: u64,
    /// The compressed bundle.
    bundle: Content,
    range: PackedRange,
    /// Bytes that the bundle may unfold to.
    cap: u64,
    unpacked: Arc<UnpackedObjects>,
}

impl PackedObject {
    /// Its bytes; an error if the file is not as it was, unless they are still kept.
    fn data(&self) -> Result<Data> {
        if let Some(kept) = self.unpacked.get(self.number) {
            return Ok(kept);
        }
        let data = Data::from(self.range.unpack(&self.bundle.read()?, self.cap)?);
        self.unpacked.put(self.number, data.clone());
        Ok(data)
    }
}

impl Drop for PackedObject {
    fn drop(&mut self) {
        self.unpacked.remove(self.number);
    }
}

fn parts_of(data: &Data, parts: &[Range<usize>]) -> Vec<u8> {
    parts.iter().flat_map(|part| data.range(part.clone()).to_vec()).collect()
}

/// A part of a range, counted from its start.
fn within(range: &Range<usize>, part: &Range<usize>) -> Range<usize> {
    let at = |offset: usize| range.start.saturating_add(offset).min(range.end);
    at(part.start)..at(part.end)
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Keeper::Memory(data) => data.fmt(f),
            Keeper::Stored(file, range) => write!(f, "{}[{range:?}]", file.place()),
            Keeper::Packed(object, range) => {
                write!(f, "{:?}{:?}[{range:?}]", object.bundle, object.range.part)
            }
        }
    }
}

impl<T: Into<Data>> From<T> for Content {
    fn from(data: T) -> Self {
        Content(Keeper::Memory(data.into()))
    }
}
