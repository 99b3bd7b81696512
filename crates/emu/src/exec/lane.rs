//! Data between lanes, and between vector and scalar registers.

use crate::generated::Op;
use crate::step::{Context, Handler, Step};
use crate::wave::{Vector, Wave, lanes, scalar};

/// `s[d] = a` in the lane `s[b]`.
fn read_lane<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let lane = wave.s[usize::from(step.b)] as usize % Wave::<C>::LANES;
    wave.s[usize::from(step.d)] = wave.v[usize::from(step.a)].lane(lane);
}

/// `d = s[a]` in the lane `s[b]`, active or not.
fn write_lane<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let lane = wave.s[usize::from(step.b)] as usize % Wave::<C>::LANES;
    let value = wave.s[usize::from(step.a)];
    wave.v[usize::from(step.d)].set_lane(lane, value);
}

/// `s[d] = a` in the first active lane, or in the first.
fn read_first_lane<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let lane = wave.active.trailing_zeros() as usize % 64;
    let lane = if wave.active == 0 { 0 } else { lane };
    wave.s[usize::from(step.d)] = wave.v[usize::from(step.a)].lane(lane);
}

/// How many lanes below this one are set in `a`, and `b`: of the first 32 lanes where `k` is 0, else of the others.
fn count_below<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let mut result = Vector::ZERO;
    for lane in 0..Wave::<C>::LANES {
        let below = (1_u64 << lane) - 1;
        let part = if step.k == 0 { below as u32 } else { (below >> 32) as u32 };
        let bits = wave.v[usize::from(step.a)].lane(lane) & part;
        let sum = bits.count_ones().wrapping_add(wave.v[usize::from(step.b)].lane(lane));
        result.set_lane(lane, sum);
    }
    wave.write(step.d, &result);
}

/// The lane that an address in `b` names to ds_permute and ds_bpermute: among `c` lanes that `lane` is one of.
fn addressed<const C: usize>(step: &Step<C>, address: u32, lane: usize) -> usize {
    let number = (address.wrapping_add(step.k as u32 & 0xffff) / 4) as usize;
    let group = usize::from(step.c).min(Wave::<C>::LANES);
    lane / group * group + number % group
}

/// `d` reads `a` in the lane that `b` names in bytes; a lane that is off gives zero, unless `k` is 1.
fn backward_permute<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let (from, to) = (wave.v[usize::from(step.a)], wave.v[usize::from(step.b)]);
    let mut result = Vector::ZERO;
    for lane in lanes(wave.active) {
        let source = addressed(step, to.lane(lane), lane);
        let is_on = wave.active >> source & 1 == 1 || step.k >> 16 == 1;
        result.set_lane(lane, if is_on { from.lane(source) } else { 0 });
    }
    wave.write(step.d, &result);
}

/// Each active lane sends `a` to the lane that `b` names in bytes; the last one wins, the others get zero.
fn permute<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let (from, to) = (wave.v[usize::from(step.a)], wave.v[usize::from(step.b)]);
    let mut result = Vector::ZERO;
    for lane in lanes(wave.active) {
        let target = addressed(step, to.lane(lane), lane);
        result.set_lane(target, from.lane(lane));
    }
    wave.write(step.d, &result);
}

/// The lane that `ds_swizzle` reads under a pattern, within 32 lanes.
fn swizzle_source(pattern: usize, lane: usize) -> usize {
    let at = lane & 31;
    let mask = pattern & 31;
    let inside = match pattern >> 13 {
        // Halves of a Fourier transform: the number's bits turned round, but for those of the mask.
        0b111 => at.reverse_bits() >> (usize::BITS - 5) >> mask.count_ones() | at & mask,
        0b110 => {
            let rotate = pattern >> 5 & 31;
            let shift = if pattern >> 10 & 1 == 1 { 32 - rotate } else { rotate };
            at & mask | (at + shift) & !mask & 31
        }
        0b100 | 0b101 => at & !3 | pattern >> (at % 4 * 2) & 3,
        _ => {
            let (and, or, xor) = (mask, pattern >> 5 & 31, pattern >> 10 & 31);
            (at & and | or) ^ xor
        }
    };
    lane & !31 | inside
}

