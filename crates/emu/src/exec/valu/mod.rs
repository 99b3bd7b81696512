//! Vector arithmetic: functions of one lane, mapped over all.

pub(crate) mod bit3;
pub(crate) mod carry;
pub(crate) mod compare;
pub(crate) mod dot;
mod half;
mod integer;
mod packed;
mod rare;
pub(crate) mod saturate;
mod wide;

use std::marker::PhantomData;

use super::Body;
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
            for at in 0..C {
                let (x, y, z) = (file[a].0[at], file[b].0[at], file[c].0[at]);
                let mut result = [0; 8];
                for lane in 0..8 {
                    result[lane] = O::f(x[lane], y[lane], z[lane]);
                }
                file[d].0[at] = result;
            }
        } else {
            for at in 0..C {
                let (x, y, z) = (file[a].0[at], file[b].0[at], file[c].0[at]);
                let (mask, old) = (wave.mask.0[at], file[d].0[at]);
                let mut result = [0; 8];
                for lane in 0..8 {
                    let new = O::f(x[lane], y[lane], z[lane]);
                    result[lane] = new & mask[lane] | old[lane] & !mask[lane];
                }
                file[d].0[at] = result;
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
        let places = [step.d, step.a, step.b, step.c].map(usize::from);
        let [d, a, b, c] = places;
        let file = wave.v.as_mut_slice();
        let last = places.iter().zip(O::WIDE).map(|(at, wide)| at + usize::from(wide)).max();
        if last.is_none_or(|last| last >= file.len()) {
            return;
        }
        for at in 0..C {
            let mut low = [0; 8];
            let mut high = [0; 8];
            for lane in 0..8 {
                let value = |register: usize, wide: bool| {
                    let low = u64::from(file[register].0[at][lane]);
                    let above = register + usize::from(wide);
                    if wide { low | u64::from(file[above].0[at][lane]) << 32 } else { low }
                };
                let [_, wide_a, wide_b, wide_c] = O::WIDE;
                let result = O::f(value(a, wide_a), value(b, wide_b), value(c, wide_c));
                (low[lane], high[lane]) = (result as u32, (result >> 32) as u32);
            }
            let mask = if wave.full { [u32::MAX; 8] } else { wave.mask.0[at] };
            let blend = |old: [u32; 8], new: [u32; 8]| {
                let mut result = [0; 8];
                for lane in 0..8 {
                    result[lane] = new[lane] & mask[lane] | old[lane] & !mask[lane];
                }
                result
            };
            file[d].0[at] = blend(file[d].0[at], low);
            if O::WIDE[0] {
                file[d + 1].0[at] = blend(file[d + 1].0[at], high);
            }
        }
    }
}

/// Functions of a lane: `Operation |a, b, c| expression`.
macro_rules! lanes {
    ($($op:ident |$a:pat_param, $b:pat_param, $c:pat_param| $body:expr;)*) => {
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
                $(Op::$op => $crate::exec::handler::<C, Map<$op>>(host),)*
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
        .or_else(|| wide::find(op, host))
        .or_else(|| half::find(op, host))
        .or_else(|| packed::find(op, host))
        .or_else(|| rare::find(op, host))
}
