//! Names as numbers: each is kept once, and comparing two is comparing integers.

use std::hash::BuildHasher as _;
use std::ops::Range;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hsaco_bytes::Str;

/// The number of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NameId(u32);

impl NameId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Every name that was ever seen, one behind the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    ids: HashTable<NameId>,
    places: Vec<Range<usize>>,
    bytes: Vec<u8>,
    hasher: RandomState,
}

impl Names {
    pub(crate) fn intern(&mut self, name: Str<'_>) -> NameId {
        let hash = self.hasher.hash_one(name.as_bytes());
        if let Some(id) = self.find_hashed(name, hash) {
            return id;
        }
        let id = NameId(u32::try_from(self.places.len()).unwrap_or(u32::MAX));
        let start = self.bytes.len();
        self.bytes.extend_from_slice(name.as_bytes());
        self.places.push(start..self.bytes.len());
        let Self { ids, places, bytes, hasher } = self;
        ids.insert_unique(hash, id, |id| hasher.hash_one(text(places, bytes, *id).as_bytes()));
        id
    }

    pub(crate) fn find(&self, name: Str<'_>) -> Option<NameId> {
        self.find_hashed(name, self.hasher.hash_one(name.as_bytes()))
    }

    fn find_hashed(&self, name: Str<'_>, hash: u64) -> Option<NameId> {
        self.ids.find(hash, |id| self.name(*id) == name).copied()
    }

    pub(crate) fn name(&self, id: NameId) -> Str<'_> {
        text(&self.places, &self.bytes, id)
    }

    /// Every name's number.
    pub(crate) fn all(&self) -> impl Iterator<Item = NameId> + use<> {
        (0..u32::try_from(self.places.len()).unwrap_or(u32::MAX)).map(NameId)
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Makes room for so many more.
    pub(crate) fn reserve(&mut self, count: usize) {
        let Self { ids, places, bytes, hasher } = self;
        ids.reserve(count, |id| hasher.hash_one(text(places, bytes, *id).as_bytes()));
        places.reserve(count);
    }

    /// Forgets all names after the first so many.
    pub(crate) fn truncate(&mut self, len: usize) {
        for index in len..self.places.len() {
            let place = self.places.get(index).cloned().unwrap_or_default();
            let name = self.bytes.get(place).unwrap_or_default();
            if let Ok(id) =
                self.ids.find_entry(self.hasher.hash_one(name), |id| id.index() == index)
            {
                id.remove();
            }
        }
        self.places.truncate(len);
        self.bytes.truncate(self.places.last().map_or(0, |it| it.end));
    }
}

fn text<'a>(places: &[Range<usize>], bytes: &'a [u8], id: NameId) -> Str<'a> {
    let place = places.get(id.index()).cloned().unwrap_or_default();
    Str::new(bytes.get(place).unwrap_or_default())
}
