//! v_div_scale, which writes a lane mask, and v_div_fmas, which reads VCC.

use super::{mode, set_value, value};
use crate::generated::Op;
use crate::num::{self, F32, F64, Format};
use crate::step::{Context, Handler, Step};
use crate::wave::{Wave, lanes, scalar};

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

pub(super) fn find<const C: usize>(op: Op) -> Option<Handler<C>> {
    Some(match op {
        Op::VDivScaleF32 => scale::<C, F32>,
        Op::VDivScaleF64 => scale::<C, F64>,
        Op::VDivFmasF32 => fmas::<C, F32>,
        Op::VDivFmasF64 => fmas::<C, F64>,
        _ => return None,
    })
}
