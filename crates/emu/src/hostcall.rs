//! Calls of the host by running kernels: what ROCm's device libraries do to print.
//!
//! A wave takes a packet from a stack in memory, fills it, puts it on another stack and waits until the host has answered.
//! HIP's printf sends a message in several packets: a format string and its values.
#![allow(clippy::cast_possible_truncation, reason = "fields are cut to their widths")]

use std::collections::HashMap;
use std::fmt;

use crate::error::{Error, ErrorKind, Result};
use crate::memory::Memory;
use crate::printf::{self, Values};

/// What kernels ask of the program that runs them.
pub trait Host: Sync {
    /// Prints to standard output, or standard error.
    fn print(&self, text: &[u8], is_error: bool);

    /// Waits a moment: all waves of a thread sleep, perhaps until the host does something.
    fn pause(&self) {}
}

/// Packets of a buffer: a power of two.
const PACKETS: u64 = 64;
const LANES: u64 = 64;

/// Offsets in a buffer and its parts.
mod offset {
    pub(super) const HEADERS: u64 = 0;
    pub(super) const PAYLOADS: u64 = 8;
    pub(super) const DOORBELL: u64 = 16;
    pub(super) const FREE_STACK: u64 = 24;
    pub(super) const READY_STACK: u64 = 32;
    pub(super) const INDEX_MASK: u64 = 40;
    /// A signal as waves see it, which has no event.
    pub(super) const SIGNAL: u64 = 64;
    pub(super) const HEADER: u64 = 128;
    pub(super) const HEADER_SIZE: u64 = 24;
    pub(super) const ACTIVE_MASK: u64 = 8;
    pub(super) const SERVICE: u64 = 16;
    pub(super) const CONTROL: u64 = 20;
    pub(super) const PAYLOAD: u64 = HEADER + super::PACKETS * HEADER_SIZE;
    pub(super) const PAYLOAD_SIZE: u64 = super::LANES * 64;
}

/// The packets of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hostcall {
    address: u64,
}

impl Hostcall {
    /// Packets in new memory, all free.
    pub(crate) fn new(memory: &Memory) -> Result<Self> {
        let size = offset::PAYLOAD + PACKETS * offset::PAYLOAD_SIZE;
        let address = memory.allocate(size)?;
        let it = Self { address };
        let put = |at: u64, value: u64| memory.write(address + at, &value.to_le_bytes());
        put(offset::HEADERS, address + offset::HEADER)?;
        put(offset::PAYLOADS, address + offset::PAYLOAD)?;
        put(offset::DOORBELL, address + offset::SIGNAL)?;
        put(offset::SIGNAL, 1)?;
        put(offset::INDEX_MASK, PACKETS - 1)?;
        // Upper bits of a link tell uses of a packet apart. The first packet's must not be zero: zero ends a list.
        let mut next = PACKETS;
        for packet in 1..PACKETS {
            put(offset::HEADER + packet * offset::HEADER_SIZE, next)?;
            next = packet;
        }
        put(offset::FREE_STACK, next)?;
        Ok(it)
    }

    pub(crate) fn address(self) -> u64 {
        self.address
    }

    /// Answers what waves have asked.
    pub(crate) fn serve(
        self,
        memory: &Memory,
        messages: &mut Messages,
        host: &dyn Host,
    ) -> Result<()> {
        let ready = self.address + offset::READY_STACK;
        if word(memory, ready)? == 0 {
            return Ok(());
        }
        let mut packet = memory.update64(ready, |_| 0)?;
        // A program that writes into the list must not keep the host here.
        for _ in 0..PACKETS {
            if packet == 0 {
                break;
            }
            let index = packet % PACKETS;
            let header = self.address + offset::HEADER + index * offset::HEADER_SIZE;
            let payload = self.address + offset::PAYLOAD + index * offset::PAYLOAD_SIZE;
            packet = word(memory, header)?;
            let active = word(memory, header + offset::ACTIVE_MASK)?;
            let service = word(memory, header + offset::SERVICE)? as u32;
            for lane in crate::wave::lanes(active) {
                let slots = payload + lane as u64 * 64;
                let answer = messages.serve(service, &slots_of(memory, slots)?, host)?;
                memory.write(slots, &answer.to_le_bytes())?;
            }
            memory.update32(header + offset::CONTROL, |old| old & !1)?;
        }
        Ok(())
    }
}

