//! An allocation: consecutive bytes, in words that are atomic.
#![allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "offsets are checked against the allocation when it is looked up"
)]

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::error::{Error, ErrorKind, Result};

/// Memory of the host that a device may access, at an address of the device's.
///
/// Others may change it at any time, which its words being atomic allows.
#[derive(Clone)]
pub struct HostMemory {
    /// The words that hold it.
    pub words: &'static [AtomicU64],
    /// Which bytes of them the device may access.
    pub bytes: Range<u64>,
    /// Where the first of these is for the device: as far from a multiple of 8 as in the words.
    pub address: u64,
    /// Whether programs may write there.
    pub is_writable: bool,
    /// Bytes behind these that may be read, inside the words.
    pub slack: u64,
    /// What keeps the words: dropped when no running program can access them any more.
    pub keeper: Arc<dyn Any + Send + Sync>,
}

impl fmt::Debug for HostMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.address.wrapping_add(self.bytes.end - self.bytes.start);
        write!(f, "HostMemory({:#x}..{end:#x})", self.address)
    }
}

/// Who the words of an allocation belong to.
#[derive(Debug)]
enum Words {
    Own(Box<[AtomicU64]>),
    #[allow(dead_code, reason = "the keeper is held for its end alone")]
    Host(&'static [AtomicU64], Keeper),
}

/// Held for its end alone.
struct Keeper(#[allow(dead_code, reason = "as above")] Arc<dyn Any + Send + Sync>);

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keeper")
    }
}

/// Consecutive bytes of device memory.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub(super) base: u64,
    pub(super) size: u64,
    /// Bytes that may be read: more than its size where reads past the end are allowed.
    pub(super) readable: u64,
    /// Bytes of the first word that are before it.
    skipped: u64,
    writable: bool,
    /// Whether several threads access it, so that changing half of a word must not lose the other half.
    is_shared: AtomicBool,
    words: Words,
}

impl Allocation {
    pub(super) fn new(base: u64, size: u64, readable: u64, writable: bool) -> Result<Self> {
        let count = usize::try_from(readable.div_ceil(8) + 1).map_err(|_| Error::memory(size))?;
        let mut words = Vec::new();
        words.try_reserve_exact(count).map_err(|_| Error::memory(size))?;
        words.resize_with(count, || AtomicU64::new(0));
        let is_shared = AtomicBool::new(false);
        let words = Words::Own(words.into_boxed_slice());
        Ok(Self { base, size, readable, skipped: 0, writable, is_shared, words })
    }

    pub(super) fn of_host(host: HostMemory) -> Result<Self> {
        let HostMemory { words, bytes, address, is_writable, slack, keeper } = host;
        let size = bytes.end.saturating_sub(bytes.start);
        let end = bytes.end.checked_add(slack).filter(|it| it.div_ceil(8) <= words.len() as u64);
        // The host may be writing what is beside a byte that a program writes.
        let is_shared = AtomicBool::new(true);
        // Words are those of the host, so that what programs access in one piece is one piece there.
        let (first, skipped) = (bytes.start / 8, bytes.start % 8);
        let words = usize::try_from(first).ok().and_then(|it| words.get(it..));
        let (Some(words), Some(_), true) = (words, end, address % 8 == skipped) else {
            let detail = format!("{size} bytes at {address:#x} are not in the words for them");
            return Err(Error::new(ErrorKind::Setup, detail));
        };
        let words = Words::Host(words, Keeper(keeper));
        let readable = size + slack;
        Ok(Self { base: address, size, readable, skipped, writable: is_writable, is_shared, words })
    }

    /// Says whether several threads are to access it. Memory of the host is always shared.
    pub(super) fn set_shared(&self, is_shared: bool) {
        if matches!(self.words, Words::Own(_)) {
            self.is_shared.store(is_shared, Relaxed);
        }
    }

    /// What it counts for of what its device has.
    pub(super) fn cost(&self) -> u64 {
        match self.words {
            Words::Own(_) => self.readable,
            Words::Host(..) => 0,
        }
    }

    #[inline(always)]
    fn words(&self) -> &[AtomicU64] {
        match &self.words {
            Words::Own(words) => words,
            Words::Host(words, _) => words,
        }
    }

    /// Where an access begins in its words, if all of it may be read.
    #[inline]
    pub(crate) fn offset(&self, address: u64, bytes: u64) -> Option<u64> {
        let offset = address.wrapping_sub(self.base);
        let fits = offset <= self.readable && bytes <= self.readable - offset;
        fits.then_some(offset + self.skipped)
    }

    /// Why bytes that may be read may not be written, if so.
    #[inline]
    pub(crate) fn forbids_write(&self, offset: u64, bytes: u64) -> Option<ErrorKind> {
        if offset + bytes > self.size + self.skipped {
            return Some(ErrorKind::OutOfBounds);
        }
        (!self.writable).then_some(ErrorKind::ReadOnly)
    }

    #[inline]
    fn word(&self, offset: u64) -> &AtomicU64 {
        &self.words()[(offset / 8) as usize]
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
        let words = &self.words()[(offset / 8) as usize..];
        let (upper, values) = values.split_at_mut(halves);
        let (of_upper, words) = words.split_at(halves);
        for (value, word) in upper.iter_mut().zip(of_upper) {
            *value = (word.load(Relaxed) >> 32) as u32;
        }
        let (pairs, last) = values.as_chunks_mut::<2>();
        let (of_pairs, after) = words.split_at(pairs.len());
        load_pairs(of_pairs, pairs);
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
        let words = &self.words()[(offset / 8) as usize..][..lanes * N / 2];
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
        let words = &self.words()[(at / 8) as usize..][..pairs.len()];
        store_pairs(words, pairs);
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

/// Words as pairs of registers, as many as both have: eight at a time, as these cannot be merged.
#[inline]
fn load_pairs(words: &[AtomicU64], pairs: &mut [[u32; 2]]) {
    let load = |(pair, word): (&mut [u32; 2], &AtomicU64)| {
        let both = word.load(Relaxed);
        *pair = [both as u32, (both >> 32) as u32];
    };
    let (eights, words) = words.as_chunks::<8>();
    let (of_eights, pairs) = pairs.as_chunks_mut::<8>();
    for (pairs, words) in of_eights.iter_mut().zip(eights) {
        pairs.iter_mut().zip(words).for_each(load);
    }
    pairs.iter_mut().zip(words).for_each(load);
}

/// The same from registers to memory.
#[inline]
fn store_pairs(words: &[AtomicU64], pairs: &[[u32; 2]]) {
    let store = |([low, high], word): (&[u32; 2], &AtomicU64)| {
        word.store(u64::from(*low) | u64::from(*high) << 32, Relaxed);
    };
    let (eights, words) = words.as_chunks::<8>();
    let (of_eights, pairs) = pairs.as_chunks::<8>();
    for (pairs, words) in of_eights.iter().zip(eights) {
        pairs.iter().zip(words).for_each(store);
    }
    pairs.iter().zip(words).for_each(store);
}
