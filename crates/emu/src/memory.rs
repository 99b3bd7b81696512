//! Memory of a device: allocations with gaps between them, so that what goes past the end of one is found.
//!
//! Words of eight bytes are atomic: workgroups on several threads share the memory, and what a lane reads or writes at a
//! multiple of its size is never torn. Allocations come and go while programs run: each thread looks at a [`View`] of them.

mod allocation;
mod view;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Release};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::error::{Error, ErrorKind, Result};

pub(crate) use allocation::Allocation;
pub use allocation::HostMemory;
pub(crate) use view::View;

/// Bytes between allocations.
const GAP: u64 = 1 << 16;
/// Where the first allocation is.
const BASE: u64 = 0x7e00_0000_0000;
/// What HIP allocates is a multiple of this.
const PAGE: u64 = 4096;

/// The allocations that were accessed last: many programs go back and forth between two.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hint {
    last: usize,
    before: usize,
}

/// The memory of a device.
///
/// ```
/// use hsaco_emu::Memory;
/// let memory = Memory::new(1 << 20);
/// let address = memory.allocate(8)?;
/// memory.write(address, &[1, 2, 3])?;
/// assert_eq!(memory.read(address, 4)?, [1, 2, 3, 0]);
/// assert!(memory.read(address, 9).is_err());
/// # Ok::<(), hsaco_emu::Error>(())
/// ```
#[derive(Debug)]
pub struct Memory {
    shared: Arc<Shared>,
}

/// What a memory and the views of it share.
#[derive(Debug)]
struct Shared {
    /// Replaced, not changed, where a running program still looks at it.
    table: RwLock<Arc<Table>>,
    /// How often it was.
    version: AtomicU64,
}

/// What is allocated.
#[derive(Clone, Debug, Default)]
struct Table {
    /// By address.
    allocations: Vec<Arc<Allocation>>,
    next: u64,
    budget: u64,
    has_page_slack: bool,
    /// What was given back last, the latest at the end.
    freed: Vec<Range<u64>>,
}

/// Freed allocations that are remembered.
const MOST_FREED: usize = 1024;

/// What an address that is in no allocation is near to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Near {
    /// In memory that was given back.
    Freed(Range<u64>),
    /// So many bytes from the end of an allocation.
    Behind(Range<u64>, u64),
    Before(Range<u64>, u64),
}

impl Table {
    /// The place of an allocation that ends at `end`, if that is free.
    fn vacancy(&self, address: u64, size: u64, end: u64) -> Result<usize> {
        let at = self.allocations.partition_point(|it| it.base < address);
        let before = at.checked_sub(1).and_then(|it| self.allocations.get(it));
        let overlaps = before.is_some_and(|it| it.base + it.readable > address)
            || self.allocations.get(at).is_some_and(|it| it.base < end);
        if overlaps {
            let detail = format!("{size} bytes at {address:#x} are in use");
            return Err(Error::new(ErrorKind::Setup, detail));
        }
        Ok(at)
    }

    fn insert(&mut self, allocation: Allocation) -> Result<()> {
        let Allocation { base, size, readable, .. } = allocation;
        let left = self.budget.checked_sub(allocation.cost()).ok_or_else(|| Error::memory(size))?;
        let end = base.checked_add(readable).ok_or_else(|| Error::memory(size))?;
        let at = self.vacancy(base, size, end)?;
        self.allocations.insert(at, Arc::new(allocation));
        self.budget = left;
        Ok(())
    }

    /// The same with memory of its own; what is allocated next comes behind it.
    fn allocate(&mut self, address: u64, size: u64, readable: u64, writable: bool) -> Result<()> {
        if self.budget < readable {
            return Err(Error::memory(size));
        }
        // Addresses near the end of the space leave no room behind them.
        let end = address.checked_add(readable).and_then(|it| it.checked_add(GAP));
        let next = end.and_then(|it| it.checked_next_multiple_of(PAGE));
        let next = next.ok_or_else(|| Error::memory(size))?;
        self.insert(Allocation::new(address, size, readable, writable)?)?;
        self.next = self.next.max(next);
        Ok(())
    }