/// `d` reads `a` in other lanes by the pattern `k`; those that are off give zero.
fn swizzle<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let from = wave.v[usize::from(step.a)];
    let mut result = Vector::ZERO;
    for lane in lanes(wave.active) {
        let source = swizzle_source(step.k as usize, lane);
        let is_on = wave.active >> source & 1 == 1;
        result.set_lane(lane, if is_on { from.lane(source) } else { 0 });
    }
    wave.write(step.d, &result);
}

/// Exchanges `d` and `a`.
fn swap<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let (first, second) = (wave.v[usize::from(step.d)], wave.v[usize::from(step.a)]);
    wave.write(step.d, &second);
    wave.write(step.a, &first);
}

/// `v_permlane16`: within rows of 16, by four bits for each lane in `s[b]` and `s[c]`; `k`: 1 fetch inactive,
/// 2 bound control, 4 from the other row.
fn permlane16<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let selectors =
        u64::from(wave.s[usize::from(step.b)]) | u64::from(wave.s[usize::from(step.c)]) << 32;
    let (from, old) = (wave.v[usize::from(step.a)], wave.v[usize::from(step.d)]);
    let mut result = old;
    for lane in lanes(wave.active) {
        let row = if step.k & 4 != 0 { (lane & !15) ^ 16 } else { lane & !15 };
        let source = row | (selectors >> (lane % 16 * 4)) as usize & 15;
        let is_on = wave.active >> source & 1 == 1 || step.k & 1 != 0;
        if is_on {
            result.set_lane(lane, from.lane(source));
        } else if step.k & 2 != 0 {
            result.set_lane(lane, 0);
        }
    }
    wave.write(step.d, &result);
}

/// The same, with the four bits in the vector `b`.
fn permlane16_var<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let (from, selectors) = (wave.v[usize::from(step.a)], wave.v[usize::from(step.b)]);
    let mut result = wave.v[usize::from(step.d)];
    for lane in lanes(wave.active) {
        let row = if step.k & 4 != 0 { (lane & !15) ^ 16 } else { lane & !15 };
        let source = row | selectors.lane(lane) as usize & 15;
        let is_on = wave.active >> source & 1 == 1 || step.k & 1 != 0;
        if is_on {
            result.set_lane(lane, from.lane(source));
        } else if step.k & 2 != 0 {
            result.set_lane(lane, 0);
        }
    }
    wave.write(step.d, &result);
}

/// How lanes of a group read each other, active or not: from the number and the group's width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    Broadcast,
    Up,
    Down,
    Xor,
}

impl Within {
    /// The lane that one reads; a width that is no power of two is undefined.
    fn source(self, lane: u32, number: u32, width: u32, lanes: u32) -> u32 {
        let width = if width == 0 { lanes } else { width.min(lanes) };
        let (base, at) = (lane / width * width, lane % width);
        let inside = match self {
            Self::Broadcast => number % 64 % width,
            Self::Up => at.checked_sub(number).unwrap_or(at),
            Self::Down => at.checked_add(number).filter(|it| *it < width).unwrap_or(at),
            Self::Xor if number >= lanes => at,
            Self::Xor => {
                let other = lane ^ (number % 64);
                return if other >= base + width { lane } else { other };
            }
        };
        base + inside
    }
}

/// `d` reads `a` in a lane of its group: `s[b]` is the number, `s[c]` the width of groups.
fn within<const C: usize, const N: u8>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let kind = match N {
        0 => Within::Broadcast,
        1 => Within::Up,
        2 => Within::Down,
        _ => Within::Xor,
    };
    let (number, width) = (wave.s[usize::from(step.b)], wave.s[usize::from(step.c)]);
    let from = wave.v[usize::from(step.a)];
    let mut result = Vector::ZERO;
    let lanes = Wave::<C>::LANES as u32;
    for lane in 0..lanes {
        let source = kind.source(lane, number, width, lanes);
        result.set_lane(lane as usize, from.lane(source as usize));
    }
    wave.write(step.d, &result);
}

