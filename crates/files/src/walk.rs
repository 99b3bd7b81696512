//! Walking a file: each object in it, on every core, with what is wrong said on the way.

use hsaco_object::container::{self, Entries, Entry, Options};

use crate::input::Input;
use crate::item::{ObjectItem, Problem, Trouble};
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

/// A file whose entries are to be seen.
pub struct Walk<'i> {
    input: &'i Input,
    entries: Entries<'i>,
    first: Option<hsaco_object::Result<Entry<'i>>>,
}

impl<'i> Walk<'i> {
    /// Begins with a file; nothing of one that was found in a directory and holds no device code.
    #[must_use]
    pub fn new(input: &'i Input, options: &Options) -> Option<Self> {
        let mut entries = container::entries(input, options);
        let first = entries.next();
        (!input.found || first.is_some()).then_some(Self { input, entries, first })
    }

    /// Shows a visitor every wanted object, and says how many objects there are in all.
    ///
    /// # Errors
    /// Those of the visitor.
    pub fn run<V: Visit>(
        self,
        selection: &ObjectSelection,
        visitor: &mut V,
    ) -> Result<usize, V::Error> {
        let Self { input, mut entries, first: mut next } = self;
        let mut batch = Batch { input, selection, entries: Vec::new(), size: 0, number: 0 };
        while let Some(entry) = next {
            match entry {
                Ok(entry) if !entry.is_object() => visitor.other(&entry)?,
                Ok(entry) => batch.add(entry),
                Err(error) => {
                    batch.flush(visitor)?;
                    visitor.problem(&Problem { place: String::new(), error });
                }
            }
            if batch.is_due(&entries) {
                batch.flush(visitor)?;
            }
            next = entries.next();
        }
        batch.flush(visitor)?;
        Ok(batch.number)
    }
}

/// Objects that are read together, on every core.
struct Batch<'i, 'a> {
    input: &'i Input,
    selection: &'i ObjectSelection,
    entries: Vec<(usize, Entry<'a>)>,
    size: usize,
    number: usize,
}

impl<'a> Batch<'_, 'a> {
    /// Bytes of objects that may be mapped at a time.
    const MAX_SIZE: usize = 32 << 20;
    /// Pages of smaller ranges are given back with the process.
    const WORTH_RELEASING: u64 = 16 << 20;
    /// Reading an object is about as much work as so many kernels of one.
    const OBJECT_WEIGHT: usize = 128;

    fn add(&mut self, entry: Entry<'a>) {
        self.size += entry.data.len();
        self.entries.push((self.number, entry));
        self.number += 1;
    }

    /// True before the walk decompresses the next payload, and when there is enough to do: no more
    /// than one payload is in memory at a time.
    fn is_due(&self, walk: &Entries<'_>) -> bool {
        let holds_payload = self.entries.iter().any(|(_, entry)| entry.offset.is_none());
        self.size >= Self::MAX_SIZE || (holds_payload && !walk.in_payload())
    }

    fn flush<V: Visit>(&mut self, visitor: &mut V) -> Result<(), V::Error> {
        let entries = std::mem::take(&mut self.entries);
        self.size = 0;
        let reader: &V = visitor;
        let selection = self.selection;
        let rows = parallel::map(&entries, Self::OBJECT_WEIGHT, |(number, entry)| {
            let mut trouble = Trouble::default();
            let item = ObjectItem::new(*number, entry, &mut trouble);
            let row = item.is_wanted(selection).then(|| reader.read(&item, &mut trouble));
            (row.transpose(), trouble)
        });
        let mut read = Vec::with_capacity(rows.len());
        for (row, trouble) in rows {
            trouble.into_iter().for_each(|it| visitor.problem(&it));
            read.extend(row?);
        }
        visitor.objects(read)?;
        self.release(&entries);
        Ok(())
    }

    fn release(&self, entries: &[(usize, Entry<'_>)]) {
        let mapped = entries.iter().filter_map(|(_, entry)| {
            let start = entry.offset?;
            Some((start, start.saturating_add(entry.data.len() as u64)))
        });
        let range = mapped.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)));
        if let Some((start, end)) = range
            && end - start >= Self::WORTH_RELEASING
        {
            self.input.release(start, end - start);
        }
    }
}
