//! What every byte of a file is for.

mod text;

use std::collections::HashMap;

use crate::names::Names;
use hsaco_bytes::Str;
use hsaco_container::Container;
use hsaco_files::{KernelSelection, ObjectSelection};
use hsaco_object::layout::{Code, Duplicate, Kind, Layout, Object, Owner, Piece};
use serde::Serialize;

pub use text::SizeStyle;

/// Which bytes are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'q> {
    /// Those of these objects.
    pub objects: &'q ObjectSelection,
    /// Whether those are all, and what is in no object is wanted too.
    pub all_objects: bool,
    /// Those of these kernels.
    pub kernels: &'q KernelSelection,
}

impl Wanted<'_> {
    /// Whether every byte is wanted.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.all_objects && self.kernels.is_all()
    }

    /// Whether those of an object are.
    #[must_use]
    pub fn wants_object(&self, number: usize, object: &Object) -> bool {
        let text = object.target.as_deref().unwrap_or_default();
        self.objects.wants_target(number, text.parse().ok(), text, object.generic_version)
    }
}

/// The bytes of a file.
#[derive(Clone, Copy, Debug)]
pub struct Sizes<'a> {
    /// The file's name.
    pub path: &'a str,
    /// What the file is.
    pub container: Option<Container>,
    /// What its bytes are.
    pub layout: &'a Layout,
    /// Which of them are wanted.
    pub wanted: Wanted<'a>,
}

impl<'a> Sizes<'a> {
    fn object(&self, owner: &Owner) -> Option<(usize, &'a Object)> {
        owner.object.and_then(|at| Some((at, self.layout.objects.get(at)?)))
    }

    /// The wanted ones of these pieces.
    #[must_use]
    pub fn pieces(&self, pieces: &'a [Piece]) -> Vec<&'a Piece> {
        if self.wanted.is_all() {
            return pieces.iter().collect();
        }
        let mut wanted = HashMap::new();
        let mut wants_name = |name: &'a str| {
            *wanted
                .entry(name)
                .or_insert_with(|| self.wanted.kernels.wants(Str::new(name.as_bytes())))
        };
        let mut wants = |piece: &&'a Piece| {
            let object = self.object(&piece.owner);
            object.map_or(self.wanted.all_objects, |(at, it)| self.wanted.wants_object(at, it))
                && (self.wanted.kernels.is_all()
                    || piece.owner.name.as_deref().is_some_and(&mut wants_name))
        };
        pieces.iter().filter(|piece| wants(piece)).collect()
    }

    /// Leaves the wanted kernels, where there are two of them, those first that take the most.
    pub fn select(&self, duplicates: &mut Vec<Duplicate>) {
        let wants = |code: &Code| {
            let object = self.layout.objects.get(code.object);
            object.is_none_or(|it| self.wanted.wants_object(code.object, it))
                && self.wanted.kernels.wants(Str::new(code.name.as_bytes()))
        };
        duplicates.iter_mut().for_each(|it| it.kernels.retain(wants));
        duplicates.retain(|it| it.kernels.len() > 1);
        duplicates.sort_by_key(|it| std::cmp::Reverse(saved(it)));
    }
}

/// Bytes that one copy for all would save.
#[must_use]
pub fn saved(duplicate: &Duplicate) -> u64 {
    duplicate.size.saturating_mul((duplicate.kernels.len() as u64).saturating_sub(1))
}

/// How many targets the copies are for.
#[must_use]
pub fn targets(duplicate: &Duplicate) -> usize {
    let mut targets: Vec<_> = duplicate.kernels.iter().map(|it| &it.target).collect();
    targets.sort_unstable();
    targets.dedup();
    targets.len()
}

/// Bytes that one copy for each target would save.
#[must_use]
pub fn saved_within_targets(duplicate: &Duplicate) -> u64 {
    let copies = duplicate.kernels.len().saturating_sub(targets(duplicate));
    duplicate.size.saturating_mul(copies as u64)
}

/// Bytes of one owner, in the order of objects, sections and names.
#[derive(Debug, Serialize)]
pub struct SizeRow<'a> {
    /// The target of the object that they are in.
    pub target: Option<&'a str>,
    /// The number of that object.
    pub object: Option<usize>,
    /// The kernel that they are of.
    pub kernel: Option<&'a str>,
    /// The section that they are in.
    pub section: Option<&'a str>,
    /// What they are.
    pub kind: &'static str,
    /// How many.
    pub bytes: u64,
}

