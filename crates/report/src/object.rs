//! An object: a row and a page for each of its kernels and functions.

use std::collections::BTreeMap;

use hsaco_analysis::{Code, Function, demand};
use hsaco_check::{Checker, Facts, Finding, LaunchFacts};
use hsaco_describe::body::Body;
use hsaco_describe::info::Info;
use hsaco_describe::kernarg::{Layouts, Options as LayoutOptions};
use hsaco_describe::list::ObjectRow;
use hsaco_describe::open_code;
use hsaco_describe::resources::{KernelResources, Resources};
use hsaco_draw::Graph;
use hsaco_dwarf::DebugInfo;
use hsaco_files::{KernelSelection, ObjectItem, Trouble, parallel};
use hsaco_kernarg::{Inference, KernelLayout};
use hsaco_object::Kernel;
use serde::Serialize;

use crate::chunk::Chunk;
use crate::code::{CodeColumns, texts};
use crate::compare::OlderFiles;
use crate::occupancy::{DemandRow, DeviceTables, Devices};
use crate::overview::{FindingRow, Row, counted};
use crate::page::{ByName, Page, PageParts};
use crate::picture::{BlockColumns, Picture};
use crate::rewriting::Rewriting;
use crate::run::{ObjectRuns, Runs};
use crate::source::{SourceText, Sources};

/// Bytes of pages that are compressed together: kernels of an object resemble each other.
const CHUNK: usize = 256 << 10;
/// A function is as much work as so many small things.
const WEIGHT: usize = 64;

/// What goes into a report.
#[derive(Clone, Copy)]
pub struct PageOptions<'q> {
    /// Which kernels; where all are wanted, functions too.
    pub kernels: &'q KernelSelection,
    /// The rules that objects are held to.
    pub checker: &'q Checker,
    /// What reads source files.
    pub text: SourceText<'q>,
    /// Largest size that a debug section may unfold to.
    pub max_size: u64,
    /// What profiles and samples say.
    pub runs: &'q Runs,
    /// What is different from an older file.
    pub comparison: Option<&'q OlderFiles>,
    /// What was rewritten.
    pub rewriting: &'q Rewriting,
}

/// An object as a report has it.
#[derive(Debug)]
pub struct ObjectPages {
    pub(crate) head: ObjectHead,
    pub(crate) rows: Vec<Row>,
    pub(crate) chunks: Vec<Chunk>,
}

/// What is said of an object.
#[derive(Debug, Serialize)]
pub(crate) struct ObjectHead {
    /// The file that it is in, by number in the report.
    pub(crate) file: usize,
    index: usize,
    entry_id: Option<String>,
    target: Option<String>,
    version: Option<String>,
    #[serde(rename = "type")]
    kind: String,
    size: u64,
    offset: Option<u64>,
    /// Those that are about no kernel.
    findings: Vec<FindingRow>,
    devices: Vec<DeviceTables>,
}

impl ObjectPages {
    /// Reads an object; what cannot be shown of it is noted.
    pub fn new(
        item: &ObjectItem<'_, '_>,
        options: &PageOptions<'_>,
        trouble: &mut Trouble,
    ) -> Self {
        let findings = findings(item, options.checker);
        let mut pages =
            Self { head: ObjectHead::new(item, &findings), rows: Vec::new(), chunks: Vec::new() };
        let Some(code) = open_code(item, trouble) else { return pages };
        // The others find the same wrong with the object.
        let mut again = Trouble::default();
        let resources = Resources::new(item, options.kernels, &mut again);
        let layout = LayoutOptions {
            kernels: options.kernels,
            inference: Inference::Off,
            registers: true,
            max_size: options.max_size,
        };
        let layouts = Layouts::new(item, &layout, &mut again);
        let debug = DebugInfo::open_capped(code.object(), options.max_size);
        if let Err(error) = &debug {
            item.note(error.clone(), trouble);
        }
        let mut devices = Devices::default();
        let demands = demands(&code, &mut devices);
        pages.head.devices = devices.tables;
        let reader = Reader {
            item,
            options,
            code: &code,
            info: Info::new(item, options.kernels, &mut again),
            kernels: kernels(&code),
            resources: resources.kernels.iter().map(|it| (it.name.as_str(), it)).collect(),
            layouts: layouts.kernels.iter().map(|it| (it.name.as_str(), it)).collect(),
            demands,
            findings: &findings,
            debug: debug.ok().filter(|it| !it.is_empty()),
            runs: options.runs.of(&code),
        };
        pages.fill(&reader, trouble);
        pages
    }

