//! What was unpacked of compressed bundles, kept until more of others is asked for.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::data::Data;

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

impl UnpackedObjects {
    pub(crate) fn new(most: usize) -> Self {
        UnpackedObjects(Mutex::new(Kept { most, ..Kept::default() }))
    }

    /// The number of another object.
    pub(crate) fn number(&self) -> u64 {
        let mut kept = self.lock();
        kept.count += 1;
        kept.count
    }

    /// The bytes of an object, if they are kept.
    pub(crate) fn get(&self, number: u64) -> Option<Data> {
        self.lock().get(number)
    }

    /// Keeps the bytes of an object in place of those that were not asked for as long.
    pub(crate) fn put(&self, number: u64, data: Data) {
        self.lock().put(number, data);
    }

    /// Keeps the bytes of an object if there is room for them, so that small files are unpacked once.
    pub(crate) fn offer(&self, number: u64, bytes: &[u8]) {
        let mut kept = self.lock();
        if kept.size.saturating_add(bytes.len()) <= kept.most {
            kept.put(number, Data::from(bytes.to_vec()));
        }
    }

    /// Lets go of an object.
    pub(crate) fn remove(&self, number: u64) {
        self.lock().remove(number);
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