/// Addresses for ds_bpermute: the lane `a` of a group of `s[b]`.
fn index_within<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let from = wave.v[usize::from(step.a)];
    let mask = wave.s[usize::from(step.b)].wrapping_sub(1);
    let mut result = Vector::ZERO;
    for lane in 0..Wave::<C>::LANES {
        let chosen = from.lane(lane) & 63 & mask;
        result.set_lane(lane, chosen.wrapping_add(lane as u32 & !mask) << 2);
    }
    wave.write(step.d, &result);
}

/// `v_permlane64`: the halves of the wave exchanged; nothing in waves that have one.
fn permlane64<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    if C == 8 {
        let mut result = wave.v[usize::from(step.a)];
        result.0.rotate_left(C / 2);
        wave.write(step.d, &result);
    }
}

/// Exchanges halves of `d` and `a`: the upper ones where bits 0 and 1 of `k` are set.
fn swap_halves<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let half = |register: &Vector<C>, lane: usize, bit: u64| {
        register.lane(lane) >> ((step.k >> bit & 1) * 16) & 0xffff
    };
    let put = |register: &mut Vector<C>, lane: usize, bit: u64, value: u32| {
        let shift = (step.k >> bit & 1) * 16;
        register.set_lane(lane, register.lane(lane) & !(0xffff << shift) | value << shift);
    };
    for lane in lanes(wave.active) {
        let first = half(&wave.v[usize::from(step.d)], lane, 0);
        let second = half(&wave.v[usize::from(step.a)], lane, 1);
        put(&mut wave.v[usize::from(step.d)], lane, 0, second);
        put(&mut wave.v[usize::from(step.a)], lane, 1, first);
    }
}

/// The register M0 behind `first`, of the `k` first of the file; `first` itself where there is none.
fn relative<const C: usize>(wave: &Wave<C>, first: u16, k: u64) -> usize {
    let at = usize::from(first) + wave.s[usize::from(scalar::M0)] as usize;
    if (at as u64) < k { at } else { usize::from(first) }
}

/// `d =` the register M0 behind `a`.
fn move_relative_source<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let value = wave.v[relative(wave, step.a, step.k)];
    wave.write(step.d, &value);
}

/// The register M0 behind `d` is `a`.
fn move_relative_target<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let value = wave.v[usize::from(step.a)];
    let to = relative(wave, step.d, step.k) as u16;
    wave.write(to, &value);
}

/// The register M0 behind `d` is the one M0 behind `a`.
fn move_relative_both<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let value = wave.v[relative(wave, step.a, step.k)];
    let to = relative(wave, step.d, step.k) as u16;
    wave.write(to, &value);
}

/// Registers that halves of M0 count from: of the destination the upper, of the source the lower one.
fn relative_by_halves<const C: usize>(wave: &Wave<C>, step: &Step<C>) -> Option<(u16, u16)> {
    let m0 = wave.s[usize::from(scalar::M0)];
    let (to, from) = (u32::from(step.d) + (m0 >> 16 & 0x3ff), u32::from(step.a) + (m0 & 0x3ff));
    let inside = |register: u32| u64::from(register) < step.k;
    (inside(to) && inside(from)).then_some((to as u16, from as u16))
}

fn move_relative_halves<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    if let Some((to, from)) = relative_by_halves(wave, step) {
        let value = wave.v[usize::from(from)];
        wave.write(to, &value);
    }
}

fn swap_relative<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    if let Some((to, from)) = relative_by_halves(wave, step) {
        let (first, second) = (wave.v[usize::from(to)], wave.v[usize::from(from)]);
        wave.write(to, &second);
        wave.write(from, &first);
    }
}

