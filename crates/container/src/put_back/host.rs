//! Host ELF files: sections of device code that stay, or move to the end of the file.

use hsaco_bytes::Result;
use hsaco_elf::write::{PointerSection, host_sections};

use crate::host_elf;

use super::{CONTEXT, Change, in_place};

/// The structures through which HIP's runtime finds device code, as clang writes them.
pub(super) const WRAPPERS: PointerSection = PointerSection {
    name: ".hipFatBinSegment",
    // `HIPF`.
    magic: 0x4849_5046_u32.to_le_bytes(),
    size: 24,
};

/// A host file. What fits stays in its section; a section that grew goes behind the end of the file,
/// in a linked one as a segment, and whatever points at it is told.
pub(super) fn elf(data: &[u8], changes: Vec<Change>) -> Result<Vec<u8>> {
    if changes.iter().all(Change::fits) {
        return in_place(data, &changes, "elf");
    }
    let (fitting, growing): (Vec<_>, Vec<_>) = changes.into_iter().partition(Change::fits);
    let file = in_place(data, &fitting, "elf")?;
    let has_sections = host_elf::device_sections(data)?.is_some();
    if !has_sections {
        return in_place(data, &growing, "a host file without section headers");
    }
    let growing: Vec<_> =
        growing.into_iter().map(|it| ((it.start, it.old), it.new, it.moves)).collect();
    host_sections(&file, growing, WRAPPERS).map_err(|error| match error.context() {
        CONTEXT => error,
        _ => hsaco_bytes::Error::new(error.kind(), CONTEXT, error.to_string()),
    })
}
