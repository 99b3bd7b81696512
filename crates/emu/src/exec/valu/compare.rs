//! Comparisons: a lane mask from two operands.
#![allow(
    clippy::neg_cmp_op_on_partial_ord,
    reason = "operations are named for the negation, which is true of NaN"
)]

use std::marker::PhantomData;

use super::super::{Body, handler};
use crate::exec::float::HostFormat;
use crate::generated::Op;
use crate::num::{self, F16, F32, F64, Format, Mode};
use crate::step::{Context, Handler, Host, Step};
use crate::wave::{Wave, scalar};

/// A comparison of two values of a lane.
pub(crate) trait Compare {
    /// Whether the operands have two registers.
    const WIDE: [bool; 2];
    fn f(a: u64, b: u64) -> bool;
}

/// A comparison into the scalar register `d`, of lanes that are not active zero.
struct Set<O>(PhantomData<O>);
/// A comparison into EXEC and the scalar register `d`.
struct SetExec<O>(PhantomData<O>);

#[inline(always)]
fn compared<const C: usize, O: Compare>(wave: &Wave<C>, step: &Step<C>) -> u64 {
    let (a, b) = (usize::from(step.a), usize::from(step.b));
    let file = wave.v.as_slice();
    if a.max(b) + 1 >= file.len() {
        return 0;
    }
    let mut all = 0;
    for at in 0..C {
        let mut bits = 0;
        for lane in 0..8 {
            let value = |register: usize, wide: bool| {
                let low = u64::from(file[register].0[at][lane]);
                if wide { low | u64::from(file[register + 1].0[at][lane]) << 32 } else { low }
            };
            let is_true = O::f(value(a, O::WIDE[0]), value(b, O::WIDE[1]));
            bits |= u32::from(is_true) << lane;
        }
        all |= u64::from(bits) << (at * 8);
    }
    all & wave.active
}

impl<const C: usize, O: Compare> Body<C> for Set<O> {
    #[inline(always)]
    fn run(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
        let mask = compared::<C, O>(wave, step);
        wave.set_lane_mask(step.d, mask);
    }
}

impl<const C: usize, O: Compare> Body<C> for SetExec<O> {
    #[inline(always)]
    fn run(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
        let mask = compared::<C, O>(wave, step);
        wave.set_lane_mask(step.d, mask);
        wave.set_lane_mask(scalar::EXEC, mask);
        wave.sync_exec();
    }
}

macro_rules! compares {
    ($($set:ident $set_exec:ident $wide:expr, |$a:pat_param, $b:pat_param| $body:expr;)*) => {
        $(
            struct $set;
            impl Compare for $set {
                const WIDE: [bool; 2] = $wide;
                #[inline(always)]
                fn f($a: u64, $b: u64) -> bool { $body }
            }
        )*

        /// The handler of a comparison that no mode changes.
        fn plain<const C: usize>(op: Op, host: Host) -> Option<Handler<C>> {
            Some(match op {
                $(
                    Op::$set => handler::<C, Set<$set>>(host),
                    Op::$set_exec => handler::<C, SetExec<$set>>(host),
                )*
                _ => return None,
            })
        }
    };
}

const NARROW: [bool; 2] = [false; 2];
const WIDE: [bool; 2] = [true; 2];

