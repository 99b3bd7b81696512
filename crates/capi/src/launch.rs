//! Launches as callers describe them.

use std::ffi::c_char;

use hsaco::kernarg;
use hsaco::object::metadata::Hidden;

use crate::border::{Versioned, list, sized, sized_given, text};
use crate::error::{Failure, Result};

/// A launch. Set everything to 0 and `size` to sizeof(hsaco_launch).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// sizeof(hsaco_launch).
    pub size: usize,
    /// 1, 2 or 3.
    pub dimensions: u32,
    /// Work-items of the grid, in as many dimensions.
    pub work_items: [u32; 3],
    /// Work-items of a workgroup, in as many dimensions.
    pub workgroup: [u32; 3],
    /// Bytes of LDS that the launch adds to what the kernel has.
    pub dynamic_lds: u32,
    /// Hidden arguments that do not follow from the grid.
    pub hidden: *const HiddenValue,
    /// How many.
    pub hidden_count: usize,
}

// SAFETY: numbers and a pointer, and it begins with its size.
unsafe impl Versioned for Launch {
    const NAME: &'static str = "launch";
}

/// The value of a hidden argument.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HiddenValue {
    /// Its name in the metadata, such as "hidden_heap_v1".
    pub name: *const c_char,
    /// Its value.
    pub value: u64,
}

/// The launch that a caller describes; null for none.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
pub(crate) unsafe fn optional(launch: *const Launch) -> Result<Option<kernarg::Launch>> {
    // SAFETY: as this function asks.
    unsafe { sized(launch)?.map(|it| read(&it)).transpose() }
}

/// The launch that a caller describes.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
pub(crate) unsafe fn given(launch: *const Launch) -> Result<kernarg::Launch> {
    // SAFETY: as this function asks.
    unsafe { read(&sized_given(launch)?) }
}

/// # Safety
/// Pointers are as the head of hsaco.h asks.
unsafe fn read(launch: &Launch) -> Result<kernarg::Launch> {
    let dimensions = usize::try_from(launch.dimensions).unwrap_or(usize::MAX);
    let wrong =
        || Failure::argument(format!("a launch of {dimensions} dimensions; 1 to 3 are possible"));
    let sizes = launch.work_items.get(..dimensions).zip(launch.workgroup.get(..dimensions));
    let (work_items, workgroup) = sizes.filter(|_| dimensions > 0).ok_or_else(wrong)?;
    let made = kernarg::Launch::new(work_items, workgroup)?;
    let mut made = made.with_dynamic_lds(launch.dynamic_lds);
    // SAFETY: as this function asks.
    for it in unsafe { list(launch.hidden, launch.hidden_count, "hidden") }? {
        // SAFETY: as above.
        let name = unsafe { text(it.name, "the name of a hidden argument") }?;
        let unknown = || Failure::argument(format!("no hidden argument is called {name}"));
        made = made.with_hidden(Hidden::from_name(name).ok_or_else(unknown)?, it.value)?;
    }
    Ok(made)
}