    fn free(&mut self, address: u64) -> bool {
        let Ok(at) = self.allocations.binary_search_by_key(&address, |it| it.base) else {
            return false;
        };
        let freed = self.allocations.remove(at);
        self.budget += freed.cost();
        if self.freed.len() == MOST_FREED {
            self.freed.remove(0);
        }
        self.freed.push(freed.base..freed.base + freed.size);
        true
    }

    #[inline]
    fn get(&self, at: usize, address: u64, bytes: u64) -> Option<(&Allocation, u64)> {
        let found = self.allocations.get(at)?;
        found.offset(address, bytes).map(|offset| (&**found, offset))
    }

    /// The number of the allocation that an address is in, or behind.
    fn before(&self, address: u64) -> Option<usize> {
        self.allocations.partition_point(|it| it.base <= address).checked_sub(1)
    }

    /// Where the host accesses bytes.
    fn place(&self, address: u64, size: usize) -> Result<(&Allocation, u64)> {
        let bytes = size as u64;
        let found = self.before(address).and_then(|at| self.get(at, address, bytes));
        let ends_inside = |(it, offset): &(&Allocation, u64)| {
            it.forbids_write(*offset, bytes) != Some(ErrorKind::OutOfBounds)
        };
        found.filter(ends_inside).ok_or_else(|| {
            let detail = format!("{size} bytes at {address:#x} are outside of every allocation");
            Error::new(ErrorKind::OutOfBounds, detail)
        })
    }

    /// What an address is near to that is not in an allocation, or not all of what is accessed there.
    fn near(&self, address: u64) -> Option<Near> {
        if let Some(freed) = self.freed.iter().rfind(|it| it.contains(&address)) {
            return Some(Near::Freed(freed.clone()));
        }
        let range = |it: &Arc<Allocation>| it.base..it.base + it.size;
        let at = self.allocations.partition_point(|it| it.base <= address);
        let behind = at.checked_sub(1).and_then(|it| self.allocations.get(it));
        let behind = behind.map(|it| (range(it), address.saturating_sub(it.base + it.size)));
        let before = self.allocations.get(at).map(|it| (range(it), it.base - address));
        match (behind, before) {
            (Some((_, behind)), Some((range, before))) if before < behind => {
                Some(Near::Before(range, before))
            }
            (Some((range, distance)), _) => Some(Near::Behind(range, distance)),
            (None, Some((range, distance))) => Some(Near::Before(range, distance)),
            (None, None) => None,
        }
    }
}

impl Memory {
    /// Memory that holds so many bytes at most.
    #[must_use]
    pub fn new(budget: u64) -> Self {
        let table = Table { next: BASE, budget, ..Table::default() };
        let shared = Shared { table: RwLock::new(Arc::new(table)), version: AtomicU64::new(0) };
        Self { shared: Arc::new(shared) }
    }

    /// The same, where programs may read past the end of what is allocated from now on, within its last page of 4 KiB:
    /// HIP allocates whole pages, and kernels of libraries rely on it. They read zeros. Writing there stays an error.
    #[must_use]
    pub fn with_page_slack(self) -> Self {
        self.change(|table| table.has_page_slack = true);
        self
    }

    fn table(&self) -> RwLockReadGuard<'_, Arc<Table>> {
        self.shared.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is allocated, for what looks at it from now on.
    fn change<R>(&self, change: impl FnOnce(&mut Table) -> R) -> R {
        let mut table: RwLockWriteGuard<'_, _> =
            self.shared.table.write().unwrap_or_else(PoisonError::into_inner);
        let result = change(Arc::make_mut(&mut table));
        self.shared.version.fetch_add(1, Release);
        result
    }

