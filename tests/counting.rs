//! An allocator that counts what its thread allocates, and refuses it while told to: a module of tests of several crates,
//! each a program of its own.
#![allow(unsafe_code, reason = "an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    /// Allocations so far.
    pub(crate) static COUNT: Cell<usize> = const { Cell::new(0) };
    /// Bytes that are allocated.
    pub(crate) static LIVE: Cell<isize> = const { Cell::new(0) };
    /// Allocations of this size are refused; of none while it is 0.
    pub(crate) static REFUSED_SIZE: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is handed to the system's allocator; a null pointer is a refusal.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if REFUSED_SIZE.with(Cell::get) == layout.size() {
            return std::ptr::null_mut();
        }
        COUNT.with(|it| it.set(it.get() + 1));
        LIVE.with(|it| it.set(it.get() + layout.size().cast_signed()));
        // SAFETY: the caller keeps the allocator's rules.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.with(|it| it.set(it.get() - layout.size().cast_signed()));
        // SAFETY: the pointer came from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
