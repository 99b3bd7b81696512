//! Memory of a device: allocations with gaps between them, so that what goes past the end of one is found.
//!
//! Words of eight bytes are atomic: workgroups on several threads share the memory, and what a lane reads or writes at a
//! multiple of its size is never torn.
#![allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "offsets are checked against the allocation when it is looked up"
)]

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::error::{Error, ErrorKind, Result};

/// Bytes between allocations.
const GAP: u64 = 1 << 16;
/// Where the first allocation is.
const BASE: u64 = 0x7e00_0000_0000;
/// What HIP allocates is a multiple of this.
const PAGE: u64 = 4096;

/// Consecutive bytes of device memory.
#[derive(Debug)]
pub(crate) struct Allocation {
    base: u64,
    size: u64,
    /// Bytes that may be read: more than its size where reads past the end are allowed.
    readable: u64,
    writable: bool,
    /// Whether several threads access it, so that changing half of a word must not lose the other half.
    is_shared: AtomicBool,
    words: Box<[AtomicU64]>,
}

impl Allocation {
    fn new(base: u64, size: u64, readable: u64, writable: bool) -> Result<Self> {
        let count = usize::try_from(readable.div_ceil(8) + 1).map_err(|_| Error::memory(size))?;
        let mut words = Vec::new();
        words.try_reserve_exact(count).map_err(|_| Error::memory(size))?;
        words.resize_with(count, || AtomicU64::new(0));
        let is_shared = AtomicBool::new(false);
        Ok(Self { base, size, readable, writable, is_shared, words: words.into_boxed_slice() })
    }

    /// Where an access begins in it, if all of it may be read.
    #[inline]
    pub(crate) fn offset(&self, address: u64, bytes: u64) -> Option<u64> {
        let offset = address.wrapping_sub(self.base);
        (offset <= self.readable && bytes <= self.readable - offset).then_some(offset)
    }

    /// Why bytes that may be read may not be written, if so.
    #[inline]
    pub(crate) fn forbids_write(&self, offset: u64, bytes: u64) -> Option<ErrorKind> {
        if offset + bytes > self.size {
            return Some(ErrorKind::OutOfBounds);
        }
        (!self.writable).then_some(ErrorKind::ReadOnly)
    }

    #[inline]
    fn word(&self, offset: u64) -> &AtomicU64 {
        &self.words[(offset / 8) as usize]
    }

    /// Changes bits of one word.
    #[inline]
    fn replace(&self, offset: u64, mask: u64, bits: u64) {
        let word = self.word(offset);
        if self.is_shared.load(Relaxed) {
            // The closure always answers.
            let _ = word.fetch_update(Relaxed, Relaxed, |old| Some(old & !mask | bits));
        } else {
            word.store(word.load(Relaxed) & !mask | bits, Relaxed);
        }
    }

    /// In one piece where the offset is a multiple of 8.
    #[inline]
    pub(crate) fn load64(&self, offset: u64) -> u64 {
        let low = self.word(offset).load(Relaxed);
        match offset % 8 * 8 {
            0 => low,
            shift => low >> shift | self.word(offset + 8).load(Relaxed) << (64 - shift),
        }
    }

    #[inline]
    pub(crate) fn store64(&self, offset: u64, value: u64) {
        match offset % 8 * 8 {
            0 => self.word(offset).store(value, Relaxed),
            shift => {
                self.replace(offset, u64::MAX << shift, value << shift);
                self.replace(offset + 8, u64::MAX >> (64 - shift), value >> (64 - shift));
            }
        }
    }

    #[inline]
    pub(crate) fn load32(&self, offset: u64) -> u32 {
        let low = self.word(offset).load(Relaxed);
        match offset % 8 * 8 {
            shift @ 0..=32 => (low >> shift) as u32,
            shift => (low >> shift | self.word(offset + 8).load(Relaxed) << (64 - shift)) as u32,
        }
    }

    #[inline]
    pub(crate) fn store32(&self, offset: u64, value: u32) {
        let (shift, value) = (offset % 8 * 8, u64::from(value));
        self.replace(offset, 0xffff_ffff << shift, value << shift);
        if shift > 32 {
            self.replace(offset + 8, 0xffff_ffff >> (64 - shift), value >> (64 - shift));
        }
    }

    #[inline]
    pub(crate) fn load8(&self, offset: u64) -> u8 {
        (self.word(offset).load(Relaxed) >> (offset % 8 * 8)) as u8
    }

    #[inline]
    pub(crate) fn store8(&self, offset: u64, value: u8) {
        let shift = offset % 8 * 8;
        self.replace(offset, 0xff << shift, u64::from(value) << shift);
    }

