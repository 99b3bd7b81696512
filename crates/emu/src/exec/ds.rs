//! Accesses of LDS that memory has no equal for: two addresses, one for all lanes, conditions, barrier cells.

use super::memory::{Place, load_lds_at, set_word, word};
use crate::error::ErrorKind;
use crate::generated::Op;
use crate::step::{Context, Handler, Step};
use crate::wave::{Wave, lanes, scalar};

/// The two offsets of an access, in bytes, from a step's `k`.
fn offsets(k: u64) -> [u64; 2] {
    [k & 0xffff_ffff, k >> 32]
}

/// Loads `N` registers at each of two offsets from the address, into `d` and those after it.
fn load2<const C: usize, const N: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    for (which, offset) in (0..).zip(offsets(step.k)) {
        let first = step.d + which * N as u16;
        if load_lds_at::<C, N>(wave, context, first, offset) {
            continue;
        }
        for lane in lanes(wave.active) {
            let place = Place::Lds((wave.addresses[lane] + offset) & 0xffff_ffff);
            for at in 0..N {
                let value = word(wave, context, place, at as u64 * 4);
                wave.v[usize::from(first) + at].set_lane(lane, value);
            }
        }
    }
}

/// Stores `N` registers of `a` and of `b` at two offsets from the address.
fn store2<const C: usize, const N: u16>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    for lane in lanes(wave.active) {
        let address = wave.addresses[lane];
        for (data, offset) in [step.a, step.b].into_iter().zip(offsets(step.k)) {
            let place = Place::Lds((address + offset) & 0xffff_ffff);
            for at in 0..N {
                let value = wave.v[usize::from(data + at)].lane(lane);
                set_word(wave, context, place, u64::from(at) * 4, value);
            }
        }
    }
}

/// Exchanges `N` registers of `a` and of `b` with what is at two offsets from the address; what was there goes to `d` and
/// those after it.
fn swap2<const C: usize, const N: u16>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    for lane in lanes(wave.active) {
        let address = wave.addresses[lane];
        let mut old = [0; 4];
        for (which, (data, offset)) in [step.a, step.b].into_iter().zip(offsets(step.k)).enumerate()
        {
            let place = Place::Lds((address + offset) & 0xffff_ffff);
            for at in 0..N {
                let value = wave.v[usize::from(data + at)].lane(lane);
                old[which * usize::from(N) + usize::from(at)] =
                    word(wave, context, place, u64::from(at) * 4);
                set_word(wave, context, place, u64::from(at) * 4, value);
            }
        }
        for (at, value) in (0..2 * N).zip(old) {
            wave.v[usize::from(step.d + at)].set_lane(lane, value);
        }
    }
}

/// Adds the number of active lanes to the word at `k`, or subtracts it where `c` is 1; all get what was there.
pub(crate) fn count<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    if wave.s[usize::from(scalar::M0)] != 0 {
        // Manuals do not agree with each other, nor with what compilers put there.
        let detail = "append and consume with another M0 than zero";
        return wave.fail(ErrorKind::Unsupported, wave.active, detail);
    }
    let place = Place::Lds(step.k & !3);
    let old = word(wave, context, place, 0);
    let count = wave.active.count_ones();
    let new = if step.c == 1 { old.wrapping_sub(count) } else { old.wrapping_add(count) };
    if count > 0 {
        set_word(wave, context, place, 0, new);
    }
    for lane in lanes(wave.active) {
        wave.v[usize::from(step.d)].set_lane(lane, old);
    }
}

/// Two words at once: each is replaced by the data `a` where those have their upper bit set, which is not stored.
pub(crate) fn conditional_swap<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    for lane in lanes(wave.active) {
        let place = Place::Lds(wave.addresses[lane] & !7);
        for at in 0..2 {
            let data = wave.v[usize::from(step.a + at)].lane(lane);
            let old = word(wave, context, place, u64::from(at) * 4);
            if data >> 31 == 1 {
                set_word(wave, context, place, u64::from(at) * 4, data & 0x7fff_ffff);
            }
            wave.v[usize::from(step.d + at)].set_lane(lane, old);
        }
    }
}

/// Bits of a barrier cell that count what has not arrived; three more are its phase, the upper word what to count from.
const PENDING: u32 = (1 << 29) - 1;

/// A barrier cell's lower word after so many have arrived.
pub(crate) fn arrived(state: u32, initial: u32, count: u32) -> u32 {
    let new = state.wrapping_sub(count);
    if count > state & PENDING { new & !PENDING | initial & PENDING } else { new }
}

/// Arrives at the barrier cell in LDS at a place; says what it was.
pub(crate) fn arrive<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    address: u64,
    count: u32,
) -> [u32; 2] {
    let place = Place::Lds(address);
    let old = [0, 4].map(|at| word(wave, context, place, at));
    set_word(wave, context, place, 0, arrived(old[0], old[1], count));
    old
}

/// Each lane arrives at the barrier cell of its address: with the count in `a`, and what was there to `d`, where `c` is 1.
pub(crate) fn barrier_arrive<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    for lane in lanes(wave.active) {
        let address = wave.addresses[lane];
        if !address.is_multiple_of(8) {
            let detail = format!("a barrier cell at {address:#x}");
            return wave.fail(ErrorKind::Misaligned, 1 << lane, detail);
        }
        let returns = step.c == 1;
        let count = if returns { wave.v[usize::from(step.a)].lane(lane) } else { 1 };
        let old = arrive(wave, context, address, count);
        if returns {
            for (at, value) in (0..).zip(old) {
                wave.v[usize::from(step.d + at)].set_lane(lane, value);
            }
        }
    }
}

/// The handler of an access with two addresses, and how far one step of its offsets is.
pub(crate) fn find<const C: usize>(op: Op, words: u16) -> Option<(Handler<C>, u64)> {
    Some(match (op, words) {
        (Op::Load2, 1) => (load2::<C, 1>, 4),
        (Op::Load2, _) => (load2::<C, 2>, 8),
        (Op::Load2st64, 1) => (load2::<C, 1>, 256),
        (Op::Load2st64, _) => (load2::<C, 2>, 512),
        (Op::Store2, 1) => (store2::<C, 1>, 4),
        (Op::Store2, _) => (store2::<C, 2>, 8),
        (Op::Store2st64, 1) => (store2::<C, 1>, 256),
        (Op::Store2st64, _) => (store2::<C, 2>, 512),
        (Op::Swap2, 1) => (swap2::<C, 1>, 4),
        (Op::Swap2, _) => (swap2::<C, 2>, 8),
        (Op::Swap2st64, 1) => (swap2::<C, 1>, 256),
        (Op::Swap2st64, _) => (swap2::<C, 2>, 512),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn barrier_cells_count_down_and_begin_anew() {
        assert_eq!(arrived(3, 7, 1), 2);
        assert_eq!(arrived(1, 7, 1), 0);
        // The phase goes down as well.
        assert_eq!(arrived(2 << 29, 7, 1), 1 << 29 | 7);
        assert_eq!(arrived(0, 7, 1), 7 << 29 | 7);
    }
}
