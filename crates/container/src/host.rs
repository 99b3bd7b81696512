//! What the sections of host files are called that hold device code.

use crate::region::{Part, PartKind};

/// A section of a host file that may hold device code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// A section of any name; names that cannot be read are empty.
pub(crate) fn section_part(name: Option<&[u8]>, offset: u64, size: u64) -> Part {
    let name = String::from_utf8_lossy(name.unwrap_or_default()).into_owned();
    Part::new(offset..offset.saturating_add(size), PartKind::Section(name))
}

/// Longer section names than this name nothing of ours.
pub(crate) const MAX_NAME: usize = 256;

const ENTRY_PREFIX: &str = "__CLANG_OFFLOAD_BUNDLE__";

/// Sections made of bundles or offload binaries. PE images cut names to eight characters.
const REGION_NAMES: [&str; 4] = [".hip_fatbin", ".hip_fat", ".llvm.offloading", ".llvm.of"];

/// The id in the name of a section that is one entry of a bundle, spread over the sections of
/// a relocatable object.
pub(crate) fn entry_id(name: &str) -> Option<&str> {
    name.strip_prefix(ENTRY_PREFIX)
}

/// The section, if its name says that device code is in it.
pub(crate) fn device_section(name: &[u8], offset: u64, size: u64) -> Option<Section> {
    let name = str::from_utf8(name).ok()?;
    let ours = REGION_NAMES.iter().any(|region| names_region(name, region));
    (ours || entry_id(name).is_some()).then(|| Section { name: name.to_owned(), offset, size })
}

/// A region's name may be followed by a suffix of its own: `.hip_fatbin.unit`.
fn names_region(name: &str, region: &str) -> bool {
    name.strip_prefix(region).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The name at the start of `bytes`, without the NUL that ends it.
pub(crate) fn short_name(bytes: &[u8]) -> Option<&[u8]> {
    let window = bytes.get(..bytes.len().min(MAX_NAME))?;
    window.get(..window.iter().position(|&byte| byte == 0)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_hold_device_code() {
        let ours = |name: &str| device_section(name.as_bytes(), 0, 0).is_some();
        for name in [
            ".hip_fatbin",
            ".hip_fat",
            ".hip_fatbin.unit1",
            ".llvm.offloading",
            ".llvm.offloading.relocatable",
            "__CLANG_OFFLOAD_BUNDLE__hip-amdgcn-amd-amdhsa--gfx942",
        ] {
            assert!(ours(name), "{name}");
        }
        for name in [".hipFatBinSegment", ".hipFatB", ".text", "", ".llvm.rodata.offloading"] {
            assert!(!ours(name), "{name}");
        }
    }
}
