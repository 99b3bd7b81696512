//! Floats of 32 bits.

use super::{Lane, Map};
use crate::exec::float::{f, flush, max32, maximum32, min32, minimum32, to_i32, to_u32};
use crate::exec::handler;
use crate::generated::Op;
use crate::step::{Handler, Host};
use crate::wave::Mode;

/// Functions of floats, which flush denormals of operands and results where the mode says so.
macro_rules! floats {
    ($($op:ident |$a:pat_param, $b:pat_param, $c:pat_param| $body:expr;)*) => {
        $(
            struct $op<const Z: bool>;
            impl<const Z: bool> Lane for $op<Z> {
                #[inline(always)]
                fn f(a: u32, b: u32, c: u32) -> u32 {
                    let ($a, $b, $c) = (flush::<Z>(a), flush::<Z>(b), flush::<Z>(c));
                    flush::<Z>($body)
                }
            }
        )*

        /// The handler in a mode that the host's unit has.
        pub(super) fn find<const C: usize>(op: Op, mode: Mode, host: Host) -> Option<Handler<C>> {
            let flushes = mode.denormal32() == 0;
            Some(match (op, flushes) {
                $(
                    (Op::$op, false) => handler::<C, Map<$op<false>>>(host),
                    (Op::$op, true) => handler::<C, Map<$op<true>>>(host),
                )*
                _ => return convert(op, host),
            })
        }
    };
}

floats! {
    VAddF32 |a, b, _| (f(a) + f(b)).to_bits();
    VSubF32 |a, b, _| (f(a) - f(b)).to_bits();
    VSubrevF32 |a, b, _| (f(b) - f(a)).to_bits();
    VMulF32 |a, b, _| (f(a) * f(b)).to_bits();
    VMulLegacyF32 |a, b, _| legacy_mul(a, b).to_bits();
    VFmaF32 |a, b, c| f(a).mul_add(f(b), f(c)).to_bits();
    VFmacF32 |a, b, c| f(a).mul_add(f(b), f(c)).to_bits();
    VFmaLegacyF32 |a, b, c| legacy_fma(a, b, c).to_bits();
    VFmacLegacyF32 |a, b, c| legacy_fma(a, b, c).to_bits();
    VMadF32 |a, b, c| (f(flush::<true>((f(a) * f(b)).to_bits())) + f(c)).to_bits();
    VMacF32 |a, b, c| (f(flush::<true>((f(a) * f(b)).to_bits())) + f(c)).to_bits();
    VMadLegacyF32 |a, b, c| (legacy_mul(a, b) + f(c)).to_bits();
    VMinF32 |a, b, _| min32(a, b);
    VMaxF32 |a, b, _| max32(a, b);
    VMinimumF32 |a, b, _| minimum32(a, b);
    VMaximumF32 |a, b, _| maximum32(a, b);
    VMin3F32 |a, b, c| min32(min32(a, b), c);
    VMax3F32 |a, b, c| max32(max32(a, b), c);
    VMinimum3F32 |a, b, c| minimum32(minimum32(a, b), c);
    VMaximum3F32 |a, b, c| maximum32(maximum32(a, b), c);
    VMinmaxF32 |a, b, c| max32(min32(a, b), c);
    VMaxminF32 |a, b, c| min32(max32(a, b), c);
    VMinimummaximumF32 |a, b, c| maximum32(minimum32(a, b), c);
    VMaximumminimumF32 |a, b, c| minimum32(maximum32(a, b), c);
    VMed3F32 |a, b, c| med3(a, b, c);
    VCeilF32 |a, _, _| f(a).ceil().to_bits();
    VFloorF32 |a, _, _| f(a).floor().to_bits();
    VTruncF32 |a, _, _| f(a).trunc().to_bits();
    VRndneF32 |a, _, _| f(a).round_ties_even().to_bits();
    VFractF32 |a, _, _| (f(a) - f(a).floor()).min(f(0x3f7f_ffff)).to_bits();
    VSqrtF32 |a, _, _| f(a).sqrt().to_bits();
    VRcpF32 |a, _, _| (1.0 / f(a)).to_bits();
    VRsqF32 |a, _, _| (1.0 / f64::from(f(a)).sqrt()) .to_f32_bits();
    VExpF32 |a, _, _| f64::from(f(a)).exp2().to_f32_bits();
    VLogF32 |a, _, _| f64::from(f(a)).log2().to_f32_bits();
    VSinF32 |a, _, _| (f64::from(f(a)) % 1.0 * std::f64::consts::TAU).sin().to_f32_bits();
    VCosF32 |a, _, _| (f64::from(f(a)) % 1.0 * std::f64::consts::TAU).cos().to_f32_bits();
}