    #[inline]
    pub(crate) fn load16(&self, offset: u64) -> u16 {
        match offset % 8 {
            7 => self.load32(offset) as u16,
            part => (self.word(offset).load(Relaxed) >> (part * 8)) as u16,
        }
    }

    /// In one piece where the offset is a multiple of 2.
    pub(crate) fn store16(&self, offset: u64, value: u16) {
        match offset % 8 {
            7 => {
                let [low, high] = value.to_le_bytes();
                self.store8(offset, low);
                self.store8(offset + 1, high);
            }
            part => self.replace(offset, 0xffff << (part * 8), u64::from(value) << (part * 8)),
        }
    }

    /// Registers that are beside each other in memory; pairs in one piece where the offset is a multiple of 8.
    #[inline]
    pub(crate) fn load<const N: usize>(&self, offset: u64) -> [u32; N] {
        let mut values = [0; N];
        let (pairs, last) = values.as_chunks_mut::<2>();
        for (at, pair) in (0..).step_by(8).zip(&mut *pairs) {
            let both = self.load64(offset + at);
            *pair = [both as u32, (both >> 32) as u32];
        }
        if let [last] = last {
            *last = self.load32(offset + N as u64 * 4 - 4);
        }
        values
    }

    #[inline]
    pub(crate) fn store<const N: usize>(&self, offset: u64, values: [u32; N]) {
        let (pairs, last) = values.as_chunks::<2>();
        for (at, [low, high]) in (0..).step_by(8).zip(pairs) {
            self.store64(offset + at, u64::from(*low) | u64::from(*high) << 32);
        }
        if let [last] = last {
            self.store32(offset + N as u64 * 4 - 4, *last);
        }
    }

    /// Consecutive registers, from a multiple of 4 on.
    #[inline]
    pub(crate) fn load_run(&self, offset: u64, values: &mut [u32]) {
        // From the middle of a word on, its upper half comes first.
        let halves = usize::from(!offset.is_multiple_of(8)).min(values.len());
        let words = &self.words[(offset / 8) as usize..];
        let (upper, values) = values.split_at_mut(halves);
        let (of_upper, words) = words.split_at(halves);
        for (value, word) in upper.iter_mut().zip(of_upper) {
            *value = (word.load(Relaxed) >> 32) as u32;
        }
        let (pairs, last) = values.as_chunks_mut::<2>();
        let (of_pairs, after) = words.split_at(pairs.len());
        for (pair, word) in pairs.iter_mut().zip(of_pairs) {
            let both = word.load(Relaxed);
            *pair = [both as u32, (both >> 32) as u32];
        }
        if let ([value], Some(word)) = (last, after.first()) {
            *value = word.load(Relaxed) as u32;
        }
    }

    /// `N` registers of each of so many lanes, one lane behind the other.
    #[inline(always)]
    pub(crate) fn load_row<const N: usize>(
        &self,
        offset: u64,
        lanes: usize,
        mut set: impl FnMut(usize, [u32; N]),
    ) {
        if !offset.is_multiple_of(8) || !N.is_multiple_of(2) {
            for lane in 0..lanes {
                set(lane, self.load(offset + (lane * N * 4) as u64));
            }
            return;
        }
        let words = &self.words[(offset / 8) as usize..][..lanes * N / 2];
        for (lane, words) in words.chunks_exact(N / 2).enumerate() {
            let mut values = [0; N];
            for (pair, word) in values.as_chunks_mut::<2>().0.iter_mut().zip(words) {
                let both = word.load(Relaxed);
                *pair = [both as u32, (both >> 32) as u32];
            }
            set(lane, values);
        }
    }

    /// Consecutive registers stored, from a multiple of 4 on.
    #[inline]
    pub(crate) fn store_run(&self, offset: u64, values: &[u32]) {
        let (mut values, mut at) = (values, offset);
        if !offset.is_multiple_of(8)
            && let Some((value, rest)) = values.split_first()
        {
            self.store32(offset, *value);
            (values, at) = (rest, offset + 4);
        }
        let (pairs, last) = values.as_chunks::<2>();
        let words = &self.words[(at / 8) as usize..][..pairs.len()];
        for ([low, high], word) in pairs.iter().zip(words) {
            word.store(u64::from(*low) | u64::from(*high) << 32, Relaxed);
        }
        if let [value] = last {
            self.store32(at + pairs.len() as u64 * 8, *value);
        }
    }

