//! Floats. An [`Operation`] is what an instruction computes in any mode, by `num`; one that the host's unit has as well is
//! quick in the common modes, and falls back to the operation where the host's bits may not be the device's.

mod atomic;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod conversion;
mod division;
mod e5m3;
mod exact;
mod function;
mod host;
mod quick;
mod result;
mod scalar;
mod series;

use crate::generated::Op;
use crate::num::{Denorm, Mode, Round};
use crate::step::{Context, Handler, Host, Step};
use crate::wave::{Wave, lanes};

pub(crate) use atomic::{AtomicUnit, FloatAtomics};
pub(crate) use host::HostFormat;
pub(crate) use result::{Clamp, ClampBoth, OutputScale};
pub(crate) use scalar::{find as find_scalar, shape as scalar_shape};

/// What an instruction computes in a lane, in any mode.
pub(crate) trait Operation {
    /// Which of result and operands have two registers.
    const WIDE: [bool; 4];
    fn f(mode: &Mode, a: u64, b: u64, c: u64) -> u64;
}

/// All of one register.
const W32: [bool; 4] = [false; 4];
/// All of two.
const W64: [bool; 4] = [true; 4];

/// The mode of a wave, for its device.
pub(crate) fn mode<const C: usize>(wave: &Wave<C>, context: &Context<'_>) -> Mode {
    Mode::decode(wave.mode.0, context.numerics)
}

/// One or two registers of a lane.
fn value<const C: usize>(wave: &Wave<C>, register: u16, lane: usize, wide: bool) -> u64 {
    let at = usize::from(register);
    let low = u64::from(wave.v[at].lane(lane));
    if wide { low | u64::from(wave.v[at + 1].lane(lane)) << 32 } else { low }
}

fn set_value<const C: usize>(
    wave: &mut Wave<C>,
    register: u16,
    lane: usize,
    wide: bool,
    bits: u64,
) {
    let at = usize::from(register);
    wave.v[at].set_lane(lane, bits as u32);
    if wide {
        wave.v[at + 1].set_lane(lane, (bits >> 32) as u32);
    }
}

/// `d = f(a, b, c)` in each active lane.
pub(crate) fn each<const C: usize, O: Operation>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    each_of::<C, O>(wave, context, step, wave.active);
}

/// The same in some of them.
#[inline(never)]
fn each_of<const C: usize, O: Operation>(
    wave: &mut Wave<C>,
    context: &Context<'_>,
    step: &Step<C>,
    chosen: u64,
) {
    let mode = mode(wave, context);
    let [wide, wide_a, wide_b, wide_c] = O::WIDE;
    for lane in lanes(chosen) {
        let a = value(wave, step.a, lane, wide_a);
        let b = value(wave, step.b, lane, wide_b);
        let c = value(wave, step.c, lane, wide_c);
        set_value(wave, step.d, lane, wide, O::f(&mode, a, b, c));
    }
}

/// The handler of a vector operation: on the host's unit where a mode allows that.
pub(crate) fn find<const C: usize>(op: Op, mode: &Mode, host: Host) -> Option<Handler<C>> {
    find_named(op, mode, host)
        .or_else(|| quick::find(op, mode, host))
        .or_else(|| division::find_quick(op, mode, host))
        .or_else(|| find_exact(op))
}

/// The handler that names the host's instructions.
fn find_named<const C: usize>(op: Op, mode: &Mode, host: Host) -> Option<Handler<C>> {
    if flushes_singles(mode) != Some(false) {
        return None;
    }
    match host {
        Host::Portable => None,
        #[cfg(target_arch = "x86_64")]
        Host::Avx2 => avx2::find(op),
        #[cfg(target_arch = "x86_64")]
        Host::Avx512 => avx512::find(op),
    }
}

/// The handler of an operation whose clamp bit makes it E5M3.
pub(crate) fn find_e5m3<const C: usize>(op: Op) -> Option<Handler<C>> {
    exact::find_e5m3(op)
}

/// The handler that needs no help of the host's unit.
pub(crate) fn find_exact<const C: usize>(op: Op) -> Option<Handler<C>> {
    exact::find(op).or_else(|| division::find(op))
}

/// Whether a mode rounds f32 as hosts do, and whether it flushes its denormals; none of them where only one side does.
fn flushes_singles(mode: &Mode) -> Option<bool> {
    match (mode.round_f32, mode.denorm_f32) {
        (Round::NearestEven, Denorm::KEEP) => Some(false),
        (Round::NearestEven, Denorm::FLUSH) => Some(true),
        _ => None,
    }
}

/// Whether a mode has f16 and f64 as hosts do.
fn has_plain_halves_and_doubles(mode: &Mode) -> bool {
    mode.round_f16_f64 == Round::NearestEven
        && mode.denorm_f16_f64 == Denorm::KEEP
        && !mode.fp16_ovfl
}

#[cfg(test)]
pub(crate) use quick::OPERATIONS as QUICK_OPERATIONS;
