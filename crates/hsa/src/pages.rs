//! Pages of the host's memory that the runtime maps, and words of memory as the emulator sees them.

use std::ffi::c_void;
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;

/// Bytes of a page.
pub(crate) const PAGE: u64 = 4096;
/// Pages behind an allocation that no access may touch, so that what runs past its end is found.
const GUARD: u64 = 1 << 16;

/// Mapped pages; unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Pages {
    start: NonNull<c_void>,
    /// Bytes that may be used.
    size: u64,
    /// Bytes that are mapped, guard pages included.
    mapped: usize,
}

// SAFETY: the pages are shared memory that belongs to no thread; who accesses them does so by atomics or at the risk
// of the program that was given the address.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    /// Zeroed pages for so many bytes, at a multiple of the largest power of two in their size, up to 2 MiB: so AMD's
    /// driver places memory, and `malloc` of kernels relies on it. None where the host has no room.
    pub(crate) fn new(size: u64) -> Option<Self> {
        const MOST: u64 = 1 << 21;
        let alignment = (1 << size.max(1).ilog2()).clamp(PAGE, MOST);
        let pages = Self::reserve(size, alignment)?;
        pages
            .protect(pages.address(), pages.size, libc::PROT_READ | libc::PROT_WRITE)
            .then_some(pages)
    }

    /// Addresses for so many bytes at a multiple of an alignment, which no access may touch yet.
    pub(crate) fn reserve(size: u64, alignment: u64) -> Option<Self> {
        let size = size.max(1).checked_next_multiple_of(PAGE)?;
        let slack = alignment.max(PAGE) - PAGE;
        let all = usize::try_from(size.checked_add(GUARD)?.checked_add(slack)?).ok()?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: maps new pages where the kernel likes, and so changes no memory that anyone has.
        let start = unsafe { libc::mmap(ptr::null_mut(), all, libc::PROT_NONE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        let start = NonNull::new(start)?;
        let aligned = (start.as_ptr() as u64).checked_next_multiple_of(alignment.max(PAGE))?;
        let skipped = usize::try_from(aligned - start.as_ptr() as u64).ok()?;
        if skipped > 0 {
            // SAFETY: the pages before the aligned start were mapped above, and nothing else knows of them.
            unsafe { libc::munmap(start.as_ptr(), skipped) };
        }
        // SAFETY: the offset is inside what was mapped.
        let start = unsafe { start.byte_add(skipped) };
        Some(Self { start, size, mapped: all - skipped })
    }

    /// Says how some of the pages may be accessed.
    pub(crate) fn protect(&self, address: u64, size: u64, protection: i32) -> bool {
        let inside = address
            .checked_sub(self.address())
            .and_then(|it| it.checked_add(size))
            .is_some_and(|end| end <= self.size);
        let Ok(bytes) = usize::try_from(size) else { return false };
        // SAFETY: the pages are our own; they stay mapped, and who was given them knows how they may be accessed.
        inside && unsafe { libc::mprotect(address as *mut c_void, bytes, protection) } == 0
    }

    pub(crate) fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Its words.
    ///
    /// # Safety
    /// The pages may be accessed, and outlive every use of the words.
    pub(crate) unsafe fn words(&self) -> &'static [AtomicU64] {
        // SAFETY: the caller's promise; pages are aligned.
        unsafe { words(self.address(), self.size) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the pages were mapped by `reserve`, and what refers to them holds this alive.
        unsafe { libc::munmap(self.start.as_ptr(), self.mapped) };
    }
}

/// The words that hold so many bytes from an address on, which need not be a multiple of 8.
///
/// # Safety
/// The memory may be accessed, and outlives every use of the words.
pub(crate) unsafe fn words(address: u64, size: u64) -> &'static [AtomicU64] {
    let start = address / 8 * 8;
    let count = (address + size).div_ceil(8) - start / 8;
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: the caller's promise; whole words around accessible bytes are on the same pages, so accessible too, and
    // atomics allow for others who write to them.
    unsafe { std::slice::from_raw_parts(start as *const AtomicU64, count) }
}

/// Whether memory of the program may be written; none where some of it may not even be read.
pub(crate) fn may_be_written(address: u64, size: u64) -> Option<bool> {
    let end = address.checked_add(size)?;
    // Without a list of mappings the program is believed.
    let Ok(mappings) = std::fs::read_to_string("/proc/self/maps") else { return Some(true) };
    let (mut reached, mut is_writable) = (address, true);
    for (range, access) in mappings.lines().filter_map(mapping) {
        if reached >= end || range.start > reached {
            break;
        }
        if range.end > reached {
            if !access.starts_with('r') {
                return None;
            }
            is_writable &= access.starts_with("rw");
            reached = range.end;
        }
    }
    (reached >= end).then_some(is_writable)
}

/// The addresses of a line of `/proc/self/maps`, and how they may be accessed.
fn mapping(line: &str) -> Option<(Range<u64>, &str)> {
    let mut words = line.split(' ');
    let (start, end) = words.next()?.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some((number(start)?..number(end)?, words.next()?))
}

/// Copies bytes that may not be accessible; says whether they were.
pub(crate) fn copy_checked(to: u64, from: u64, size: usize) -> bool {
    let mut done = 0;
    while done < size {
        let local =
            libc::iovec { iov_base: (to + done as u64) as *mut c_void, iov_len: size - done };
        let remote =
            libc::iovec { iov_base: (from + done as u64) as *mut c_void, iov_len: size - done };
        // SAFETY: the kernel checks both ranges, and answers with an error where one may not be accessed. Whose
        // memory is written was said by the program that asked for the copy.
        let copied = unsafe {
            libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0)
        };
        match usize::try_from(copied) {
            Ok(0) | Err(_) => return false,
            Ok(copied) => done += copied,
        }
    }
    true
}
