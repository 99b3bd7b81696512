//! Two files that are compared: what objects each has, and each of them again when it is needed.

use std::collections::HashMap;

use hsaco_analysis::Metric;
use hsaco_check::{Finding, REGRESSION, Severity};
use hsaco_container::{Entry, EntryKind, WalkOptions};
use hsaco_diff::{
    Changes, ComparedObject, Comparison, Fingerprint, KernelChange, ObjectRecord, ResourceChange,
    Trend, What,
};
use hsaco_files::input::Input;
use hsaco_files::{KernelSelection, ObjectItem, Trouble, parallel};
use hsaco_object::CodeObject;

use crate::open_code;

/// Bytes of objects that are looked at together.
const BATCH: usize = 32 << 20;
/// An object is as much work as so many small things.
const OBJECT_WEIGHT: usize = 128;

/// An object as the first walk has seen it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its number in the file.
    pub number: usize,
    /// The id of its entry.
    pub id: Option<String>,
    /// Its target.
    pub target: Option<String>,
    /// Of all its bytes.
    pub digest: Fingerprint,
    /// How many kernels of it are wanted.
    pub kernels: usize,
    kind: EntryKind,
    size: usize,
    place: Place,
}

/// Where the bytes of an object are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In the file.
    InFile(u64),
    /// In the compressed bundle that begins there.
    Packed(u64),
}

