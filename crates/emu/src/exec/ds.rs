//! Accesses of LDS that have two addresses.

use super::memory::{Place, set_word, word};
use crate::generated::Op;
use crate::step::{Context, Handler, Step};
use crate::wave::{Wave, lanes};

/// The two offsets of an access, in bytes, from a step's `k`.
fn offsets(k: u64) -> [u64; 2] {
    [k & 0xffff_ffff, k >> 32]
}

/// Loads `N` registers at each of two offsets from the address, into `d` and those after it.
fn load2<const C: usize, const N: u16>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    for lane in lanes(wave.active) {
        let address = wave.addresses[lane];
        // An address register may be loaded into.
        for (which, offset) in (0..).zip(offsets(step.k)) {
            let place = Place::Lds((address + offset) & 0xffff_ffff);
            for at in 0..N {
                let value = word(wave, context, place, u64::from(at) * 4);
                wave.v[usize::from(step.d + which * N + at)].set_lane(lane, value);
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
        _ => return None,
    })
}