    /// Replaces four bytes by what a function makes of them; says what they were. The offset is a multiple of 4.
    pub(crate) fn update32(&self, offset: u64, change: impl Fn(u32) -> u32) -> u32 {
        let shift = offset % 8 * 8;
        let new = |old: u64| u64::from(change((old >> shift) as u32)) << shift;
        let mask = 0xffff_ffff << shift;
        let old =
            self.word(offset).fetch_update(Relaxed, Relaxed, |old| Some(old & !mask | new(old)));
        match old {
            Ok(old) | Err(old) => (old >> shift) as u32,
        }
    }

    /// The same with eight bytes, at a multiple of 8.
    pub(crate) fn update64(&self, offset: u64, change: impl Fn(u64) -> u64) -> u64 {
        match self.word(offset).fetch_update(Relaxed, Relaxed, |old| Some(change(old))) {
            Ok(old) | Err(old) => old,
        }
    }
}

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
/// let mut memory = Memory::new(1 << 20);
/// let address = memory.allocate(8)?;
/// memory.write(address, &[1, 2, 3])?;
/// assert_eq!(memory.read(address, 4)?, [1, 2, 3, 0]);
/// assert!(memory.read(address, 9).is_err());
/// # Ok::<(), hsaco_emu::Error>(())
/// ```
#[derive(Debug)]
pub struct Memory {
    /// By address.
    allocations: Vec<Allocation>,
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

impl Memory {
    /// Memory that holds so many bytes at most.
    #[must_use]
    pub fn new(budget: u64) -> Self {
        Self {
            allocations: Vec::new(),
            next: BASE,
            budget,
            has_page_slack: false,
            freed: Vec::new(),
        }
    }

    /// The same, where programs may read past the end of what is allocated from now on, within its last page of 4 KiB:
    /// HIP allocates whole pages, and kernels of libraries rely on it. They read zeros. Writing there stays an error.
    #[must_use]
    pub fn with_page_slack(self) -> Self {
        Self { has_page_slack: true, ..self }
    }

    /// Bytes that are left.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.budget
    }

    /// Makes room for so many bytes, which are zero. Says where.
    ///
    /// # Errors
    /// There is not so much memory.
    pub fn allocate(&mut self, size: u64) -> Result<u64> {
        let address = self.next;
        let readable = match self.has_page_slack {
            true => size.checked_next_multiple_of(PAGE).ok_or_else(|| Error::memory(size))?,
            false => size,
        };
        self.insert(address, size, readable, true)?;
        Ok(address)
    }

    /// Gives back what was allocated at an address. Says whether anything was.
    pub fn free(&mut self, address: u64) -> bool {
        let Ok(at) = self.allocations.binary_search_by_key(&address, |it| it.base) else {
            return false;
        };
        let freed = self.allocations.remove(at);
        self.budget += freed.readable;
        if self.freed.len() == MOST_FREED {
            self.freed.remove(0);
        }
        self.freed.push(freed.base..freed.base + freed.size);
        true
    }

    /// The same at a given address, which must be free.
    pub(crate) fn allocate_at(&mut self, address: u64, size: u64, writable: bool) -> Result<()> {
        self.insert(address, size, size, writable)
    }

    fn insert(&mut self, address: u64, size: u64, readable: u64, writable: bool) -> Result<()> {
        let left = self.budget.checked_sub(readable).ok_or_else(|| Error::memory(size))?;
        let at = self.allocations.partition_point(|it| it.base < address);
        let end = address.checked_add(readable).ok_or_else(|| Error::memory(size))?;
        let free_before = at.checked_sub(1).and_then(|it| self.allocations.get(it));
        let overlaps = free_before.is_some_and(|it| it.base + it.readable > address)
            || self.allocations.get(at).is_some_and(|it| it.base < end);
        if overlaps {
            let detail = format!("{size} bytes at {address:#x} are in use");
            return Err(Error::new(ErrorKind::Setup, detail));
        }
        // Addresses near the end of the space leave no room behind them.
        let next = end.checked_add(GAP).and_then(|it| it.checked_next_multiple_of(PAGE));
        self.next = self.next.max(next.ok_or_else(|| Error::memory(size))?);
        self.allocations.insert(at, Allocation::new(address, size, readable, writable)?);
        self.budget = left;
        Ok(())
    }

    /// The allocation that an access is in; `hint` remembers the last ones.
    #[inline]
    pub(crate) fn find(
        &self,
        address: u64,
        bytes: u64,
        hint: &mut Hint,
    ) -> Option<(&Allocation, u64)> {
        if let Some(found) = self.allocations.get(hint.last)
            && let Some(offset) = found.offset(address, bytes)
        {
            return Some((found, offset));
        }
        std::mem::swap(&mut hint.last, &mut hint.before);
        if let Some(found) = self.allocations.get(hint.last)
            && let Some(offset) = found.offset(address, bytes)
        {
            return Some((found, offset));
        }
        self.search(address, bytes, hint)
    }

