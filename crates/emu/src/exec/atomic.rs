//! Atomic operations on memory and LDS.

use super::memory::{Place, place, set_word, word};
use crate::error::ErrorKind;
use crate::exec::float::{self, AtomicUnit, FloatAtomics};
use crate::generated::Op;
use crate::num::{BF16, F16, F32, F64, Mode};
use crate::semantics::Type;
use crate::step::{Context, Handler, Step};
use crate::wave::{Space, Wave, lanes};

/// What becomes of a word: from what it was, the data, and the value to compare with.
type Change<T> = fn(&FloatAtomics, T, T, T) -> T;

/// What integers of either width have in common.
macro_rules! integers {
    ($name:ident, $ty:ident, $unsigned:expr, $signed:expr, $bits:expr, [$($more:expr),* $(,)?]) => {
        const $name: &[(Op, &[Type], Change<$ty>)] = &[
            $($more,)*
            (Op::AtomicAdd, $unsigned, |_, old, data, _| old.wrapping_add(data)),
            (Op::AtomicSub, $unsigned, |_, old, data, _| old.wrapping_sub(data)),
            (Op::AtomicRsub, $unsigned, |_, old, data, _| data.wrapping_sub(old)),
            (Op::AtomicMin, $unsigned, |_, old, data, _| old.min(data)),
            (Op::AtomicMax, $unsigned, |_, old, data, _| old.max(data)),
            (Op::AtomicMin, $signed, |_, old, data, _| old.cast_signed().min(data.cast_signed()).cast_unsigned()),
            (Op::AtomicMax, $signed, |_, old, data, _| old.cast_signed().max(data.cast_signed()).cast_unsigned()),
            (Op::AtomicAnd, $bits, |_, old, data, _| old & data),
            (Op::AtomicOr, $bits, |_, old, data, _| old | data),
            (Op::AtomicXor, $bits, |_, old, data, _| old ^ data),
            (Op::AtomicInc, $unsigned, |_, old, data, _| if old >= data { 0 } else { old + 1 }),
            (Op::AtomicDec, $unsigned, |_, old, data, _| if old == 0 || old > data { data } else { old - 1 }),
            (Op::AtomicSwap, $bits, |_, _, data, _| data),
            (Op::AtomicMskor, $bits, |_, old, data, mask| old & !mask | data),
            (Op::AtomicCmpswap, $bits, |_, old, data, compare| if old == compare { data } else { old }),
            (Op::AtomicCmpst, $bits, |_, old, data, compare| if old == compare { data } else { old }),
            (Op::AtomicCmpstore, $bits, |_, old, data, compare| if old == compare { data } else { old }),
        ];
    };
}

integers!(
    CHANGES32,
    u32,
    &[Type::U32],
    &[Type::I32],
    &[Type::B32, Type::U32],
    [
        (Op::AtomicAdd, &[Type::F32], |floats, old, data, _| floats.add::<F32>(old, data)),
        (Op::AtomicMin, &[Type::F32], |floats, old, data, _| floats.min::<F32>(old, data)),
        (Op::AtomicMax, &[Type::F32], |floats, old, data, _| floats.max::<F32>(old, data)),
        (Op::AtomicCmpswap, &[Type::F32], FloatAtomics::swap::<F32>),
        (Op::AtomicCmpst, &[Type::F32], FloatAtomics::swap::<F32>),
        (Op::AtomicCmpstore, &[Type::F32], FloatAtomics::swap::<F32>),
        (Op::AtomicPkAdd, &[Type::F16], |floats, old, data, _| floats.add_both::<F16>(old, data)),
        (Op::AtomicPkAdd, &[Type::Bf16], |floats, old, data, _| floats.add_both::<BF16>(old, data)),
        (Op::AtomicSubClamp, &[Type::U32], |_, old, data, _| old.saturating_sub(data)),
        (Op::AtomicCondSub, &[Type::U32], |_, old, data, _| if old >= data {
            old - data
        } else {
            old
        }),
        (Op::AtomicWrap, &[Type::B32], |_, old, data, limit| if old >= data {
            old - data
        } else {
            old.wrapping_add(limit)
        }),
    ]
);

integers!(
    CHANGES64,
    u64,
    &[Type::U64],
    &[Type::I64],
    &[Type::B64, Type::U64],
    [
        (Op::AtomicAdd, &[Type::F64], |floats, old, data, _| floats.add::<F64>(old, data)),
        (Op::AtomicMin, &[Type::F64], |floats, old, data, _| floats.min::<F64>(old, data)),
        (Op::AtomicMax, &[Type::F64], |floats, old, data, _| floats.max::<F64>(old, data)),
        (Op::AtomicCmpswap, &[Type::F64], FloatAtomics::swap::<F64>),
        (Op::AtomicCmpst, &[Type::F64], FloatAtomics::swap::<F64>),
        (Op::AtomicCmpstore, &[Type::F64], FloatAtomics::swap::<F64>),
    ]
);

/// What a change of a number makes of a word.
pub(crate) fn change32(floats: &FloatAtomics, number: u8, [old, data, compare]: [u32; 3]) -> u32 {
    CHANGES32.get(usize::from(number)).map_or(old, |it| it.2(floats, old, data, compare))
}

/// The same of two words.
pub(crate) fn change64(floats: &FloatAtomics, number: u8, [old, data, compare]: [u64; 3]) -> u64 {
    CHANGES64.get(usize::from(number)).map_or(old, |it| it.2(floats, old, data, compare))
}

