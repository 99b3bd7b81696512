//! Memory of a device: allocations with gaps between them, so that what goes past the end of one is found.
//!
//! Words are atomic: workgroups on several threads share the memory.
#![allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "offsets are checked against the allocation when it is looked up"
)]

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, ErrorKind, Result};

/// Bytes between allocations.
const GAP: u64 = 1 << 16;
/// Where the first allocation is.
const BASE: u64 = 0x7e00_0000_0000;

/// Consecutive bytes of device memory.
#[derive(Debug)]
pub(crate) struct Allocation {
    base: u64,
    size: u64,
    writable: bool,
    words: Box<[AtomicU32]>,
}

impl Allocation {
    fn new(base: u64, size: u64, writable: bool) -> Result<Self> {
        let count = size.div_ceil(4) as usize + 1;
        let mut words = Vec::new();
        words.try_reserve_exact(count).map_err(|_| Error::memory(size))?;
        words.resize_with(count, || AtomicU32::new(0));
        Ok(Self { base, size, writable, words: words.into_boxed_slice() })
    }

    /// Where an access begins in it, if all of it is inside.
    #[inline]
    pub(crate) fn offset(&self, address: u64, bytes: u64) -> Option<u64> {
        let offset = address.wrapping_sub(self.base);
        (offset <= self.size && bytes <= self.size - offset).then_some(offset)
    }

    pub(crate) fn is_writable(&self) -> bool {
        self.writable
    }

    #[inline]
    pub(crate) fn load32(&self, offset: u64) -> u32 {
        let word = (offset / 4) as usize;
        let low = self.words[word].load(Relaxed);
        match offset % 4 {
            0 => low,
            part => {
                let high = self.words[word + 1].load(Relaxed);
                ((u64::from(high) << 32 | u64::from(low)) >> (part * 8)) as u32
            }
        }
    }

    #[inline]
    pub(crate) fn store32(&self, offset: u64, value: u32) {
        if offset.is_multiple_of(4) {
            self.words[(offset / 4) as usize].store(value, Relaxed);
        } else {
            for (at, byte) in value.to_le_bytes().into_iter().enumerate() {
                self.store8(offset + at as u64, byte);
            }
        }
    }

    #[inline]
    pub(crate) fn load8(&self, offset: u64) -> u8 {
        (self.words[(offset / 4) as usize].load(Relaxed) >> (offset % 4 * 8)) as u8
    }

    #[inline]
    pub(crate) fn store8(&self, offset: u64, value: u8) {
        let shift = offset % 4 * 8;
        let replace = |old: u32| Some(old & !(0xff << shift) | u32::from(value) << shift);
        // The closure always answers.
        let _ = self.words[(offset / 4) as usize].fetch_update(Relaxed, Relaxed, replace);
    }

    pub(crate) fn load16(&self, offset: u64) -> u16 {
        match offset % 4 {
            3 => u16::from(self.load8(offset)) | u16::from(self.load8(offset + 1)) << 8,
            _ => (self.load32(offset & !3) >> (offset % 4 * 8)) as u16,
        }
    }

    /// Replaces a word by what a function makes of it; says what it was.
    pub(crate) fn update32(&self, offset: u64, mut change: impl FnMut(u32) -> u32) -> u32 {
        let word = &self.words[(offset / 4) as usize];
        match word.fetch_update(Relaxed, Relaxed, |old| Some(change(old))) {
            Ok(old) | Err(old) => old,
        }
    }
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
    /// Held while more than one word is changed at once.
    turn: Mutex<()>,
}

impl Memory {
    /// Memory that holds so many bytes at most.
    #[must_use]
    pub fn new(budget: u64) -> Self {
        Self { allocations: Vec::new(), next: BASE, budget, turn: Mutex::new(()) }
    }

