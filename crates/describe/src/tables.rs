//! Rows of verbs as tables: one definition of columns for each, which `docs/tables.md` documents.

use std::borrow::Cow;

use hsaco_check::result::{DeviceResult, FileResult, Shown};
use hsaco_dwarf::{DebugInfo, Spelling};
use hsaco_files::{KernelSelection, ObjectItem, Trouble};
use hsaco_kernarg::SpelledArgument;
use hsaco_load::SymbolRow;
use hsaco_object::CodeObject;
use hsaco_object::metadata::OwnedValueKind;
use hsaco_table::{CellValue, Column, ColumnType, Field, Rows};

use crate::arguments::{self, Arguments, ArgumentsOf};
use crate::body::LivePeak;
use crate::list::{Contents, KernelRow};
use crate::mix::Class;
use crate::names::Names;
use crate::query::{Found, FoundFunction, FoundInstruction};
use crate::resources::{self, KernelResources, Resources, WhatIfRow};
use crate::size::{SizeRow, SizesRow};
use crate::symbols::{self, Symbols};

/// What is one row of a table.
pub trait Record: Sized {
    /// The verb that the table is of.
    const TABLE: &'static str;
    /// What one row is.
    const ROW: &'static str;
    /// The column of mangled names.
    const MANGLED: &'static str = "name";
    /// Whether the columns of [`Place`] come first.
    const HAS_PLACE: bool = true;
    /// The columns that people are shown.
    const SHOWN: &'static [&'static str];

    /// Its own columns.
    fn fields() -> Vec<Field<Self>>;
}

/// The object that a row is of.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The file's name.
    pub path: &'a str,
    /// The number of the object in the file.
    pub object: usize,
    /// The id of its entry in a container.
    pub entry_id: Option<&'a str>,
    /// Its target.
    pub target: Option<&'a str>,
}

impl<'a> Place<'a> {
    /// The place of an object of a file.
    #[must_use]
    pub fn new(path: &'a str, item: &'a ObjectItem<'_, '_>) -> Self {
        Self {
            path,
            object: item.number,
            entry_id: item.entry.id.as_deref(),
            target: item.target.as_deref(),
        }
    }

    fn values(&self) -> [CellValue<'a>; 4] {
        [self.path.into(), self.object.into(), self.entry_id.into(), self.target.into()]
    }
}

/// The columns of a [`Place`].
const PLACE: [Column; 4] = [
    Column::new("path", ColumnType::Text, "The file, as it was named"),
    Column::new("object", ColumnType::Number, "The number of the object in the file, from 0"),
    Column::new("entry_id", ColumnType::Text, "What the object's container calls it"),
    Column::new("target", ColumnType::Text, "What the object is for: gfx90a:xnack-"),
];

/// The columns of rows of a kind.
#[must_use]
pub fn columns<R: Record>() -> Vec<Column> {
    let place = PLACE.iter().filter(|_| R::HAS_PLACE).copied();
    place.chain(R::fields().iter().map(|it| it.column)).collect()
}

/// Rows of a kind as a table; `place` is where they are, if they do not say it.
pub fn rows<'r, R: Record + 'r>(
    place: Option<Place<'_>>,
    records: impl IntoIterator<Item = &'r R>,
) -> Rows {
    let fields = R::fields();
    let mut rows = Rows::new(&columns::<R>());
    for record in records {
        let own = fields.iter().map(|it| (it.value)(record));
        rows.push(place.iter().flat_map(Place::values).chain(own));
    }
    rows
}

/// A table, for documentation.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The verb.
    pub table: &'static str,
    /// What one row is.
    pub row: &'static str,
    /// Its columns.
    pub columns: Vec<Column>,
}

/// All tables.
#[must_use]
pub fn all() -> Vec<Definition> {
    fn of<R: Record>() -> Definition {
        Definition { table: R::TABLE, row: R::ROW, columns: columns::<R>() }
    }
    vec![
        of::<KernelRow<'_>>(),
        of::<KernelResources>(),
        of::<FindingRecord<'_>>(),
        of::<SymbolRow>(),
        of::<ArgumentRecord<'_>>(),
        of::<InstructionRecord<'_>>(),
        of::<SizeRecord<'_>>(),
    ]
}

