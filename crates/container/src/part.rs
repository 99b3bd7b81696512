//! The bytes that containers have for themselves: headers, tables, host sections.

use crate::bundle::{self, Bundle};
use crate::offload_binary::{self, OffloadBinary};
use crate::region::{Part, PartKind};
use crate::rpm::Rpm;
use crate::zip::Storage;
use crate::{Container, archive, host_coff, host_elf, sequence, zip};

/// The parts of a container that begins at the first of these bytes, as far as they can be read.
///
/// ```
/// use hsaco_container::{Container, PartKind, bundle, parts};
/// let file = bundle::write(&[("hip-gfx90a", b"abc")], 1);
/// let found = parts(Container::Bundle, &file);
/// assert_eq!((found[0].range.clone(), &found[0].kind), (0..32, &PartKind::BundleHeader));
/// assert_eq!((found[1].range.clone(), &found[1].kind), (32..66, &PartKind::BundleTable));
/// ```
pub fn parts(container: Container, data: &[u8]) -> Vec<Part> {
    match container {
        Container::Bundle => bundle_parts(data),
        Container::OffloadBinary => offload_binary_parts(data),
        Container::Archive => archive_parts(data),
        Container::HostElf => host_elf::parts(data),
        Container::HostPe => host_coff::parts(data, true),
        Container::HostCoff => host_coff::parts(data, false),
        Container::Zip => zip_parts(data),
        Container::Tar | Container::Cpio => sequence_parts(container, data),
        Container::Rpm => {
            let payload = Rpm::parse(data).map(|rpm| rpm.payload);
            payload.map_or_else(|_| Vec::new(), |end| vec![Part::new(0..end, PartKind::FileHeader)])
        }
        Container::CodeObject
        | Container::CompressedBundle
        | Container::Gzip
        | Container::Xz
        | Container::Zstd
        | Container::Bzip2 => Vec::new(),
    }
}

fn zip_parts(data: &[u8]) -> Vec<Part> {
    let mut parts = Vec::new();
    for member in zip::members(data).into_iter().flatten() {
        let kind = match member.storage {
            Storage::Stored => PartKind::Member,
            Storage::Packed(_) => PartKind::PackedMember,
        };
        parts.push(Part::new(member.header..member.data.start, PartKind::MemberHeader));
        parts.push(Part::new(member.data, kind));
    }
    if let Ok(directory) = zip::Directory::find(data) {
        let tables = directory.range.start..data.len() as u64;
        parts.push(Part::new(tables, PartKind::ArchiveTable));
    }
    parts
}

fn sequence_parts(container: Container, data: &[u8]) -> Vec<Part> {
    let members = sequence::members(container, data).into_iter().flatten();
    let parts = members.flat_map(|member| {
        let end = member.offset + member.size;
        [
            Part::new(member.header..member.offset, PartKind::MemberHeader),
            Part::new(member.offset..end, PartKind::Member),
        ]
    });
    parts.collect()
}

fn bundle_parts(data: &[u8]) -> Vec<Part> {
    let (bundle, _) = Bundle::read(data);
    let table = bundle::COUNT_END as u64;
    vec![
        Part::new(0..table.min(bundle.header_size), PartKind::BundleHeader),
        Part::new(table..bundle.header_size, PartKind::BundleTable),
    ]
}

fn offload_binary_parts(data: &[u8]) -> Vec<Part> {
    let mut parts = vec![Part::new(0..offload_binary::HEADER_SIZE, PartKind::OffloadHeader)];
    let table = OffloadBinary::table(data);
    parts.extend(table.map(|table| Part::new(table, PartKind::OffloadTable)));
    parts
}

fn archive_parts(data: &[u8]) -> Vec<Part> {
    let magic = Part::new(0..archive::MAGIC.len() as u64, PartKind::ArchiveHeader);
    let members = archive::parts(data).into_iter().flat_map(|part| {
        let content = if part.is_member { PartKind::Member } else { PartKind::ArchiveTable };
        [Part::new(part.header, PartKind::MemberHeader), Part::new(part.content, content)]
    });
    std::iter::once(magic).chain(members).collect()
}
