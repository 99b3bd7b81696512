//! Many files as one data set: what a file holds, by the digest of its content, in tables that programs join.
//!
//! A row does not say where a file is, so the same content gives the same rows wherever it is found and whichever machine
//! reads it. The table of files has the paths.

use std::{fmt, io};

use hsaco_analysis::demand;
use hsaco_bytes::number::count;
use hsaco_bytes::{SCHEMA_VERSION, Str};
use hsaco_container::{Container, WalkOptions};
use hsaco_files::input::{Input, Place, Unopened};
use hsaco_files::{Dataset, ObjectItem, ObjectSelection, Problem, Trouble, Visit, Walk, progress};
use hsaco_isa::Processor;
use hsaco_object::Kernel;
use hsaco_patch::Digest;
use hsaco_table::{CellValue, Column, ColumnType, Rows, parquet};
use serde::Serialize;

use crate::list::{KernelRow, ObjectRow};
use crate::names::Names;
use crate::resources::Spills;

/// The tables of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Where files are.
    Files,
    /// What a file is, and what is wrong with it.
    Contents,
    /// Objects of files.
    Objects,
    /// Kernels of objects.
    Kernels,
}

impl Table {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Files, Self::Contents, Self::Objects, Self::Kernels];

    /// Its name, which is that of its folder.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Contents => "contents",
            Self::Objects => "objects",
            Self::Kernels => "kernels",
        }
    }

    /// What one row is.
    #[must_use]
    pub fn row(self) -> &'static str {
        match self {
            Self::Files => "a path",
            Self::Contents => "the content of a file",
            Self::Objects => "an object of a content",
            Self::Kernels => "a kernel of an object",
        }
    }

    /// Its columns.
    #[must_use]
    pub fn columns(self) -> &'static [Column] {
        match self {
            Self::Files => &FILES,
            Self::Contents => &CONTENTS,
            Self::Objects => &OBJECTS,
            Self::Kernels => &KERNELS,
        }
    }
}

const DIGEST: Column = Column::new("digest", ColumnType::Text, "SHA-256 of the file's content");
const MEMBER: Column = Column::new(
    "member",
    ColumnType::Text,
    "In a package, the path of the file that holds the object",
);
const OBJECT: Column =
    Column::new("object", ColumnType::Number, "The number of the object in the file, from 0");
const TARGET: Column =
    Column::new("target", ColumnType::Text, "What the object is for: gfx90a:xnack-");

const FILES: [Column; 3] = [
    Column::new("path", ColumnType::Text, "Where the file is, as it was named"),
    DIGEST,
    Column::new("error", ColumnType::Text, "Why it could not be opened; then there is no digest"),
];

const CONTENTS: [Column; 7] = [
    DIGEST,
    Column::new("size", ColumnType::Number, "Bytes of the file"),
    Column::new("container", ColumnType::Text, "What the file is: elf, bundle, zip …"),
    Column::new("objects", ColumnType::Number, "Objects in it"),
    Column::new("kernels", ColumnType::Number, "Kernels of these"),
    Column::new("problems", ColumnType::Number, "How much is wrong with it"),
    Column::new("error", ColumnType::Text, "The first thing that is"),
];

const OBJECTS: [Column; 10] = [
    DIGEST,
    MEMBER,
    OBJECT,
    Column::new("entry_id", ColumnType::Text, "What the object's container calls it"),
    TARGET,
    Column::new("type", ColumnType::Text, "What it is: ET_DYN, bitcode …"),
    Column::new("version", ColumnType::Text, "The version of the code object: V6"),
    Column::new("size", ColumnType::Number, "Its bytes, decompressed"),
    Column::new("kernels", ColumnType::Number, "Kernels that it defines"),
    Column::new(
        "object_digest",
        ColumnType::Text,
        "SHA-256 of these bytes: what is shipped twice has the same",
    ),
];

