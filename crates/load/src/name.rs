//! Names as numbers: each is kept once, and comparing two is comparing integers.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hsaco_bytes::Str;

/// The number of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NameId(u32);

impl NameId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Every name that was ever seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    ids: HashMap<Arc<[u8]>, NameId, RandomState>,
    names: Vec<Arc<[u8]>>,
}

impl Names {
    pub(crate) fn intern(&mut self, name: Str<'_>) -> NameId {
        if let Some(id) = self.ids.get(name.as_bytes()) {
            return *id;
        }
        let id = NameId(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        let name: Arc<[u8]> = name.as_bytes().into();
        self.names.push(Arc::clone(&name));
        self.ids.insert(name, id);
        id
    }

    pub(crate) fn find(&self, name: Str<'_>) -> Option<NameId> {
        self.ids.get(name.as_bytes()).copied()
    }

    pub(crate) fn name(&self, id: NameId) -> Str<'_> {
        self.names.get(id.index()).map_or(Str::new(b""), |name| Str::new(name))
    }

    /// Every name's number.
    pub(crate) fn all(&self) -> impl Iterator<Item = NameId> + use<> {
        (0..u32::try_from(self.names.len()).unwrap_or(u32::MAX)).map(NameId)
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// Forgets all names after the first so many.
    pub(crate) fn truncate(&mut self, len: usize) {
        for name in self.names.drain(len.min(self.names.len())..) {
            self.ids.remove(&name);
        }
    }
}