/// What is asked of each object, where the answer is a table.
#[derive(Clone, Debug)]
pub enum Question {
    /// Its kernels.
    Ls,
    /// What its kernels need.
    Resources(resources::Options),
    /// Its symbols.
    Symbols,
    /// The arguments of its kernels.
    Args,
}

impl Question {
    /// The names of all.
    pub const NAMES: [&'static str; 4] = ["ls", "resources", "symbols", "args"];

    /// The question of a name; the options are those of resources.
    #[must_use]
    pub fn named(name: &str, options: resources::Options) -> Option<Self> {
        Some(match name {
            "ls" => Self::Ls,
            "resources" => Self::Resources(options),
            "symbols" => Self::Symbols,
            "args" => Self::Args,
            _ => return None,
        })
    }

    /// Its name: that of the verb.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ls => KernelRow::TABLE,
            Self::Resources(_) => KernelResources::TABLE,
            Self::Symbols => SymbolRow::TABLE,
            Self::Args => ArgumentRecord::TABLE,
        }
    }

    /// The columns of the answer.
    #[must_use]
    pub fn columns(&self) -> Vec<Column> {
        match self {
            Self::Ls => columns::<KernelRow<'_>>(),
            Self::Resources(_) => columns::<KernelResources>(),
            Self::Symbols => columns::<SymbolRow>(),
            Self::Args => columns::<ArgumentRecord<'_>>(),
        }
    }

    /// The answer for an object and the wanted ones of its kernels; what is wrong with it is noted.
    pub fn rows(
        &self,
        place: Place<'_>,
        item: &ObjectItem<'_, '_>,
        kernels: &KernelSelection,
        trouble: &mut Trouble,
    ) -> Rows {
        match self {
            Self::Ls => kernel_rows(place, item, kernels, trouble),
            Self::Resources(options) => {
                rows(Some(place), &Resources::with(item, kernels, options, trouble).kernels)
            }
            Self::Symbols => {
                let options = symbols::Options { kinds: &[], callers: false };
                rows(Some(place), &Symbols::new(item, options, trouble).symbols)
            }
            Self::Args => {
                let spelling = Spelling::default();
                let options =
                    arguments::Options { kernels, spelling, max_size: DebugInfo::MAX_SECTION };
                let found = Arguments::new(item, &options, trouble);
                rows(Some(place), &ArgumentRecord::all(&found))
            }
        }
    }
}

/// The wanted kernels of an object.
fn kernel_rows(
    place: Place<'_>,
    item: &ObjectItem<'_, '_>,
    kernels: &KernelSelection,
    trouble: &mut Trouble,
) -> Rows {
    let index = item.object.as_ref().map(CodeObject::index).unwrap_or_default();
    let problems = item.object.as_ref().map(CodeObject::problems).unwrap_or_default();
    for problem in problems.iter().chain(index.problems()) {
        item.note(problem.clone(), trouble);
    }
    let contents = Contents::Read(item, &index);
    let mut found = Vec::new();
    for kernel in contents.kernels(kernels) {
        let (row, error) = kernel.row();
        contents.note(kernel.name(), error, trouble);
        found.push(row);
    }
    rows(Some(place), &found)
}

/// A mangled name as in the source.
fn full(name: &str) -> String {
    Names::Full.of(name.into()).into_owned()
}

/// The name of a function alone, of a mangled name.
fn shortened(name: &str) -> CellValue<'_> {
    CellValue::Text(Names::Short.of(name.into()))
}

/// The columns of a table, each on a line: name, type, what it means, and how it is read of a row.
macro_rules! fields {
    ($row:ty; $($name:literal $ty:ident $about:literal $value:expr;)+) => {
        vec![$(Field::<$row>::new($name, ColumnType::$ty, $about, $value)),+]
    };
}

