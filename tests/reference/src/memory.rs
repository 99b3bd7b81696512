//! LDS and one allocation of memory, and what an instruction writes there.

use std::collections::BTreeMap;

/// Which memory an address is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// LDS, from zero on.
    Lds,
    /// The allocation.
    Global,
}

/// The bytes of all memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// LDS.
    pub lds: Vec<u8>,
    /// Where the allocation begins.
    pub base: u64,
    /// Its bytes.
    pub global: Vec<u8>,
}

/// Bytes that an instruction writes, by address, with the lane that wrote them last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writes(BTreeMap<(Space, u64), (u8, usize)>);

impl Memory {
    fn place(&self, space: Space, address: u64) -> Option<usize> {
        let (first, size) = match space {
            Space::Lds => (0, self.lds.len()),
            Space::Global => (self.base, self.global.len()),
        };
        let at = usize::try_from(address.checked_sub(first)?).ok()?;
        (at < size).then_some(at)
    }

    /// Does what an instruction has written.
    pub fn apply(&mut self, writes: &Writes) {
        for (&(space, address), &(byte, _)) in &writes.0 {
            let Some(at) = self.place(space, address) else { continue };
            match space {
                Space::Lds => self.lds[at] = byte,
                Space::Global => self.global[at] = byte,
            }
        }
    }
}

impl Writes {
    /// A little-endian number of up to 16 bytes, as earlier lanes left it; none outside of memory.
    pub(super) fn read(
        &self,
        memory: &Memory,
        space: Space,
        address: u64,
        bytes: u32,
    ) -> Option<u128> {
        let mut value = 0;
        for number in 0..bytes {
            let address = address + u64::from(number);
            let at = memory.place(space, address)?;
            let old = match space {
                Space::Lds => memory.lds[at],
                Space::Global => memory.global[at],
            };
            let byte = self.0.get(&(space, address)).map_or(old, |it| it.0);
            value |= u128::from(byte) << (number * 8);
        }
        Some(value)
    }

    /// Writes such a number; whether no other lane has written any of its bytes.
    pub(super) fn write(
        &mut self,
        space: Space,
        address: u64,
        bytes: u32,
        value: u128,
        lane: usize,
    ) -> bool {
        let mut is_alone = true;
        for number in 0..bytes {
            let byte = (value >> (number * 8)) as u8;
            let old = self.0.insert((space, address + u64::from(number)), (byte, lane));
            is_alone &= old.is_none_or(|it| it.1 == lane);
        }
        is_alone
    }
}
