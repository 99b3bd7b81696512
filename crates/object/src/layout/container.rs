//! The bytes that containers have for themselves: headers, tables, host sections.

use std::ops::Range;

use super::Kind;
use crate::container::bundle::{self, Bundle};
use crate::container::offload_binary::{self, OffloadBinary};
use crate::container::{Container, EntryKind, archive, host, host_coff, host_elf};

/// A part of a container that is no entry.
pub(super) struct Part {
    pub(super) range: Range<u64>,
    pub(super) kind: Kind,
    pub(super) section: Option<String>,
}

impl Part {
    fn new(range: Range<u64>, kind: Kind) -> Self {
        Self { range, kind, section: None }
    }
}

/// What an entry's bytes are if nothing more is known of them.
pub(super) fn kind_of_entry(kind: EntryKind) -> Kind {
    match kind {
        EntryKind::Bitcode => Kind::Bitcode,
        EntryKind::Spirv => Kind::Spirv,
        _ => Kind::Unknown,
    }
}

/// What a container's bytes are if no part is known, and those between its parts.
pub(super) fn kinds(container: Container) -> (Kind, Kind) {
    match container {
        Container::Bundle => (Kind::BundlePadding, Kind::BundlePadding),
        Container::CompressedBundle => (Kind::Compressed, Kind::Compressed),
        Container::OffloadBinary => (Kind::Unknown, Kind::OffloadStrings),
        _ => (Kind::Unknown, Kind::Padding),
    }
}

/// The parts of a container that begins at the first of these bytes.
pub(super) fn parts(container: Container, data: &[u8]) -> Vec<Part> {
    match container {
        Container::Bundle => bundle_parts(data),
        Container::OffloadBinary => offload_binary_parts(data),
        Container::Archive => archive_parts(data),
        Container::HostElf => host_elf::parts(data).into_iter().map(host_part).collect(),
        Container::HostPe => host_coff::parts(data, true).into_iter().map(host_part).collect(),
        Container::HostCoff => host_coff::parts(data, false).into_iter().map(host_part).collect(),
        _ => Vec::new(),
    }
}

fn bundle_parts(data: &[u8]) -> Vec<Part> {
    let (bundle, _) = Bundle::read(data);
    let table = bundle::COUNT_END as u64;
    vec![
        Part::new(0..table.min(bundle.header_size), Kind::BundleHeader),
        Part::new(table..bundle.header_size, Kind::BundleEntryHeader),
    ]
}

fn offload_binary_parts(data: &[u8]) -> Vec<Part> {
    let mut parts = vec![Part::new(0..offload_binary::HEADER_SIZE, Kind::OffloadHeader)];
    let table = OffloadBinary::table(data);
    parts.extend(table.map(|table| Part::new(table, Kind::OffloadEntryHeader)));
    parts
}

fn archive_parts(data: &[u8]) -> Vec<Part> {
    let magic = Part::new(0..archive::MAGIC.len() as u64, Kind::ArchiveHeader);
    let members = archive::parts(data).into_iter().flat_map(|part| {
        let content = if part.is_member { Kind::Member } else { Kind::ArchiveTable };
        [Part::new(part.header, Kind::MemberHeader), Part::new(part.content, content)]
    });
    std::iter::once(magic).chain(members).collect()
}

fn host_part((range, part): host::PartRange) -> Part {
    let kind = match part {
        host::Part::FileHeader => Kind::FileHeader,
        host::Part::ProgramHeaders => Kind::ProgramHeaders,
        host::Part::SectionHeaders => Kind::SectionHeaders,
        host::Part::Symbols => Kind::Symbols,
        host::Part::Section(name) => {
            return Part { range, kind: Kind::Section, section: Some(name) };
        }
    };
    Part::new(range, kind)
}
