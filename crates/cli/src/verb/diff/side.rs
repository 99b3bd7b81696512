//! One of the two files: what objects it has, and each of them again when it is needed.

use anyhow::Result;
use hsaco::container::{self, Entry, EntryKind, Options};
use hsaco::diff::Digest;
use hsaco::object::{CodeObject, Index};

use crate::input::Input;
use crate::parallel;
use crate::report::{Report, Trouble};
use crate::scan::{self, FileItem, ObjectItem, Visit};
use crate::select::{KernelSelection, ObjectSelection};

/// Bytes of objects that are looked at together.
const BATCH: usize = 32 << 20;
/// An object is as much work as so many small things.
const OBJECT_WEIGHT: usize = 128;

/// An object as the first walk has seen it.
pub(super) struct Seen {
    pub(super) number: usize,
    pub(super) id: Option<String>,
    pub(super) target: Option<String>,
    /// Of all its bytes.
    pub(super) digest: Digest,
    /// How many kernels of it are wanted.
    pub(super) kernels: usize,
    kind: EntryKind,
    size: usize,
    place: Place,
}

/// Where the bytes of an object are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the file.
    InFile(u64),
    /// In the compressed bundle that begins there.
    Packed(u64),
}

/// A file and its objects.
pub(super) struct Side<'i> {
    pub(super) input: &'i Input,
    pub(super) objects: Vec<Seen>,
    options: Options,
    /// The compressed bundle that was unpacked last, and its objects by their numbers.
    unpacked: Option<(u64, Vec<(usize, Entry<'i>)>)>,
}

impl<'i> Side<'i> {
    /// Walks the file once.
    pub(super) fn new(
        input: &'i Input,
        options: Options,
        selection: &ObjectSelection,
        kernels: &KernelSelection,
        report: &mut Report,
    ) -> Result<Self> {
        let mut walk = FirstWalk { kernels, objects: Vec::new() };
        scan::walk(input, selection, &options, &mut walk, report)?;
        Ok(Self { input, objects: walk.objects, options, unpacked: None })
    }

    pub(super) fn seen(&self, number: usize) -> Option<&Seen> {
        let at = self.objects.binary_search_by_key(&number, |it| it.number).ok()?;
        self.objects.get(at)
    }

    /// Whether the object can be had without unpacking another bundle.
    fn is_at_hand(&self, number: usize) -> bool {
        match self.seen(number).map(|it| it.place) {
            Some(Place::Packed(bundle)) => {
                self.unpacked.as_ref().is_some_and(|(unpacked, _)| *unpacked == bundle)
            }
            _ => true,
        }
    }

    fn size(&self, number: usize) -> usize {
        self.seen(number).map_or(0, |it| it.size)
    }

    /// An object again.
    fn load(&mut self, number: usize) -> Option<Entry<'i>> {
        let seen = self.seen(number)?;
        match seen.place {
            Place::InFile(offset) => {
                let start = usize::try_from(offset).ok()?;
                let data = self.input.get(start..start.checked_add(seen.size)?)?;
                let (id, kind) = (seen.id.clone(), seen.kind);
                Some(Entry {
                    id,
                    kind,
                    data: data.into(),
                    offset: Some(offset),
                    trail: <_>::default(),
                })
            }
            Place::Packed(bundle) => {
                if !self.is_at_hand(number) {
                    self.unpack(bundle);
                }
                let (_, entries) = self.unpacked.as_ref()?;
                entries.iter().find(|(it, _)| *it == number).map(|(_, entry)| entry.clone())
            }
        }
    }

    fn unpack(&mut self, bundle: u64) {
        // At most one bundle is unpacked at a time.
        self.unpacked = None;
        let numbers = self.objects.iter().filter(|it| it.place == Place::Packed(bundle));
        let numbers: Vec<usize> = numbers.map(|it| it.number).collect();
        let input = self.input;
        let rest = usize::try_from(bundle).ok().and_then(|start| input.get(start..));
        let mut walk = container::entries(rest.unwrap_or_default(), &self.options);
        // What is wrong with the bundle was reported by the first walk.
        let digest = |number: usize| self.seen(number).map(|it| it.digest);
        let mut left = numbers.into_iter().peekable();
        let mut entries = Vec::new();
        while let Some(&number) = left.peek() {
            match walk.next() {
                Some(Ok(entry)) if Some(Digest::of(&[&entry.data])) == digest(number) => {
                    entries.push((number, entry));
                    left.next();
                }
                Some(_) => {}
                None => break,
            }
        }
        self.unpacked = Some((bundle, entries));
    }

    fn release(&self, numbers: impl Iterator<Item = usize>) {
        for seen in numbers.filter_map(|number| self.seen(number)) {
            if let Place::InFile(offset) = seen.place {
                self.input.release(offset, seen.size as u64);
            }
        }
    }

    /// What `read` makes of these objects, on every core.
    pub(super) fn each<R: Send>(
        &mut self,
        numbers: &[usize],
        read: impl Fn(&ObjectItem<'_, '_>) -> R + Sync,
    ) -> Vec<R> {
        let mut answers = Vec::with_capacity(numbers.len());
        let mut left = numbers;
        while !left.is_empty() {
            let mut batch = Vec::new();
            let mut size = 0;
            while let Some((&number, rest)) = left.split_first() {
                if size >= BATCH || (size > 0 && !self.is_at_hand(number)) {
                    break;
                }
                size += self.size(number).max(1);
                batch.extend(self.load(number).map(|entry| (number, entry)));
                left = rest;
            }
            answers.extend(parallel::map(&batch, OBJECT_WEIGHT, |(number, entry)| {
                read(&again(*number, entry))
            }));
            self.release(batch.iter().map(|(number, _)| *number));
        }
        answers
    }
}

