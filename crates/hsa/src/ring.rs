//! Rings of packets: programs put packets there, and the thread of a queue takes them in order.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU16, AtomicU64};

use crate::abi::{AmdQueue, packet};

/// Bytes of a slot.
const SLOT: usize = 64;
/// The header of a slot that no packet is in.
const INVALID_HEADER: u16 = 1;

/// The slots of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ring {
    address: u64,
    slots: u64,
}

/// The packet whose turn it is.
#[derive(Debug)]
pub(crate) struct Next {
    pub(crate) index: u64,
    /// Where it is.
    pub(crate) address: u64,
    pub(crate) bytes: [u8; SLOT],
}

impl Ring {
    /// Empty slots.
    ///
    /// # Safety
    /// From the address, a multiple of 64, on there is memory for so many slots as long as the ring is used.
    pub(crate) unsafe fn new(address: u64, slots: u64) -> Self {
        let ring = Self { address, slots };
        (0..slots).for_each(|it| ring.header(it).store(INVALID_HEADER, Relaxed));
        ring
    }

    pub(crate) fn address(self) -> u64 {
        self.address
    }

    /// The next packet of a queue, if it is there.
    pub(crate) fn next(self, queue: &AmdQueue) -> Option<Next> {
        let index = queue.read_dispatch_id.load(Relaxed);
        // Written last, so that the rest of the packet is there.
        let kind = self.header(index).load(Acquire) & 0xff;
        if u32::from(kind) == packet::INVALID || queue.write_dispatch_id.load(Acquire) <= index {
            return None;
        }
        let address = self.slot(index);
        let mut bytes = [0; SLOT];
        for (at, chunk) in (0..).step_by(8).zip(bytes.chunks_exact_mut(8)) {
            // SAFETY: a word of a slot, which the program leaves alone until the packet is done.
            let word = unsafe { &*((address + at) as *const AtomicU64) };
            chunk.copy_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        Some(Next { index, address, bytes })
    }

    /// Gives the slot of a packet back.
    pub(crate) fn done(self, queue: &AmdQueue, index: u64) {
        self.header(index).store(INVALID_HEADER, Relaxed);
        queue.read_dispatch_id.store(index + 1, Release);
    }

    fn slot(self, index: u64) -> u64 {
        self.address + index % self.slots * SLOT as u64
    }

    /// The first two bytes of a packet.
    fn header(&self, index: u64) -> &AtomicU16 {
        // SAFETY: the slot is there, as `Ring::new` asks of its caller, and programs write headers by atomics.
        unsafe { &*(self.slot(index) as *const AtomicU16) }
    }
}
