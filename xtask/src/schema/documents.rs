// The documents that verbs write, as types: what is streamed has none of its own. `schema.rs` parses this file, together with
// the files that its imports lead to; it is not compiled. A name in lower case is a document of the verb that it names.

use hsaco_check::baseline::Document as Baseline;
use hsaco_check::render::json::{Document as Checks, Line as CheckLine};
use hsaco_cli::schema::OtherEntry;
use hsaco_cli::skeleton::Object;
use hsaco_cli::verb::extract::Answer as Extracted;
use hsaco_cli::verb::extract::prune::Answer as Pruned;
use hsaco_cli::verb::packet::Document as Packets;
use hsaco_container::manifest::Manifest as BundleManifest;
use hsaco_describe::arguments::Arguments;
use hsaco_describe::assembly::Assembled;
use hsaco_describe::calls::{Calls, CallsTogether};
use hsaco_describe::flow::Flow;
use hsaco_describe::info::Info;
use hsaco_describe::kernarg::{Checked, Layouts, Packed, Unpacked};
use hsaco_describe::lines::Lines;
use hsaco_describe::list::{KernelRow, ObjectRow, Others};
use hsaco_describe::notes::Notes;
use hsaco_describe::prove::ProofRows as Proven;
use hsaco_describe::query::Found;
use hsaco_describe::resources::Resources;
use hsaco_describe::run::{Answered, Profile, Stopped, TraceLine};
use hsaco_describe::dataset::DatasetSummary;
use hsaco_describe::size::{DuplicatesRow, SizesRow};
use hsaco_describe::source::ObjectSource;
use hsaco_describe::symbols::Symbols;
use hsaco_diff::model::ObjectDiff;
use hsaco_diff::resources::KernelChange;
use hsaco_listing::json::{Function, Instruction};
use hsaco_load::rows::{ExecutableRows, LinkRow};
use hsaco_patch::document::{ContainerDocument, Document as Manifest, Documents as Manifests, VerifiedRow};
use hsaco_patch::rule_rows::RuleSetRows;

/// What verbs that read objects answer.
struct Files<R> {
    schema_version: u32,
    files: Vec<FileOf<R>>,
}

struct FileOf<R> {
    /// As named on the command line.
    path: String,
    /// What kind of file it is; null if unknown.
    container: Option<String>,
    /// The code objects that were selected.
    objects: Vec<R>,
    /// Entries for the host or for GPUs of other vendors.
    other_entries: Vec<OtherEntry>,
    /// The first thing that was wrong with the file, or null.
    error: Option<String>,
}

struct ListedObject {
    #[serde(flatten)]
    head: ObjectRow,
    kernels: Vec<KernelRow>,
    #[serde(flatten)]
    others: Others,
}

struct DisassembledObject {
    index: usize,
    entry_id: Option<String>,
    target: Option<String>,
    functions: Vec<DisassembledFunction>,
}

struct DisassembledFunction {
    #[serde(flatten)]
    function: Function,
    instructions: Vec<Instruction>,
    /// Bytes that are no code.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<String>,
}

struct SizesOf<R> {
    schema_version: u32,
    files: Vec<R>,
}

struct Differences {
    schema_version: u32,
    /// The first file.
    a: String,
    /// The second file.
    b: String,
    objects: Vec<ObjectDiff>,
    /// Whether nothing differs.
    identical: bool,
}

struct ResourceDifferences {
    schema_version: u32,
    /// The first file.
    a: String,
    /// The second file.
    b: String,
    kernels: Vec<KernelChange>,
    /// Kernels that take the same.
    same: usize,
    only_a: usize,
    only_b: usize,
    regressions: usize,
}

type ls = Files<ListedObject>;
type info = Files<Info>;
type notes = Files<Object<Notes>>;
type args = Files<Object<Arguments>>;
type lines = Files<Object<Lines>>;
type source = Files<Object<ObjectSource>>;
type query = Files<Object<Found>>;
type cfg = Files<Object<Flow>>;
type resources = Files<Object<Resources>>;
type symbols = Files<Object<Symbols>>;
type disasm = Files<DisassembledObject>;
type asm = Assembled;
type load = ExecutableRows;
type link = LinkRow;
type rules = RuleSetRows;
type packet = Packets;
type prove = Proven;
type table = DatasetSummary;

#[serde(untagged)]
enum calls {
    Each(Files<Object<Calls>>),
    Together(CallsTogether),
}

#[serde(untagged)]
enum kernarg {
    Layouts(Files<Object<Layouts>>),
    Packed(Packed),
    Checked(Checked),
    Unpacked(Unpacked),
}

#[serde(untagged)]
enum size {
    Bytes(SizesOf<SizesRow>),
    Duplicates(SizesOf<DuplicatesRow>),
}

#[serde(untagged)]
enum diff {
    Objects(Differences),
    Resources(ResourceDifferences),
}

#[serde(untagged)]
enum check {
    Document(Checks),
    /// A line of `--format jsonl`.
    Line(CheckLine),
    /// What `--write-baseline` writes.
    Baseline(Baseline),
}

#[serde(untagged)]
enum extract {
    Objects(Extracted),
    Pruned(Pruned),
    /// The manifest of a bundle's parts, of which `bundle` makes it again.
    Bundle(BundleManifest),
}

#[serde(untagged)]
enum patch {
    Object(Manifest),
    File(ContainerDocument),
    Files(Manifests),
    /// What `--verify` answers.
    Verified(VerifiedRow),
}

#[serde(untagged)]
enum run {
    Answered(Answered),
    Stopped(Stopped),
    /// What `--profile` writes.
    Profile(Profile),
    /// A line of `--trace`.
    Trace(TraceLine),
}
