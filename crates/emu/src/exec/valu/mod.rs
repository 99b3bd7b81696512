//! Vector arithmetic: functions of one lane, mapped over all.

pub(crate) mod bit3;
pub(crate) mod carry;
pub(crate) mod compare;
pub(crate) mod dot;
mod half;
mod integer;
mod packed;
mod pair;
mod rare;
pub(crate) mod saturate;
mod wide;

use std::marker::PhantomData;

use super::{Body, blend, value_at};
use crate::generated::Op;
use crate::step::{Context, Handler, Host, Step};
use crate::wave::Wave;

/// A function of up to three registers of a lane.
pub(crate) trait Lane {
    fn f(a: u32, b: u32, c: u32) -> u32;
}

/// A [`Lane`] in all active lanes: `d = f(a, b, c)`.
pub(crate) struct Map<O>(PhantomData<O>);

impl<const C: usize, O: Lane> Body<C> for Map<O> {
    #[inline(always)]
    fn run(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
        let [d, a, b, c] = [step.d, step.a, step.b, step.c].map(usize::from);
        let file = wave.v.as_mut_slice();
        if d.max(a).max(b).max(c) >= file.len() {
            return;
        }
        if wave.full {
            for at in 0..C / 2 {
                let [x, y, z] = [a, b, c].map(|it| file[it].sixteens()[at]);
                let mut result = [0; 16];
                for lane in 0..16 {
                    result[lane] = O::f(x[lane], y[lane], z[lane]);
                }
                file[d].sixteens_mut()[at] = result;
            }
        } else {
            for at in 0..C / 2 {
                let [x, y, z] = [a, b, c].map(|it| file[it].sixteens()[at]);
                let (mask, old) = (wave.mask.sixteens()[at], file[d].sixteens()[at]);
                let mut result = [0; 16];
                for lane in 0..16 {
                    let new = O::f(x[lane], y[lane], z[lane]);
                    result[lane] = new & mask[lane] | old[lane] & !mask[lane];
                }
                file[d].sixteens_mut()[at] = result;
            }
        }
    }
}

/// A function of up to three values of a lane, of which some are two registers wide.
pub(crate) trait Wide {
    /// Which of result and operands have two registers.
    const WIDE: [bool; 4];
    fn f(a: u64, b: u64, c: u64) -> u64;
}

/// A [`Wide`] in all active lanes.
pub(crate) struct MapWide<O>(PhantomData<O>);

impl<const C: usize, O: Wide> Body<C> for MapWide<O> {
    #[inline(always)]
    fn run(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
        let (d, a) = (usize::from(step.d), usize::from(step.a));
        let (b, c) = (usize::from(step.b), usize::from(step.c));
        let [wide, wide_a, wide_b, wide_c] = O::WIDE;
        let file = wave.v.as_mut_slice();
        // The file goes on behind the last register, so that all may be taken for pairs.
        if d.max(a).max(b).max(c) + 1 >= file.len() {
            return;
        }
        for at in 0..C {
            let (mut low, mut high) = ([0; 8], [0; 8]);
            for lane in 0..8 {
                let x = value_at(file, a, at, lane, wide_a);
                let y = value_at(file, b, at, lane, wide_b);
                let z = value_at(file, c, at, lane, wide_c);
                let result = O::f(x, y, z);
                (low[lane], high[lane]) = (result as u32, (result >> 32) as u32);
            }
            if wave.full {
                file[d].0[at] = low;
                if wide {
                    file[d + 1].0[at] = high;
                }
                continue;
            }
            blend(&mut file[d].0[at], &low, &wave.mask.0[at]);
            if wide {
                blend(&mut file[d + 1].0[at], &high, &wave.mask.0[at]);
            }
        }
    }
}

/// A [`Wide`] whose operands and result are pairs of registers, in halves: vectors of 32 bits hold twice as many lanes.
pub(crate) trait Pair {
    /// Which of the operands have two registers; the result has.
    const WIDE: [bool; 3];
    fn f(a: [u32; 2], b: [u32; 2], c: [u32; 2]) -> [u32; 2];
}

/// A [`Pair`] in all active lanes.
pub(crate) struct MapPair<O>(PhantomData<O>);

