//! Objects in compressed bundles: unpacked when something of them is asked for, and kept until others are.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hsaco_bytes::Result;
use hsaco_container::PackedRange;

use crate::content::Content;
use crate::data::Data;

/// An object in a compressed bundle of a file.
pub(crate) struct PackedObject {
    number: u64,
    /// The compressed bundle.
    bundle: Content,
    range: PackedRange,
    /// Bytes that the bundle may unfold to.
    cap: u64,
    unpacked: Arc<UnpackedObjects>,
}

/// The objects of a database that were unpacked last.
pub(crate) struct UnpackedObjects(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// So many bytes may be kept, or one object that is larger.
    most: usize,
    /// By the number of the object: when it was last asked for, and its bytes.
    objects: HashMap<u64, (u64, Data)>,
    size: usize,
    /// Objects that there have been.
    count: u64,
    /// Goes on with every question.
    time: u64,
}

impl PackedObject {
    pub(crate) fn new(
        bundle: Content,
        range: PackedRange,
        cap: u64,
        unpacked: &Arc<UnpackedObjects>,
    ) -> Self {
        let number = unpacked.lock().next_number();
        PackedObject { number, bundle, range, cap, unpacked: Arc::clone(unpacked) }
    }

    /// How many bytes it has.
    pub(crate) fn size(&self) -> usize {
        let Range { start, end } = self.range.part;
        usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX)
    }

    /// Its bytes; an error if the file is not as it was, unless they are still known.
    pub(crate) fn data(&self) -> Result<Data> {
        if let Some(known) = self.unpacked.lock().get(self.number) {
            return Ok(known);
        }
        let data = Data::from(self.range.unpack(&self.bundle.read()?, self.cap)?);
        self.unpacked.lock().put(self.number, data.clone());
        Ok(data)
    }

    /// Keeps its bytes if there is room for them, so that small files are unpacked once.
    pub(crate) fn keep(&self, bytes: &[u8]) {
        let mut kept = self.unpacked.lock();
        if kept.size.saturating_add(bytes.len()) <= kept.most {
            kept.put(self.number, Data::from(bytes.to_vec()));
        }
    }
}

impl Drop for PackedObject {
    fn drop(&mut self) {
        self.unpacked.lock().remove(self.number);
    }
}

impl fmt::Debug for PackedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}[{:?}]", self.bundle, self.range.part)
    }
}

impl UnpackedObjects {
    pub(crate) fn new(most: usize) -> Self {
        UnpackedObjects(Mutex::new(Kept { most, ..Kept::default() }))
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for UnpackedObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UnpackedObjects({} bytes)", self.lock().size)
    }
}

impl Kept {
    fn next_number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    fn get(&mut self, number: u64) -> Option<Data> {
        self.time += 1;
        let (asked, data) = self.objects.get_mut(&number)?;
        *asked = self.time;
        Some(data.clone())
    }

    fn put(&mut self, number: u64, data: Data) {
        self.remove(number);
        while !self.objects.is_empty() && self.size.saturating_add(data.len()) > self.most {
            let oldest = self.objects.iter().min_by_key(|(_, (asked, _))| *asked);
            let Some(oldest) = oldest.map(|(number, _)| *number) else { break };
            self.remove(oldest);
        }
        self.time += 1;
        self.size += data.len();
        self.objects.insert(number, (self.time, data));
    }

    fn remove(&mut self, number: u64) {
        if let Some((_, data)) = self.objects.remove(&number) {
            self.size -= data.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_size(size: usize) -> Data {
        Data::from(vec![0; size])
    }

    #[test]
    fn what_was_asked_for_last_is_kept_up_to_a_bound() {
        let mut kept = Kept { most: 100, ..Kept::default() };
        (1..=4).for_each(|number| kept.put(number, of_size(25)));
        assert!(kept.get(1).is_some());
        kept.put(5, of_size(25));
        let known: Vec<_> = (1..=5).filter(|it| kept.get(*it).is_some()).collect();
        assert_eq!((known.as_slice(), kept.size), ([1, 3, 4, 5].as_slice(), 100));
        kept.put(6, of_size(101));
        assert_eq!((kept.objects.len(), kept.size), (1, 101));
        kept.put(7, of_size(1));
        assert!(kept.get(6).is_none() && kept.get(7).is_some());
        kept.remove(7);
        assert_eq!((kept.objects.len(), kept.size), (0, 0));
    }
}
