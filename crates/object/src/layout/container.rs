//! What the bytes are that containers have for themselves.

use hsaco_container::{Container, EntryKind, Part, PartKind};

use super::Kind;

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
        Container::CompressedBundle
        | Container::Gzip
        | Container::Xz
        | Container::Zstd
        | Container::Bzip2 => (Kind::Compressed, Kind::Compressed),
        Container::OffloadBinary => (Kind::Unknown, Kind::OffloadStrings),
        _ => (Kind::Unknown, Kind::Padding),
    }
}

/// What the bytes of a container's part are.
pub(super) fn kind_of_part(part: &PartKind) -> Kind {
    match part {
        PartKind::FileHeader => Kind::FileHeader,
        PartKind::ProgramHeaders => Kind::ProgramHeaders,
        PartKind::SectionHeaders => Kind::SectionHeaders,
        PartKind::Symbols => Kind::Symbols,
        PartKind::Section(_) => Kind::Section,
        PartKind::BundleHeader => Kind::BundleHeader,
        PartKind::BundleTable => Kind::BundleEntryHeader,
        PartKind::OffloadHeader => Kind::OffloadHeader,
        PartKind::OffloadTable => Kind::OffloadEntryHeader,
        PartKind::ArchiveHeader => Kind::ArchiveHeader,
        PartKind::ArchiveTable => Kind::ArchiveTable,
        PartKind::MemberHeader => Kind::MemberHeader,
        PartKind::Member => Kind::Member,
        PartKind::PackedMember => Kind::Compressed,
    }
}

/// The name of the section that a part is.
pub(super) fn section_name(part: &Part) -> Option<&str> {
    match &part.kind {
        PartKind::Section(name) => Some(name),
        _ => None,
    }
}