/// A file and its objects.
pub struct Side<'i> {
    /// The file.
    pub input: &'i Input,
    /// In the order of the file.
    pub objects: Vec<Seen>,
    options: WalkOptions,
    /// The compressed bundle that was unpacked last, and its objects by their numbers.
    unpacked: Option<(u64, Vec<(usize, Entry<'i>)>)>,
}

impl<'i> Side<'i> {
    /// A file whose objects were all seen once.
    #[must_use]
    pub fn new(input: &'i Input, objects: Vec<Seen>, options: WalkOptions) -> Self {
        Self { input, objects, options, unpacked: None }
    }

    fn seen(&self, number: usize) -> Option<&Seen> {
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
                    packed: None,
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
        let mut walk = hsaco_container::entries(rest.unwrap_or_default(), &self.options);
        // What is wrong with the bundle was reported by the first walk.
        let digest = |number: usize| self.seen(number).map(|it| it.digest);
        let mut left = numbers.into_iter().peekable();
        let mut entries = Vec::new();
        while let Some(&number) = left.peek() {
            match walk.next() {
                Some(Ok(entry)) if Some(Fingerprint::of(&[&entry.data])) == digest(number) => {
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
    fn each<R: Send>(
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
///
/// # Errors
/// The first one of `take`, which ends it.
pub fn each_pair<T: Sync, R: Send, E>(
    (a, b): (&mut Side<'_>, &mut Side<'_>),
    items: &[T],
    of: impl Fn(&T) -> Option<(usize, usize)>,
    compare: impl Fn(&T, Option<(&ObjectItem<'_, '_>, &ObjectItem<'_, '_>)>) -> R + Sync,
    mut take: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
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

impl Seen {
    /// What is remembered of an object, of whose kernels some are wanted.
    #[must_use]
    pub fn new(item: &ObjectItem<'_, '_>, kernels: &KernelSelection) -> Self {
        let entry = item.entry;
        let index = item.object.as_ref().map(CodeObject::index);
        // What is inside a payload has no offset in the file; the compressed bundle around it has one.
        let bundle = entry.trail.steps().iter().rev().find_map(|it| it.offset).unwrap_or(0);
        Self {
            number: item.number,
            id: entry.id.clone(),
            target: item.target.clone(),
            digest: Fingerprint::of(&[&entry.data]),
            kernels: index.map_or(0, |index| kernels.of(&index).len()),
            kind: entry.kind,
            size: entry.data.len(),
            place: entry.offset.map_or(Place::Packed(bundle), Place::InFile),
        }
    }
}

/// Two files, and what belongs together in them.
#[derive(Debug)]
pub struct Compared {
    /// The objects that are not the same.
    pub comparison: Comparison,
    /// How many kernels are in objects that are the same, byte for byte.
    pub identical: usize,
    /// What is wrong with the objects of each file.
    pub trouble: [Trouble; 2],
}

/// Finds what belongs together in two files.
pub fn compare(a: &mut Side<'_>, b: &mut Side<'_>, what: What<'_>) -> Compared {
    let (rest_a, rest_b, identical) = without_same(a, b);
    let is_one_each = a.objects.len() == 1 && b.objects.len() == 1;
    let (old, trouble_a) = records(a, &rest_a, what);
    let (new, trouble_b) = records(b, &rest_b, what);
    let comparison = Comparison::new(old, new, is_one_each);
    Compared { comparison, identical, trouble: [trouble_a, trouble_b] }
}

/// An object as it is compared.
#[must_use]
pub fn subject<'o>(item: &'o ObjectItem<'_, '_>) -> ComparedObject<'o> {
    ComparedObject {
        index: item.number,
        entry_id: item.entry.id.as_deref(),
        target: item.target.as_deref(),
        object: item.object.as_ref(),
    }
}

/// The numbers of the objects that are not the same, byte for byte, as one of the same target in the other file, and
/// how many kernels are in those that are.
fn without_same(a: &Side<'_>, b: &Side<'_>) -> (Vec<usize>, Vec<usize>, usize) {
    let mut same: HashMap<(Option<&str>, Fingerprint), Vec<usize>> = HashMap::new();
    for seen in b.objects.iter().rev() {
        same.entry((seen.target.as_deref(), seen.digest)).or_default().push(seen.number);
    }
    let (mut rest_a, mut identical) = (Vec::new(), 0);
    for seen in &a.objects {
        let other = same.get_mut(&(seen.target.as_deref(), seen.digest)).and_then(Vec::pop);
        match other {
            Some(_) => identical += seen.kernels,
            None => rest_a.push(seen.number),
        }
    }
    let mut rest_b: Vec<usize> = same.into_values().flatten().collect();
    rest_b.sort_unstable();
    (rest_a, rest_b, identical)
}

/// What these objects of a file have, and what is wrong with them.
fn records(side: &mut Side<'_>, numbers: &[usize], what: What<'_>) -> (Vec<ObjectRecord>, Trouble) {
    let read = |item: &ObjectItem<'_, '_>| {
        let mut trouble = Trouble::default();
        if what.functions || item.object.is_none() {
            open_code(item, &mut trouble);
        }
        (ObjectRecord::new(&subject(item), what), trouble)
    };
    let mut all = Trouble::default();
    let records = side.each(numbers, read).into_iter().map(|(record, trouble)| {
        all.append(trouble);
        record
    });
    let records = records.collect();
    (records, all)
}

/// What is worse, as checks find it.
#[must_use]
pub fn regressions(changes: &Changes) -> Vec<Finding> {
    let worse = changes.kernels.iter().flat_map(|kernel| {
        let worse = kernel.resources.iter().filter(|it| it.verdict == Trend::Worse);
        worse.map(move |change| (kernel, change))
    });
    worse.map(|(kernel, change)| finding(kernel, change)).collect()
}

fn finding(kernel: &KernelChange, change: &ResourceChange) -> Finding {
    let number = |it: Option<u64>| it.unwrap_or_default();
    let (a, b) = (number(change.a), number(change.b));
    let verb = if b > a { "rose" } else { "fell" };
    let metric = Metric::from_name(change.name);
    Finding {
        rule: REGRESSION.name,
        severity: Severity::Error,
        subject: hsaco_check::Subject {
            object: Some(kernel.b.index),
            kernel: Some(kernel.name.clone()),
            field: metric.map(|it| it.field().into()),
            ..hsaco_check::Subject::default()
        },
        message: format!("{} {verb} from {a} to {b} ({})", change.name, kernel.targets()),
        help: "compare its code: hsaco diff -k NAME".to_owned(),
        excess: Some(a.abs_diff(b)),
    }
}
