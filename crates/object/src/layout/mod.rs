//! Every byte of a file, and what it belongs to.
//!
//! ```
//! use hsaco_container::{WalkOptions, bundle};
//! use hsaco_object::layout::{Kind, layout};
//! let file = bundle::write(&[("hip-amdgcn-amd-amdhsa--gfx90a", b"BC\xc0\xde")], 128);
//! let layout = layout(&file, &WalkOptions::default());
//! let pieces: Vec<_> =
//!     layout.pieces.iter().map(|it| (it.range.clone(), it.owner.kind)).collect();
//! assert_eq!(
//!     pieces,
//!     [
//!         (0..32, Kind::BundleHeader),
//!         (32..85, Kind::BundleEntryHeader),
//!         (85..128, Kind::BundlePadding),
//!         (128..132, Kind::Bitcode),
//!     ]
//! );
//! ```

mod container;
mod duplicate;
mod look;
mod object;
mod tree;

pub use duplicate::{Code, Duplicate, duplicates};

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hsaco_bytes::{Error, ErrorKind};
use hsaco_container::{
    Container, Entry, EntryKind, EntryPlace, Region, RegionKind, RegionVisitor, WalkOptions, parts,
    visit,
};

use crate::{CodeObject, Index};

use look::{Look, Looked};
use tree::Tree;

/// What a file's bytes belong to.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// Bytes of the file.
    pub size: u64,
    /// The file from its first byte to its last: each piece begins where the one before it ends.
    pub pieces: Vec<Piece>,
    /// The objects, counted from 0 in the order of the file, those of compressed bundles included.
    pub objects: Vec<Object>,
    /// What the compressed bundles hold.
    pub inflated: Vec<Inflated>,
    /// What could not be read. Its bytes have an owner all the same.
    pub problems: Vec<Problem>,
}

/// The decompressed payload of a compressed bundle.
#[derive(Clone, Debug, Default)]
pub struct Inflated {
    /// Where the compressed bundle begins: in the file, or in the payload that it is part of.
    pub offset: u64,
    /// The payload that the compressed bundle is part of, by its place in [`Layout::inflated`].
    pub within: Option<usize>,
    /// Bytes of the payload.
    pub size: u64,
    /// The payload from its first byte to its last.
    pub pieces: Vec<Piece>,
    /// The targets of its objects, each once, sorted.
    pub targets: Vec<String>,
}

/// Bytes in a row that have the same owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where they are.
    pub range: Range<u64>,
    /// What they belong to.
    pub owner: Owner,
}

/// What bytes belong to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// The object, by its place in [`Layout::objects`]; none outside objects.
    pub object: Option<usize>,
    /// The section, of the object or of the host file around it.
    pub section: Option<Arc<str>>,
    /// The mangled name of the kernel or device function.
    pub name: Option<Arc<str>>,
    /// What the bytes are.
    pub kind: Kind,
}