compares! {
    VCmpFU16 VCmpxFU16 NARROW, |_, _| false;
    VCmpLtU16 VCmpxLtU16 NARROW, |a, b| (a as u16) < (b as u16);
    VCmpEqU16 VCmpxEqU16 NARROW, |a, b| (a as u16) == (b as u16);
    VCmpLeU16 VCmpxLeU16 NARROW, |a, b| (a as u16) <= (b as u16);
    VCmpGtU16 VCmpxGtU16 NARROW, |a, b| (a as u16) > (b as u16);
    VCmpNeU16 VCmpxNeU16 NARROW, |a, b| (a as u16) != (b as u16);
    VCmpGeU16 VCmpxGeU16 NARROW, |a, b| (a as u16) >= (b as u16);
    VCmpTU16 VCmpxTU16 NARROW, |_, _| true;
    VCmpFI16 VCmpxFI16 NARROW, |_, _| false;
    VCmpLtI16 VCmpxLtI16 NARROW, |a, b| (a as i16) < (b as i16);
    VCmpEqI16 VCmpxEqI16 NARROW, |a, b| (a as i16) == (b as i16);
    VCmpLeI16 VCmpxLeI16 NARROW, |a, b| (a as i16) <= (b as i16);
    VCmpGtI16 VCmpxGtI16 NARROW, |a, b| (a as i16) > (b as i16);
    VCmpNeI16 VCmpxNeI16 NARROW, |a, b| (a as i16) != (b as i16);
    VCmpGeI16 VCmpxGeI16 NARROW, |a, b| (a as i16) >= (b as i16);
    VCmpTI16 VCmpxTI16 NARROW, |_, _| true;
    VCmpFU32 VCmpxFU32 NARROW, |_, _| false;
    VCmpLtU32 VCmpxLtU32 NARROW, |a, b| (a as u32) < (b as u32);
    VCmpEqU32 VCmpxEqU32 NARROW, |a, b| (a as u32) == (b as u32);
    VCmpLeU32 VCmpxLeU32 NARROW, |a, b| (a as u32) <= (b as u32);
    VCmpGtU32 VCmpxGtU32 NARROW, |a, b| (a as u32) > (b as u32);
    VCmpNeU32 VCmpxNeU32 NARROW, |a, b| (a as u32) != (b as u32);
    VCmpGeU32 VCmpxGeU32 NARROW, |a, b| (a as u32) >= (b as u32);
    VCmpTU32 VCmpxTU32 NARROW, |_, _| true;
    VCmpFI32 VCmpxFI32 NARROW, |_, _| false;
    VCmpLtI32 VCmpxLtI32 NARROW, |a, b| (a as i32) < (b as i32);
    VCmpEqI32 VCmpxEqI32 NARROW, |a, b| (a as i32) == (b as i32);
    VCmpLeI32 VCmpxLeI32 NARROW, |a, b| (a as i32) <= (b as i32);
    VCmpGtI32 VCmpxGtI32 NARROW, |a, b| (a as i32) > (b as i32);
    VCmpNeI32 VCmpxNeI32 NARROW, |a, b| (a as i32) != (b as i32);
    VCmpGeI32 VCmpxGeI32 NARROW, |a, b| (a as i32) >= (b as i32);
    VCmpTI32 VCmpxTI32 NARROW, |_, _| true;
    VCmpFU64 VCmpxFU64 WIDE, |_, _| false;
    VCmpLtU64 VCmpxLtU64 WIDE, |a, b| a < b;
    VCmpEqU64 VCmpxEqU64 WIDE, |a, b| a == b;
    VCmpLeU64 VCmpxLeU64 WIDE, |a, b| a <= b;
    VCmpGtU64 VCmpxGtU64 WIDE, |a, b| a > b;
    VCmpNeU64 VCmpxNeU64 WIDE, |a, b| a != b;
    VCmpGeU64 VCmpxGeU64 WIDE, |a, b| a >= b;
    VCmpTU64 VCmpxTU64 WIDE, |_, _| true;
    VCmpFI64 VCmpxFI64 WIDE, |_, _| false;
    VCmpLtI64 VCmpxLtI64 WIDE, |a, b| a.cast_signed() < b.cast_signed();
    VCmpEqI64 VCmpxEqI64 WIDE, |a, b| a.cast_signed() == b.cast_signed();
    VCmpLeI64 VCmpxLeI64 WIDE, |a, b| a.cast_signed() <= b.cast_signed();
    VCmpGtI64 VCmpxGtI64 WIDE, |a, b| a.cast_signed() > b.cast_signed();
    VCmpNeI64 VCmpxNeI64 WIDE, |a, b| a.cast_signed() != b.cast_signed();
    VCmpGeI64 VCmpxGeI64 WIDE, |a, b| a.cast_signed() >= b.cast_signed();
    VCmpTI64 VCmpxTI64 WIDE, |_, _| true;
    VCmpClassF16 VCmpxClassF16 NARROW, |a, b| num::class::<F16>(a as u16, b as u32);
    VCmpClassF32 VCmpxClassF32 NARROW, |a, b| num::class::<F32>(a as u32, b as u32);
    VCmpClassF64 VCmpxClassF64 [true, false], |a, b| num::class::<F64>(a, b as u32);
}

/// The sixteen relations of floats.
macro_rules! relation {
    (F, $x:ident, $y:ident) => {{
        let _ = ($x, $y);
        false
    }};
    (Lt, $x:ident, $y:ident) => {
        $x < $y
    };
    (Eq, $x:ident, $y:ident) => {
        $x == $y
    };
    (Le, $x:ident, $y:ident) => {
        $x <= $y
    };
    (Gt, $x:ident, $y:ident) => {
        $x > $y
    };
    (Lg, $x:ident, $y:ident) => {
        ($x < $y) | ($x > $y)
    };
    (Ge, $x:ident, $y:ident) => {
        $x >= $y
    };
    (O, $x:ident, $y:ident) => {
        !($x.is_nan() | $y.is_nan())
    };
    (U, $x:ident, $y:ident) => {
        $x.is_nan() | $y.is_nan()
    };
    (Nge, $x:ident, $y:ident) => {
        !($x >= $y)
    };
    (Nlg, $x:ident, $y:ident) => {
        !(($x < $y) | ($x > $y))
    };
    (Ngt, $x:ident, $y:ident) => {
        !($x > $y)
    };
    (Nle, $x:ident, $y:ident) => {
        !($x <= $y)
    };
    (Neq, $x:ident, $y:ident) => {
        $x != $y
    };
    (Nlt, $x:ident, $y:ident) => {
        !($x < $y)
    };
    (T, $x:ident, $y:ident) => {{
        let _ = ($x, $y);
        true
    }};
}