    /// Bytes that are left.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.table().budget
    }

    /// Makes room for so many bytes, which are zero. Says where.
    ///
    /// # Errors
    /// There is not so much memory.
    pub fn allocate(&self, size: u64) -> Result<u64> {
        self.change(|table| {
            let address = table.next;
            let readable = match table.has_page_slack {
                true => size.checked_next_multiple_of(PAGE).ok_or_else(|| Error::memory(size))?,
                false => size,
            };
            table.allocate(address, size, readable, true)?;
            Ok(address)
        })
    }

    /// Gives back what was allocated at an address, or lets go of memory of the host. Says whether anything was there.
    pub fn free(&self, address: u64) -> bool {
        self.change(|table| table.free(address))
    }

    /// Lets programs access memory of the host. It does not count for what the device has.
    ///
    /// # Errors
    /// The addresses are in use.
    pub fn share(&self, host: HostMemory) -> Result<()> {
        let allocation = Allocation::of_host(host)?;
        self.change(|table| table.insert(allocation))
    }

    /// Makes room at a given address, which must be free; whether programs may write there.
    ///
    /// # Errors
    /// There is not so much memory, or the address is in use.
    pub fn allocate_at(&self, address: u64, size: u64, writable: bool) -> Result<()> {
        self.change(|table| table.allocate(address, size, size, writable))
    }

    /// Says whether several threads are to access it.
    pub(crate) fn set_shared(&self, is_shared: bool) {
        for allocation in &self.table().allocations {
            allocation.set_shared(is_shared);
        }
    }

    /// Writes bytes, which must be inside one allocation.
    ///
    /// # Errors
    /// They are not.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
        let table = self.table();
        let (allocation, start) = table.place(address, bytes.len())?;
        let (words, rest) = bytes.as_chunks::<8>();
        let mut offset = start;
        for word in words {
            allocation.store64(offset, u64::from_le_bytes(*word));
            offset += 8;
        }
        for byte in rest {
            allocation.store8(offset, *byte);
            offset += 1;
        }
        Ok(())
    }

    /// Reads bytes, which must be inside one allocation.
    ///
    /// # Errors
    /// They are not.
    pub fn read(&self, address: u64, size: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).map_err(|_| Error::memory(size as u64))?;
        bytes.resize(size, 0);
        self.read_into(address, &mut bytes)?;
        Ok(bytes)
    }

    /// The same into bytes that are there already.
    ///
    /// # Errors
    /// They are not inside one allocation.
    pub fn read_into(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        let table = self.table();
        let (allocation, start) = table.place(address, bytes.len())?;
        let (words, rest) = bytes.as_chunks_mut::<8>();
        let mut offset = start;
        for word in words {
            *word = allocation.load64(offset).to_le_bytes();
            offset += 8;
        }
        for byte in rest {
            *byte = allocation.load8(offset);
            offset += 1;
        }
        Ok(())
    }

    /// Replaces a word by what a function makes of it; says what it was.
    pub(crate) fn update64(&self, address: u64, change: impl Fn(u64) -> u64) -> Result<u64> {
        let table = self.table();
        let (allocation, offset) = table.place(address, 8)?;
        Ok(allocation.update64(offset, change))
    }

    /// The same with half of one.
    pub(crate) fn update32(&self, address: u64, change: impl Fn(u32) -> u32) -> Result<u32> {
        let table = self.table();
        let (allocation, offset) = table.place(address, 4)?;
        Ok(allocation.update32(offset, change))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_where_they_were_written() {
        let memory = Memory::new(4096);
        let first = memory.allocate(10).unwrap();
        let second = memory.allocate(10).unwrap();
        assert!(second >= first + 10 + GAP);
        memory.write(first + 1, &[1, 2, 3, 4, 5, 6]).unwrap();
        assert_eq!(memory.read(first, 10).unwrap(), [0, 1, 2, 3, 4, 5, 6, 0, 0, 0]);
        assert_eq!(memory.read(first + 3, 3).unwrap(), [3, 4, 5]);
        let view = View::new(&memory);
        let (allocation, offset) = view.find(first + 1, 4, &mut Hint::default()).unwrap();
        assert_eq!(allocation.load32(offset), 0x0403_0201);
        allocation.store32(offset, 0xa0b0_c0d0);
        assert_eq!(memory.read(first, 6).unwrap(), [0, 0xd0, 0xc0, 0xb0, 0xa0, 5]);
        assert_eq!(allocation.load16(3), 0xa0b0);
    }

    #[test]
    fn what_is_not_in_one_allocation_is_found() {
        let memory = Memory::new(4096);
        let address = memory.allocate(10).unwrap();
        assert!(View::new(&memory).find(address + 7, 4, &mut Hint::default()).is_none());
        assert!(View::new(&memory).find(address - 1, 1, &mut Hint::default()).is_none());
        assert!(View::new(&memory).find(address, u64::MAX, &mut Hint::default()).is_none());
        assert!(memory.allocate(5000).is_err());
        assert!(memory.allocate_at(address + 4, 2, true).is_err());
        assert_eq!(memory.left(), 4096 - 10);
        assert!(memory.free(address) && !memory.free(address));
        assert!(View::new(&memory).find(address, 1, &mut Hint::default()).is_none());
        assert_eq!(memory.left(), 4096);
    }

    #[test]
    fn a_page_may_be_read_to_its_end_and_not_written() {
        let memory = Memory::new(1 << 20).with_page_slack();
        let address = memory.allocate(10).unwrap();
        let view = View::new(&memory);
        let (allocation, offset) = view.find(address + 4092, 4, &mut Hint::default()).unwrap();
        assert_eq!(allocation.load32(offset), 0);
        assert_eq!(allocation.forbids_write(offset, 4), Some(ErrorKind::OutOfBounds));
        assert_eq!(allocation.forbids_write(6, 4), None);
        memory.allocate_at(0x1000, 8, false).unwrap();
        let view = View::new(&memory);
        let (constant, offset) = view.find(0x1000, 8, &mut Hint::default()).unwrap();
        assert_eq!(constant.forbids_write(offset, 8), Some(ErrorKind::ReadOnly));
        assert!(View::new(&memory).find(address + 4093, 4, &mut Hint::default()).is_none());
        assert!(memory.read(address, 11).is_err());
    }

    /// What is loaded as a run is what words have, and storing it changes nothing but what it says.
    fn check_run(it: &Allocation, offset: u64) {
        let before: Vec<u8> = (0..24).map(|at| it.load8(at)).collect();
        for count in 0..=3 {
            let mut run = vec![0; count];
            it.load_run(offset, &mut run);
            let words: Vec<u32> = (0..count as u64).map(|at| it.load32(offset + at * 4)).collect();
            assert_eq!(run, words, "{count} from {offset} on");
            it.store_run(offset, &vec![0x5555_5555; count]);
            let changed = |at: u64| (offset..offset + count as u64 * 4).contains(&at);
            for (at, byte) in (0..).zip(&before) {
                let wanted = if changed(at) { 0x55 } else { *byte };
                assert_eq!(it.load8(at), wanted, "{count} from {offset} on");
            }
            it.store_run(offset, &run);
        }
        assert_eq!((0..24).map(|at| it.load8(at)).collect::<Vec<_>>(), before);
    }

    #[test]
    fn every_size_is_loaded_and_stored_at_every_offset() {
        for is_shared in [false, true] {
            for offset in 0..8 {
                let memory = Memory::new(1 << 20);
                let address = memory.allocate(24).unwrap();
                memory.write(address, &[0xaa; 24]).unwrap();
                memory.set_shared(is_shared);
                let view = View::new(&memory);
                let (it, _) = view.find(address, 24, &mut Hint::default()).unwrap();
                it.store64(offset, 0x0807_0605_0403_0201);
                assert_eq!(it.load64(offset), 0x0807_0605_0403_0201);
                assert_eq!(it.load::<2>(offset), [0x0403_0201, 0x0807_0605]);
                assert_eq!(it.load32(offset + 1), 0x0504_0302);
                assert_eq!(it.load16(offset + 7), 0xaa08);
                it.store32(offset + 2, 0x1111_1111);
                it.store16(offset + 5, 0x2222);
                it.store8(offset + 7, 0x33);
                it.store(offset + 8, [1, 2, 3]);
                check_run(it, offset / 4 * 4);
                let mut wanted = vec![1, 2, 0x11, 0x11, 0x11, 0x22, 0x22, 0x33];
                wanted.extend([1, 0, 0, 0, 2, 0, 0, 0]);
                let read = memory.read(address + offset, 16).unwrap();
                assert_eq!(read, wanted, "at offset {offset}");
            }
        }
    }

    /// Words that live as long as the test does.
    fn words(count: usize) -> &'static [AtomicU64] {
        Box::leak((0..count).map(|_| AtomicU64::new(0)).collect())
    }

    fn host(address: u64, bytes: Range<u64>, words: &'static [AtomicU64]) -> HostMemory {
        let keeper = Arc::new(());
        HostMemory { words, bytes, address, is_writable: true, slack: 0, keeper }
    }

    #[test]
    fn memory_of_the_host_is_where_its_bytes_are() {
        let (memory, words) = (Memory::new(0), words(3));
        memory.share(host(0x10_0003, 3..17, words)).unwrap();
        memory.write(0x10_0003, &[1; 14]).unwrap();
        let held = words.iter().map(|it| it.load(std::sync::atomic::Ordering::Relaxed));
        assert_eq!(held.collect::<Vec<_>>(), [0x0101_0101_0100_0000, 0x0101_0101_0101_0101, 1]);
        assert!(memory.write(0x10_0003, &[1; 15]).is_err());
        assert!(memory.read(0x10_0002, 1).is_err());
        let view = View::new(&memory);
        let (it, offset) = view.find(0x10_0005, 4, &mut Hint::default()).unwrap();
        assert_eq!(it.load32(offset), 0x0101_0101);
        assert_eq!(it.forbids_write(offset, 12), None);
        assert_eq!(it.forbids_write(offset, 13), Some(ErrorKind::OutOfBounds));
    }

    #[test]
    fn memory_of_the_host_must_fit_its_words() {
        let (memory, words) = (Memory::new(0), words(2));
        for (address, bytes) in [(0x1000, 0..17), (0x1001, 0..8), (0x1000, 4..8), (0x1000, 16..17)]
        {
            assert!(memory.share(host(address, bytes.clone(), words)).is_err(), "{bytes:?}");
        }
        memory.share(host(0x1000, 0..16, words)).unwrap();
        assert!(memory.share(host(0x1008, 0..8, words)).is_err());
        assert!(memory.free(0x1000));
        memory.share(host(0x1008, 0..8, words)).unwrap();
    }

    #[test]
    fn a_view_finds_what_came_later_and_keeps_what_went() {
        let memory = Memory::new(4096);
        let first = memory.allocate(8).unwrap();
        let view = View::new(&memory);
        let mut hint = Hint::default();
        assert!(!view.is_old() && view.find(first, 8, &mut hint).is_some());
        let second = memory.allocate(8).unwrap();
        memory.free(first);
        let third = memory.allocate(8).unwrap();
        assert!(view.is_old());
        for address in [first, second, third, second] {
            assert!(view.find(address, 8, &mut hint).is_some());
        }
        assert!(View::new(&memory).find(first, 8, &mut hint).is_none());
        assert!(view.find(third + 8, 1, &mut hint).is_none());
    }
}