/// Exchanges rows of `N` lanes: the odd ones of `d` with the even ones of `a`.
fn swap_rows<const C: usize, const N: usize>(
    wave: &mut Wave<C>,
    _: &mut Context<'_>,
    step: &Step<C>,
) {
    let (first, second) = (usize::from(step.d), usize::from(step.a));
    for lane in (0..Wave::<C>::LANES).filter(|lane| lane / N % 2 == 1) {
        // In place: both may be the same register.
        let (up, down) = (wave.v[first].lane(lane), wave.v[second].lane(lane - N));
        if wave.active >> lane & 1 == 1 {
            wave.v[first].set_lane(lane, down);
        }
        if wave.active >> (lane - N) & 1 == 1 {
            wave.v[second].set_lane(lane - N, up);
        }
    }
}

/// The handler of an operation between lanes.
pub(crate) fn find<const C: usize>(op: Op) -> Option<Handler<C>> {
    Some(match op {
        Op::VReadlaneB32 => read_lane::<C>,
        Op::VWritelaneB32 => write_lane::<C>,
        Op::VReadfirstlaneB32 => read_first_lane::<C>,
        Op::VMbcntLoU32B32 | Op::VMbcntHiU32B32 => count_below::<C>,
        Op::DsBpermuteB32 | Op::DsBpermuteFiB32 => backward_permute::<C>,
        Op::DsPermuteB32 => permute::<C>,
        Op::DsSwizzleB32 => swizzle::<C>,
        Op::VSwapB32 => swap::<C>,
        Op::VPermlane16B32 | Op::VPermlanex16B32 => permlane16::<C>,
        Op::VPermlane64B32 => permlane64::<C>,
        Op::VPermlane16VarB32 | Op::VPermlanex16VarB32 => permlane16_var::<C>,
        Op::VPermlaneBcastB32 => within::<C, 0>,
        Op::VPermlaneUpB32 => within::<C, 1>,
        Op::VPermlaneDownB32 => within::<C, 2>,
        Op::VPermlaneXorB32 => within::<C, 3>,
        Op::VPermlaneIdxGenB32 => index_within::<C>,
        Op::VSwapB16 => swap_halves::<C>,
        Op::VMovrelsd2B32 => move_relative_halves::<C>,
        Op::VSwaprelB32 => swap_relative::<C>,
        Op::VMovrelsB32 => move_relative_source::<C>,
        Op::VMovreldB32 => move_relative_target::<C>,
        Op::VMovrelsdB32 => move_relative_both::<C>,
        Op::VPermlane16SwapB32 => swap_rows::<C, 16>,
        Op::VPermlane32SwapB32 => swap_rows::<C, 32>,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The manual's examples count lanes from 1.
    #[test]
    fn swizzles_are_those_of_the_manual() {
        let of = |pattern: usize| -> Vec<usize> {
            (0..32).map(|lane| swizzle_source(pattern, lane) + 1).collect()
        };
        assert_eq!(of(0xe000)[..8], [0x1, 0x11, 0x9, 0x19, 0x5, 0x15, 0xd, 0x1d]);
        assert_eq!(of(0xe010)[..8], [0x1, 0x9, 0x5, 0xd, 0x3, 0xb, 0x7, 0xf]);
        assert_eq!(of(0xe010)[16..20], [0x11, 0x19, 0x15, 0x1d]);
        assert_eq!(of(0xe01f), (1..=32).collect::<Vec<_>>());
        assert_eq!((of(0xc020)[0], of(0xc020)[31]), (2, 1));
        assert_eq!((of(0xc420)[0], of(0xc420)[1]), (0x20, 1));
        assert_eq!(of(0xc021)[..4], [1, 4, 3, 6]);
        assert_eq!(of(0xc421)[..4], [0x1f, 2, 1, 4]);
        assert_eq!(swizzle_source(0xe000, 33), 32 + 16);
    }
}
