//! `ls --index`: listings of files that need not be opened, because an index knows what is in them.

use std::path::Path;

use anyhow::Result;
use hsaco::bytes::Str;
use hsaco::container::{Container, Entry};
use hsaco::db::index::{FileRecord, KernelRecord, ObjectRecord, SymbolRecord, key_of};

use super::{
    Args, TargetSummary, TextLister, TextRow, kernel_cells, kernel_table, kind_name, object_parts,
    push_titled, source_name, version_name,
};
use crate::args::{Format, ObjectFilter};
use crate::index_file::{IndexFile, stamp_of};
use crate::input::{self, Place};
use crate::output::Output;
use crate::report::{Report, Status, Trouble};
use crate::scan::{self, FileItem, ObjectItem, Verify, Visit};
use crate::schema::{self, FileStream, OtherEntry, Pieces};
use crate::select::{KernelSelection, ObjectSelection};
use crate::table::{Align, Cell, Table};

/// Lists all inputs: from the index what it knows, and what it does not know into it.
pub(super) fn run(
    args: &Args,
    index: &Path,
    verify: Verify,
    kernels: &KernelSelection,
    out: &mut Output,
) -> Result<Status> {
    let mut index = IndexFile::open(index)?;
    let selection = ObjectSelection::new(&args.objects)?;
    let mut report = Report::default();
    let mut listing = match args.answer.format {
        Format::Text => Listing::Text(TextLister::new(args, kernels, out)),
        Format::Json => {
            let stream = FileStream::begin(out)?.leaving_out_empty(!kernels.is_all());
            Listing::Json(stream, kernels, out)
        }
    };
    let mut places = input::inputs(&args.inputs.files);
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
    Ok(selection.conclude(report.conclude(&args.inputs.files)))
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
            let options = self.verify.options(self.args.inputs.max_size);
            let all = ObjectSelection::new(&ObjectFilter::default());
            if let Ok(all) = all
                && let Err(error) = scan::walk(&input, &all, &options, &mut recorder, report)
            {
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
        let mut record = ObjectRecord {
            number: item.number,
            entry_id: item.entry.id.clone(),
            offset: item.entry.offset,
            size: item.entry.data.len() as u64,
            target: item.target.clone(),
            kind: kind_name(item.entry.kind, item.object.as_ref()).to_owned(),
            ..ObjectRecord::default()
        };
        if let Some(object) = &item.object {
            record.generic_version = object.e_flags().generic_version();
            record.version = version_name(object);
            record.abi_version = Some(object.elf().header().abi_version);
            record.code_object_version =
                object.abi_version().code_object_version().filter(|_| object.is_hsa());
            for (kernel, problem) in record.read(object) {
                let place = match kernel {
                    Some(kernel) => format!("{}: kernel {kernel}", item.place()),
                    None => item.place(),
                };
                trouble.note(place, item.located(problem));
            }
        }
        Ok(record)
    }

    fn object(&mut self, record: ObjectRecord) -> Result<()> {
        self.0.objects.push(record);
        Ok(())
    }

    fn other(&mut self, entry: &Entry<'_>) -> Result<()> {
        self.0.others.push((entry.id.clone(), entry.offset, entry.data.len() as u64));
        Ok(())
    }

    fn end(&mut self, _error: Option<&str>) -> Result<()> {
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
        let container =
            Container::ALL.into_iter().find(|it| Some(it.name()) == record.container.as_deref());
        let wanted = record.objects.iter().filter(|it| {
            let text = it.target.as_deref().unwrap_or_default();
            selection.wants_target(it.number, text.parse().ok(), text, it.generic_version)
        });
        match self {
            Self::Text(lister) => {
                lister.begin_file(name, container);
                for object in wanted {
                    let row = lister.record_row(object)?;
                    lister.object(row)?;
                }
                lister.end(error)
            }
            Self::Json(stream, kernels, out) => {
                stream.begin_file(name, container.map(Container::name))?;
                let has_one = |it: &&ObjectRecord| {
                    kernels.is_all() || wanted_kernels(it, kernels).next().is_some()
                };
                for object in wanted.filter(has_one) {
                    stream.object(*out, &json_object(object, kernels)?)?;
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

fn json_object(record: &ObjectRecord, kernels: &KernelSelection) -> Result<Pieces> {
    let head = schema::Object {
        index: record.number,
        entry_id: record.entry_id.as_deref(),
        offset: record.offset,
        size: record.size,
        target: record.target.as_deref(),
        abi_version: record.abi_version,
        code_object_version: record.code_object_version,
        kind: &record.kind,
    };
    let mut json = Vec::new();
    for kernel in wanted_kernels(record, kernels) {
        if !json.is_empty() {
            json.push(b',');
        }
        json_kernel(kernel).push_json(&mut json)?;
    }
    let pieces = if json.is_empty() { Pieces::new() } else { vec![json] };
    let others = schema::Others {
        functions: record.functions.iter().map(json_function).collect(),
        variables: record.variables.iter().map(json_variable).collect(),
    };
    schema::object(&head, pieces, &others)
}

fn wanted_kernels<'r>(
    record: &'r ObjectRecord,
    kernels: &KernelSelection,
) -> impl Iterator<Item = &'r KernelRecord> {
    record.kernels.iter().filter(|it| kernels.wants(Str::new(&it.name)))
}

fn json_kernel(kernel: &KernelRecord) -> schema::Kernel<'_> {
    let it = &kernel.resources;
    schema::Kernel {
        name: Str::new(&kernel.name).to_str_lossy(),
        demangled: source_name(Str::new(&kernel.name)),
        symbol: kernel.symbol.as_deref().map(|name| Str::new(name).to_str_lossy()),
        descriptor: kernel.descriptor,
        entry: kernel.entry,
        code_size: kernel.code_size,
        vgprs: it.vgprs,
        agprs: it.agprs,
        sgprs: it.sgprs,
        lds: it.lds,
        scratch: it.scratch,
        kernarg_size: it.kernarg_size,
        wavefront_size: it.wavefront_size,
        max_workgroup_size: it.max_workgroup_size,
    }
}

fn json_function(symbol: &SymbolRecord) -> schema::Function<'_> {
    let name = Str::new(&symbol.name);
    let (address, size) = (symbol.address, symbol.size);
    schema::Function { name: name.to_str_lossy(), demangled: source_name(name), address, size }
}

fn json_variable(symbol: &SymbolRecord) -> schema::Variable<'_> {
    let name = Str::new(&symbol.name).to_str_lossy();
    schema::Variable { name, address: symbol.address, size: symbol.size }
}