    fn fill(&mut self, reader: &Reader<'_, '_, '_>, trouble: &mut Trouble) {
        let wanted: Vec<&Function<'_>> = reader.wanted().collect();
        // A few at a time, so that pages are not all in memory before they are compressed.
        let groups = chunked(&wanted);
        let read = parallel::map(&groups, WEIGHT, |group| {
            let mut trouble = Trouble::default();
            let read: Vec<_> = group.iter().map(|it| reader.page(it, &mut trouble)).collect();
            let (rows, pages): (Vec<Row>, Vec<PageParts>) = read.into_iter().unzip();
            (rows, Chunk::new(&pages), trouble)
        });
        for (rows, chunk, noted) in read {
            trouble.append(noted);
            self.rows.extend(rows);
            match chunk {
                Ok(chunk) => self.chunks.push(chunk),
                Err(error) => reader.item.note(error, trouble),
            }
        }
    }
}

/// Functions by turns, of about as much code.
fn chunked<'w, 'f>(wanted: &'w [&'f Function<'f>]) -> Vec<&'w [&'f Function<'f>]> {
    /// An instruction of four bytes takes about so many of a page.
    const GROWTH: usize = 12;
    const OF_EACH: usize = 6000;
    let mut groups = Vec::new();
    let (mut rest, mut count, mut size) = (wanted, 0, 0);
    while let Some(function) = rest.get(count) {
        count += 1;
        size += function.code.len() * GROWTH + OF_EACH;
        if size >= CHUNK || count == rest.len() {
            let (group, left) = rest.split_at(count);
            groups.push(group);
            (rest, count, size) = (left, 0, 0);
        }
    }
    groups
}

fn findings(item: &ObjectItem<'_, '_>, checker: &Checker) -> Vec<Finding> {
    let facts = Facts::of_entry(item.number, item.entry);
    facts.map_or_else(Vec::new, |it| checker.object(&it, None, &LaunchFacts::default()).findings)
}

/// The kernels of an object, by the addresses of their code.
fn kernels<'c>(code: &'c Code<'_>) -> BTreeMap<u64, &'c Kernel<'c>> {
    let kernels = code.index().kernels().iter();
    kernels.filter_map(|it| Some((code.kernel(it)?.address, it))).collect()
}

/// What the kernels of an object take, by the addresses of their code.
fn demands(code: &Code<'_>, devices: &mut Devices) -> BTreeMap<u64, DemandRow> {
    let processor = code.processor();
    let row = |(address, kernel): (u64, &Kernel<'_>)| {
        let demand = demand(kernel, processor.generation())?;
        Some((address, devices.demand(processor, &demand)?))
    };
    kernels(code).into_iter().filter_map(row).collect()
}

impl ObjectHead {
    fn new(item: &ObjectItem<'_, '_>, findings: &[Finding]) -> Self {
        let row = ObjectRow::new(item);
        let own = findings.iter().filter(|it| it.subject.kernel.is_none());
        Self {
            file: 0,
            index: row.index,
            entry_id: row.entry_id.map(str::to_owned),
            target: row.target.map(str::to_owned),
            version: row.version,
            kind: row.kind.to_owned(),
            size: row.size,
            offset: row.offset,
            findings: own.map(FindingRow::from).collect(),
            devices: Vec::new(),
        }
    }
}