    /// Makes room for so many bytes, which are zero. Says where.
    ///
    /// # Errors
    /// There is not so much memory.
    pub fn allocate(&mut self, size: u64) -> Result<u64> {
        let address = self.next;
        self.allocate_at(address, size, true)?;
        Ok(address)
    }

    /// The same at a given address, which must be free.
    pub(crate) fn allocate_at(&mut self, address: u64, size: u64, writable: bool) -> Result<()> {
        self.budget = self.budget.checked_sub(size).ok_or_else(|| Error::memory(size))?;
        let at = self.allocations.partition_point(|it| it.base < address);
        let end = address.checked_add(size).ok_or_else(|| Error::memory(size))?;
        let free_before = at.checked_sub(1).and_then(|it| self.allocations.get(it));
        let overlaps = free_before.is_some_and(|it| it.base + it.size > address)
            || self.allocations.get(at).is_some_and(|it| it.base < end);
        if overlaps {
            let detail = format!("{size} bytes at {address:#x} are in use");
            return Err(Error::new(ErrorKind::Setup, detail));
        }
        self.allocations.insert(at, Allocation::new(address, size, writable)?);
        self.next = self.next.max((end + GAP).next_multiple_of(4096));
        Ok(())
    }

    /// The allocation that an access is in; `hint` remembers the last one.
    #[inline]
    pub(crate) fn find(
        &self,
        address: u64,
        bytes: u64,
        hint: &mut usize,
    ) -> Option<(&Allocation, u64)> {
        if let Some(last) = self.allocations.get(*hint)
            && let Some(offset) = last.offset(address, bytes)
        {
            return Some((last, offset));
        }
        let at = self.allocations.partition_point(|it| it.base <= address).checked_sub(1)?;
        let found = self.allocations.get(at)?;
        let offset = found.offset(address, bytes)?;
        *hint = at;
        Some((found, offset))
    }

    /// Waits for the turn to change more than one word at once.
    pub(crate) fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&self, address: u64, size: usize) -> Result<(&Allocation, u64)> {
        self.find(address, size as u64, &mut 0).ok_or_else(|| {
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
        let mut offset = start;
        let (words, rest) = match start % 4 {
            0 => bytes.as_chunks::<4>(),
            _ => (&[][..], bytes),
        };
        for word in words {
            allocation.store32(offset, u32::from_le_bytes(*word));
            offset += 4;
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
        let (allocation, start) = self.place(address, size)?;
        let words = (0..size.div_ceil(4) as u64).map(|at| start + at * 4);
        let mut bytes: Vec<u8> = Vec::new();
        bytes.try_reserve_exact(size + 3).map_err(|_| Error::memory(size as u64))?;
        for offset in words {
            let whole = offset + 4 <= start + size as u64;
            let word = if whole { allocation.load32(offset) } else { 0 };
            bytes.extend(word.to_le_bytes());
        }
        let whole = size / 4 * 4;
        bytes.truncate(whole);
        bytes.extend((whole..size).map(|at| allocation.load8(start + at as u64)));
        Ok(bytes)
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
        let (allocation, offset) = memory.find(first + 1, 4, &mut 0).unwrap();
        assert_eq!(allocation.load32(offset), 0x0403_0201);
        allocation.store32(offset, 0xa0b0_c0d0);
        assert_eq!(memory.read(first, 6).unwrap(), [0, 0xd0, 0xc0, 0xb0, 0xa0, 5]);
        assert_eq!(allocation.load16(3), 0xa0b0);
    }

    #[test]
    fn what_is_not_in_one_allocation_is_found() {
        let mut memory = Memory::new(4096);
        let address = memory.allocate(10).unwrap();
        assert!(memory.find(address + 7, 4, &mut 0).is_none());
        assert!(memory.find(address - 1, 1, &mut 0).is_none());
        assert!(memory.find(address, u64::MAX, &mut 0).is_none());
        assert!(memory.allocate(5000).is_err());
        assert!(memory.allocate_at(address + 4, 2, true).is_err());
    }
}
