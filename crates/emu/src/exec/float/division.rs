//! v_div_scale, which writes a lane mask, and v_div_fmas, which reads VCC.

use super::host::{MIN_NORMAL, SIGN, f};
use super::quick::{field, is_normal};
use super::{flushes_singles, mode, set_value, value};
use crate::exec::{Body, all_ones_if, handler, lane_mask};
use crate::generated::Op;
use crate::num::{self, F32, F64, Format, Mode};
use crate::step::{Context, Handler, Host, Step};
use crate::wave::{Vector, Wave, lanes, scalar};

/// `d` is `a` scaled, which is the denominator `b` or the numerator `c`; the mask `e` says where to scale back.
fn scale<const C: usize, F: Format>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let (env, wide) = (mode(wave, context).env::<F>(), F::WIDTH == 64);
    let mut scaled_back = 0;
    for lane in lanes(wave.active) {
        let [a, b, c] = [step.a, step.b, step.c].map(|at| F::narrow(value(wave, at, lane, wide)));
        let (bits, scales_back) = num::div_scale::<F>(a, b, c, env);
        set_value(wave, step.d, lane, wide, bits.into());
        scaled_back |= u64::from(scales_back) << lane;
    }
    wave.set_lane_mask(step.e, scaled_back);
}

/// `d = a * b + c`, scaled back where VCC says so.
fn fmas<const C: usize, F: Format>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let (env, wide) = (mode(wave, context).env::<F>(), F::WIDTH == 64);
    let vcc = wave.lane_mask(scalar::VCC);
    for lane in lanes(wave.active) {
        let [a, b, c] = [step.a, step.b, step.c].map(|at| F::narrow(value(wave, at, lane, wide)));
        let bits = num::div_fmas::<F>(a, b, c, vcc >> lane & 1 == 1, env);
        set_value(wave, step.d, lane, wide, bits.into());
    }
}

/// [`scale`] of f32 in all lanes at once, where numbers are normal or zero.
struct QuickScale;

/// What v_div_scale gives, whether to scale back, and whether that is in doubt.
#[inline(always)]
fn quick_scale(value: u32, denominator: u32, numerator: u32) -> (u32, bool, bool) {
    const SCALE: u32 = 64;
    const DOWN: u32 = SCALE.wrapping_neg();
    let (v, d, n) = (field(value), field(denominator), field(numerator));
    let (is_above, is_below) = (n >= d + 96, d >= n + 96);
    let is_denominator = value == denominator;
    // The rules of `num`, the last one first.
    let (mut by, mut post) = (if n <= 24 { SCALE } else { 0 }, is_below);
    by = if is_below { if is_denominator { 0 } else { SCALE } } else { by };
    by = if d >= 253 { if is_below & !is_denominator { 0 } else { DOWN } } else { by };
    by = if d == 0 { SCALE } else { by };
    post &= d != 0;
    by = if is_above { if is_denominator { SCALE } else { 0 } } else { by };
    post |= is_above;
    let is_invalid = (denominator & !SIGN == 0) | (numerator & !SIGN == 0);
    let scaled = value.wrapping_add(by << 23);
    let is_scaled = is_normal(v) & is_normal(v.wrapping_add(by));
    let is_usual = |bits: u32, field: u32| is_normal(field) | (bits & !SIGN == 0);
    let is_known = is_usual(denominator, d) & is_usual(numerator, n) & (is_invalid | is_scaled);
    (if is_invalid { F32::INVALID as u32 } else { scaled }, post, !is_known)
}

