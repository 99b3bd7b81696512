//! Walking a file: each object in it, on every core, with what is wrong said on the way.

use std::iter::Peekable;

use hsaco_bytes::Error;
use hsaco_container::{Entry, WalkOptions, WantedTargets};

use crate::ahead::UnpackedEntries;
use crate::input::Input;
use crate::item::{ObjectItem, Problem, Trouble};
use crate::mapping::WORTH_RELEASING;
use crate::parallel;
use crate::select::ObjectSelection;

/// What is done with the objects of a file.
pub trait Visit: Sync {
    /// What is made of an object; it may borrow the object's bytes.
    type Row<'e>: Send;
    /// What ends the walk.
    type Error: Send;

    /// Reads a wanted object, on any thread.
    ///
    /// # Errors
    /// What ends the walk; what is wrong with the object is noted instead.
    fn read<'e>(
        &self,
        item: &ObjectItem<'e, '_>,
        trouble: &mut Trouble,
    ) -> Result<Self::Row<'e>, Self::Error>;
    /// Takes what was read, in the order of the file.
    ///
    /// # Errors
    /// What ends the walk.
    fn objects(&mut self, rows: Vec<Self::Row<'_>>) -> Result<(), Self::Error>;
    /// Takes an entry for the host, or for a GPU of another make.
    ///
    /// # Errors
    /// What ends the walk.
    fn other(&mut self, _entry: &Entry<'_>) -> Result<(), Self::Error> {
        Ok(())
    }
    /// Takes what is wrong with a part of the file, before what follows it.
    fn problem(&mut self, problem: &Problem);
}

/// A file whose wanted objects are to be seen.
pub struct Walk<'i> {
    batches: Peekable<Batches<'i>>,
    selection: &'i ObjectSelection,
}

impl<'i> Walk<'i> {
    /// Begins with a file; nothing of one that was found in a directory and holds no device code.
    #[must_use]
    pub fn new(
        input: &'i Input,
        options: &WalkOptions,
        selection: &'i ObjectSelection,
    ) -> Option<Self> {
        let mut batches = Batches::new(input, options, selection).peekable();
        (!input.found || batches.peek().is_some()).then_some(Self { batches, selection })
    }

    /// Shows a visitor every wanted object, and says how many objects there are in all.
    ///
    /// # Errors
    /// Those of the visitor.
    pub fn run<V: Visit>(self, visitor: &mut V) -> Result<usize, V::Error> {
        let mut number = 0;
        for met in self.batches {
            match met {
                Met::Objects(objects) => {
                    number += objects.len();
                    read(&objects, self.selection, visitor)?;
                }
                Met::Other(entry) => visitor.other(&entry)?,
                Met::Broken(error) => visitor.problem(&Problem { place: String::new(), error }),
            }
        }
        Ok(number)
    }
}

/// Shows a visitor the wanted ones of some objects.
fn read<V: Visit>(
    objects: &[(usize, Entry<'_>)],
    selection: &ObjectSelection,
    visitor: &mut V,
) -> Result<(), V::Error> {
    let reader: &V = visitor;
    let rows = map_objects(objects, |number, entry| {
        let mut trouble = Trouble::default();
        let item = ObjectItem::new(number, entry, &mut trouble);
        let row = item.is_wanted(selection).then(|| reader.read(&item, &mut trouble));
        (row.transpose(), trouble)
    });
    let mut read = Vec::with_capacity(rows.len());
    for (row, trouble) in rows {
        trouble.into_iter().for_each(|it| visitor.problem(&it));
        read.extend(row?);
    }
    visitor.objects(read)
}

/// Reading an object is about as much work as so many kernels of one: the weight of objects in [`parallel::map`].
pub const OBJECT_WEIGHT: usize = 128;

/// What `read` makes of each object, on every core.
pub fn map_objects<'e, 'a, R: Send>(
    objects: &'e [(usize, Entry<'a>)],
    read: impl Fn(usize, &'e Entry<'a>) -> R + Sync,
) -> Vec<R> {
    parallel::map(objects, OBJECT_WEIGHT, |(number, entry)| read(*number, entry))
}

/// What the walk of a file comes to.
pub enum Met<'a> {
    /// Objects with their numbers, to be read together.
    Objects(Vec<(usize, Entry<'a>)>),
    /// An entry for the host, or for a GPU of another make.
    Other(Entry<'a>),
    /// What cannot be read.
    Broken(Error),
}

/// The walk of a file, with its objects put together for every core. If objects are dropped before the next are asked for,
/// no more payloads are in memory than were unpacked together.
pub struct Batches<'a> {
    input: &'a Input,
    entries: UnpackedEntries<'a>,
    objects: Vec<(usize, Entry<'a>)>,
    size: usize,
    number: usize,
    /// What follows the objects that were handed over.
    broken: Option<Error>,
    /// Where the objects that were handed over are in the file.
    read: Option<(u64, u64)>,
}

impl<'a> Batches<'a> {
    /// Bytes of objects that may be mapped at a time.
    const MAX_SIZE: usize = 32 << 20;

    /// Begins with a file, whose compressed bundles are unpacked as far as the selection wants: other entries are
    /// [`Unread`](hsaco_container::EntryKind::Unread).
    #[must_use]
    pub fn new(input: &'a Input, options: &WalkOptions, selection: &'a ObjectSelection) -> Self {
        let wanted = selection.is_by_target().then_some(selection as &dyn WantedTargets);
        let entries = UnpackedEntries::new(input, options, wanted);
        Self { input, entries, objects: Vec::new(), size: 0, number: 0, broken: None, read: None }
    }

    fn add(&mut self, entry: Entry<'a>) {
        self.size += entry.data.len();
        self.objects.push((self.number, entry));
        self.number += 1;
    }

    /// True before the walk decompresses the next payloads, and when there is enough to do.
    fn is_due(&mut self) -> bool {
        let holds_payload = self.objects.iter().any(|(_, entry)| entry.offset.is_none());
        self.size >= Self::MAX_SIZE || (holds_payload && !self.entries.in_payload())
    }

    fn hand_over(&mut self) -> Met<'a> {
        let objects = std::mem::take(&mut self.objects);
        self.size = 0;
        let mapped = objects.iter().filter_map(|(_, entry)| {
            let start = entry.offset?;
            Some((start, start.saturating_add(entry.data.len() as u64)))
        });
        self.read = mapped.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)));
        Met::Objects(objects)
    }

    fn release(&mut self) {
        if let Some((start, end)) = self.read.take()
            && end - start >= WORTH_RELEASING
        {
            self.input.release(start, end - start);
        }
    }
}

impl<'a> Iterator for Batches<'a> {
    type Item = Met<'a>;

    fn next(&mut self) -> Option<Met<'a>> {
        self.release();
        if let Some(error) = self.broken.take() {
            return Some(Met::Broken(error));
        }
        while !self.is_due() {
            match self.entries.next() {
                Some(Ok(entry)) if entry.is_object() => self.add(entry),
                Some(Ok(entry)) => return Some(Met::Other(entry)),
                Some(Err(error)) if self.objects.is_empty() => return Some(Met::Broken(error)),
                Some(Err(error)) => {
                    self.broken = Some(error);
                    break;
                }
                None if self.objects.is_empty() => return None,
                None => break,
            }
        }
        Some(self.hand_over())
    }
}