const KERNELS: [Column; 23] = [
    DIGEST,
    MEMBER,
    OBJECT,
    TARGET,
    Column::new("name", ColumnType::Text, "The mangled name"),
    Column::new("demangled", ColumnType::Text, "The name in the source"),
    Column::new(
        "short",
        ColumnType::Text,
        "The function's name alone, without namespace, template arguments and parameters",
    ),
    Column::new("code_size", ColumnType::Number, "Bytes of code"),
    Column::new("vgprs", ColumnType::Number, "Vector registers that the metadata declare"),
    Column::new("agprs", ColumnType::Number, "Accumulation registers that they declare"),
    Column::new("sgprs", ColumnType::Number, "Scalar registers that they declare"),
    Column::new("lds", ColumnType::Number, "Bytes of LDS"),
    Column::new("scratch", ColumnType::Number, "Bytes of scratch memory of a lane"),
    Column::new("kernarg_size", ColumnType::Number, "Bytes of arguments"),
    Column::new("wavefront_size", ColumnType::Number, "Lanes of a wave"),
    Column::new("max_workgroup_size", ColumnType::Number, "The most work-items of a workgroup"),
    Column::new("spills", ColumnType::Number, "Registers that the compiler spilled, of both kinds"),
    Column::new("vgpr_spills", ColumnType::Number, "Vector registers that it spilled"),
    Column::new("sgpr_spills", ColumnType::Number, "Scalar registers that it spilled"),
    Column::new("occupancy", ColumnType::Number, "Waves on a SIMD"),
    Column::new("max_occupancy", ColumnType::Number, "The most waves that a SIMD takes"),
    Column::new("workgroups", ColumnType::Number, "Workgroups on a compute unit"),
    Column::new(
        "limiter",
        ColumnType::Text,
        "What there is too little of for more waves: vgprs, sgprs, lds or workgroups",
    ),
];

/// What a file's content comes to, as rows of the tables that are by digest.
#[derive(Debug)]
pub struct Scan {
    /// Of [`Table::Contents`], one row.
    pub contents: Rows,
    /// Of [`Table::Objects`].
    pub objects: Rows,
    /// Of [`Table::Kernels`].
    pub kernels: Rows,
    /// The first thing that is wrong with the file.
    pub error: Option<String>,
}

impl Scan {
    /// The tables, each with its rows.
    #[must_use]
    pub fn tables(&self) -> [(Table, &Rows); 3] {
        [
            (Table::Objects, &self.objects),
            (Table::Kernels, &self.kernels),
            // The last that is written: with it, the content is done.
            (Table::Contents, &self.contents),
        ]
    }
}

/// What became of a data set.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DatasetSummary {
    /// Of the document.
    pub schema_version: u32,
    /// The folder.
    pub dataset: String,
    /// Files that were named or found.
    pub files: usize,
    /// Those whose content was in the data set already.
    pub known: usize,
    /// Those that could not be read, or not all of it.
    pub broken: usize,
    /// Objects that were added.
    pub objects: usize,
    /// Kernels that were added.
    pub kernels: usize,
}

/// The digest by which a content is known.
#[must_use]
pub fn digest(content: &[u8]) -> String {
    Digest::of(content).to_string()
}

/// Reads all of a file. What is wrong with it is in the rows.
#[must_use]
pub fn scan(input: &Input, digest: &str, options: &WalkOptions) -> Scan {
    let mut scanner = Scanner {
        digest,
        objects: Rows::new(&OBJECTS),
        kernels: Rows::new(&KERNELS),
        problems: 0,
        error: None,
    };
    let all = ObjectSelection::default();
    if let Some(walk) = Walk::new(input, options, &all) {
        let Ok(_) = walk.run(&mut scanner);
    }
    let Scanner { objects, kernels, problems, error, .. } = scanner;
    let mut contents = Rows::new(&CONTENTS);
    contents.push([
        digest.into(),
        input.len().into(),
        Container::detect(input).map(Container::name).into(),
        objects.len().into(),
        kernels.len().into(),
        problems.into(),
        error.as_deref().into(),
    ]);
    Scan { contents, objects, kernels, error }
}

