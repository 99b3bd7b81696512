//! One skeleton for verbs that read objects: a row of each, as JSON or as text.
//!
//! A verb is its arguments, a [`Row`](Verb::Row), [`read`](Verb::read) and [`text`](Verb::text). Files, objects, formats,
//! colours, outputs and exit codes are the same for all.

use std::ffi::OsStr;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use hsaco_describe::names::Names;
use hsaco_describe::tables::{Place, Record};
use serde::Serialize;

use crate::args::{Answer, Color, Format, Inputs, KernelFilter, ObjectFilter, Reading};
use crate::frame::{self, Frame, Heading, Rows};
use crate::output::Output;
use crate::report::{self, Status, Trouble};
use crate::scan::{ObjectItem, Verify};
use crate::select::KernelSelection;
use crate::tabular::{self, Sheet, TableAnswer, TableReading};

/// A verb that answers with a row for each object.
pub(crate) trait Verb: Sync {
    /// What is read of an object. Its JSON follows the object's number and target.
    type Row<'e>: Serialize;

    /// How text names files and objects.
    const HEADING: Heading;
    /// How thoroughly compressed payloads are checked.
    const VERIFY: Verify = Verify::Unpacked;
    /// Whether JSON has the entry's id.
    const HAS_ENTRY_ID: bool = true;
    /// Whether text is compared with another tool's, byte for byte.
    const IS_EXACT: bool = false;

    /// Reads an object, on any thread.
    fn read<'e>(&self, look: &mut Look<'_, 'e, '_>) -> Self::Row<'e>;
    /// Writes a row for people.
    fn text(&self, row: &Self::Row<'_>, page: &mut Page) -> Result<()>;

    /// Whether text has anything to say of an object.
    fn is_shown(&self, _row: &Self::Row<'_>, _kernels: &KernelSelection) -> bool {
        true
    }
    /// Whether something is wrong with what an object says: the exit code is 1.
    fn is_finding(&self, _row: &Self::Row<'_>) -> bool {
        false
    }
    /// Whether what was asked for is in an object.
    fn is_found(&self, _row: &Self::Row<'_>) -> bool {
        true
    }
    /// How a run ends, and what it says, if that is in no object.
    fn missing(&self) -> (Status, String) {
        (Status::Fine, String::new())
    }
}

/// An object that is looked at, the kernels that are wanted of it, and what is wrong with it.
pub(crate) struct Look<'l, 'e, 'a> {
    pub(crate) item: &'l ObjectItem<'e, 'a>,
    pub(crate) kernels: &'l KernelSelection,
    pub(crate) trouble: &'l mut Trouble,
}

/// A page that is being written.
pub(crate) struct Page {
    pub(crate) out: Vec<u8>,
    pub(crate) color: bool,
}

/// What every verb is asked.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) inputs: &'a Inputs,
    pub(crate) objects: &'a ObjectFilter,
    /// None, where the verb knows no kernels.
    pub(crate) kernels: Option<&'a KernelFilter>,
    pub(crate) format: Format,
    pub(crate) output: Option<&'a OsStr>,
    pub(crate) color: Color,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(inputs: &'a Inputs, objects: &'a ObjectFilter, answer: &'a Answer) -> Self {
        let (format, output, color) = (answer.format, answer.output.as_deref(), answer.color);
        Self { inputs, objects, kernels: None, format, output, color }
    }

    pub(crate) fn of_kernels(self, kernels: &'a KernelFilter) -> Self {
        Self { kernels: Some(kernels), ..self }
    }
}

impl<'a> From<&'a Reading> for Asked<'a> {
    fn from(it: &'a Reading) -> Self {
        Self::new(&it.inputs, &it.objects, &it.answer).of_kernels(&it.kernels)
    }
}

/// Answers what is asked.
pub(crate) fn run<'a, V: Verb>(verb: &V, asked: impl Into<Asked<'a>>) -> Result<Status> {
    let asked = asked.into();
    asked.color.apply();
    let is_text = asked.format == Format::Text;
    let out = Output::open(asked.output)?;
    let mut out = if V::IS_EXACT { out.exact(is_text) } else { out.for_people(is_text) };
    let kernels = asked.kernels.map(KernelSelection::new).unwrap_or_default();
    let reader = Reader { verb, kernels: &kernels, is_found: false.into(), finds: false.into() };
    let what = (asked.inputs, asked.objects, V::VERIFY);
    let status = match asked.format {
        Format::Json => frame::run(&JsonRows(&reader), Frame::json(), what, &mut out)?,
        Format::Text => {
            let rows = TextRows { reader: &reader, color: out.color() };
            frame::run(&rows, Frame::text(V::HEADING, asked.inputs), what, &mut out)?
        }
    };
    out.finish()?;
    Ok(reader.conclude(status))
}

/// A verb whose rows are a table as well.
pub(crate) trait TableVerb: Verb {
    /// A row of the table.
    type Record<'a>: Record;

