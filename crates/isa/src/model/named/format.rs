//! Formats of typed buffer accesses and dimensions of images.
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

/// How the bits of an element are laid out: a data format of gfx8 and gfx9.
pub(crate) static LAYOUTS: [&str; 16] = [
    "INVALID",
    "8",
    "16",
    "8_8",
    "32",
    "16_16",
    "10_11_11",
    "11_11_10",
    "10_10_10_2",
    "2_10_10_10",
    "8_8_8_8",
    "32_32",
    "16_16_16_16",
    "32_32_32",
    "32_32_32_32",
    "RESERVED_15",
];
pub(crate) const DEFAULT_LAYOUT: u32 = 1;

/// What the bits of a component mean: a number format of gfx8 and gfx9.
pub(crate) static NUMBERS: [&str; 8] =
    ["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "RESERVED_6", "FLOAT"];
pub(crate) const DEFAULT_NUMBER: u32 = 0;

const NORMALIZED: &[&str] = &["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT"];
const NORMALIZED_FLOAT: &[&str] =
    &["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "FLOAT"];
const UNSCALED: &[&str] = &["UNORM", "SNORM", "UINT", "SINT"];
const WHOLE_FLOAT: &[&str] = &["UINT", "SINT", "FLOAT"];
const FLOAT: &[&str] = &["FLOAT"];

/// Unified formats, numbered from 1 through all rows.
pub(crate) type Unified = [(&'static str, &'static [&'static str])];

pub(crate) static UNIFIED_GFX10: &Unified = &[
    ("8", NORMALIZED),
    ("16", NORMALIZED_FLOAT),
    ("8_8", NORMALIZED),
    ("32", WHOLE_FLOAT),
    ("16_16", NORMALIZED_FLOAT),
    ("10_11_11", NORMALIZED_FLOAT),
    ("11_11_10", NORMALIZED_FLOAT),
    ("10_10_10_2", NORMALIZED),
    ("2_10_10_10", NORMALIZED),
    ("8_8_8_8", NORMALIZED),
    ("32_32", WHOLE_FLOAT),
    ("16_16_16_16", NORMALIZED_FLOAT),
    ("32_32_32", WHOLE_FLOAT),
    ("32_32_32_32", WHOLE_FLOAT),
];
pub(crate) static UNIFIED_GFX11: &Unified = &[
    ("8", NORMALIZED),
    ("16", NORMALIZED_FLOAT),
    ("8_8", NORMALIZED),
    ("32", WHOLE_FLOAT),
    ("16_16", NORMALIZED_FLOAT),
    ("10_11_11", FLOAT),
    ("11_11_10", FLOAT),
    ("10_10_10_2", UNSCALED),
    ("2_10_10_10", NORMALIZED),
    ("8_8_8_8", NORMALIZED),
    ("32_32", WHOLE_FLOAT),
    ("16_16_16_16", NORMALIZED_FLOAT),
    ("32_32_32", WHOLE_FLOAT),
    ("32_32_32_32", WHOLE_FLOAT),
];
pub(crate) const UNIFIED_INVALID: u32 = 0;
pub(crate) const UNIFIED_DEFAULT: u32 = 1;

pub(crate) static DIMENSIONS: [&str; 8] =
    ["1D", "2D", "3D", "CUBE", "1D_ARRAY", "2D_ARRAY", "2D_MSAA", "2D_MSAA_ARRAY"];
