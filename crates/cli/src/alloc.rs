//! Memory in large pages: large blocks, and the heap of runs that need much.
//!
//! A decompressed payload is tens of megabytes that are written once. In pages of 4 KiB the system
//! spends more time handing them out than zstd does filling them; asked for large pages, it hands
//! out 2 MiB at a time. [What that buys](../../../docs/allocation.md).

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, which asks for large pages where a block is made of many.
pub struct Alloc;

/// Size of a large page, and of the smallest block that gets some.
const LARGE_PAGE: usize = 2 << 20;

impl Alloc {
    /// Large blocks are aligned to large pages, so that they are made of them from the start.
    fn widened(layout: Layout) -> Option<Layout> {
        match layout.size() >= LARGE_PAGE && layout.align() < LARGE_PAGE {
            true => Layout::from_size_align(layout.size(), LARGE_PAGE).ok(),
            false => None,
        }
    }
}

// SAFETY: every call is the system allocator's own with the same size. A block of at least
// `LARGE_PAGE` bytes is always allocated and freed with the wider alignment that `widened` makes of
// its layout, because that depends on nothing but the layout, which callers repeat on freeing; or the
// C library has moved it, to whose `free` the system's allocator gives it whatever its alignment is.
// `realloc` leaves a block its kind, or allocates, copies and frees. `madvise` is asked on whole
// pages inside the fresh block and changes no content.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Alloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(wide) = Self::widened(layout) else {
            // SAFETY: as the caller promised for this layout.
            return unsafe { System.alloc(layout) };
        };
        // SAFETY: `wide` has the caller's size, which is not zero.
        let block = unsafe { System.alloc(wide) };
        if !block.is_null() {
            let whole = wide.size() / LARGE_PAGE * LARGE_PAGE;
            // SAFETY: the range is inside the block. Advice that is not taken changes nothing.
            #[cfg(target_os = "linux")]
            unsafe {
                libc::madvise(block.cast(), whole, libc::MADV_HUGEPAGE);
            }
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let layout = Self::widened(layout).unwrap_or(layout);
        // SAFETY: the block was allocated with the layout that `widened` makes of this one, or moved by the C library.
        unsafe { System.dealloc(block, layout) };
    }

    /// Large blocks that grow are moved by their pages, not copied.
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Ok(new) = Layout::from_size_align(size, layout.align()) else {
            return std::ptr::null_mut();
        };
        match (Self::widened(layout), Self::widened(new)) {
            // SAFETY: the block is the system allocator's, of this layout.
            (None, None) => unsafe { System.realloc(block, layout, size) },
            #[cfg(all(target_os = "linux", target_env = "gnu"))]
            (Some(_), Some(_)) if layout.align() <= align_of::<libc::max_align_t>() => {
                // SAFETY: here the system's allocator is the C library's, whose blocks of any alignment may be given to
                // `realloc`; what that returns is aligned for everything that needs no more than `max_align_t`.
                unsafe { libc::realloc(block.cast(), size).cast() }
            }
            _ => {
                // SAFETY: `new` has a size that is not zero, as the caller promised; the blocks are of these layouts, and
                // apart.
                unsafe {
                    let moved = self.alloc(new);
                    if !moved.is_null() {
                        let count = layout.size().min(size);
                        std::ptr::copy_nonoverlapping(block, moved, count);
                        self.dealloc(block, layout);
                    }
                    moved
                }
            }
        }
    }
}

/// Makes the heap large at once, of large pages but for its beginning, and has it keep what it has: short runs touch no
/// large page, and long ones do not wait for thousands of small ones. Heaps of other threads stay as they are.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn prepare_heap() {
    /// Address space, which is memory only once it is touched. Large blocks that fit are taken from it as well, so that more
    /// of it would keep payloads that were freed.
    const ROOM: i32 = 16 << 20;
    /// What short runs need.
    const LITTLE: usize = 512 << 10;
    /// By how much heaps grow unless told otherwise.
    const USUAL: i32 = 128 << 10;
    // SAFETY: `mallopt`, `malloc` and `sbrk(0)` have no preconditions. The advice is about whole pages between the fresh
    // block and the end of the heap, which belong to the allocator, and changes no content.
    #[allow(unsafe_code)]
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
        libc::mallopt(libc::M_MMAP_THRESHOLD, i32::try_from(LARGE_PAGE).unwrap_or(i32::MAX));
        libc::mallopt(libc::M_TOP_PAD, ROOM);
        let block = std::hint::black_box(libc::malloc(LITTLE));
        libc::mallopt(libc::M_TOP_PAD, USUAL);
        let start = (block.addr() + LITTLE).next_multiple_of(LARGE_PAGE);
        let size = libc::sbrk(0).addr().saturating_sub(start) / LARGE_PAGE * LARGE_PAGE;
        if !block.is_null() && size > 0 {
            libc::madvise(block.with_addr(start), size, libc::MADV_HUGEPAGE);
        }
        libc::free(block);
    }
}

/// Elsewhere the allocator knows best.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn prepare_heap() {}