/// An object that was read before: what is wrong with its header was reported then.
fn again<'e, 'a>(number: usize, entry: &'e Entry<'a>) -> ObjectItem<'e, 'a> {
    ObjectItem::new(number, entry, &mut Trouble::default())
}

/// What `compare` makes of pairs of objects, on every core; `take` gets it in order, a few at a time. `of` says
/// which objects an item is about, if it needs any.
pub(super) fn each_pair<T: Sync, R: Send>(
    (a, b): (&mut Side<'_>, &mut Side<'_>),
    items: &[T],
    of: impl Fn(&T) -> Option<(usize, usize)>,
    compare: impl Fn(&T, Option<(&ObjectItem<'_, '_>, &ObjectItem<'_, '_>)>) -> R + Sync,
    mut take: impl FnMut(R) -> Result<()>,
) -> Result<()> {
    let mut left = items;
    while !left.is_empty() {
        let mut batch = Vec::new();
        let mut size = 0;
        while let Some((item, rest)) = left.split_first() {
            let numbers = of(item);
            let is_at_hand = numbers.is_none_or(|(x, y)| a.is_at_hand(x) && b.is_at_hand(y));
            if size >= BATCH || (size > 0 && !is_at_hand) {
                break;
            }
            size += numbers.map_or(1, |(x, y)| (a.size(x) + b.size(y)).max(1));
            let entries = numbers.and_then(|(x, y)| Some(((x, a.load(x)?), (y, b.load(y)?))));
            batch.push((item, entries));
            left = rest;
        }
        let answers = parallel::map(&batch, OBJECT_WEIGHT, |(item, entries)| match entries {
            Some(((x, old), (y, new))) => compare(item, Some((&again(*x, old), &again(*y, new)))),
            None => compare(item, None),
        });
        answers.into_iter().try_for_each(&mut take)?;
        let numbers = || batch.iter().filter_map(|(_, entries)| entries.as_ref());
        a.release(numbers().map(|((number, _), _)| *number));
        b.release(numbers().map(|(_, (number, _))| *number));
    }
    Ok(())
}

/// Sees every object once.
struct FirstWalk<'w> {
    kernels: &'w KernelSelection,
    objects: Vec<Seen>,
}

impl Visit for FirstWalk<'_> {
    type Row<'e> = Seen;

    fn begin(&mut self, _file: &FileItem<'_>) -> Result<()> {
        Ok(())
    }

    fn read(&self, item: &ObjectItem<'_, '_>, _trouble: &mut Trouble) -> Result<Seen> {
        let entry = item.entry;
        let wanted = |index: Index<'_>| self.kernels.of(&index).len();
        // What is inside a payload has no offset in the file; the compressed bundle around it has one.
        let bundle = entry.trail.steps().iter().rev().find_map(|it| it.offset).unwrap_or(0);
        Ok(Seen {
            number: item.number,
            id: entry.id.clone(),
            target: item.target.clone(),
            digest: Digest::of(&[&entry.data]),
            kernels: item.object.as_ref().map(CodeObject::index).map_or(0, wanted),
            kind: entry.kind,
            size: entry.data.len(),
            place: entry.offset.map_or(Place::Packed(bundle), Place::InFile),
        })
    }

    fn object(&mut self, row: Seen) -> Result<()> {
        self.objects.push(row);
        Ok(())
    }

    fn end(&mut self, _error: Option<&str>) -> Result<()> {
        Ok(())
    }
}