impl Record for KernelRow<'_> {
    const TABLE: &'static str = "ls";
    const ROW: &'static str = "a kernel";
    const SHOWN: &'static [&'static str] = &[
        "path",
        "object",
        "target",
        "vgprs",
        "agprs",
        "sgprs",
        "lds",
        "scratch",
        "kernarg_size",
        "wavefront_size",
        "max_workgroup_size",
        "code_size",
        "demangled",
    ];

    fn fields() -> Vec<Field<Self>> {
        fields! { Self;
            "name" Text "The mangled name" |it| (&it.name).into();
            "demangled" Text "The name in the source" |it| (&it.demangled).into();
            "short" Text "The function's name alone, without namespace, template arguments and parameters"
                |it| shortened(&it.name);
            "symbol" Text "The name of the descriptor" |it| it.symbol.as_ref().into();
            "descriptor" Address "The address of the descriptor" |it| it.descriptor.into();
            "entry" Address "The address of the first instruction" |it| it.entry.into();
            "code_size" Number "Bytes of code" |it| it.code_size.into();
            "vgprs" Number "Vector registers that the metadata declare" |it| it.vgprs.into();
            "agprs" Number "Accumulation registers that they declare" |it| it.agprs.into();
            "sgprs" Number "Scalar registers that they declare" |it| it.sgprs.into();
            "lds" Number "Bytes of LDS" |it| it.lds.into();
            "scratch" Number "Bytes of scratch memory of a lane" |it| it.scratch.into();
            "kernarg_size" Number "Bytes of arguments" |it| it.kernarg_size.into();
            "wavefront_size" Number "Lanes of a wave" |it| it.wavefront_size.into();
            "max_workgroup_size" Number "The most work-items of a workgroup"
                |it| it.max_workgroup_size.into();
        }
    }
}

impl KernelResources {
    fn class(&self, class: Class) -> CellValue<'_> {
        self.mix.as_ref().map(|it| it.count(class)).into()
    }

    fn live(&self) -> Option<&LivePeak> {
        self.peak.as_ref()?.vgprs.as_ref()
    }
}

impl Record for KernelResources {
    const TABLE: &'static str = "resources";
    const ROW: &'static str = "a kernel";
    const SHOWN: &'static [&'static str] = &[
        "path",
        "object",
        "target",
        "vgprs",
        "agprs",
        "sgprs",
        "lds",
        "scratch",
        "spills",
        "occupancy",
        "limiter",
        "demangled",
    ];

    fn fields() -> Vec<Field<Self>> {
        let mut fields = needs();
        fields.extend(occupancy());
        fields.extend(on_demand());
        fields
    }
}

