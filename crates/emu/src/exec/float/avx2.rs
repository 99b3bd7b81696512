//! The arithmetic that most code is made of, for waves with all lanes active and denormals that are kept: all results
//! first, then one test for NaNs.

use std::arch::x86_64::{
    _CMP_UNORD_Q, _mm256_add_ps, _mm256_castps_si256, _mm256_cmp_ps, _mm256_fmadd_ps,
    _mm256_movemask_ps, _mm256_mul_ps, _mm256_or_ps, _mm256_setzero_ps, _mm256_sub_ps,
};

use super::exact::{VAddF32, VFmaF32, VFmacF32, VMulF32, VSubF32, VSubrevF32};
use super::quick::OnHost;
use crate::exec::Body;
use crate::exec::avx2::{floats, lanes};
use crate::generated::Op;
use crate::step::{Context, Handler, Step};
use crate::wave::Wave;

/// `name Operation |a, b, c| vector`.
macro_rules! arithmetic {
    ($($name:ident $op:ident |$a:pat_param, $b:pat_param, $c:pat_param| $value:expr;)*) => {
        $(
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
            fn $name<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
                let (d, a) = (usize::from(step.d), usize::from(step.a));
                let (b, c) = (usize::from(step.b), usize::from(step.c));
                let file = wave.v.as_mut_slice();
                if !wave.full || d.max(a).max(b).max(c) >= file.len() {
                    return OnHost::<$op, false>::run(wave, context, step);
                }
                let mut results = [_mm256_setzero_ps(); C];
                for at in 0..C {
                    let ($a, $b, $c) =
                        (floats(&file[a].0[at]), floats(&file[b].0[at]), floats(&file[c].0[at]));
                    results[at] = $value;
                }
                let mut nan = _mm256_setzero_ps();
                for at in 0..C / 2 {
                    let is_nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(results[at], results[C / 2 + at]);
                    nan = _mm256_or_ps(nan, is_nan);
                }
                if _mm256_movemask_ps(nan) != 0 {
                    return OnHost::<$op, false>::run(wave, context, step);
                }
                for at in 0..C {
                    file[d].0[at] = lanes(_mm256_castps_si256(results[at]));
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

arithmetic! {
    add VAddF32 |a, b, _| _mm256_add_ps(a, b);
    sub VSubF32 |a, b, _| _mm256_sub_ps(a, b);
    subrev VSubrevF32 |a, b, _| _mm256_sub_ps(b, a);
    mul VMulF32 |a, b, _| _mm256_mul_ps(a, b);
    fma VFmaF32 |a, b, c| _mm256_fmadd_ps(a, b, c);
    fmac VFmacF32 |a, b, c| _mm256_fmadd_ps(a, b, c);
}
