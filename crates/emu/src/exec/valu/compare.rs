//! Comparisons: a lane mask from two operands.
#![allow(
    clippy::neg_cmp_op_on_partial_ord,
    reason = "operations are named for the negation, which is true of NaN"
)]

use std::marker::PhantomData;

use super::super::{Body, handler};
use crate::exec::float::{d, f, half_to_f32};
use crate::generated::Op;
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

        /// The handler of a comparison.
        pub(crate) fn find<const C: usize>(op: Op, host: Host) -> Option<Handler<C>> {
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

#[inline(always)]
fn s(value: u64) -> f32 {
    f(value as u32)
}

#[inline(always)]
fn h(value: u64) -> f32 {
    half_to_f32(value as u16)
}

/// Which of ten classes a float of that many fraction and exponent bits is in: the bits of `v_cmp_class`.
fn class(bits: u64, fraction: u32, exponent: u32) -> u32 {
    let negative = bits >> (fraction + exponent) & 1 == 1;
    let mantissa = bits & ((1 << fraction) - 1);
    let biased = bits >> fraction & ((1 << exponent) - 1);
    let side = |positive: u32, below: u32| if negative { below } else { positive };
    match (biased, mantissa) {
        (0, 0) => side(6, 5),
        (0, _) => side(7, 4),
        (top, 0) if top == (1 << exponent) - 1 => side(9, 2),
        (top, _) if top == (1 << exponent) - 1 => (mantissa >> (fraction - 1)) as u32,
        _ => side(8, 3),
    }
}

fn unordered<T: PartialOrd + Copy>(a: T, b: T) -> bool {
    a.partial_cmp(&b).is_none()
}

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
    VCmpFF16 VCmpxFF16 NARROW, |_, _| false;
    VCmpLtF16 VCmpxLtF16 NARROW, |a, b| h(a) < h(b);
    VCmpEqF16 VCmpxEqF16 NARROW, |a, b| h(a) == h(b);
    VCmpLeF16 VCmpxLeF16 NARROW, |a, b| h(a) <= h(b);
    VCmpGtF16 VCmpxGtF16 NARROW, |a, b| h(a) > h(b);
    VCmpGeF16 VCmpxGeF16 NARROW, |a, b| h(a) >= h(b);
    VCmpLgF16 VCmpxLgF16 NARROW, |a, b| h(a) < h(b) || h(a) > h(b);
    VCmpOF16 VCmpxOF16 NARROW, |a, b| !unordered(h(a), h(b));
    VCmpUF16 VCmpxUF16 NARROW, |a, b| unordered(h(a), h(b));
    VCmpNgeF16 VCmpxNgeF16 NARROW, |a, b| !(h(a) >= h(b));
    VCmpNgtF16 VCmpxNgtF16 NARROW, |a, b| !(h(a) > h(b));
    VCmpNleF16 VCmpxNleF16 NARROW, |a, b| !(h(a) <= h(b));
    VCmpNltF16 VCmpxNltF16 NARROW, |a, b| !(h(a) < h(b));
    VCmpNlgF16 VCmpxNlgF16 NARROW, |a, b| !(h(a) < h(b) || h(a) > h(b));
    VCmpNeqF16 VCmpxNeqF16 NARROW, |a, b| h(a) != h(b);
    VCmpTruF16 VCmpxTruF16 NARROW, |_, _| true;
    VCmpTF16 VCmpxTF16 NARROW, |_, _| true;
    VCmpFF32 VCmpxFF32 NARROW, |_, _| false;
    VCmpLtF32 VCmpxLtF32 NARROW, |a, b| s(a) < s(b);
    VCmpEqF32 VCmpxEqF32 NARROW, |a, b| s(a) == s(b);
    VCmpLeF32 VCmpxLeF32 NARROW, |a, b| s(a) <= s(b);
    VCmpGtF32 VCmpxGtF32 NARROW, |a, b| s(a) > s(b);
    VCmpGeF32 VCmpxGeF32 NARROW, |a, b| s(a) >= s(b);
    VCmpLgF32 VCmpxLgF32 NARROW, |a, b| s(a) < s(b) || s(a) > s(b);
    VCmpOF32 VCmpxOF32 NARROW, |a, b| !unordered(s(a), s(b));
    VCmpUF32 VCmpxUF32 NARROW, |a, b| unordered(s(a), s(b));
    VCmpNgeF32 VCmpxNgeF32 NARROW, |a, b| !(s(a) >= s(b));
    VCmpNgtF32 VCmpxNgtF32 NARROW, |a, b| !(s(a) > s(b));
    VCmpNleF32 VCmpxNleF32 NARROW, |a, b| !(s(a) <= s(b));
    VCmpNltF32 VCmpxNltF32 NARROW, |a, b| !(s(a) < s(b));
    VCmpNlgF32 VCmpxNlgF32 NARROW, |a, b| !(s(a) < s(b) || s(a) > s(b));
    VCmpNeqF32 VCmpxNeqF32 NARROW, |a, b| s(a) != s(b);
    VCmpTruF32 VCmpxTruF32 NARROW, |_, _| true;
    VCmpTF32 VCmpxTF32 NARROW, |_, _| true;
    VCmpFF64 VCmpxFF64 WIDE, |_, _| false;
    VCmpLtF64 VCmpxLtF64 WIDE, |a, b| d(a) < d(b);
    VCmpEqF64 VCmpxEqF64 WIDE, |a, b| d(a) == d(b);
    VCmpLeF64 VCmpxLeF64 WIDE, |a, b| d(a) <= d(b);
    VCmpGtF64 VCmpxGtF64 WIDE, |a, b| d(a) > d(b);
    VCmpGeF64 VCmpxGeF64 WIDE, |a, b| d(a) >= d(b);
    VCmpLgF64 VCmpxLgF64 WIDE, |a, b| d(a) < d(b) || d(a) > d(b);
    VCmpOF64 VCmpxOF64 WIDE, |a, b| !unordered(d(a), d(b));
    VCmpUF64 VCmpxUF64 WIDE, |a, b| unordered(d(a), d(b));
    VCmpNgeF64 VCmpxNgeF64 WIDE, |a, b| !(d(a) >= d(b));
    VCmpNgtF64 VCmpxNgtF64 WIDE, |a, b| !(d(a) > d(b));
    VCmpNleF64 VCmpxNleF64 WIDE, |a, b| !(d(a) <= d(b));
    VCmpNltF64 VCmpxNltF64 WIDE, |a, b| !(d(a) < d(b));
    VCmpNlgF64 VCmpxNlgF64 WIDE, |a, b| !(d(a) < d(b) || d(a) > d(b));
    VCmpNeqF64 VCmpxNeqF64 WIDE, |a, b| d(a) != d(b);
    VCmpTruF64 VCmpxTruF64 WIDE, |_, _| true;
    VCmpTF64 VCmpxTF64 WIDE, |_, _| true;
    VCmpClassF16 VCmpxClassF16 NARROW, |a, b| b >> class(a & 0xffff, 10, 5) & 1 == 1;
    VCmpClassF32 VCmpxClassF32 NARROW, |a, b| b >> class(a, 23, 8) & 1 == 1;
    VCmpClassF64 VCmpxClassF64 [true, false], |a, b| b >> class(a, 52, 11) & 1 == 1;
}
