//! Files in memory: mapped, and pages given back.

use std::fs::File;

use memmap2::Mmap;

/// Pages of smaller ranges are given back with the process.
pub(crate) const WORTH_RELEASING: u64 = 16 << 20;

pub(crate) fn map(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: the map is only read, and read as bytes of which nothing is assumed. A file that
    // another process cuts short while it is read ends this process with a signal, as it would end
    // any tool that maps files; nothing is written before the answer is complete.
    #[allow(unsafe_code)]
    unsafe {
        Mmap::map(file)
    }
}

#[cfg(unix)]
pub(crate) fn release_pages(map: &Mmap, offset: usize, size: usize) {
    let size = size.min(map.len().saturating_sub(offset));
    let advice = memmap2::UncheckedAdvice::DontNeed;
    // SAFETY: the mapping is shared, read-only and of a file: dropped pages are read from the file
    // again when touched, so no byte that a reference can see changes.
    #[allow(unsafe_code)]
    let result = unsafe { map.unchecked_advise_range(advice, offset, size) };
    // Advice that is not taken costs memory and nothing else.
    drop(result);
}

#[cfg(not(unix))]
pub(crate) fn release_pages(_map: &Mmap, _offset: usize, _size: usize) {}
