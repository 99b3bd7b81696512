//! The bytes that containers have for themselves: headers, tables, host sections.

use crate::bundle::{self, Bundle};
use crate::offload_binary::{self, OffloadBinary};
use crate::region::{Part, PartKind};
use crate::{Container, archive, host_coff, host_elf};

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
        Container::CodeObject | Container::CompressedBundle => Vec::new(),
    }
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