fn needs() -> Vec<Field<KernelResources>> {
    fields! { KernelResources;
        "name" Text "The mangled name" |it| (&it.name).into();
        "demangled" Text "The name in the source" |it| (&it.demangled).into();
            "short" Text "The function's name alone, without namespace, template arguments and parameters"
                |it| shortened(&it.name);
        "wavefront_size" Number "Lanes of a wave" |it| it.wavefront_size.into();
        "vgprs" Number "Vector registers: declared, or else allocated"
            |it| it.vgprs.declared.or(it.vgprs.allocated).into();
        "vgprs_needed" Number "Those that the code uses, callees included" |it| it.vgprs.needed.into();
        "vgprs_allocated" Number "Those that the descriptor gives" |it| it.vgprs.allocated.into();
        "agprs" Number "Accumulation registers: declared, or else allocated"
            |it| it.agprs.declared.or(it.agprs.allocated).into();
        "agprs_needed" Number "Those that the code uses, callees included" |it| it.agprs.needed.into();
        "agprs_allocated" Number "Those that the descriptor gives" |it| it.agprs.allocated.into();
        "sgprs" Number "Scalar registers: declared, or else allocated"
            |it| it.sgprs.declared.or(it.sgprs.allocated).into();
        "sgprs_needed" Number "Those that the code uses, callees included" |it| it.sgprs.needed.into();
        "sgprs_allocated" Number "Those that the descriptor gives" |it| it.sgprs.allocated.into();
        "lds" Number "Bytes of LDS: declared, or else allocated"
            |it| it.lds.declared.or(it.lds.allocated).into();
        "lds_accessed" Bool "Whether the code accesses LDS" |it| it.lds.accessed.into();
        "scratch" Number "Bytes of scratch memory of a lane: declared, or else allocated"
            |it| it.scratch.declared.or(it.scratch.allocated).into();
        "scratch_needed" Number "Those that the code shows, callees included" |it| it.scratch.needed.into();
        "spills" Number "Registers that the compiler spilled, of both kinds" |it| it.spills.total().into();
        "vgpr_spills" Number "Vector registers that it spilled" |it| it.spills.vgprs.into();
        "sgpr_spills" Number "Scalar registers that it spilled" |it| it.spills.sgprs.into();
        "dynamic_stack" Bool "Whether scratch memory grows by what only run time knows" |it| it.dynamic_stack.into();
        "recursive" Bool "Whether a function calls itself" |it| it.recursive.into();
        "complete" Bool "Whether all that runs is in the object, and known" |it| it.complete.into();
        "unknown_calls" Number "Calls whose callee is not known" |it| it.unknown_calls.into();
        "shortages" Number "Resources of which the descriptor gives less than the code needs"
            |it| it.shortages.len().into();
    }
}

fn occupancy() -> Vec<Field<KernelResources>> {
    fields! { KernelResources;
        "occupancy" Number "Waves on a SIMD" |it| it.occupancy.as_ref().map(|it| it.waves_per_simd).into();
        "max_occupancy" Number "The most waves that a SIMD takes"
            |it| it.occupancy.as_ref().map(|it| it.max_waves_per_simd).into();
        "workgroups" Number "Workgroups on a compute unit"
            |it| it.occupancy.as_ref().map(|it| it.workgroups_per_cu).into();
        "workgroup_size" Number "The size that these workgroups have"
            |it| it.occupancy.as_ref().map(|it| it.workgroup_size).into();
        "limiter" Text "What there is too little of for more waves: vgprs, sgprs, lds or workgroups"
            |it| it.occupancy.as_ref().and_then(|it| it.limiter).into();
        "next_occupancy" Number "How many waves it takes the least to come to"
            |it| it.next().map(|it| it.waves_per_simd).into();
        "next_vgprs" Number "Vector registers to free for that" |it| it.next().map(|it| it.vgprs).into();
        "next_sgprs" Number "Scalar registers to free for that" |it| it.next().map(|it| it.sgprs).into();
        "next_lds" Number "Bytes of LDS to free for that" |it| it.next().map(|it| it.lds).into();
    }
}

/// What is null where it was not asked for.
fn on_demand() -> Vec<Field<KernelResources>> {
    fields! { KernelResources;
        "what_if_occupancy" Number "Waves on a SIMD with the amounts of --what-if; 0 if the device has not so much"
            |it| it.what_if.as_ref().map(WhatIfRow::waves_per_simd).into();
        "what_if_limiter" Text "What there would be too little of (--what-if)"
            |it| it.what_if.as_ref().and_then(WhatIfRow::limiter).into();
        "live_vgprs" Number "The most vector registers that are live at once (--peak)"
            |it| it.live().map(|it| it.count).into();
        "live_address" Address "The first instruction before which they are (--peak)"
            |it| it.live().map(|it| it.address).into();
        "live_file" Text "The source file of that instruction (--peak)"
            |it| it.live().and_then(|it| it.file.as_ref()).into();
        "live_line" Number "Its line (--peak)" |it| it.live().and_then(|it| it.line).into();
        "instructions" Number "Instructions of the kernel's own code (--mix)"
            |it| it.mix.as_ref().map(|it| it.instructions).into();
        "valu" Number "Vector arithmetic among them (--mix)" |it| it.class(Class::Valu);
        "matrix" Number "Matrix operations (--mix)" |it| it.class(Class::Matrix);
        "salu" Number "Scalar arithmetic (--mix)" |it| it.class(Class::Salu);
        "smem" Number "Scalar memory accesses (--mix)" |it| it.class(Class::Smem);
        "vmem" Number "Vector memory accesses (--mix)" |it| it.class(Class::Vmem);
        "lds_ops" Number "Accesses of LDS (--mix)" |it| it.class(Class::Lds);
        "scratch_ops" Number "Accesses of scratch memory (--mix)" |it| it.class(Class::Scratch);
        "branches" Number "Branches, calls and ends (--mix)" |it| it.class(Class::Branch);
        "waits" Number "Waits for wait counters (--mix)" |it| it.class(Class::Wait);
        "barriers" Number "Waits for other waves (--mix)" |it| it.class(Class::Barrier);
        "nops" Number "Instructions that take time or hint at what follows (--mix)" |it| it.class(Class::Nop);
        "others" Number "Whatever else (--mix)" |it| it.class(Class::Other);
        "undecodable" Number "What is no instruction (--mix)" |it| it.class(Class::Undecodable);
    }
}

