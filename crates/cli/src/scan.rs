//! Walking inputs: each file, each object in it, with what is wrong reported on the way.

use anyhow::Result;
use hsaco::object::container::{self, Container, Entries, Entry, EntryKind, HashCheck, Options};
use hsaco::object::{CodeObject, Error, ErrorKind, Index};

use crate::args::{Inputs, ObjectFilter};
use crate::input::{self, Input};
use crate::parallel;
use crate::report::{Report, Status, Trouble};
use crate::select::ObjectSelection;

/// Payloads up to this size are small enough that checking their hash costs no time to speak of.
const CHEAP_HASH: u64 = 1 << 20;

/// One file of the command line, or of a directory on it.
pub(crate) struct FileItem<'i> {
    pub(crate) input: &'i Input,
    /// What the file is, if anything known.
    pub(crate) container: Option<Container>,
}

/// One entry that holds device code.
pub(crate) struct ObjectItem<'e, 'a> {
    /// Its number in the file.
    pub(crate) number: usize,
    pub(crate) entry: &'e Entry<'a>,
    /// The code object, unless the entry is something else, such as bitcode.
    pub(crate) object: Option<CodeObject<'e>>,
    /// The target: of the object, else of the entry's id.
    pub(crate) target: Option<String>,
}

impl ObjectItem<'_, '_> {
    /// Where the object is, for messages.
    pub(crate) fn place(&self) -> String {
        match &self.target {
            Some(target) => format!("object {} ({target})", self.number),
            None => format!("object {}", self.number),
        }
    }

    /// An error of the object, as seen from the file.
    pub(crate) fn located(&self, error: Error) -> Error {
        match self.entry.offset {
            Some(offset) => error.rebased(offset),
            None => error,
        }
    }

    /// What the object defines; what is wrong with either is noted.
    pub(crate) fn index<'o>(&self, object: &CodeObject<'o>, trouble: &mut Trouble) -> Index<'o> {
        let index = object.index();
        for problem in object.problems().iter().chain(index.problems()) {
            trouble.note(self.place(), self.located(problem.clone()));
        }
        index
    }
}

/// What a verb does with files and objects.
pub(crate) trait Visit: Sync {
    /// What a verb makes of an object; it may borrow the object's bytes.
    type Row<'e>: Send;