impl<const C: usize, O: Pair> Body<C> for MapPair<O> {
    #[inline(always)]
    fn run(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
        let (d, a) = (usize::from(step.d), usize::from(step.a));
        let (b, c) = (usize::from(step.b), usize::from(step.c));
        let [wide_a, wide_b, wide_c] = O::WIDE;
        let file = wave.v.as_mut_slice();
        if d.max(a).max(b).max(c) + 1 >= file.len() {
            return;
        }
        for at in 0..C / 2 {
            let lanes = |register: usize| file[register].sixteens()[at];
            let (x, above_x) = (lanes(a), lanes(a + usize::from(wide_a)));
            let (y, above_y) = (lanes(b), lanes(b + usize::from(wide_b)));
            let (z, above_z) = (lanes(c), lanes(c + usize::from(wide_c)));
            let (mut low, mut high) = ([0; 16], [0; 16]);
            for lane in 0..16 {
                [low[lane], high[lane]] = O::f(
                    [x[lane], above_x[lane]],
                    [y[lane], above_y[lane]],
                    [z[lane], above_z[lane]],
                );
            }
            if !wave.full {
                let mask = &wave.mask.sixteens()[at];
                low = blended(&file[d].sixteens()[at], &low, mask);
                high = blended(&file[d + 1].sixteens()[at], &high, mask);
            }
            file[d].sixteens_mut()[at] = low;
            file[d + 1].sixteens_mut()[at] = high;
        }
    }
}

/// New values where the mask is set.
#[inline(always)]
fn blended(old: &[u32; 16], new: &[u32; 16], mask: &[u32; 16]) -> [u32; 16] {
    let mut result = [0; 16];
    for lane in 0..16 {
        result[lane] = new[lane] & mask[lane] | old[lane] & !mask[lane];
    }
    result
}

/// Functions of a lane: what makes their handlers, and `Operation |a, b, c| expression` for each.
macro_rules! lanes {
    (by $handler:ident; $($op:ident |$a:pat_param, $b:pat_param, $c:pat_param| $body:expr;)*) => {
        $(
            pub(crate) struct $op;
            impl $crate::exec::valu::Lane for $op {
                #[inline(always)]
                fn f($a: u32, $b: u32, $c: u32) -> u32 { $body }
            }
        )*

        pub(crate) fn find<const C: usize>(
            op: $crate::generated::Op,
            host: $crate::step::Host,
        ) -> Option<$crate::step::Handler<C>> {
            use $crate::exec::valu::Map;
            use $crate::generated::Op;
            Some(match op {
                $(Op::$op => $crate::exec::$handler::<C, Map<$op>>(host),)*
                _ => return None,
            })
        }
    };
}
pub(crate) use lanes;

/// Functions with wide operands: `Operation [result, a, b, c wide] |a, b, c| expression`.
macro_rules! wides {
    ($($op:ident $wide:expr, |$a:pat_param, $b:pat_param, $c:pat_param| $body:expr;)*) => {
        $(
            pub(crate) struct $op;
            impl $crate::exec::valu::Wide for $op {
                const WIDE: [bool; 4] = $wide;
                #[inline(always)]
                fn f($a: u64, $b: u64, $c: u64) -> u64 { $body }
            }
        )*

        pub(crate) fn find<const C: usize>(
            op: $crate::generated::Op,
            host: $crate::step::Host,
        ) -> Option<$crate::step::Handler<C>> {
            use $crate::exec::valu::MapWide;
            use $crate::generated::Op;
            Some(match op {
                $(Op::$op => $crate::exec::handler::<C, MapWide<$op>>(host),)*
                _ => return None,
            })
        }
    };
}
pub(crate) use wides;

/// The handler of an operation on integers that is a function of a lane.
pub(crate) fn find<const C: usize>(op: Op, host: Host) -> Option<Handler<C>> {
    integer::find(op, host)
        .or_else(|| pair::find(op, host))
        .or_else(|| wide::find(op, host))
        .or_else(|| half::find(op, host))
        .or_else(|| packed::find(op, host))
        .or_else(|| rare::find(op, host))
}