/// A comparison of floats; `Z`: denormals are zeros.
macro_rules! floats {
    ($($set:ident $set_exec:ident $format:ident $relation:ident;)*) => {
        $(
            struct $set<const Z: bool>;
            impl<const Z: bool> Compare for $set<Z> {
                const WIDE: [bool; 2] = [$format::WIDTH == 64; 2];
                #[inline(always)]
                fn f(a: u64, b: u64) -> bool {
                    let (x, y) = ($format::on_host::<Z>(a), $format::on_host::<Z>(b));
                    relation!($relation, x, y)
                }
            }
        )*

        /// The handler of a comparison of floats.
        fn float<const C: usize>(op: Op, mode: &Mode, host: Host) -> Option<Handler<C>> {
            Some(match op {
                $(
                    Op::$set if mode.env::<$format>().denorm.input => handler::<C, Set<$set<false>>>(host),
                    Op::$set => handler::<C, Set<$set<true>>>(host),
                    Op::$set_exec if mode.env::<$format>().denorm.input => handler::<C, SetExec<$set<false>>>(host),
                    Op::$set_exec => handler::<C, SetExec<$set<true>>>(host),
                )*
                _ => return None,
            })
        }

        /// Every comparison of floats.
        #[cfg(test)]
        pub(crate) const FLOATS: &[(Op, num::Relation, u32)] =
            &[$((Op::$set, num::Relation::$relation, $format::WIDTH),)*];
    };
}

floats! {
    VCmpFF16 VCmpxFF16 F16 F;
    VCmpLtF16 VCmpxLtF16 F16 Lt;
    VCmpEqF16 VCmpxEqF16 F16 Eq;
    VCmpLeF16 VCmpxLeF16 F16 Le;
    VCmpGtF16 VCmpxGtF16 F16 Gt;
    VCmpGeF16 VCmpxGeF16 F16 Ge;
    VCmpLgF16 VCmpxLgF16 F16 Lg;
    VCmpOF16 VCmpxOF16 F16 O;
    VCmpUF16 VCmpxUF16 F16 U;
    VCmpNgeF16 VCmpxNgeF16 F16 Nge;
    VCmpNgtF16 VCmpxNgtF16 F16 Ngt;
    VCmpNleF16 VCmpxNleF16 F16 Nle;
    VCmpNltF16 VCmpxNltF16 F16 Nlt;
    VCmpNlgF16 VCmpxNlgF16 F16 Nlg;
    VCmpNeqF16 VCmpxNeqF16 F16 Neq;
    VCmpTruF16 VCmpxTruF16 F16 T;
    VCmpTF16 VCmpxTF16 F16 T;
    VCmpFF32 VCmpxFF32 F32 F;
    VCmpLtF32 VCmpxLtF32 F32 Lt;
    VCmpEqF32 VCmpxEqF32 F32 Eq;
    VCmpLeF32 VCmpxLeF32 F32 Le;
    VCmpGtF32 VCmpxGtF32 F32 Gt;
    VCmpGeF32 VCmpxGeF32 F32 Ge;
    VCmpLgF32 VCmpxLgF32 F32 Lg;
    VCmpOF32 VCmpxOF32 F32 O;
    VCmpUF32 VCmpxUF32 F32 U;
    VCmpNgeF32 VCmpxNgeF32 F32 Nge;
    VCmpNgtF32 VCmpxNgtF32 F32 Ngt;
    VCmpNleF32 VCmpxNleF32 F32 Nle;
    VCmpNltF32 VCmpxNltF32 F32 Nlt;
    VCmpNlgF32 VCmpxNlgF32 F32 Nlg;
    VCmpNeqF32 VCmpxNeqF32 F32 Neq;
    VCmpTruF32 VCmpxTruF32 F32 T;
    VCmpTF32 VCmpxTF32 F32 T;
    VCmpFF64 VCmpxFF64 F64 F;
    VCmpLtF64 VCmpxLtF64 F64 Lt;
    VCmpEqF64 VCmpxEqF64 F64 Eq;
    VCmpLeF64 VCmpxLeF64 F64 Le;
    VCmpGtF64 VCmpxGtF64 F64 Gt;
    VCmpGeF64 VCmpxGeF64 F64 Ge;
    VCmpLgF64 VCmpxLgF64 F64 Lg;
    VCmpOF64 VCmpxOF64 F64 O;
    VCmpUF64 VCmpxUF64 F64 U;
    VCmpNgeF64 VCmpxNgeF64 F64 Nge;
    VCmpNgtF64 VCmpxNgtF64 F64 Ngt;
    VCmpNleF64 VCmpxNleF64 F64 Nle;
    VCmpNltF64 VCmpxNltF64 F64 Nlt;
    VCmpNlgF64 VCmpxNlgF64 F64 Nlg;
    VCmpNeqF64 VCmpxNeqF64 F64 Neq;
    VCmpTruF64 VCmpxTruF64 F64 T;
    VCmpTF64 VCmpxTF64 F64 T;
}

/// The handler of a comparison.
pub(crate) fn find<const C: usize>(op: Op, mode: &Mode, host: Host) -> Option<Handler<C>> {
    plain(op, host).or_else(|| float(op, mode, host))
}
