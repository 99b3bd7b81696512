//! Formats of typed buffer accesses and dimensions of images.
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

use super::{Marks, Out, modifier};
use crate::arch::Arch;

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
const UNIFIED_INVALID: u32 = 0;
pub(crate) const UNIFIED_DEFAULT: u32 = 1;

/// The format of a typed buffer access, unless it is the default one.
pub(crate) fn buffer_format<M: Marks>(out: &mut Out<'_, M>, arch: Arch, value: u32) {
    if arch.is_gfx11_plus() {
        unified(out, UNIFIED_GFX11, value);
    } else if arch.has(Arch::GFX10) {
        unified(out, UNIFIED_GFX10, value);
    } else {
        layout_and_number(out, value & 15, value >> 4 & 7);
    }
}

fn unified<M: Marks>(out: &mut Out<'_, M>, formats: &Unified, value: u32) {
    if value == UNIFIED_DEFAULT {
        return;
    }
    modifier(out, "format:");
    if value == UNIFIED_INVALID {
        out.text("[BUF_FMT_INVALID]");
    } else if let Some((layout, number)) = find_unified(formats, value) {
        out.text("[BUF_FMT_");
        out.text(layout);
        out.byte(b'_');
        out.text(number);
        out.byte(b']');
    } else {
        out.dec(u64::from(value));
    }
}

fn find_unified(formats: &Unified, value: u32) -> Option<(&'static str, &'static str)> {
    let mut at = (value as usize).checked_sub(1)?;
    for (layout, numbers) in formats {
        match numbers.get(at) {
            Some(number) => return Some((layout, number)),
            None => at -= numbers.len(),
        }
    }
    None
}

fn layout_and_number<M: Marks>(out: &mut Out<'_, M>, layout: u32, number: u32) {
    if (layout, number) == (DEFAULT_LAYOUT, DEFAULT_NUMBER) {
        return;
    }
    modifier(out, "format:[");
    if layout != DEFAULT_LAYOUT {
        out.text("BUF_DATA_FORMAT_");
        out.text(LAYOUTS.get(layout as usize).unwrap_or(&""));
        if number != DEFAULT_NUMBER {
            out.byte(b',');
        }
    }
    if number != DEFAULT_NUMBER {
        out.text("BUF_NUM_FORMAT_");
        out.text(NUMBERS.get(number as usize).unwrap_or(&""));
    }
    out.byte(b']');
}

pub(crate) static DIMENSIONS: [&str; 8] =
    ["1D", "2D", "3D", "CUBE", "1D_ARRAY", "2D_ARRAY", "2D_MSAA", "2D_MSAA_ARRAY"];

/// The dimensions of an image.
pub(crate) fn image_dim<M: Marks>(out: &mut Out<'_, M>, value: u32) {
    modifier(out, "dim:SQ_RSRC_IMG_");
    match DIMENSIONS.get(value as usize) {
        Some(name) => out.text(name),
        None => out.dec(u64::from(value)),
    }
}