impl<const C: usize> Body<C> for QuickScale {
    #[inline(always)]
    fn run(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
        let [a, b, c] = [step.a, step.b, step.c].map(|at| &wave.v[usize::from(at)]);
        let (mut doubts, mut columns, mut result) = ([0; 8], [0; 8], Vector::ZERO);
        for at in 0..C {
            let mask = if wave.full { &[u32::MAX; 8] } else { &wave.mask.0[at] };
            for lane in 0..8 {
                let (bits, post, doubt) = quick_scale(a.0[at][lane], b.0[at][lane], c.0[at][lane]);
                result.0[at][lane] = bits;
                columns[lane] |= all_ones_if(post) & 1 << at;
                doubts[lane] |= all_ones_if(doubt) & mask[lane];
            }
        }
        if doubts != [0; 8] {
            return scale::<C, F32>(wave, context, step);
        }
        wave.write(step.d, &result);
        wave.set_lane_mask(step.e, lane_mask(columns) & wave.active);
    }
}

/// [`fmas`] of f32 in all lanes at once, where results are normal or zero. `Z`: denormal results are zeros.
struct QuickFmas<const Z: bool>;

/// What v_div_fmas gives, and whether it is in doubt.
#[inline(always)]
fn quick_fmas<const Z: bool>([a, b, c]: [u32; 3], post: bool) -> (u32, bool) {
    let value = f(a).mul_add(f(b), f(c));
    let bits = value.to_bits();
    let may_vanish = Z & ((bits & !SIGN).wrapping_sub(1) < MIN_NORMAL);
    let by = if field(c) > 127 { 64 } else { 64_u32.wrapping_neg() };
    let is_scaled = is_normal(field(bits)) & is_normal(field(bits).wrapping_add(by));
    let doubt = if post { !is_scaled } else { may_vanish };
    (if post { bits.wrapping_add(by << 23) } else { bits }, value.is_nan() | doubt)
}

impl<const C: usize, const Z: bool> Body<C> for QuickFmas<Z> {
    #[inline(always)]
    fn run(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
        let [a, b, c] = [step.a, step.b, step.c].map(|at| &wave.v[usize::from(at)]);
        let post = Vector::<C>::of_lanes(wave.lane_mask(scalar::VCC));
        let (mut doubtful, mut result) = (0, Vector::ZERO);
        for at in 0..C {
            let mask = if wave.full { &[u32::MAX; 8] } else { &wave.mask.0[at] };
            let mut doubts = [0; 8];
            for lane in 0..8 {
                let operands = [a.0[at][lane], b.0[at][lane], c.0[at][lane]];
                let (bits, doubt) = quick_fmas::<Z>(operands, post.0[at][lane] != 0);
                result.0[at][lane] = bits;
                doubts[lane] = all_ones_if(doubt) & mask[lane];
            }
            doubtful |= u64::from(doubts != [0; 8]) * (0xff << (at * 8));
        }
        if doubtful == 0 {
            return wave.write(step.d, &result);
        }
        let [a, b, c] = [*a, *b, *c];
        for lane in lanes(wave.active & doubtful) {
            let [a, b, c] = [a, b, c].map(|it| it.lane(lane));
            let env = mode(wave, context).env::<F32>();
            let bits = num::div_fmas::<F32>(a, b, c, post.lane(lane) != 0, env);
            result.set_lane(lane, bits);
        }
        wave.write(step.d, &result);
    }
}

/// The handler that takes the usual numbers as they are.
pub(super) fn find_quick<const C: usize>(op: Op, mode: &Mode, host: Host) -> Option<Handler<C>> {
    Some(match (op, flushes_singles(mode)) {
        (Op::VDivScaleF32, _) => handler::<C, QuickScale>(host),
        (Op::VDivFmasF32, Some(false)) => handler::<C, QuickFmas<false>>(host),
        (Op::VDivFmasF32, Some(true)) => handler::<C, QuickFmas<true>>(host),
        _ => return None,
    })
}

pub(super) fn find<const C: usize>(op: Op) -> Option<Handler<C>> {
    Some(match op {
        Op::VDivScaleF32 => scale::<C, F32>,
        Op::VDivScaleF64 => scale::<C, F64>,
        Op::VDivFmasF32 => fmas::<C, F32>,
        Op::VDivFmasF64 => fmas::<C, F64>,
        _ => return None,
    })
}
