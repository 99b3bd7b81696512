//! Where the walk is in a file, and what stands there that is no entry.

use std::ops::Range;

use crate::{Bytes, Container};

/// Bytes that the walk looks into: the file, a payload, a container or a section of a host file.
/// The first one is the file, and each has its place in their order as its number.
pub struct Region<'a> {
    /// The region around it; the file has none, and a payload that of the compressed bundle.
    pub outer: Option<usize>,
    /// Its bytes.
    pub data: Bytes<'a>,
    /// Where it begins: in the payload that it is part of, else in the file.
    pub base: u64,
    /// What it is.
    pub kind: RegionKind,
}

/// What a region is.
pub enum RegionKind {
    /// The whole file.
    File,
    /// What a compressed bundle, member or stream holds.
    Payload,
    /// A compressed member of a zip file.
    Packed,
    /// A container.
    Container(Container),
    /// A section of a host file, by its name.
    Section(String),
}

/// Where an entry was found.
#[derive(Clone, Copy)]
pub struct EntryPlace {
    /// The number of the region around it.
    pub region: usize,
    /// Where it begins: in the payload that it is part of, else in the file.
    pub base: u64,
}

/// A part of a container that is no entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Where it is, which may be past the end of the container.
    pub range: Range<u64>,
    /// What it is.
    pub kind: PartKind,
}

/// What a part of a container is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// The header of an ELF or PE file.
    FileHeader,
    /// The table of segments.
    ProgramHeaders,
    /// The table of sections.
    SectionHeaders,
    /// Symbols and their names, where no section holds them.
    Symbols,
    /// A section of this name, empty when it cannot be read.
    Section(String),
    /// The magic and the count of an offload bundle.
    BundleHeader,
    /// The table of an offload bundle.
    BundleTable,
    /// The header of an offload binary.
    OffloadHeader,
    /// The table of the images of an offload binary.
    OffloadTable,
    /// The magic of an archive.
    ArchiveHeader,
    /// A table of symbols or names of an archive.
    ArchiveTable,
    /// The header of an archive member.
    MemberHeader,
    /// An archive member.
    Member,
    /// An archive member that is compressed.
    PackedMember,
}

impl Part {
    pub(crate) fn new(range: Range<u64>, kind: PartKind) -> Self {
        Self { range, kind }
    }
}
