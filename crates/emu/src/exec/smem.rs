//! Scalar memory, and the clock.

use super::address::{Layout, scalar_buffer};
use super::atomic;
use super::float::{self, AtomicUnit, FloatAtomics};
use super::memory::forbidden;
use crate::error::ErrorKind;
use crate::memory::Allocation;
use crate::step::{Context, Handler, Step};
use crate::wave::Wave;

/// How a scalar access goes, packed into a step's `e`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// What the offset register is multiplied by.
    pub(crate) scale: u8,
    /// The layout of its buffer descriptor, where it has one.
    pub(crate) buffer: Option<Layout>,
    /// The number of an atomic change.
    pub(crate) change: u8,
    /// Whether a change says what was there.
    pub(crate) returns: bool,
}

impl Access {
    pub(crate) fn pack(self) -> u16 {
        let buffer = self.buffer.map_or(0, |layout| 1 + layout as u16);
        let scale = self.scale.trailing_zeros() as u16;
        scale | buffer << 3 | u16::from(self.change) << 6 | u16::from(self.returns) << 15
    }

    fn unpack(bits: u16) -> Self {
        let buffer = match bits >> 3 & 7 {
            0 => None,
            layout => Some(Layout::unpack(u64::from(layout) - 1)),
        };
        Self { scale: 1 << (bits & 7), buffer, change: (bits >> 6) as u8, returns: bits >> 15 == 1 }
    }
}

/// The address of an access, and how many bytes from it on are in its buffer: the base or descriptor `a`, the register `b`
/// scaled, and `k`.
fn address<const C: usize>(wave: &Wave<C>, step: &Step<C>) -> (u64, u64) {
    let access = Access::unpack(step.e);
    let offset = u64::from(wave.s[usize::from(step.b)]) * u64::from(access.scale);
    let offset = offset.wrapping_add(step.k);
    match access.buffer {
        None => (wave.pair(step.a).wrapping_add(offset), u64::MAX),
        Some(layout) => {
            let words = [0, 1, 2, 3].map(|at| wave.s[usize::from(step.a + at)]);
            let (base, size) = scalar_buffer(words, layout);
            (base.wrapping_add(offset), size.saturating_sub(offset))
        }
    }
}

/// Where a scalar access begins, for those who watch it.
pub(crate) fn place<const C: usize>(wave: &Wave<C>, step: &Step<C>) -> u64 {
    address(wave, step).0
}

/// Where an access begins and how many bytes it has; none where all of it is past the end of its buffer.
pub(crate) fn reached<const C: usize>(wave: &Wave<C>, step: &Step<C>) -> Option<(u64, u64)> {
    let (address, room) = address(wave, step);
    match step.c & 0xff {
        _ if room == 0 => None,
        bytes if is_part(step) => Some((address, bytes.into())),
        words => Some((address & !3, u64::from(words).min(room.div_ceil(4)) * 4)),
    }
}

/// Whether a step loads less than a register.
fn is_part<const C: usize>(step: &Step<C>) -> bool {
    std::ptr::fn_addr_eq(step.run, load_part::<C> as Handler<C>)
}

/// Clears the registers that a load would have filled.
pub(crate) fn clear<const C: usize>(wave: &mut Wave<C>, step: &Step<C>) {
    let count = if is_part(step) { 1 } else { usize::from(step.c) };
    wave.s[usize::from(step.d)..].iter_mut().take(count).for_each(|it| *it = 0);
}

/// Finds memory; fails the wave where there is none.
fn find<'m, const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'m>,
    address: u64,
    bytes: u64,
    is_write: bool,
) -> Option<(&'m Allocation, u64)> {
    let found = context.memory.find(address, bytes, &mut context.hint);
    let kind = match found {
        Some((allocation, offset)) => allocation.forbids_write(offset, bytes).filter(|_| is_write),
        None => Some(ErrorKind::OutOfBounds),
    };
    if let Some(kind) = kind {
        wave.fail_at(kind, 0, address, forbidden(kind, address, bytes));
        return None;
    }
    found
}

/// `c` registers from `d` on; words that are past a buffer's end are zero.
pub(crate) fn load<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let (address, room) = address(wave, step);
    let count = u64::from(step.c).min(room.div_ceil(4));
    let found = match count {
        0 => None,
        _ => match find(wave, context, address & !3, count * 4, false) {
            None => return,
            found => found,
        },
    };
    // Pairs in one piece: a value of 64 bits that another thread writes is whole.
    for at in (0..u64::from(step.c)).step_by(2) {
        let values = match found {
            Some((allocation, offset)) if at + 2 <= count => allocation.load(offset + at * 4),
            Some((allocation, offset)) if at < count => [allocation.load32(offset + at * 4), 0],
            _ => [0; 2],
        };
        let first = usize::from(step.d) + at as usize;
        let left = usize::from(step.c) - at as usize;
        for (register, value) in wave.s[first..].iter_mut().zip(values).take(left) {
            *register = value;
        }
    }
}

/// One byte or half, signed where `c` has bit 15; `c` is the number of bytes else.
pub(crate) fn load_part<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    let (address, room) = address(wave, step);
    let bytes = u64::from(step.c & 0xff);
    if room == 0 {
        wave.s[usize::from(step.d)] = 0;
        return;
    }
    let Some((allocation, offset)) = find(wave, context, address, bytes, false) else { return };
    let is_signed = step.c >> 15 == 1;
    wave.s[usize::from(step.d)] = match (bytes, is_signed) {
        (1, false) => allocation.load8(offset).into(),
        (1, true) => i32::from(allocation.load8(offset).cast_signed()).cast_unsigned(),
        (_, false) => allocation.load16(offset).into(),
        (_, true) => i32::from(allocation.load16(offset).cast_signed()).cast_unsigned(),
    };
}

/// `c` registers from `d` on to memory; words that are past a buffer's end are not stored.
pub(crate) fn store<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let (address, room) = address(wave, step);
    let count = u64::from(step.c).min(room.div_ceil(4));
    if count == 0 {
        return;
    }
    let found = find(wave, context, address & !3, count * 4, true);
    let Some((allocation, offset)) = found else { return };
    for at in 0..count {
        allocation.store32(offset + at * 4, wave.s[usize::from(step.d) + at as usize]);
    }
}

/// Changes one or two words (`c`) by the data `d`, and what is compared with after it; says what was there.
pub(crate) fn change<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    let access = Access::unpack(step.e);
    let (address, room) = address(wave, step);
    let bytes = u64::from(step.c) * 4;
    let mut old = [0; 2];
    if room >= bytes {
        let address = address & !(bytes - 1);
        let Some((allocation, offset)) = find(wave, context, address, bytes, true) else { return };
        let floats = FloatAtomics::new(&float::mode(wave, context), AtomicUnit::Cache);
        let word = |at: u16| wave.s[usize::from(step.d + at)];
        if step.c == 1 {
            old[0] = allocation.update32(offset, |old| {
                atomic::change32(&floats, access.change, [old, word(0), word(1)])
            });
        } else {
            let pair = |at: u16| u64::from(word(at)) | u64::from(word(at + 1)) << 32;
            let (data, compare) = (pair(0), pair(2));
            let change = |old| atomic::change64(&floats, access.change, [old, data, compare]);
            let found = allocation.update64(offset, change);
            old = [found as u32, (found >> 32) as u32];
        }
    }
    if access.returns {
        for (at, value) in (0..step.c).zip(old) {
            wave.s[usize::from(step.d + at)] = value;
        }
    }
}

/// The clock: a count that is the same in every run.
pub(crate) fn time<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    context.clock += 40;
    wave.set_pair(step.d, context.clock);
}