impl Record for SymbolRow {
    const TABLE: &'static str = "symbols";
    const ROW: &'static str = "a symbol";
    const SHOWN: &'static [&'static str] = &[
        "path",
        "object",
        "target",
        "value",
        "size",
        "kind",
        "binding",
        "visibility",
        "demangled",
    ];

    fn fields() -> Vec<Field<Self>> {
        fields! { Self;
            "name" Text "The mangled name" |it| (&it.name).into();
            "demangled" Text "The name in the source" |it| (&it.demangled).into();
            "short" Text "The function's name alone, without namespace, template arguments and parameters"
                |it| shortened(&it.name);
            "kind" Text "What it is: kernel, function, variable, external …" |it| it.kind.into();
            "value" Address "Where it is in its object" |it| it.value.into();
            "size" Number "Its bytes" |it| it.size.into();
            "align" Number "What its address is a multiple of" |it| it.align.into();
            "binding" Text "How names of other objects stand to it" |it| it.binding.into();
            "visibility" Text "Who may see it" |it| it.visibility.into();
            "exported" Bool "Whether other objects may use it" |it| it.exported.into();
            "const" Bool "Of a variable, whether it may only be read" |it| it.is_const.into();
            "code_address" Address "Of a kernel, where its code is" |it| it.code_address.into();
            "code_size" Number "Of a kernel, the bytes of its code" |it| it.code_size.into();
        }
    }
}

/// An argument of a kernel.
#[derive(Debug)]
pub struct ArgumentRecord<'a> {
    kernel: &'a ArgumentsOf,
    index: usize,
    spelled: &'a SpelledArgument,
}

impl<'a> ArgumentRecord<'a> {
    /// All arguments of all kernels.
    #[must_use]
    pub fn all(arguments: &'a Arguments) -> Vec<Self> {
        let of = |kernel: &'a ArgumentsOf| {
            let spelled = kernel.arguments.iter().enumerate();
            spelled.map(move |(index, spelled)| Self { kernel, index, spelled })
        };
        arguments.kernels.iter().flat_map(of).collect()
    }
}