/// A double, rounded to single precision.
trait ToSingle {
    fn to_f32_bits(self) -> u32;
}

impl ToSingle for f64 {
    #[inline(always)]
    fn to_f32_bits(self) -> u32 {
        (self as f32).to_bits()
    }
}

/// Zero times anything is zero.
#[inline(always)]
fn legacy_mul(a: u32, b: u32) -> f32 {
    if f(a) == 0.0 || f(b) == 0.0 { 0.0 } else { f(a) * f(b) }
}

#[inline(always)]
fn legacy_fma(a: u32, b: u32, c: u32) -> f32 {
    if f(a) == 0.0 || f(b) == 0.0 { f(c) } else { f(a).mul_add(f(b), f(c)) }
}

#[inline(always)]
fn med3(a: u32, b: u32, c: u32) -> u32 {
    if f(a).is_nan() || f(b).is_nan() || f(c).is_nan() {
        return min32(min32(a, b), c);
    }
    let largest = max32(max32(a, b), c);
    if largest == a {
        max32(b, c)
    } else if largest == b {
        max32(a, c)
    } else {
        max32(a, b)
    }
}

fn convert<const C: usize>(op: Op, host: Host) -> Option<Handler<C>> {
    conversions::find(op, host)
}

mod conversions {
    use super::{f, to_i32, to_u32};
    use crate::exec::float::{
        brain_to_f32, f32_to_brain, f32_to_half, f32_to_half_toward_zero, frexp64, half_to_f32,
        ldexp64,
    };
    use crate::exec::valu::lanes;

    lanes! {
        VCvtI32F32 |a, _, _| to_i32(f64::from(f(a)));
        VCvtU32F32 |a, _, _| to_u32(f64::from(f(a)));
        VCvtFloorI32F32 |a, _, _| to_i32(f64::from(f(a)).floor());
        VCvtNearestI32F32 |a, _, _| to_i32((f64::from(f(a)) + 0.5).floor());
        VCvtF16F32 |a, _, _| u32::from(f32_to_half(f(a)));
        VCvtF32F16 |a, _, _| half_to_f32(a as u16).to_bits();
        VCvtF32Bf16 |a, _, _| brain_to_f32(a as u16).to_bits();
        VCvtPkrtzF16F32 |a, b, _| {
            u32::from(f32_to_half_toward_zero(f(a))) | u32::from(f32_to_half_toward_zero(f(b))) << 16
        };
        VCvtPkF16F32 |a, b, _| u32::from(f32_to_half(f(a))) | u32::from(f32_to_half(f(b))) << 16;
        VCvtPkBf16F32 |a, b, _| {
            u32::from(f32_to_brain(f(a))) | u32::from(f32_to_brain(f(b))) << 16
        };
        VFrexpMantF32 |a, _, _| {
            let (mantissa, _) = frexp64(f64::from(f(a)).to_bits());
            (f64::from_bits(mantissa) as f32).to_bits()
        };
        VFrexpExpI32F32 |a, _, _| frexp64(f64::from(f(a)).to_bits()).1.cast_unsigned();
        VLdexpF32 |a, b, _| (ldexp64(f64::from(f(a)), b.cast_signed()) as f32).to_bits();
    }
}