fn word(memory: &Memory, address: u64) -> Result<u64> {
    let mut bytes = [0; 8];
    memory.read_into(address, &mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn slots_of(memory: &Memory, address: u64) -> Result<[u64; 8]> {
    let mut slots = [0; 8];
    for (at, slot) in (0..).step_by(8).zip(&mut slots) {
        *slot = word(memory, address + at)?;
    }
    Ok(slots)
}

/// What has come of messages that are not complete.
#[derive(Default)]
pub(crate) struct Messages {
    open: HashMap<u64, Vec<u64>>,
    next: u64,
}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Messages").field("open", &self.open.len()).finish()
    }
}

/// Words that all incomplete messages may have: a program that never ends one must not fill the host's memory.
const MOST_WORDS: usize = 1 << 20;

impl Messages {
    /// What a lane gets as answer to its slots.
    fn serve(&mut self, service: u32, slots: &[u64; 8], host: &dyn Host) -> Result<u64> {
        const PRINTF: u32 = 2;
        if service != PRINTF {
            let name = match service {
                1 => "a function of the host",
                3 => "memory of the device",
                4 => "the address sanitizer",
                _ => "a service that is not known",
            };
            let detail = format!("hostcall service {service} ({name})");
            return Err(Error::new(ErrorKind::Unsupported, detail));
        }
        let [descriptor, values @ ..] = slots;
        let (begins, ends) = (descriptor & 1 == 1, descriptor >> 1 & 1 == 1);
        let count = (descriptor >> 5 & 7) as usize;
        let mut descriptor = *descriptor;
        if begins {
            descriptor = descriptor & 0xfe | self.next << 8;
            self.open.insert(self.next, Vec::new());
            self.next += 1;
        }
        let id = descriptor >> 8;
        let words: usize = self.open.values().map(Vec::len).sum();
        let Some(message) = self.open.get_mut(&id).filter(|_| words < MOST_WORDS) else {
            let detail = format!("hostcall: there is no message {id}");
            return Err(Error::new(ErrorKind::Setup, detail));
        };
        message.extend(values.iter().take(count));
        if !ends {
            return Ok(descriptor);
        }
        let message = self.open.remove(&id).unwrap_or_default();
        Ok(print(&message, host))
    }
}

/// Prints a complete message: a number that names the stream, a format, its values. Gives what printf returns.
fn print(message: &[u64], host: &dyn Host) -> u64 {
    let Some((control, rest)) = message.split_first() else { return u64::MAX };
    if control >> 1 != 0 {
        return u64::MAX;
    }
    let mut words = Words { rest };
    let format = words.string().unwrap_or_default();
    let text = printf::format(&format, &mut words);
    host.print(&text, *control == 1);
    text.len() as u64
}

/// Values of HIP's printf: each has eight bytes, and strings are there whole, filled up to eight.
pub(crate) struct Words<'m> {
    pub(crate) rest: &'m [u64],
}

impl Values for Words<'_> {
    fn integer(&mut self, _: u8) -> Option<u64> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn float(&mut self) -> Option<f64> {
        self.integer(8).map(f64::from_bits)
    }

    fn string(&mut self) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        while let Some(word) = self.integer(8) {
            let bytes = word.to_le_bytes();
            match bytes.iter().position(|it| *it == 0) {
                Some(end) => {
                    text.extend(bytes.iter().take(end));
                    return Some(text);
                }
                None => text.extend(bytes),
            }
        }
        (!text.is_empty()).then_some(text)
    }
}