impl Record for ArgumentRecord<'_> {
    const TABLE: &'static str = "args";
    const ROW: &'static str = "an argument of a kernel";
    const MANGLED: &'static str = "kernel";
    const SHOWN: &'static [&'static str] = &[
        "path",
        "object",
        "target",
        "demangled",
        "offset",
        "size",
        "align",
        "kind",
        "type",
        "name",
    ];

    fn fields() -> Vec<Field<Self>> {
        fields! { Self;
            "kernel" Text "The mangled name of the kernel" |it| (&it.kernel.name).into();
            "demangled" Text "The kernel's name in the source" |it| (&it.kernel.demangled).into();
            "short" Text "The function's name alone, without namespace, template arguments and parameters"
                |it| shortened(&it.kernel.name);
            "index" Number "The argument's position, hidden ones included" |it| it.index.into();
            "name" Text "The argument's name" |it| it.spelled.argument.name.as_ref().into();
            "offset" Number "Where it begins in the segment" |it| it.spelled.argument.offset.into();
            "size" Number "Its bytes" |it| it.spelled.argument.size.into();
            "align" Number "What its offset is a multiple of" |it| it.spelled.argument.alignment.into();
            "kind" Text "How the value is given: by_value, global_buffer, hidden_block_count_x …"
                |it| it.spelled.argument.kind.as_ref().map(OwnedValueKind::name).into();
            "hidden" Bool "Whether the runtime gives it"
                |it| it.spelled.argument.kind.as_ref().is_some_and(OwnedValueKind::is_hidden).into();
            "type" Text "Its type, where there is debug information" |it| it.spelled.ty.as_ref().into();
            "computed" Bool "Whether offsets follow from the types, as there are no metadata" |it| it.kernel.computed.into();
        }
    }
}

/// An instruction that was found.
#[derive(Debug)]
pub struct InstructionRecord<'a> {
    function: &'a FoundFunction,
    instruction: &'a FoundInstruction,
}

impl<'a> InstructionRecord<'a> {
    /// All that were found.
    #[must_use]
    pub fn all(found: &'a Found) -> Vec<Self> {
        let of = |function: &'a FoundFunction| {
            function.instructions.iter().map(move |instruction| Self { function, instruction })
        };
        found.functions.iter().flat_map(of).collect()
    }
}

impl Record for InstructionRecord<'_> {
    const TABLE: &'static str = "query";
    const ROW: &'static str = "an instruction";
    const MANGLED: &'static str = "function";
    const SHOWN: &'static [&'static str] =
        &["path", "object", "target", "address", "text", "file", "line", "demangled"];

    fn fields() -> Vec<Field<Self>> {
        fields! { Self;
            "function" Text "The mangled name of the function" |it| it.function.name.as_ref().into();
            "demangled" Text "The function's name in the source" |it| it.function.name.as_deref().map(full).into();
            "short" Text "The function's name alone, without namespace, template arguments and parameters"
                |it| it.function.name.as_deref().map_or(CellValue::Null, shortened);
            "function_address" Address "Where the function begins" |it| it.function.address.into();
            "address" Address "Where the instruction is" |it| it.instruction.address.into();
            "bytes" Text "Its encoding, as hexadecimal" |it| (&it.instruction.bytes).into();
            "mnemonic" Text "Its name, with suffixes such as _e32" |it| it.instruction.mnemonic.into();
            "text" Text "The instruction as a listing has it" |it| it.instruction.text.trim().into();
            "space" Text "The kind of memory that it accesses" |it| it.instruction.space.into();
            "access" Text "How it does: load, store or atomic" |it| it.instruction.access.into();
            "width" Number "Bytes that a lane moves, or the wave in scalar accesses" |it| it.instruction.width.into();
            "file" Text "The source file that it comes from" |it| it.instruction.file.as_ref().into();
            "line" Number "The line there" |it| it.instruction.line.into();
            "column" Number "The column there" |it| it.instruction.column.into();
        }
    }
}

/// Bytes of a file.
#[derive(Debug)]
pub struct SizeRecord<'a> {
    path: &'a str,
    /// Where the compressed bundle is that they are in.
    bundle: Option<u64>,
    row: &'a SizeRow<'a>,
}

impl<'a> SizeRecord<'a> {
    /// All bytes of a file, and those of its compressed bundles once decompressed.
    #[must_use]
    pub fn all(sizes: &'a SizesRow<'a>) -> Vec<Self> {
        let path = sizes.path;
        let own = sizes.rows.iter().map(|row| Self { path, bundle: None, row });
        let inflated = sizes.inflated.iter().flat_map(|inflated| {
            inflated.rows.iter().map(|row| Self { path, bundle: Some(inflated.offset), row })
        });
        own.chain(inflated).collect()
    }
}

