//! What `avx2` does, sixteen lanes at a time, also where some lanes are not active.

use std::arch::x86_64::{
    __m512, _CMP_UNORD_Q, _mm512_add_ps, _mm512_cmp_ps_mask, _mm512_fmadd_ps,
    _mm512_mask_cmp_ps_mask, _mm512_mul_ps, _mm512_setzero_ps, _mm512_sub_ps,
};

use super::exact::{VAddF32, VFmaF32, VFmacF32, VMulF32, VSubF32, VSubrevF32};
use super::quick::OnHost;
use crate::exec::Body;
use crate::exec::avx512::{floats, store, store_some};
use crate::generated::Op;
use crate::step::{Context, Handler, Step};
use crate::wave::Wave;

/// The active ones of sixteen lanes.
#[inline(always)]
fn lanes_of(active: u64, at: usize) -> u16 {
    (active >> (16 * at)) as u16
}

/// Whether a lane is NaN.
#[inline]
#[target_feature(enable = "avx512f")]
fn has_nan<const C: usize>(results: &[__m512; C]) -> bool {
    let mut nan = 0;
    for at in 0..C / 4 {
        nan |= _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(results[at], results[C / 4 + at]);
    }
    nan != 0
}

/// Whether an active lane is.
#[inline]
#[target_feature(enable = "avx512f")]
fn has_active_nan<const C: usize>(results: &[__m512; C], active: u64) -> bool {
    let mut nan = 0;
    for (at, &result) in results.iter().enumerate().take(C / 2) {
        let lanes = lanes_of(active, at);
        nan |= _mm512_mask_cmp_ps_mask::<_CMP_UNORD_Q>(lanes, result, result);
    }
    nan != 0
}

/// `name Operation |a, b, c| vector`.
macro_rules! arithmetic {
    ($($name:ident $op:ident |$a:pat_param, $b:pat_param, $c:pat_param| $value:expr;)*) => {
        $(
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,avx512f")]
            fn $name<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
                let (d, a) = (usize::from(step.d), usize::from(step.a));
                let (b, c) = (usize::from(step.b), usize::from(step.c));
                let (full, active) = (wave.full, wave.active);
                let file = wave.v.as_mut_slice();
                if d.max(a).max(b).max(c) >= file.len() {
                    return;
                }
                let mut results = [_mm512_setzero_ps(); C];
                for at in 0..C / 2 {
                    let ($a, $b, $c) = (
                        floats(&file[a].sixteens()[at]),
                        floats(&file[b].sixteens()[at]),
                        floats(&file[c].sixteens()[at]),
                    );
                    results[at] = $value;
                }
                if if full { has_nan(&results) } else { has_active_nan(&results, active) } {
                    return in_doubt::<C, OnHost<$op, false>>(wave, context, step);
                }
                let to = file[d].sixteens_mut();
                if full {
                    for at in 0..C / 2 {
                        store(&mut to[at], results[at]);
                    }
                } else {
                    for at in 0..C / 2 {
                        store_some(&mut to[at], lanes_of(active, at), results[at]);
                    }
                }
            }
        )*

        /// The handler of an operation that keeps denormals.
        pub(super) fn find<const C: usize>(op: Op) -> Option<Handler<C>> {
            Some(match op {
                $(Op::$op => $name::<C>,)*
                _ => return None,
            })
        }
    };
}

/// Eight lanes at a time, those with a NaN one by one.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn in_doubt<const C: usize, B: Body<C>>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    B::run(wave, context, step);
}

arithmetic! {
    add VAddF32 |a, b, _| _mm512_add_ps(a, b);
    sub VSubF32 |a, b, _| _mm512_sub_ps(a, b);
    subrev VSubrevF32 |a, b, _| _mm512_sub_ps(b, a);
    mul VMulF32 |a, b, _| _mm512_mul_ps(a, b);
    fma VFmaF32 |a, b, c| _mm512_fmadd_ps(a, b, c);
    fmac VFmacF32 |a, b, c| _mm512_fmadd_ps(a, b, c);
}
