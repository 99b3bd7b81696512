//! Floats in scalar registers.

use super::conversion::*;
use super::function::*;
use super::mode;
use crate::generated::Op;
use crate::num::{F16, F32, Mode, Relation};
use crate::step::{Context, Handler, Step};
use crate::wave::Wave;

/// A function of scalar registers, of one register each.
trait Scalar {
    fn f(mode: &Mode, a: u64, b: u64, c: u64) -> u64;
}

fn operands<const C: usize>(wave: &Wave<C>, step: &Step<C>) -> [u64; 3] {
    [step.a, step.b, step.c].map(|register| wave.s[usize::from(register)].into())
}

/// `s[d] = f(a, b, c)`.
fn apply<const C: usize, O: Scalar>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let [a, b, c] = operands(wave, step);
    wave.s[usize::from(step.d)] = O::f(&mode(wave, context), a, b, c) as u32;
}

/// `SCC = f(a, b)`.
fn test<const C: usize, O: Scalar>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let [a, b, c] = operands(wave, step);
    wave.scc = O::f(&mode(wave, context), a, b, c) != 0;
}

/// Operations with a result, and those that write SCC.
macro_rules! scalars {
    (results: { $($op:ident $function:expr;)* } tests: { $($test:ident $relation:ident $format:ident;)* }) => {
        $(
            struct $op;
            impl Scalar for $op {
                fn f(mode: &Mode, a: u64, b: u64, c: u64) -> u64 { ($function)(mode, a, b, c) }
            }
        )*
        $(
            struct $test;
            impl Scalar for $test {
                fn f(mode: &Mode, a: u64, b: u64, _: u64) -> u64 {
                    compare::<$format>(mode, Relation::$relation, a, b).into()
                }
            }
        )*

        /// The handler of a scalar operation on floats.
        pub(crate) fn find<const C: usize>(op: Op) -> Option<Handler<C>> {
            Some(match op {
                $(Op::$op => apply::<C, $op>,)*
                $(Op::$test => test::<C, $test>,)*
                _ => return None,
            })
        }

        /// Whether it is one of them, and has a result.
        pub(crate) fn shape(op: Op) -> Option<bool> {
            Some(match op {
                $(Op::$op => true,)*
                $(Op::$test => false,)*
                _ => return None,
            })
        }
    };
}

scalars! {
    results: {
    SAddF32 add::<F32>;
    SAddF16 add::<F16>;
    SSubF32 sub::<F32>;
    SSubF16 sub::<F16>;
    SMulF32 mul::<F32>;
    SMulF16 mul::<F16>;
    SFmaF32 fma::<F32>;
    SFmacF32 fma::<F32>;
    SFmacF16 fma::<F16>;
    SMinF32 minimum_number::<F32>;
    SMinF16 minimum_number::<F16>;
    SMaxF32 maximum_number::<F32>;
    SMaxF16 maximum_number::<F16>;
    SMinimumF32 minimum::<F32>;
    SMinimumF16 minimum::<F16>;
    SMaximumF32 maximum::<F32>;
    SMaximumF16 maximum::<F16>;
    SCeilF32 ceil::<F32>;
    SCeilF16 ceil::<F16>;
    SFloorF32 floor::<F32>;
    SFloorF16 floor::<F16>;
    STruncF32 trunc::<F32>;
    STruncF16 trunc::<F16>;
    SRndneF32 rndne::<F32>;
    SRndneF16 rndne::<F16>;
    SCvtF32I32 from_signed::<F32, 32>;
    SCvtF32U32 from_unsigned::<F32, 32>;
    SCvtI32F32 to_signed::<F32, 32>;
    SCvtU32F32 to_unsigned::<F32, 32>;
    SCvtF16F32 cvt::<F32, F16>;
    SCvtF32F16 cvt::<F16, F32>;
    SCvtHiF32F16 |m: &Mode, a, b, c| cvt::<F16, F32>(m, a >> 16, b, c);
    SCvtPkrtzF16F32 cvt_pkrtz;
    }
    tests: {
    SCmpLtF32 Lt F32;
    SCmpEqF32 Eq F32;
    SCmpLeF32 Le F32;
    SCmpGtF32 Gt F32;
    SCmpLgF32 Lg F32;
    SCmpGeF32 Ge F32;
    SCmpOF32 O F32;
    SCmpUF32 U F32;
    SCmpNgeF32 Nge F32;
    SCmpNlgF32 Nlg F32;
    SCmpNgtF32 Ngt F32;
    SCmpNleF32 Nle F32;
    SCmpNeqF32 Neq F32;
    SCmpNltF32 Nlt F32;
    SCmpLtF16 Lt F16;
    SCmpEqF16 Eq F16;
    SCmpLeF16 Le F16;
    SCmpGtF16 Gt F16;
    SCmpLgF16 Lg F16;
    SCmpGeF16 Ge F16;
    SCmpOF16 O F16;
    SCmpUF16 U F16;
    SCmpNgeF16 Nge F16;
    SCmpNlgF16 Nlg F16;
    SCmpNgtF16 Ngt F16;
    SCmpNleF16 Nle F16;
    SCmpNeqF16 Neq F16;
    SCmpNltF16 Nlt F16;
    }
}