    /// How text shows names.
    fn names(&self) -> Names {
        Names::Full
    }
    /// The rows of the table that an object has.
    fn rows(&self, row: &Self::Row<'_>, place: Place<'_>) -> hsaco_table::Rows;
}

/// Answers what is asked, as a table or otherwise.
pub(crate) fn run_table<V: TableVerb>(verb: &V, asked: &AskedTable<'_>) -> Result<Status> {
    let &AskedTable { inputs, objects, kernels, answer } = asked;
    let format = match answer.plain()? {
        Ok(answer) => return run(verb, Asked { kernels, ..Asked::new(inputs, objects, &answer) }),
        Err(format) => format,
    };
    answer.color.apply();
    let (view, output) = (&answer.view, answer.output.as_deref());
    let sheet = Sheet::new::<V::Record<'_>>(format, view, output, verb.names())?;
    let kernels = kernels.map(KernelSelection::new).unwrap_or_default();
    let reader = Reader { verb, kernels: &kernels, is_found: false.into(), finds: false.into() };
    let status = tabular::run(sheet, (inputs, objects, V::VERIFY), |place, item, trouble| {
        verb.rows(&reader.read(item, trouble), place)
    })?;
    Ok(reader.conclude(status))
}

/// What verbs with tables are asked.
pub(crate) struct AskedTable<'a> {
    pub(crate) inputs: &'a Inputs,
    pub(crate) objects: &'a ObjectFilter,
    /// None, where the verb knows no kernels.
    pub(crate) kernels: Option<&'a KernelFilter>,
    pub(crate) answer: &'a TableAnswer,
}

impl<'a> From<&'a TableReading> for AskedTable<'a> {
    fn from(it: &'a TableReading) -> Self {
        let TableReading { inputs, objects, kernels, answer } = it;
        Self { inputs, objects, kernels: Some(kernels), answer }
    }
}

/// Reads rows, and remembers what they come to.
struct Reader<'v, V> {
    verb: &'v V,
    kernels: &'v KernelSelection,
    is_found: AtomicBool,
    finds: AtomicBool,
}

impl<V: Verb> Reader<'_, V> {
    fn read<'e>(&self, item: &ObjectItem<'e, '_>, trouble: &mut Trouble) -> V::Row<'e> {
        let row = self.verb.read(&mut Look { item, kernels: self.kernels, trouble });
        self.is_found.fetch_or(self.verb.is_found(&row), Ordering::Relaxed);
        self.finds.fetch_or(self.verb.is_finding(&row), Ordering::Relaxed);
        row
    }

    /// How a run ends that went so far.
    fn conclude(&self, mut status: Status) -> Status {
        if self.finds.load(Ordering::Relaxed) {
            status.note(Status::Findings);
        }
        let status = self.kernels.conclude(status);
        // Input that could not be read may have held it, and has been complained about.
        if self.is_found.load(Ordering::Relaxed) || status >= Status::Unsupported {
            return status;
        }
        let (failure, message) = self.verb.missing();
        if !message.is_empty() {
            report::error(&message);
        }
        status.max(failure)
    }
}

struct JsonRows<'v, V>(&'v Reader<'v, V>);

/// The JSON of an object.
#[derive(Serialize)]
struct Object<'o, R> {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry_id: Option<Option<&'o str>>,
    target: Option<&'o str>,
    #[serde(flatten)]
    row: R,
}

impl<V: Verb> Rows for JsonRows<'_, V> {
    type Row<'e> = Vec<u8>;

    fn read(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Result<Vec<u8>> {
        let row = self.0.read(item, trouble);
        Ok(serde_json::to_vec(&Object {
            index: item.number,
            entry_id: V::HAS_ENTRY_ID.then_some(item.entry.id.as_deref()),
            target: item.target.as_deref(),
            row,
        })?)
    }

    fn write(&self, json: Vec<u8>, out: &mut Output) -> Result<()> {
        Ok(out.write_all(&json)?)
    }
}

struct TextRows<'v, V> {
    reader: &'v Reader<'v, V>,
    color: bool,
}

impl<V: Verb> Rows for TextRows<'_, V> {
    type Row<'e> = Option<Vec<u8>>;

    fn read(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Result<Option<Vec<u8>>> {
        let Reader { verb, kernels, .. } = self.reader;
        let row = self.reader.read(item, trouble);
        if !verb.is_shown(&row, kernels) {
            return Ok(None);
        }
        let mut page = Page { out: Vec::new(), color: self.color };
        verb.text(&row, &mut page)?;
        Ok(Some(page.out))
    }

    fn is_shown(&self, page: &Option<Vec<u8>>) -> bool {
        page.is_some()
    }

    fn write(&self, page: Option<Vec<u8>>, out: &mut Output) -> Result<()> {
        Ok(out.write_all(&page.unwrap_or_default())?)
    }
}