/// A file, once its content is in a data set.
#[derive(Clone, Debug)]
pub struct Added {
    /// The file, as it was named.
    pub path: String,
    /// The digest of its content, or why it could not be opened.
    pub opened: Result<String, String>,
    /// Objects and kernels that were added, and whether something is wrong with the file; nothing where the content was known.
    pub scanned: Option<(usize, usize, bool)>,
}

/// Puts what a file holds into a data set; nothing for one that was found in a folder and is of no format that holds device code.
///
/// # Errors
/// The data set cannot be written.
pub fn add(
    place: Result<&Place, &Unopened>,
    dataset: &Dataset,
    options: &WalkOptions,
) -> io::Result<Option<Added>> {
    let not_opened = |it: &Unopened| Added {
        path: it.name.clone(),
        opened: Err(it.error.to_string()),
        scanned: None,
    };
    let input = match place.map(|it| it.clone().open()) {
        Ok(Ok(input)) => input,
        Ok(Err(unopened)) => return Ok(Some(not_opened(&unopened))),
        Err(unopened) => return Ok(Some(not_opened(unopened))),
    };
    if input.found && Container::detect(&input).is_none() {
        return Ok(None);
    }
    progress::file(&input.name);
    let digest = digest(&input);
    let mut scanned = None;
    if !dataset.has(Table::Contents.name(), &digest) {
        let scan = scan(&input, &digest, options);
        for (table, rows) in scan.tables() {
            dataset.put(table.name(), &digest, &to_parquet(table, rows)?)?;
        }
        progress::objects(scan.objects.len());
        scanned = Some((scan.objects.len(), scan.kernels.len(), scan.error.is_some()));
    }
    Ok(Some(Added { path: input.name.clone(), opened: Ok(digest), scanned }))
}

/// Writes where files are, once all are in a data set, and says what became of it.
///
/// # Errors
/// The data set cannot be written.
pub fn finish(added: &[Added], dataset: &Dataset, name: &str) -> io::Result<DatasetSummary> {
    let rows = added.iter().map(|it| {
        (it.path.as_str(), it.opened.as_ref().map(String::as_str).map_err(String::as_str))
    });
    dataset.put_all(Table::Files.name(), &to_parquet(Table::Files, &files(rows))?)?;
    let mut summary = DatasetSummary {
        schema_version: SCHEMA_VERSION,
        dataset: name.to_owned(),
        files: added.len(),
        ..DatasetSummary::default()
    };
    for it in added {
        let (objects, kernels, is_broken) = it.scanned.unwrap_or_default();
        summary.known += usize::from(it.opened.is_ok() && it.scanned.is_none());
        summary.broken += usize::from(it.opened.is_err() || is_broken);
        summary.objects += objects;
        summary.kernels += kernels;
    }
    Ok(summary)
}

impl fmt::Display for DatasetSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dataset, files, known, objects, kernels, .. } = self;
        let [files, objects, kernels] = [(files, "file"), (objects, "object"), (kernels, "kernel")]
            .map(|(n, what)| count(*n, what));
        write!(f, "{dataset}: {files}, {known} of them known; {objects} and {kernels} added")
    }
}

/// Rows of [`Table::Files`]: a path with the digest of what is there, or with why it could not be opened.
#[must_use]
pub fn files<'f>(rows: impl IntoIterator<Item = (&'f str, Result<&'f str, &'f str>)>) -> Rows {
    let mut files = Rows::new(&FILES);
    for (path, opened) in rows {
        files.push([path.into(), opened.ok().into(), opened.err().into()]);
    }
    files
}

