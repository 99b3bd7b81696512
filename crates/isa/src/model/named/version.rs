//! Microcode versions, as `s_version` names them.
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

/// The microcode versions that `s_version` names.
pub(crate) static VERSIONS: [(u32, &str); 4] = [
    (0, "UC_VERSION_GFX7"),
    (4, "UC_VERSION_GFX10"),
    (6, "UC_VERSION_GFX11"),
    (9, "UC_VERSION_GFX12"),
];

/// The flags above a microcode version.
pub(crate) static VERSION_FLAGS: [(u32, &str); 3] = [
    (0x2000, "|UC_VERSION_W64_BIT"),
    (0x4000, "|UC_VERSION_W32_BIT"),
    (0x8000, "|UC_VERSION_MDP_BIT"),
];