/// What is known of an object, for the pages of its functions.
struct Reader<'r, 'e, 'a> {
    item: &'r ObjectItem<'e, 'a>,
    options: &'r PageOptions<'r>,
    code: &'r Code<'e>,
    info: Info<'e>,
    kernels: BTreeMap<u64, &'r Kernel<'r>>,
    resources: ByName<'r, KernelResources>,
    layouts: ByName<'r, KernelLayout>,
    demands: BTreeMap<u64, DemandRow>,
    findings: &'r [Finding],
    debug: Option<DebugInfo<'e>>,
    runs: ObjectRuns<'r>,
}

impl<'r, 'e> Reader<'r, 'e, '_> {
    /// The wanted functions: those of these names, else all.
    fn wanted(&self) -> impl Iterator<Item = &'r Function<'e>> {
        let kernels = self.options.kernels;
        let is_wanted = |it: &&Function<'_>| match it.name {
            Some(name) => kernels.is_all() || kernels.wants(name),
            None => kernels.is_all(),
        };
        self.code.functions().as_slice().iter().filter(is_wanted)
    }

    /// The row and the page of a function.
    fn page(&self, function: &Function<'_>, trouble: &mut Trouble) -> (Row, PageParts) {
        let name =
            function.name.map_or_else(|| format!("{:#x}", function.address), |it| it.to_string());
        let body = Body::new(self.code, function);
        let graph =
            Graph::of(body.decoder(), self.code.functions(), function, body.stream(), body.cfg());
        let mut sources = Sources::default();
        let places = self.places(&body, &mut sources, trouble);
        let addresses: Vec<u64> =
            (0..body.stream().len()).map(|step| body.stream().address_of(step)).collect();
        let demangled = graph.source_name().to_owned();
        let comment = |step: usize| sources.comment(*places.get(step)?);
        let names = [name.as_str(), demangled.as_str()];
        let samples = self.runs.samples(&addresses, names, || texts(&body), comment);
        let profile = self.runs.profile(&addresses);
        let own = self.findings.iter().filter(|it| it.subject.kernel.as_deref() == Some(&name));
        let resources = self.resources.get(name.as_str()).copied();
        let number = self.item.number;
        let mut row = Row {
            demangled,
            kind: graph.kind_name(),
            size: function.code.len(),
            instructions: body.stream().len(),
            loops: graph.loops.len(),
            findings: counted(own.clone()),
            executions: profile.as_ref().map(crate::run::ProfileColumns::total),
            samples: samples.as_ref().map(crate::samples::SampleColumns::total),
            change: self.options.comparison.map(|it| it.change(number, &name)),
            ..Row::default()
        };
        if let Some(resources) = resources {
            row.set_resources(resources);
        }
        let kernel = self.kernels.get(&function.address);
        let debug = self.debug.as_ref();
        let page = Page {
            address: function.address,
            info: kernel.and_then(|it| self.info.kernel(it)),
            resources,
            demand: self.demands.get(&function.address).filter(|_| kernel.is_some()),
            arguments: self.layouts.get(name.as_str()).copied(),
            findings: own.map(FindingRow::from).collect(),
            code: CodeColumns::new(&body, &graph),
            places,
            sources,
            blocks: BlockColumns::new(&graph),
            loops: body.loops(debug),
            picture: graph.overview().map(Picture::from),
            mix: body.mix(),
            peaks: body.peaks(debug),
            profile,
            samples,
            changes: self.options.comparison.and_then(|it| it.page(number, &name)),
            rewriting: self.options.rewriting.function(number, self.code, function),
            name: &name,
        };
        let parts = page.parts();
        row.name = name;
        (row, parts)
    }

    /// Where the instructions of a function come from; nothing without debug information.
    fn places(&self, body: &Body<'_>, sources: &mut Sources, trouble: &mut Trouble) -> Vec<usize> {
        let Some(debug) = &self.debug else { return Vec::new() };
        let stream = body.stream();
        match sources.places(debug, (0..stream.len()).map(|step| stream.address_of(step))) {
            Ok(places) => {
                sources.read(self.options.text);
                places
            }
            Err(error) => {
                self.item.note(error, trouble);
                Vec::new()
            }
        }
    }
}