/// A table as Parquet.
///
/// # Errors
/// A text is longer than the format allows.
pub fn to_parquet(table: Table, rows: &Rows) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut writer = parquet::Writer::new(&mut out, rows.columns(), table.name())?;
    writer.write(rows, &mut out)?;
    writer.finish(&mut out)?;
    Ok(out)
}

struct Scanner<'d> {
    digest: &'d str,
    objects: Rows,
    kernels: Rows,
    problems: usize,
    error: Option<String>,
}

impl Visit for Scanner<'_> {
    type Row<'e> = (Rows, Rows);
    type Error = std::convert::Infallible;

    fn read<'e>(
        &self,
        item: &ObjectItem<'e, '_>,
        trouble: &mut Trouble,
    ) -> Result<Self::Row<'e>, Self::Error> {
        let head = ObjectRow::new(item);
        let kernels = self.kernels(item, &head, trouble);
        let mut objects = Rows::new(&OBJECTS);
        objects.push([
            self.digest.into(),
            head.member.as_deref().into(),
            head.index.into(),
            head.entry_id.into(),
            head.target.into(),
            head.kind.into(),
            head.version.as_deref().into(),
            head.size.into(),
            kernels.len().into(),
            Digest::of(&item.entry.data).to_string().into(),
        ]);
        Ok((objects, kernels))
    }

    fn objects(&mut self, rows: Vec<Self::Row<'_>>) -> Result<(), Self::Error> {
        for (objects, kernels) in rows {
            self.objects.append(&objects);
            self.kernels.append(&kernels);
        }
        Ok(())
    }

    fn problem(&mut self, problem: &Problem) {
        self.problems += 1;
        let place = if problem.place.is_empty() { "" } else { ": " };
        self.error.get_or_insert_with(|| format!("{}{place}{}", problem.place, problem.error));
    }
}

impl Scanner<'_> {
    fn kernels(
        &self,
        item: &ObjectItem<'_, '_>,
        head: &ObjectRow<'_>,
        trouble: &mut Trouble,
    ) -> Rows {
        let mut rows = Rows::new(&KERNELS);
        let Some(object) = &item.object else { return rows };
        let processor = object.e_flags().processor();
        let generation = processor.map(Processor::generation);
        let index = item.index(object, trouble);
        for kernel in index.kernels() {
            let (row, wrong) = KernelRow::new(kernel, generation);
            if let Some(error) = wrong {
                item.note_kernel(kernel.name(), error, trouble);
            }
            rows.push(self.kernel(head, kernel, &row, processor));
        }
        rows
    }

    fn kernel<'v>(
        &'v self,
        head: &'v ObjectRow<'_>,
        kernel: &Kernel<'_>,
        row: &'v KernelRow<'_>,
        processor: Option<Processor>,
    ) -> [CellValue<'v>; 23] {
        let spills = Spills::of(kernel);
        let occupancy = processor.and_then(|processor| {
            let demand = demand(kernel, processor.generation())?;
            processor.limits().occupancy(&demand)
        });
        [
            self.digest.into(),
            head.member.as_deref().into(),
            head.index.into(),
            head.target.into(),
            (&row.name).into(),
            (&row.demangled).into(),
            CellValue::Text(Names::Short.of(Str::from(&*row.name))),
            row.code_size.into(),
            row.vgprs.into(),
            row.agprs.into(),
            row.sgprs.into(),
            row.lds.into(),
            row.scratch.into(),
            row.kernarg_size.into(),
            row.wavefront_size.into(),
            row.max_workgroup_size.into(),
            spills.total().into(),
            spills.vgprs.into(),
            spills.sgprs.into(),
            occupancy.as_ref().map(|it| it.waves).into(),
            occupancy.as_ref().map(|it| it.max_waves).into(),
            occupancy.as_ref().map(|it| it.workgroups).into(),
            occupancy
                .as_ref()
                .and_then(|it| it.limiter)
                .map(hsaco_isa::occupancy::Limiter::name)
                .into(),
        ]
    }
}