/// Checks that a lane's address is a multiple of the access.
fn is_aligned<const C: usize>(wave: &mut Wave<C>, lane: usize, bytes: u64) -> bool {
    let address = wave.addresses[lane];
    let fits = address.is_multiple_of(bytes);
    if !fits {
        let detail = format!("an atomic operation of {bytes} bytes at {address:#x}");
        wave.fail(ErrorKind::Misaligned, 1 << lane, detail);
    }
    fits
}

/// The rules of floats where an operation is done.
#[inline]
fn floats(mode: &Mode, space: Space, place: Place<'_>) -> FloatAtomics {
    let unit = match place {
        Place::Lds(_) if space == Space::Flat => AtomicUnit::LdsByFlat,
        Place::Lds(_) => AtomicUnit::Lds,
        _ => AtomicUnit::Cache,
    };
    FloatAtomics::new(mode, unit)
}

/// Data `a`, comparison `b`; what was there goes to `d` where `c` is 1. Lanes take their turns in order.
fn change_words<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let Some((_, _, change)) = CHANGES32.get(step.k as usize) else { return };
    let (valid, mode) = (wave.valid, float::mode(wave, context));
    for lane in lanes(wave.active) {
        let mut old = 0;
        if valid >> lane & 1 == 1 {
            if !is_aligned(wave, lane, 4) {
                return;
            }
            let Some(place) = place(wave, context, lane, 4, true) else { return };
            let data = wave.v[usize::from(step.a)].lane(lane);
            let compare = wave.v[usize::from(step.b)].lane(lane);
            let floats = floats(&mode, wave.space, place);
            old = change_word(wave, context, place, |old| change(&floats, old, data, compare));
        }
        if step.c == 1 {
            wave.v[usize::from(step.d)].set_lane(lane, old);
        }
    }
}

fn change_word<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    place: Place<'_>,
    change: impl Fn(u32) -> u32,
) -> u32 {
    if let Place::Memory(allocation, offset) = place {
        return allocation.update32(offset, change);
    }
    let old = word(wave, context, place, 0);
    set_word(wave, context, place, 0, change(old));
    old
}

/// The same with pairs of registers.
fn change_pairs<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let Some((_, _, change)) = CHANGES64.get(step.k as usize) else { return };
    let (valid, mode) = (wave.valid, float::mode(wave, context));
    for lane in lanes(wave.active) {
        let mut old = 0;
        if valid >> lane & 1 == 1 {
            if !is_aligned(wave, lane, 8) {
                return;
            }
            let Some(place) = place(wave, context, lane, 8, true) else { return };
            let pair = |register: u16| {
                let [low, high] = [0, 1].map(|at| wave.v[usize::from(register) + at].lane(lane));
                u64::from(low) | u64::from(high) << 32
            };
            let (data, compare) = (pair(step.a), pair(step.b));
            let floats = floats(&mode, wave.space, place);
            old = change_pair(wave, context, place, |old| change(&floats, old, data, compare));
        }
        if step.c == 1 {
            wave.v[usize::from(step.d)].set_lane(lane, old as u32);
            wave.v[usize::from(step.d) + 1].set_lane(lane, (old >> 32) as u32);
        }
    }
}

fn change_pair<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    place: Place<'_>,
    change: impl Fn(u64) -> u64,
) -> u64 {
    if let Place::Memory(allocation, offset) = place {
        return allocation.update64(offset, change);
    }
    let [low, high] = [0, 4].map(|at| word(wave, context, place, at));
    let old = u64::from(low) | u64::from(high) << 32;
    let new = change(old);
    set_word(wave, context, place, 0, new as u32);
    set_word(wave, context, place, 4, (new >> 32) as u32);
    old
}

/// The handler of an operation, its number and how many registers its data has.
pub(crate) fn find<const C: usize>(op: Op, ty: Type) -> Option<(Handler<C>, u64, u16)> {
    let matches = |(it, types): (Op, &[Type])| it == op && types.contains(&ty);
    if let Some(at) = CHANGES32.iter().position(|it| matches((it.0, it.1))) {
        return Some((change_words::<C>, at as u64, 1));
    }
    let at = CHANGES64.iter().position(|it| matches((it.0, it.1)))?;
    Some((change_pairs::<C>, at as u64, 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::Generation;

    fn change(op: Op, ty: Type, old: u32, data: u32, compare: u32) -> u32 {
        let (_, at, _) = find::<8>(op, ty).unwrap();
        let mode = Mode::decode(0x3f0, Generation::Gfx11);
        let floats = FloatAtomics::new(&mode, AtomicUnit::Cache);
        CHANGES32[at as usize].2(&floats, old, data, compare)
    }

    #[test]
    fn words_change_as_the_manual_says() {
        assert_eq!(change(Op::AtomicInc, Type::U32, 5, 5, 0), 0);
        assert_eq!(change(Op::AtomicInc, Type::U32, 4, 5, 0), 5);
        assert_eq!(change(Op::AtomicDec, Type::U32, 0, 7, 0), 7);
        assert_eq!(change(Op::AtomicDec, Type::U32, 9, 7, 0), 7);
        assert_eq!(change(Op::AtomicMin, Type::I32, 1, u32::MAX, 0), u32::MAX);
        assert_eq!(change(Op::AtomicMin, Type::U32, 1, u32::MAX, 0), 1);
        assert_eq!(change(Op::AtomicSubClamp, Type::U32, 1, 2, 0), 0);
        assert_eq!(change(Op::AtomicMskor, Type::B32, 0xff, 0x10, 0x0f), 0xf0 | 0x10);
        assert_eq!(change(Op::AtomicCmpswap, Type::B32, 3, 9, 3), 9);
        assert_eq!(change(Op::AtomicPkAdd, Type::F16, 0x3c00_3c00, 0x3c00_4000, 0), 0x4000_4200);
    }
}
