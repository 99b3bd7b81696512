//! Scalar loads, and the clock.

use super::memory::forbidden;
use crate::error::ErrorKind;
use crate::step::{Context, Step};
use crate::wave::Wave;

/// The address of a scalar access: the base `a`, the register `b` times `e`, and `k`.
fn address<const C: usize>(wave: &Wave<C>, step: &Step<C>) -> u64 {
    let offset = u64::from(wave.s[usize::from(step.b)]) * u64::from(step.e);
    wave.pair(step.a).wrapping_add(offset).wrapping_add(step.k)
}

/// `c` registers from `d` on, of memory at `a + b + k`.
pub(crate) fn load<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let address = address(wave, step) & !3;
    let bytes = u64::from(step.c) * 4;
    let Some((allocation, offset)) = context.memory.find(address, bytes, &mut context.hint) else {
        let kind = ErrorKind::OutOfBounds;
        return wave.fail(kind, 0, forbidden(kind, address, bytes));
    };
    let mut at = 0;
    while at < step.c {
        let from = offset + u64::from(at) * 4;
        let first = usize::from(step.d + at);
        // Pairs in one piece: a value of 64 bits that another thread writes is whole.
        let (values, count) = match step.c - at {
            1 => ([allocation.load32(from), 0], 1),
            _ => (allocation.load(from), 2),
        };
        for (register, value) in wave.s[first..].iter_mut().zip(values).take(count) {
            *register = value;
        }
        at += 2;
    }
}

/// One byte or half, signed where `c` has bit 15; `c` is the number of bytes else.
pub(crate) fn load_part<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    let address = address(wave, step);
    let bytes = u64::from(step.c & 0xff);
    let Some((allocation, offset)) = context.memory.find(address, bytes, &mut context.hint) else {
        let kind = ErrorKind::OutOfBounds;
        return wave.fail(kind, 0, forbidden(kind, address, bytes));
    };
    let is_signed = step.c >> 15 == 1;
    wave.s[usize::from(step.d)] = match (bytes, is_signed) {
        (1, false) => allocation.load8(offset).into(),
        (1, true) => i32::from(allocation.load8(offset).cast_signed()).cast_unsigned(),
        (_, false) => allocation.load16(offset).into(),
        (_, true) => i32::from(allocation.load16(offset).cast_signed()).cast_unsigned(),
    };
}

/// `c` registers from `d` on, through the buffer descriptor `a`: what is past its end is zero.
pub(crate) fn buffer_load<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    let word = |at: u16| u64::from(wave.s[usize::from(step.a + at)]);
    let base = word(0) | (word(1) & 0xffff) << 32;
    let (stride, records) = (word(1) >> 16 & 0x3fff, word(2));
    let size = if stride == 0 { records } else { records * stride };
    let offset = u64::from(wave.s[usize::from(step.b)]) * u64::from(step.e);
    let start = offset.wrapping_add(step.k) & !3;
    for at in 0..u64::from(step.c) {
        let offset = start.saturating_add(at * 4);
        let value = if offset.saturating_add(4) > size {
            0
        } else {
            let address = base + offset;
            let Some((allocation, offset)) = context.memory.find(address, 4, &mut context.hint)
            else {
                let kind = ErrorKind::OutOfBounds;
                return wave.fail(kind, 0, forbidden(kind, address, 4));
            };
            allocation.load32(offset)
        };
        wave.s[usize::from(step.d) + at as usize] = value;
    }
}

/// `c` registers from `d` on to memory at `a + b + k`.
pub(crate) fn store<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let address = address(wave, step) & !3;
    let bytes = u64::from(step.c) * 4;
    let Some((allocation, offset)) = context.memory.find(address, bytes, &mut context.hint) else {
        let kind = ErrorKind::OutOfBounds;
        return wave.fail(kind, 0, forbidden(kind, address, bytes));
    };
    if let Some(kind) = allocation.forbids_write(offset, bytes) {
        return wave.fail(kind, 0, forbidden(kind, address, bytes));
    }
    for at in 0..step.c {
        allocation.store32(offset + u64::from(at) * 4, wave.s[usize::from(step.d + at)]);
    }
}

/// The clock: a count that is the same in every run.
pub(crate) fn time<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    context.clock += 40;
    wave.set_pair(step.d, context.clock);
}
