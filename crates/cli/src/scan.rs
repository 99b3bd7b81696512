//! Walking inputs: each file, each object in it, with what is wrong reported on the way.

use anyhow::Result;
use hsaco::object::container::{self, Container, Entry, EntryKind, HashCheck, Options};
use hsaco::object::{CodeObject, Error, ErrorKind};

use crate::args::{Inputs, ObjectFilter};
use crate::input::{self, Input};
use crate::report::{Report, Status};
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
}

/// What a verb does with files and objects.
pub(crate) trait Visit {
    /// A file begins.
    fn begin(&mut self, file: &FileItem<'_>) -> Result<()>;
    /// A wanted object.
    fn object(&mut self, item: &ObjectItem<'_, '_>, report: &mut Report) -> Result<()>;
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
pub(crate) fn run(
    inputs: &Inputs,
    filter: &ObjectFilter,
    verify: Verify,
    visitor: &mut dyn Visit,
) -> Result<Status> {
    let selection = ObjectSelection::new(filter)?;
    let options = verify.options(inputs.max_size);
    let mut report = Report::default();
    for input in input::inputs(&inputs.files) {
        match input {
            Ok(input) => Walk { input: &input, selection: &selection, options: &options }
                .run(visitor, &mut report)?,
            Err(unopened) => {
                report.begin(&unopened.name);
                report.failure(&unopened.error);
                visitor.unopened(&unopened.name, report.first())?;
            }
        }
    }
    Ok(report.status())
}

struct Walk<'w> {
    input: &'w Input,
    selection: &'w ObjectSelection,
    options: &'w Options,
}

impl Walk<'_> {
    fn run(&self, visitor: &mut dyn Visit, report: &mut Report) -> Result<()> {
        report.begin(&self.input.name);
        let file = FileItem { input: self.input, container: Container::detect(self.input) };
        if self.input.found && file.container.is_none() {
            return Ok(());
        }
        let mut entries = container::entries(self.input, self.options).peekable();
        if self.input.found && entries.peek().is_none() {
            return Ok(());
        }
        visitor.begin(&file)?;
        let mut number = 0;
        for entry in entries {
            match entry {
                Ok(entry) => self.entry(&entry, &mut number, visitor, report)?,
                Err(error) => report.problem("", &error),
            }
        }
        visitor.end(report.first())
    }

    fn entry(
        &self,
        entry: &Entry<'_>,
        number: &mut usize,
        visitor: &mut dyn Visit,
        report: &mut Report,
    ) -> Result<()> {
        if entry.kind == EntryKind::Host || is_foreign(entry) {
            return visitor.other(entry);
        }
        let mut item = ObjectItem { number: *number, entry, object: None, target: None };
        *number += 1;
        item.read(report);
        if self.selection_wants(&item) {
            visitor.object(&item, report)?;
        }
        if let Some(offset) = entry.offset {
            self.input.release(offset, entry.data.len() as u64);
        }
        Ok(())
    }

    fn selection_wants(&self, item: &ObjectItem<'_, '_>) -> bool {
        match &item.object {
            Some(object) => self.selection.wants(item.number, object),
            None => {
                let text = item.target.as_deref().unwrap_or_default();
                self.selection.wants_target(item.number, text.parse().ok(), text, 0)
            }
        }
    }
}

/// True for code that is not AMD's: its id says another architecture.
fn is_foreign(entry: &Entry<'_>) -> bool {
    let id = entry.id.as_deref().and_then(hsaco::isa::EntryId::parse);
    entry.kind != EntryKind::CodeObject
        && id.is_some_and(|id| !id.triple.starts_with("amdgcn") && !id.triple.starts_with("spirv"))
}

impl ObjectItem<'_, '_> {
    fn read(&mut self, report: &mut Report) {
        let entry = self.entry;
        if entry.kind == EntryKind::CodeObject {
            match CodeObject::parse(&entry.data) {
                Ok(object) => {
                    self.target = Some(object.target().to_string());
                    self.object = Some(object);
                    return;
                }
                Err(error) => report.problem(&self.place(), &self.located(error)),
            }
        } else if entry.kind == EntryKind::Unknown {
            let error = Error::new(ErrorKind::NotRecognised, "entry", "neither ELF nor bitcode");
            report.problem(&self.place(), &self.located(error.at(0)));
        }
        let id = entry.id.as_deref().and_then(hsaco::isa::EntryId::parse);
        self.target = id.map(|it| it.target.to_owned()).filter(|it| !it.is_empty());
    }
}