    #[inline(never)]
    fn search(&self, address: u64, bytes: u64, hint: &mut Hint) -> Option<(&Allocation, u64)> {
        let at = self.allocations.partition_point(|it| it.base <= address).checked_sub(1)?;
        let found = self.allocations.get(at)?;
        let offset = found.offset(address, bytes)?;
        *hint = Hint { last: at, before: hint.before };
        Some((found, offset))
    }

    /// What an address is near to that is not in an allocation, or not all of what is accessed there.
    pub(crate) fn near(&self, address: u64) -> Option<Near> {
        if let Some(freed) = self.freed.iter().rfind(|it| it.contains(&address)) {
            return Some(Near::Freed(freed.clone()));
        }
        let range = |it: &Allocation| it.base..it.base + it.size;
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

    /// Says whether several threads are to access it.
    pub(crate) fn set_shared(&self, is_shared: bool) {
        for allocation in &self.allocations {
            allocation.is_shared.store(is_shared, Relaxed);
        }
    }

    /// Where the host accesses bytes.
    fn place(&self, address: u64, size: usize) -> Result<(&Allocation, u64)> {
        let bytes = size as u64;
        let found = self.find(address, bytes, &mut Hint::default());
        found.filter(|(it, offset)| offset + bytes <= it.size).ok_or_else(|| {
            let detail = format!("{size} bytes at {address:#x} are outside of every allocation");
            Error::new(ErrorKind::OutOfBounds, detail)
        })
    }

    /// Writes bytes, which must be inside one allocation.
    ///
    /// # Errors
    /// They are not.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
        let (allocation, start) = self.place(address, bytes.len())?;
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
        let (allocation, start) = self.place(address, bytes.len())?;
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_where_they_were_written() {
        let mut memory = Memory::new(4096);
        let first = memory.allocate(10).unwrap();
        let second = memory.allocate(10).unwrap();
        assert!(second >= first + 10 + GAP);
        memory.write(first + 1, &[1, 2, 3, 4, 5, 6]).unwrap();
        assert_eq!(memory.read(first, 10).unwrap(), [0, 1, 2, 3, 4, 5, 6, 0, 0, 0]);
        assert_eq!(memory.read(first + 3, 3).unwrap(), [3, 4, 5]);
        let (allocation, offset) = memory.find(first + 1, 4, &mut Hint::default()).unwrap();
        assert_eq!(allocation.load32(offset), 0x0403_0201);
        allocation.store32(offset, 0xa0b0_c0d0);
        assert_eq!(memory.read(first, 6).unwrap(), [0, 0xd0, 0xc0, 0xb0, 0xa0, 5]);
        assert_eq!(allocation.load16(3), 0xa0b0);
    }

    #[test]
    fn what_is_not_in_one_allocation_is_found() {
        let mut memory = Memory::new(4096);
        let address = memory.allocate(10).unwrap();
        assert!(memory.find(address + 7, 4, &mut Hint::default()).is_none());
        assert!(memory.find(address - 1, 1, &mut Hint::default()).is_none());
        assert!(memory.find(address, u64::MAX, &mut Hint::default()).is_none());
        assert!(memory.allocate(5000).is_err());
        assert!(memory.allocate_at(address + 4, 2, true).is_err());
        assert_eq!(memory.left(), 4096 - 10);
        assert!(memory.free(address) && !memory.free(address));
        assert!(memory.find(address, 1, &mut Hint::default()).is_none());
        assert_eq!(memory.left(), 4096);
    }

    #[test]
    fn a_page_may_be_read_to_its_end_and_not_written() {
        let mut memory = Memory::new(1 << 20).with_page_slack();
        let address = memory.allocate(10).unwrap();
        let (allocation, offset) = memory.find(address + 4092, 4, &mut Hint::default()).unwrap();
        assert_eq!(allocation.load32(offset), 0);
        assert_eq!(allocation.forbids_write(offset, 4), Some(ErrorKind::OutOfBounds));
        assert_eq!(allocation.forbids_write(6, 4), None);
        memory.allocate_at(0x1000, 8, false).unwrap();
        let (constant, offset) = memory.find(0x1000, 8, &mut Hint::default()).unwrap();
        assert_eq!(constant.forbids_write(offset, 8), Some(ErrorKind::ReadOnly));
        assert!(memory.find(address + 4093, 4, &mut Hint::default()).is_none());
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
                let mut memory = Memory::new(1 << 20);
                let address = memory.allocate(24).unwrap();
                memory.write(address, &[0xaa; 24]).unwrap();
                memory.set_shared(is_shared);
                let (it, _) = memory.find(address, 24, &mut Hint::default()).unwrap();
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
}