/// The bytes of a file.
#[derive(Debug, Serialize)]
pub struct SizesRow<'a> {
    /// The file's name.
    pub path: &'a str,
    /// What the file is.
    pub container: Option<&'static str>,
    /// Its bytes.
    pub size: Option<u64>,
    /// Whether only some were asked for.
    pub filtered: bool,
    /// One for each owner of bytes.
    pub rows: Vec<SizeRow<'a>>,
    /// What compressed bundles hold.
    pub inflated: Vec<InflatedRow<'a>>,
    /// The first thing that is wrong with the file.
    pub error: Option<&'a str>,
}

/// A compressed bundle, once decompressed.
#[derive(Debug, Serialize)]
pub struct InflatedRow<'a> {
    /// Where the bundle is.
    pub offset: u64,
    /// The bundle that it is in.
    pub within: Option<usize>,
    /// Its bytes.
    pub size: u64,
    /// What it is for.
    pub targets: &'a [String],
    /// One for each owner of bytes.
    pub rows: Vec<SizeRow<'a>>,
}

/// Kernels of a file that have the same code.
#[derive(Debug, Serialize)]
pub struct DuplicatesRow<'a> {
    /// The file's name.
    pub path: &'a str,
    /// What the file is.
    pub container: Option<&'static str>,
    /// Its bytes.
    pub size: Option<u64>,
    /// Whether only some were asked for.
    pub filtered: bool,
    /// Bytes that one copy for all would save.
    pub saved: u64,
    /// Bytes that one copy for each target would save.
    pub saved_within_targets: u64,
    /// Kernels that have the same code.
    pub duplicates: Vec<DuplicateRow<'a>>,
    /// The first thing that is wrong with the file.
    pub error: Option<&'a str>,
}

/// Kernels that have the same code.
#[derive(Debug, Serialize)]
pub struct DuplicateRow<'a> {
    /// How many.
    pub bytes: u64,
    /// Bytes that one copy for all would save.
    pub saved: u64,
    /// Bytes that one copy for each target would save.
    pub saved_within_targets: u64,
    /// Those that have it.
    pub kernels: Vec<CodeRow<'a>>,
}

/// A kernel.
#[derive(Debug, Serialize)]
pub struct CodeRow<'a> {
    /// The target of the object that they are in.
    pub target: &'a str,
    /// The number of that object.
    pub object: usize,
    /// The kernel that they are of.
    pub kernel: &'a str,
}

impl<'a> SizesRow<'a> {
    /// The row of a file that could not be opened.
    #[must_use]
    pub fn unopened(path: &'a str, error: Option<&'a str>) -> Self {
        let (rows, inflated) = (Vec::new(), Vec::new());
        Self { path, container: None, size: None, filtered: false, rows, inflated, error }
    }
}

impl<'a> Sizes<'a> {
    fn rows(&self, pieces: &'a [Piece]) -> Vec<SizeRow<'a>> {
        let mut pieces = self.pieces(pieces);
        pieces.sort_by(|a, b| a.owner.cmp(&b.owner));
        let same = pieces.chunk_by(|a, b| a.owner == b.owner);
        let row = |pieces: &[&'a Piece]| {
            let owner = &pieces.first()?.owner;
            Some(SizeRow {
                target: self.object(owner).and_then(|(_, it)| it.target.as_deref()),
                object: owner.object,
                kernel: owner.name.as_deref(),
                section: owner.section.as_deref(),
                kind: owner.kind.name(),
                bytes: pieces.iter().map(|it| length(it)).sum(),
            })
        };
        same.filter_map(row).collect()
    }

    /// What is shown of the file.
    #[must_use]
    pub fn row(&self, error: Option<&'a str>) -> SizesRow<'a> {
        let inflated = self.layout.inflated.iter().map(|it| InflatedRow {
            offset: it.offset,
            within: it.within,
            size: it.size,
            targets: &it.targets,
            rows: self.rows(&it.pieces),
        });
        SizesRow {
            path: self.path,
            container: self.container.map(Container::name),
            size: Some(self.layout.size),
            filtered: !self.wanted.is_all(),
            rows: self.rows(&self.layout.pieces),
            inflated: inflated.collect(),
            error,
        }
    }

    /// What is shown of kernels with the same code.
    #[must_use]
    pub fn duplicates_row(
        &self,
        duplicates: &'a [Duplicate],
        error: Option<&'a str>,
    ) -> DuplicatesRow<'a> {
        let code =
            |it: &'a Code| CodeRow { target: &it.target, object: it.object, kernel: &it.name };
        let duplicate = |it: &'a Duplicate| DuplicateRow {
            bytes: it.size,
            saved: saved(it),
            saved_within_targets: saved_within_targets(it),
            kernels: it.kernels.iter().map(code).collect(),
        };
        DuplicatesRow {
            path: self.path,
            container: self.container.map(Container::name),
            size: Some(self.layout.size),
            filtered: !self.wanted.is_all(),
            saved: duplicates.iter().map(saved).sum(),
            saved_within_targets: duplicates.iter().map(saved_within_targets).sum(),
            duplicates: duplicates.iter().map(duplicate).collect(),
            error,
        }
    }
}

