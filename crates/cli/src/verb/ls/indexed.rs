//! `ls --index`: listings of files that need not be opened, because an index knows what is in them.

use std::path::Path;

use anyhow::Result;
use hsaco::container::{Container, Entry};
use hsaco::db::index::{FileRecord, ObjectRecord, key_of};
use hsaco_describe::list::{Contents, record};

use super::{Args, TextLister, json};
use crate::args::Format;
use crate::index_file::{self, IndexFile, stamp_of};
use crate::input::{self, Place};
use crate::output::Output;
use crate::report::{Report, Status, Trouble};
use crate::scan::{self, FileItem, ObjectItem, Verify, Visit};
use crate::schema::{FileStream, OtherEntry};
use crate::select::{KernelSelection, ObjectSelection};

/// Lists all inputs: from the index what it knows, and what it does not know into it.
pub(super) fn run(
    args: &Args,
    index: &Path,
    verify: Verify,
    kernels: &KernelSelection,
    (format, out): (Format, &mut Output),
) -> Result<Status> {
    let mut index = index_file::open(index)?;
    let selection = ObjectSelection::new(&args.reading.objects)?;
    let mut report = Report::default();
    let mut listing = match format {
        Format::Text => Listing::Text(TextLister::new(args, kernels, out)),
        Format::Json => {
            let stream = FileStream::default().leaving_out_empty(!kernels.is_all());
            stream.begin(out)?;
            Listing::Json(stream, kernels, out)
        }
    };
    let mut places = input::inputs(&args.reading.inputs.files);
    while let Some(place) = places.next_place() {
        let read =
            place.and_then(|place| Reader { args, verify }.read(place, &mut index, &mut report));
        match read {
            Ok(Some((name, record))) => {
                report.look_into();
                listing.file(&name, &record, &selection, report.first())?;
            }
            Ok(None) => {}
            Err(unopened) => {
                report.begin(&unopened.name);
                report.failure(&unopened.error);
                listing.unopened(&unopened.name, report.first())?;
            }
        }
    }
    if let Listing::Json(stream, _, out) = listing {
        stream.end(out)?;
    }
    index.save()?;
    Ok(selection.conclude(report.conclude(&args.reading.inputs.files)))
}

struct Reader<'a> {
    args: &'a Args,
    verify: Verify,
}

impl Reader<'_> {
    /// What a file holds, and its name; nothing of a file that was found and is none of ours.
    fn read(
        &self,
        place: Place,
        index: &mut IndexFile,
        report: &mut Report,
    ) -> Result<Option<(String, FileRecord)>, input::Unopened> {
        let (name, found) = (place.name.clone(), place.found);
        let file = place.file().map(Path::to_owned);
        report.begin(&name);
        let wanted = |record: FileRecord| {
            let is_ours = record.container.is_some()
                && !(record.objects.is_empty() && record.others.is_empty());
            (!found || is_ours).then_some((name, record))
        };
        if let Some(record) = file.as_deref().and_then(|file| index.by_stamp(file)) {
            return Ok(wanted(record.clone()));
        }
        let stamp = file.as_deref().and_then(stamp_of);
        let input = place.open()?;
        let key = key_of(&input);
        let known = index.by_content(key).cloned();
        let record = known.unwrap_or_else(|| {
            let mut recorder = Recorder::default();
            let all = ObjectSelection::default();
            let options = self.verify.options(self.args.reading.inputs.max_size, &all);
            if let Err(error) = scan::walk(&input, &all, &options, &mut recorder, report) {
                report.failure(&error);
            }
            recorder.0
        });
        // What is wrong with a file is told each time, so it is read each time.
        if let Some(file) = file
            && report.first().is_none()
        {
            index.insert(&file, stamp, key, record.clone());
        }
        Ok(wanted(record))
    }
}

/// Makes the record of a file.
#[derive(Default)]
struct Recorder(FileRecord);

impl Visit for Recorder {
    type Row<'e> = ObjectRecord;

    fn takes_any_file(&self) -> bool {
        true
    }

    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        self.0.container = file.container.map(|it| it.name().to_owned());
        Ok(())
    }

    fn read(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Result<ObjectRecord> {
        Ok(record(item, trouble))
    }

    fn object(&mut self, record: ObjectRecord) -> Result<()> {
        self.0.objects.push(record);
        Ok(())
    }

    fn other(&mut self, entry: &Entry<'_>) -> Result<()> {
        self.0.others.push((entry.id.clone(), entry.offset, entry.data.len() as u64));
        Ok(())
    }
}

/// A listing in the making.
enum Listing<'o> {
    Text(TextLister<'o>),
    Json(FileStream, &'o KernelSelection, &'o mut Output),
}

impl Listing<'_> {
    fn file(
        &mut self,
        name: &str,
        record: &FileRecord,
        selection: &ObjectSelection,
        error: Option<&str>,
    ) -> Result<()> {
        let container = Container::ALL
            .iter()
            .copied()
            .find(|it| Some(it.name()) == record.container.as_deref());
        let wanted = record.objects.iter().filter(|it| {
            let text = it.target.as_deref().unwrap_or_default();
            selection.wants_target(it.number, text.parse().ok(), text, it.generic_version)
        });
        match self {
            Self::Text(lister) => {
                lister.begin_file(name, container);
                for object in wanted {
                    let row = lister.row(Contents::Recorded(object), &mut Trouble::default())?;
                    lister.object(row)?;
                }
                lister.end(error)
            }
            Self::Json(stream, kernels, out) => {
                stream.begin_file(name, container.map(Container::name))?;
                for object in wanted {
                    let contents = Contents::Recorded(object);
                    let json = json::object(contents, kernels, &mut Trouble::default())?;
                    if let Some(json) = json {
                        stream.begin_object(*out)?;
                        json.write_to(*out)?;
                    }
                }
                for (entry_id, offset, size) in record.others.clone() {
                    stream.other(OtherEntry { entry_id, offset, size });
                }
                stream.end_file(*out, error)
            }
        }
    }

    fn unopened(&mut self, name: &str, error: Option<&str>) -> Result<()> {
        match self {
            Self::Text(_) => Ok(()),
            Self::Json(stream, _, out) => {
                stream.begin_file(name, None)?;
                stream.end_file(*out, error)
            }
        }
    }
}