impl TextLister<'_> {
    fn record_row(&self, record: &ObjectRecord) -> Result<TextRow> {
        let detail = match self.long || self.selects || record.number == 0 {
            true => self.record_detail(record)?,
            false => Vec::new(),
        };
        let version = if record.abi_version.is_some() { &record.version } else { &record.kind };
        let summary = TargetSummary {
            target: record.target.clone().unwrap_or_else(|| "unknown".to_owned()),
            version: version.clone(),
            objects: 1,
            kernels: wanted_kernels(record, self.kernels).count(),
            functions: record.functions.len(),
            variables: record.variables.len(),
            size: record.size,
        };
        Ok(TextRow { summary, detail })
    }

    fn record_detail(&self, record: &ObjectRecord) -> Result<Vec<u8>> {
        use std::io::Write;
        let mut text = Vec::new();
        let color = self.out.color();
        if self.file.container != Some(Container::CodeObject) {
            let version = record.abi_version.map(|_| record.version.clone());
            let line = object_parts(
                record.number,
                record.target.clone(),
                version,
                &record.kind,
                (record.size, record.offset),
                record.entry_id.clone(),
            );
            writeln!(text, "\n{line}")?;
        }
        let mut table = kernel_table();
        for kernel in wanted_kernels(record, self.kernels) {
            let name = self.name(Str::new(&kernel.name));
            table.row(kernel_cells(&kernel.resources, kernel.code_size, &name));
        }
        push_titled(&mut text, &[table], color);
        if self.kernels.is_all() {
            for (title, symbols) in [
                ("FUNCTION", &record.functions),
                ("VARIABLE", &record.variables),
                ("LDS VARIABLE", &record.lds_variables),
                ("EXTERNAL", &record.externals),
            ] {
                push_titled(&mut text, &[self.record_table(title, symbols)], color);
            }
        }
        Ok(text)
    }

    fn record_table(&self, title: &'static str, symbols: &[SymbolRecord]) -> Table {
        let mut table =
            Table::new(&[("ADDRESS", Align::Right), ("SIZE", Align::Right), (title, Align::Left)]);
        for symbol in symbols {
            let name = self.name(Str::new(&symbol.name));
            table.row([Cell::Hex(symbol.address), Cell::from(symbol.size), Cell::Text(&name)]);
        }
        table
    }
}