    /// Whether it looks at little of a file, however large that is.
    fn is_brief(&self) -> bool {
        false
    }
    /// Whether it has an answer for a file without objects.
    fn takes_any_file(&self) -> bool {
        false
    }
    /// A file begins.
    fn begin(&mut self, file: &FileItem<'_>) -> Result<()>;
    /// Reads a wanted object, on any thread.
    fn read<'e>(&self, item: &ObjectItem<'e, '_>, trouble: &mut Trouble) -> Result<Self::Row<'e>>;
    /// Takes what was read, in the order of the file.
    fn object(&mut self, row: Self::Row<'_>) -> Result<()>;
    /// Takes what was read of several objects.
    fn objects(&mut self, rows: Vec<Self::Row<'_>>) -> Result<()> {
        rows.into_iter().try_for_each(|row| self.object(row))
    }
    /// An entry for the host, or for a GPU of another make.
    fn other(&mut self, _entry: &Entry<'_>) -> Result<()> {
        Ok(())
    }
    /// A file could not be opened.
    fn unopened(&mut self, _name: &str, _error: Option<&str>) -> Result<()> {
        Ok(())
    }
    /// The file is over; `error` is the first thing that was wrong with it.
    fn end(&mut self, error: Option<&str>) -> Result<()>;
}

/// How thoroughly compressed payloads are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verify {
    /// Sizes always, hashes of small payloads.
    Cheap,
    /// Sizes and hashes.
    All,
}

impl Verify {
    pub(crate) fn options(self, max_size: u64) -> Options {
        let hash = match self {
            Self::Cheap => HashCheck::UpTo(CHEAP_HASH),
            Self::All => HashCheck::Always,
        };
        Options { max_size, hash, ..Options::default() }
    }
}

/// Shows a visitor every wanted object of every input.
pub(crate) fn run<V: Visit>(
    inputs: &Inputs,
    filter: &ObjectFilter,
    verify: Verify,
    visitor: &mut V,
) -> Result<Status> {
    let selection = ObjectSelection::new(filter)?;
    let options = verify.options(inputs.max_size);
    let mut report = Report::default();
    for input in input::inputs(&inputs.files) {
        match input {
            Ok(input) => walk(&input, &selection, &options, visitor, &mut report)?,
            Err(unopened) => {
                report.begin(&unopened.name);
                report.failure(&unopened.error);
                visitor.unopened(&unopened.name, report.first())?;
            }
        }
    }
    Ok(selection.conclude(report.conclude(&inputs.files)))
}

/// Shows a visitor every wanted object of one input.
pub(crate) fn walk<V: Visit>(
    input: &Input,
    selection: &ObjectSelection,
    options: &Options,
    visitor: &mut V,
    report: &mut Report,
) -> Result<()> {
    report.begin(&input.name);
    let file = FileItem { input, container: Container::detect(input) };
    if input.found && file.container.is_none() {
        return Ok(());
    }
    if input.len() > 1 << 20 && !visitor.is_brief() {
        crate::alloc::prepare_for_much();
    }
    let mut entries = container::entries(input, options);
    let first = entries.next();
    if input.found && first.is_none() {
        return Ok(());
    }
    report.look_into();
    visitor.begin(&file)?;
    let mut batch = Batch { input, selection, entries: Vec::new(), size: 0, number: 0 };
    let mut next = first;
    while let Some(entry) = next {
        match entry {
            Ok(entry) if !entry.is_object() => visitor.other(&entry)?,
            Ok(entry) => batch.add(entry),
            Err(error) => {
                batch.flush(visitor, report)?;
                report.problem("", &error);
            }
        }
        if batch.is_due(&entries) {
            batch.flush(visitor, report)?;
        }
        next = entries.next();
    }
    batch.flush(visitor, report)?;
    if batch.number == 0 && report.first().is_none() && !visitor.takes_any_file() {
        report.no_code();
    }
    visitor.end(report.first())
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

    fn flush<V: Visit>(&mut self, visitor: &mut V, report: &mut Report) -> Result<()> {
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
            report.trouble(trouble);
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

impl<'e, 'a> ObjectItem<'e, 'a> {
    /// Reads the headers of an entry that holds device code.
    pub(crate) fn new(number: usize, entry: &'e Entry<'a>, trouble: &mut Trouble) -> Self {
        let mut item = Self { number, entry, object: None, target: None };
        match item.parse() {
            Ok(Some(object)) => {
                item.target = Some(object.target().to_string());
                item.object = Some(object);
                return item;
            }
            Ok(None) => {}
            Err(error) => trouble.note(item.place(), item.located(error)),
        }
        item.target = entry.named_target().map(str::to_owned);
        item
    }

    /// The code object, or `None` where the entry is something else that is known.
    fn parse(&self) -> hsaco::object::Result<Option<CodeObject<'e>>> {
        match self.entry.kind {
            EntryKind::CodeObject => CodeObject::parse(&self.entry.data).map(Some),
            EntryKind::Unknown => {
                let detail = "neither ELF nor bitcode";
                Err(Error::new(ErrorKind::NotRecognised, "entry", detail).at(0))
            }
            _ => Ok(None),
        }
    }

    /// Whether the command line asks for it.
    pub(crate) fn is_wanted(&self, selection: &ObjectSelection) -> bool {
        match &self.object {
            Some(object) => selection.wants(self.number, object),
            None => {
                let text = self.target.as_deref().unwrap_or_default();
                selection.wants_target(self.number, text.parse().ok(), text, 0)
            }
        }
    }
}
