//! Formats of typed buffer accesses and dimensions of images.
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

use super::{Marks, Out, modifier};
use crate::model::Arch;
use crate::model::named::format::{
    DEFAULT_LAYOUT, DEFAULT_NUMBER, DIMENSIONS, LAYOUTS, NUMBERS, UNIFIED_DEFAULT, UNIFIED_GFX10,
    UNIFIED_GFX11, UNIFIED_INVALID, Unified,
};

/// The format of a typed buffer access, unless it is the default one.
pub(in crate::print) fn buffer_format<M: Marks>(out: &mut Out<'_, M>, arch: Arch, value: u32) {
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

/// The dimensions of an image.
pub(in crate::print) fn image_dim<M: Marks>(out: &mut Out<'_, M>, value: u32) {
    modifier(out, "dim:SQ_RSRC_IMG_");
    match DIMENSIONS.get(value as usize) {
        Some(name) => out.text(name),
        None => out.dec(u64::from(value)),
    }
}