/// What bytes are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// The target of their object.
    Target,
    /// Their object.
    Object,
    /// Their section.
    Section,
    /// Their kernel or function.
    Kernel,
}

impl Key {
    /// Its name, as options have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Object => "object",
            Self::Section => "section",
            Self::Kernel => "kernel",
        }
    }
}

/// What a group of bytes has in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Label<'a> {
    /// A target, a section, or what is around objects.
    Text(&'a str),
    /// A kernel or function.
    Kernel(&'a str),
    /// An object, and its target.
    Object(usize, &'a str),
    /// What is left of a section beside kernels.
    Rest(&'a str),
    /// What is between the kernels of a section.
    Padding(&'a str),
    /// Anything else.
    Kind(Kind),
}

impl Label<'_> {
    /// In words, with names of kernels in a style.
    #[must_use]
    pub fn text(self, names: Names) -> String {
        match self {
            Self::Text("") => "[no name]".to_owned(),
            Self::Text(text) => text.to_owned(),
            Self::Kernel(name) => names.of(name.into()).into_owned(),
            Self::Object(number, target) => format!("object {number} ({target})"),
            Self::Rest(section) => format!("[{section}]"),
            Self::Padding(section) => format!("[{section} padding]"),
            Self::Kind(kind) => format!("[{}]", kind.name().replace('_', " ")),
        }
    }
}

impl<'a> Sizes<'a> {
    fn label(&self, key: Key, owner: &'a Owner) -> Label<'a> {
        let section = owner.section.as_deref();
        let object = self.object(owner);
        let target = object.map(|(_, it)| it.target.as_deref().unwrap_or("unknown target"));
        match (key, object, target, section, owner.name.as_deref()) {
            (Key::Target, _, Some(target), ..) => Label::Text(target),
            (Key::Object, Some((at, _)), Some(target), ..) => Label::Object(at, target),
            (Key::Target | Key::Object, ..) => Label::Text(outside(owner.kind)),
            (Key::Kernel, .., Some(name)) => Label::Kernel(name),
            (Key::Section, _, _, Some(section), _) => Label::Text(section),
            (Key::Kernel, _, _, Some(section), _) if owner.kind == Kind::Padding => {
                Label::Padding(section)
            }
            (Key::Kernel, _, _, Some(section), _) => Label::Rest(section),
            _ => Label::Kind(owner.kind),
        }
    }
}

/// What bytes that are of no object are part of.
fn outside(kind: Kind) -> &'static str {
    match kind {
        Kind::BundleHeader | Kind::BundleEntryHeader | Kind::BundlePadding => "[bundle]",
        Kind::OffloadHeader | Kind::OffloadEntryHeader | Kind::OffloadStrings => "[offload binary]",
        Kind::ArchiveHeader | Kind::ArchiveTable | Kind::MemberHeader | Kind::Member => "[archive]",
        Kind::Compressed => "[compressed]",
        Kind::OtherEntry => "[other entry]",
        Kind::Unknown => "[unknown]",
        _ => "[host]",
    }
}

/// Bytes, and the parts they come from.
#[derive(Debug, Default)]
pub struct Sum<'a> {
    /// All of them.
    pub bytes: u64,
    parts: HashMap<Label<'a>, Sum<'a>>,
}

impl<'a> Sum<'a> {
    fn add(&mut self, mut labels: impl Iterator<Item = Label<'a>>, bytes: u64) {
        self.bytes += bytes;
        if let Some(label) = labels.next() {
            self.parts.entry(label).or_default().add(labels, bytes);
        }
    }

    /// The parts, the largest first.
    #[must_use]
    pub fn parts(&self) -> Vec<(Label<'a>, &Self)> {
        let mut parts: Vec<_> = self.parts.iter().map(|(label, part)| (*label, part)).collect();
        parts.sort_by_key(|(label, part)| (std::cmp::Reverse(part.bytes), *label));
        parts
    }
}

impl<'a> Sizes<'a> {
    /// Pieces by what they have in common, outermost first.
    #[must_use]
    pub fn sum(&self, keys: &[Key], pieces: &[&'a Piece]) -> Sum<'a> {
        let mut sum = Sum::default();
        for piece in pieces {
            sum.add(keys.iter().map(|&key| self.label(key, &piece.owner)), length(piece));
        }
        sum
    }
}

fn length(piece: &Piece) -> u64 {
    piece.range.end - piece.range.start
}