/// One object of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// What it holds.
    pub kind: EntryKind,
    /// The id of the entry it was found in.
    pub entry_id: Option<String>,
    /// The target: of the code object, else of the entry's id.
    pub target: Option<String>,
    /// The version of a generic target; 0 for all others.
    pub generic_version: u8,
    /// Where it begins: in the payload that it is part of, else in the file.
    pub offset: u64,
    /// The payload that it is part of, by its place in [`Layout::inflated`].
    pub within: Option<usize>,
    /// How many bytes it has.
    pub size: u64,
}

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The object it is in, by its place in [`Layout::objects`].
    pub object: Option<usize>,
    /// What is wrong.
    pub error: Error,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident => $name:literal,)*) => {
        /// What bytes are.
        ///
        /// ```
        /// assert_eq!(hsaco_object::layout::Kind::MemberHeader.name(), "member_header");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Kind {
            $($(#[$doc])* $variant,)*
        }

        impl Kind {
            /// A short name that programs may rely on.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// The header of an ELF or PE file.
    FileHeader => "file_header",
    /// The table of segments.
    ProgramHeaders => "program_headers",
    /// The table of sections.
    SectionHeaders => "section_headers",
    /// Symbols and their names where no section holds them.
    Symbols => "symbols",
    /// A section, or what is left of it beside kernels and functions.
    Section => "section",
    /// A segment of a file without sections.
    Segment => "segment",
    /// The code of a kernel.
    Code => "code",
    /// The code of a device function.
    Function => "function",
    /// The descriptor of a kernel.
    Descriptor => "descriptor",
    /// What the metadata says of a kernel.
    Metadata => "metadata",
    /// Bytes between functions, sections or containers.
    Padding => "padding",
    /// The magic and the count of an offload bundle.
    BundleHeader => "bundle_header",
    /// A row of the table of an offload bundle.
    BundleEntryHeader => "bundle_entry_header",
    /// Bytes between the entries of an offload bundle.
    BundlePadding => "bundle_padding",
    /// A compressed offload bundle, archive member or file.
    Compressed => "compressed",
    /// The header of an offload binary.
    OffloadHeader => "offload_header",
    /// The table of the images of an offload binary.
    OffloadEntryHeader => "offload_entry_header",
    /// The strings of an offload binary, and what aligns the images behind them.
    OffloadStrings => "offload_strings",
    /// The magic of an archive.
    ArchiveHeader => "archive_header",
    /// A table of symbols or names of an archive.
    ArchiveTable => "archive_table",
    /// The header of an archive member.
    MemberHeader => "member_header",
    /// An archive member that holds no device code.
    Member => "member",
    /// The host's side of a bundle, or code for a GPU of another make.
    OtherEntry => "other_entry",
    /// LLVM bitcode.
    Bitcode => "bitcode",
    /// A SPIR-V module.
    Spirv => "spirv",
    /// Nothing known.
    Unknown => "unknown",
}

impl Owner {
    fn new(kind: Kind) -> Self {
        Self { object: None, section: None, name: None, kind }
    }
}

/// What every byte of `data` belongs to.
///
/// The pieces of the file add up to its size whatever is wrong with it, and so do those of each
/// decompressed payload. Where two structures claim the same byte, it is of the one that begins
/// first. Objects are counted as they come in the walk of [`entries`](hsaco_container::entries),
/// without those that are not for AMD GPUs.
///
/// ```
/// use hsaco_container::WalkOptions;
/// use hsaco_object::layout::{Kind, layout};
/// let layout = layout(b"#!/bin/sh", &WalkOptions::default());
/// assert_eq!((layout.pieces[0].range.clone(), layout.pieces[0].owner.kind), (0..9, Kind::Unknown));
/// assert_eq!(layout.problems.len(), 1);
/// ```
pub fn layout(data: &[u8], options: &WalkOptions) -> Layout {
    let mut builder = Builder::default();
    visit(data, options, &mut builder);
    builder.finish()
}

/// The file, or a payload.
struct Space {
    tree: Tree,
    offset: u64,
    within: Option<usize>,
    targets: BTreeSet<String>,
}

/// Where a region is: its space, and its span in the tree of that.
#[derive(Clone, Copy)]
struct Spot {
    space: usize,
    span: usize,
}

#[derive(Default)]
struct Builder {
    /// The file first, then the payloads.
    spaces: Vec<Space>,
    /// By the number of the region.
    regions: Vec<Spot>,
    looked: Looked,
    names: Names,
    objects: Vec<Object>,
    problems: Vec<Problem>,
}

/// Each name once.
#[derive(Default)]
struct Names(HashSet<Arc<str>, RandomState>);

impl Names {
    fn name(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.0.get(text) {
            return Arc::clone(known);
        }
        let name: Arc<str> = Arc::from(text);
        self.0.insert(Arc::clone(&name));
        name
    }
}

impl RegionVisitor for Builder {
    fn region(&mut self, region: &Region<'_>) {
        self.looked.region(region);
        let range = region.base..region.base.saturating_add(region.data.len() as u64);
        let outer = region.outer.and_then(|outer| self.regions.get(outer).copied());
        let spot = match (&region.kind, outer) {
            (RegionKind::Container(container), Some(outer)) => {
                self.add_container(outer, *container, range, &region.data)
            }
            (RegionKind::Section(name), Some(outer)) => {
                let section = Some(self.names.name(name));
                let owner = Owner { section, ..Owner::new(Kind::Section) };
                self.add(outer, range, owner, Kind::Padding)
            }
            (RegionKind::Packed, Some(outer)) => {
                self.add(outer, range, Owner::new(Kind::Compressed), Kind::Compressed)
            }
            (_, outer) => self.add_space(outer, range.end, &region.data),
        };
        self.regions.push(spot);
    }

    fn entry(&mut self, place: EntryPlace, entry: &Entry<'_>) {
        let Some(&outer) = self.regions.get(place.region) else { return };
        let range = place.base..place.base.saturating_add(entry.data.len() as u64);
        if !entry.is_object() {
            self.add(outer, range, Owner::new(Kind::OtherEntry), Kind::OtherEntry);
            return;
        }
        let number = self.objects.len();
        let kind = container::kind_of_entry(entry.kind);
        let owner = Owner { object: Some(number), ..Owner::new(kind) };
        let spot = self.add(outer, range, owner, Kind::Padding);
        let unread = Object {
            kind: entry.kind,
            entry_id: entry.id.clone(),
            target: entry.named_target().map(str::to_owned),
            generic_version: 0,
            offset: place.base,
            within: outer.space.checked_sub(1),
            size: entry.data.len() as u64,
        };
        match self.looked.look(place, entry, number) {
            Look::New => self.read(spot, number, unread, entry),
            Look::Same(first) => {
                let first = self.objects.get(first).cloned().unwrap_or_else(|| unread.clone());
                self.objects.push(Object { entry_id: unread.entry_id, ..first });
            }
            Look::TooMuch => {
                self.objects.push(unread);
                self.problem(number, look::too_much());
            }
        }
        let target = self.objects.last().and_then(|it| it.target.clone());
        self.add_target(outer.space, target);
    }

    fn error(&mut self, error: Error) {
        self.problems.push(Problem { object: None, error });
    }
}

impl Builder {
    fn add(&mut self, outer: Spot, range: Range<u64>, owner: Owner, gap: Kind) -> Spot {
        let tree = self.spaces.get_mut(outer.space).map(|space| &mut space.tree);
        let span = tree.map_or(0, |tree| tree.add(outer.span, range, owner, gap));
        Spot { space: outer.space, span }
    }

    fn add_space(&mut self, outer: Option<Spot>, size: u64, data: &[u8]) -> Spot {
        // Bytes between bundles are padding; between nothing that is known, they are not known.
        let gap = match Container::detect(data) {
            Some(_) => Kind::Padding,
            None => Kind::Unknown,
        };
        let compressed = outer.and_then(|outer| {
            let space = self.spaces.get(outer.space)?;
            Some((space.tree.start(outer.span), outer.space.checked_sub(1)))
        });
        let (offset, within) = compressed.unwrap_or((0, None));
        let tree = Tree::new(size, Owner::new(Kind::Unknown), gap);
        self.spaces.push(Space { tree, offset, within, targets: BTreeSet::new() });
        Spot { space: self.spaces.len() - 1, span: 0 }
    }

    fn add_container(
        &mut self,
        outer: Spot,
        container: Container,
        range: Range<u64>,
        data: &[u8],
    ) -> Spot {
        let (kind, gap) = container::kinds(container);
        let base = range.start;
        let spot = self.add(outer, range, Owner::new(kind), gap);
        for part in parts(container, data) {
            let section = container::section_name(&part).map(|name| self.names.name(name));
            let owner = Owner { section, ..Owner::new(container::kind_of_part(&part.kind)) };
            let range = shifted(part.range, base);
            if let Some(space) = self.spaces.get_mut(spot.space) {
                // What the walk finds in a member or section is told after it.
                space.tree.add_weak(spot.span, range, owner);
            }
        }
        spot
    }

    fn add_object(&mut self, outer: Spot, number: usize, base: u64, object: &CodeObject<'_>) {
        let index: Index<'_> = object.index();
        for error in object.problems().iter().chain(index.problems()) {
            self.problem(number, error.clone());
        }
        let parts = object::parts(object, &index);
        let owner = Owner { object: Some(number), ..Owner::new(Kind::Unknown) };
        let mut spots = Vec::with_capacity(parts.sections.len());
        let mut sections = Vec::with_capacity(parts.sections.len());
        for part in parts.sections {
            let section = part.name.map(|name| self.names.name(&name));
            sections.push(section.clone());
            let owner = Owner { section, kind: part.kind, ..owner.clone() };
            spots.push(self.add(outer, shifted(part.range, base), owner, part.gap));
        }
        for part in parts.named {
            let at = part.section;
            let spot = at.and_then(|at| spots.get(at).copied()).unwrap_or(outer);
            let section = at.and_then(|at| sections.get(at).cloned()).flatten();
            let name = Some(self.names.name(&part.name.to_str_lossy()));
            let owner = Owner { section, name, kind: part.kind, ..owner };
            self.add(spot, shifted(part.range, base), owner, part.kind);
        }
    }

    /// Looks into an object for the first time.
    fn read(&mut self, spot: Spot, number: usize, unread: Object, entry: &Entry<'_>) {
        if entry.kind != EntryKind::CodeObject {
            let is_unknown = entry.kind == EntryKind::Unknown;
            self.objects.push(unread);
            if is_unknown {
                let detail = "neither ELF nor bitcode";
                self.problem(number, Error::new(ErrorKind::NotRecognised, "entry", detail).at(0));
            }
            return;
        }
        match CodeObject::parse(&entry.data) {
            Ok(object) => {
                let base = unread.offset;
                self.objects.push(Object {
                    target: Some(object.target().to_string()),
                    generic_version: object.e_flags().generic_version(),
                    ..unread
                });
                self.add_object(spot, number, base, &object);
            }
            Err(error) => {
                self.objects.push(unread);
                self.problem(number, error);
            }
        }
    }

    fn add_target(&mut self, space: usize, target: Option<String>) {
        if let Some(space) = self.spaces.get_mut(space) {
            space.targets.extend(target);
        }
    }

    fn problem(&mut self, number: usize, error: Error) {
        let object = self.objects.get(number);
        let in_file = object.filter(|it| it.within.is_none());
        let error = in_file.map_or(error.clone(), |object| error.rebased(object.offset));
        self.problems.push(Problem { object: Some(number), error });
    }

    fn finish(self) -> Layout {
        let mut spaces = self.spaces.into_iter().map(|space| Inflated {
            offset: space.offset,
            within: space.within,
            size: space.tree.size(),
            pieces: space.tree.flatten(),
            targets: space.targets.into_iter().collect(),
        });
        let file = spaces.next().unwrap_or_default();
        Layout {
            size: file.size,
            pieces: file.pieces,
            objects: self.objects,
            inflated: spaces.collect(),
            problems: self.problems,
        }
    }
}

fn shifted(range: Range<u64>, base: u64) -> Range<u64> {
    range.start.saturating_add(base)..range.end.saturating_add(base)
}
