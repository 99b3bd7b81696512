//! Walking inputs: each file, each object in it, with what is wrong reported on the way.

use anyhow::Result;
use hsaco::container::{Container, Entry, HashCheck, WalkOptions};
pub(crate) use hsaco_files::ObjectItem;
use hsaco_files::{Problem, Walk, progress};

use crate::args::{Inputs, ObjectFilter};
use crate::input::{self, Input};
use crate::report::{Report, Status, Trouble};
use crate::select::ObjectSelection;

/// One file of the command line, or of a directory on it.
pub(crate) struct FileItem<'i> {
    pub(crate) input: &'i Input,
    /// What the file is, if anything known.
    pub(crate) container: Option<Container>,
}

/// What a verb does with files and objects.
pub(crate) trait Visit: Sync {
    /// What a verb makes of an object; it may borrow the object's bytes.
    type Row<'e>: Send;

    /// Whether it has an answer for a file without objects.
    fn takes_any_file(&self) -> bool {
        false
    }
    /// A file begins.
    fn begin(&mut self, _file: &FileItem<'_>) -> Result<()> {
        Ok(())
    }
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
    fn end(&mut self, _error: Option<&str>) -> Result<()> {
        Ok(())
    }
}

/// How thoroughly compressed payloads are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verify {
    /// Sizes of what is unpacked, hashes of small payloads.
    Cheap,
    /// Sizes and hashes; the same as cheap where objects are selected by target, as then not all is unpacked.
    Unpacked,
    /// Sizes and hashes, for which all is unpacked.
    All,
}

impl Verify {
    /// How files are read of which these objects are wanted.
    pub(crate) fn options(self, max_size: u64, selection: &ObjectSelection) -> WalkOptions {
        let hash = match self {
            Self::Cheap => HashCheck::CHEAP,
            Self::Unpacked => selection.hash_check(),
            Self::All => HashCheck::Always,
        };
        WalkOptions { max_size, hash, ..WalkOptions::default() }
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
    let options = verify.options(inputs.max_size, &selection);
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

/// What `read` makes of every wanted object of every input, in their order; it is given the file's name, too.
pub(crate) fn gather<T: Send + Sync>(
    inputs: &Inputs,
    filter: &ObjectFilter,
    read: impl Fn(&str, &ObjectItem<'_, '_>, &mut Trouble) -> Vec<T> + Sync,
) -> Result<(Vec<T>, Status)> {
    let mut gatherer = Gatherer { read, file: String::new(), found: Vec::new() };
    let status = run(inputs, filter, Verify::Unpacked, &mut gatherer)?;
    Ok((gatherer.found, status))
}

struct Gatherer<R, T> {
    read: R,
    file: String,
    found: Vec<T>,
}

impl<R, T: Send + Sync> Visit for Gatherer<R, T>
where
    R: Fn(&str, &ObjectItem<'_, '_>, &mut Trouble) -> Vec<T> + Sync,
{
    type Row<'e> = Vec<T>;

    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        self.file.clone_from(&file.input.name);
        Ok(())
    }

    fn read(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Result<Vec<T>> {
        Ok((self.read)(&self.file, item, trouble))
    }

    fn object(&mut self, row: Vec<T>) -> Result<()> {
        self.found.extend(row);
        Ok(())
    }
}

/// Shows a visitor every wanted object of one input.
pub(crate) fn walk<V: Visit>(
    input: &Input,
    selection: &ObjectSelection,
    options: &WalkOptions,
    visitor: &mut V,
    report: &mut Report,
) -> Result<()> {
    report.begin(&input.name);
    progress::file(&input.name);
    let file = FileItem { input, container: Container::detect(input) };
    if input.found && file.container.is_none() {
        return Ok(());
    }
    let Some(walk) = Walk::new(input, options, selection) else { return Ok(()) };
    report.look_into();
    visitor.begin(&file)?;
    let mut reporting = Reporting { visitor, report };
    let number = walk.run(&mut reporting)?;
    let Reporting { visitor, report } = reporting;
    if number == 0 && report.first().is_none() && !visitor.takes_any_file() {
        report.no_code();
    }
    visitor.end(report.first())
}

/// A verb's visitor, whose problems are reported.
struct Reporting<'v, V> {
    visitor: &'v mut V,
    report: &'v mut Report,
}

impl<V: Visit> hsaco_files::Visit for Reporting<'_, V> {
    type Row<'e> = V::Row<'e>;
    type Error = anyhow::Error;

    fn read<'e>(&self, item: &ObjectItem<'e, '_>, trouble: &mut Trouble) -> Result<V::Row<'e>> {
        self.visitor.read(item, trouble)
    }

    fn objects(&mut self, rows: Vec<V::Row<'_>>) -> Result<()> {
        progress::objects(rows.len());
        self.visitor.objects(rows)
    }

    fn other(&mut self, entry: &Entry<'_>) -> Result<()> {
        self.visitor.other(entry)
    }

    fn problem(&mut self, problem: &Problem) {
        self.report.problem(&problem.place, &problem.error);
    }
}