impl Record for SizeRecord<'_> {
    const TABLE: &'static str = "size";
    const ROW: &'static str = "an owner of bytes";
    const MANGLED: &'static str = "kernel";
    const HAS_PLACE: bool = false;
    const SHOWN: &'static [&'static str] =
        &["path", "object", "target", "bundle_offset", "section", "kind", "bytes", "demangled"];

    fn fields() -> Vec<Field<Self>> {
        fields! { Self;
            "path" Text "The file, as it was named" |it| it.path.into();
            "bundle_offset" Address "Of bytes that are decompressed, where their bundle is; the others add up to the file"
                |it| it.bundle.into();
            "object" Number "The number of the object that they are in, from 0" |it| it.row.object.into();
            "target" Text "What that object is for" |it| it.row.target.into();
            "section" Text "The section that they are in" |it| it.row.section.into();
            "kernel" Text "The mangled name of the kernel or function that they are of" |it| it.row.kernel.into();
            "demangled" Text "Its name in the source" |it| it.row.kernel.map(full).into();
            "short" Text "The function's name alone, without namespace, template arguments and parameters"
                |it| it.row.kernel.map_or(CellValue::Null, shortened);
            "kind" Text "What they are: code, descriptor, metadata, padding …" |it| it.row.kind.into();
            "bytes" Number "How many" |it| it.row.bytes.into();
        }
    }
}

/// A finding of `check`.
#[derive(Debug)]
pub struct FindingRecord<'a> {
    file: &'a FileResult,
    device: &'a DeviceResult,
    shown: &'a Shown,
}

impl<'a> FindingRecord<'a> {
    /// All findings of a file.
    #[must_use]
    pub fn all(file: &'a FileResult) -> Vec<Self> {
        file.findings().map(|(device, shown)| Self { file, device, shown }).collect()
    }
}

impl Record for FindingRecord<'_> {
    const TABLE: &'static str = "check";
    const ROW: &'static str = "a finding";
    const MANGLED: &'static str = "kernel";
    const HAS_PLACE: bool = false;
    const SHOWN: &'static [&'static str] =
        &["path", "object", "target", "severity", "rule", "demangled", "message"];

    fn fields() -> Vec<Field<Self>> {
        fields! { Self;
            "path" Text "The file, as it was named" |it| (&it.file.name).into();
            "device" Text "The device that it is held against; null is each object's own" |it| it.device.device.as_ref().into();
            "object" Number "The number of the object in the file, from 0" |it| it.shown.finding.subject.object.into();
            "target" Text "What the object is for" |it| it.file.target(it.shown).into();
            "severity" Text "error, warning or note" |it| it.shown.finding.severity.name().into();
            "rule" Text "The rule; hsaco explain prints its page" |it| it.shown.finding.rule.into();
            "kernel" Text "The mangled name of the kernel" |it| it.shown.finding.subject.kernel.as_ref().into();
            "demangled" Text "Its name in the source" |it| it.shown.kernel().map(Cow::into_owned).into();
            "short" Text "The function's name alone, without namespace, template arguments and parameters"
                |it| it.shown.finding.subject.kernel.as_deref().map_or(CellValue::Null, shortened);
            "field" Text "The field that it is about" |it| it.shown.finding.subject.field.as_ref().into();
            "offset" Address "Where that is in the file" |it| it.shown.finding.subject.offset.into();
            "address" Address "The instruction that it is about" |it| it.shown.finding.subject.address.into();
            "file" Text "The source file of that instruction" |it| it.shown.source.as_ref().map(|it| &it.file).into();
            "line" Number "The line there" |it| it.shown.source.as_ref().map(|it| it.line).into();
            "message" Text "What is wrong, with both sides" |it| (&it.shown.finding.message).into();
            "help" Text "What to do" |it| (&it.shown.finding.help).into();
            "new" Bool "False where the baseline has it as bad as it is" |it| it.shown.is_new().into();
            "baseline" Text "How it stands to the baseline: new, worse, known or better" |it| it.shown.standing.name().into();
        }
    }
}
