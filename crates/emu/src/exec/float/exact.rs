//! What vector instructions compute in any mode: a line for each operation.

use super::conversion::*;
use super::function::*;
use super::{Operation, W32, W64, each};
use crate::generated::Op;
use crate::num::{self, BF16, Denorm, F16, F32, F64, Mode, Round};
use crate::step::Handler;

/// A narrow result of a wide operand.
const NARROWED: [bool; 4] = [false, true, false, false];
/// A wide result of a narrow operand.
const WIDENED: [bool; 4] = [true, false, false, false];
/// Result and first operand are wide.
const FIRST: [bool; 4] = [true, true, false, false];

/// `Operation, which of result and operands are wide, function of mode and operands`.
macro_rules! operations {
    ($($op:ident $wide:ident $function:expr;)*) => {
        $(
            pub(super) struct $op;
            impl Operation for $op {
                const WIDE: [bool; 4] = $wide;
                fn f(mode: &Mode, a: u64, b: u64, c: u64) -> u64 {
                    ($function)(mode, a, b, c)
                }
            }
        )*

        /// The handler of an operation.
        pub(super) fn find<const C: usize>(op: Op) -> Option<Handler<C>> {
            Some(match op {
                $(Op::$op => each::<C, $op>,)*
                _ => return None,
            })
        }
    };
}

/// A mode that rounds to nearest even, as conversions to bf16 do whatever MODE says.
fn nearest(mode: &Mode) -> Mode {
    let mut nearest = *mode;
    nearest.round_f16_f64 = Round::NearestEven;
    nearest
}

/// The same with denormals, as packed operations on bf16 have it.
fn brain(mode: &Mode) -> Mode {
    let mut brain = nearest(mode);
    brain.denorm_f16_f64 = Denorm::KEEP;
    brain
}

/// A mode whose denormals of f32 are those of bf16, as its conversions have it: CDNA4's manual reads a bf16 as the upper half of an f32.
fn upper_half(mode: &Mode) -> Mode {
    let mut upper = *mode;
    upper.denorm_f16_f64 = mode.denorm_f32;
    upper
}

fn ubyte(byte: u32) -> impl Fn(&Mode, u64, u64, u64) -> u64 {
    move |_, a, _, _| num::cvt_f32_ubyte(a as u32, byte).into()
}

/// Where the clamp bit makes it E5M3.
mod clamped {
    use super::super::e5m3::*;
    use super::*;

    operations! {
        VCvtPkFp8F32 W32 pk_e5m3_of_f32;
        VCvtSrFp8F32 W32 sr_e5m3_of_f32;
        VCvtF32Fp8 W32 f32_of_e5m3;
    }
}

/// The handler of an operation whose clamp bit makes it E5M3.
pub(super) fn find_e5m3<const C: usize>(op: Op) -> Option<Handler<C>> {
    clamped::find(op)
}

operations! {
    VAddF32 W32 add::<F32>;
    VAddF16 W32 add::<F16>;
    VAddF64 W64 add::<F64>;
    VSubF32 W32 sub::<F32>;
    VSubF16 W32 sub::<F16>;
    VSubrevF32 W32 subrev::<F32>;
    VSubrevF16 W32 subrev::<F16>;
    VMulF32 W32 mul::<F32>;
    VMulF16 W32 mul::<F16>;
    VMulF64 W64 mul::<F64>;
    VFmaF32 W32 fma::<F32>;
    VFmaF16 W32 fma::<F16>;
    VFmaF64 W64 fma::<F64>;
    VFmacF32 W32 fma::<F32>;
    VFmacF16 W32 fma::<F16>;
    VFmacF64 W64 fma::<F64>;
    VMadF32 W32 mad::<F32>;
    VMadF16 W32 mad::<F16>;
    VMacF32 W32 mad::<F32>;
    VMacF16 W32 mad::<F16>;
    VMulLegacyF32 W32 mul_legacy::<F32>;
    VFmaLegacyF32 W32 fma_legacy::<F32>;
    VFmaLegacyF16 W32 fma::<F16>;
    VFmacLegacyF32 W32 fma_legacy::<F32>;
    VMadLegacyF32 W32 mad_legacy::<F32>;
    VMadLegacyF16 W32 mad::<F16>;
    VMinF32 W32 minimum_number::<F32>;
    VMinF16 W32 minimum_number::<F16>;
    VMinF64 W64 minimum_number::<F64>;
    VMaxF32 W32 maximum_number::<F32>;
    VMaxF16 W32 maximum_number::<F16>;
    VMaxF64 W64 maximum_number::<F64>;
    VMinimumF32 W32 minimum::<F32>;
    VMinimumF16 W32 minimum::<F16>;
    VMinimumF64 W64 minimum::<F64>;
    VMaximumF32 W32 maximum::<F32>;
    VMaximumF16 W32 maximum::<F16>;
    VMaximumF64 W64 maximum::<F64>;
    VMin3F32 W32 min3::<F32>;
    VMin3F16 W32 min3::<F16>;
    VMax3F32 W32 max3::<F32>;
    VMax3F16 W32 max3::<F16>;
    VMinmaxF32 W32 minmax::<F32>;
    VMinmaxF16 W32 minmax::<F16>;
    VMaxminF32 W32 maxmin::<F32>;
    VMaxminF16 W32 maxmin::<F16>;
    VMinimum3F32 W32 minimum3::<F32>;
    VMinimum3F16 W32 minimum3::<F16>;
    VMaximum3F32 W32 maximum3::<F32>;
    VMaximum3F16 W32 maximum3::<F16>;
    VMinimummaximumF32 W32 minimummaximum::<F32>;
    VMinimummaximumF16 W32 minimummaximum::<F16>;
    VMaximumminimumF32 W32 maximumminimum::<F32>;
    VMaximumminimumF16 W32 maximumminimum::<F16>;
    VMed3F32 W32 med3::<F32>;
    VMed3F16 W32 med3::<F16>;
    VCeilF32 W32 ceil::<F32>;
    VCeilF16 W32 ceil::<F16>;
    VCeilF64 W64 ceil::<F64>;
    VFloorF32 W32 floor::<F32>;
    VFloorF16 W32 floor::<F16>;
    VFloorF64 W64 floor::<F64>;
    VTruncF32 W32 trunc::<F32>;
    VTruncF16 W32 trunc::<F16>;
    VTruncF64 W64 trunc::<F64>;
    VRndneF32 W32 rndne::<F32>;
    VRndneF16 W32 rndne::<F16>;
    VRndneF64 W64 rndne::<F64>;
    VFractF32 W32 fract::<F32>;
    VFractF16 W32 fract::<F16>;
    VFractF64 W64 fract::<F64>;
    VFrexpMantF32 W32 frexp_mant::<F32>;
    VFrexpMantF16 W32 frexp_mant::<F16>;
    VFrexpMantF64 W64 frexp_mant::<F64>;
    VDivFixupF32 W32 div_fixup::<F32>;
    VDivFixupF16 W32 div_fixup::<F16>;
    VDivFixupF64 W64 div_fixup::<F64>;
    VRcpF32 W32 rcp::<F32>;
    VSRcpF32 W32 rcp::<F32>;
    VRcpF16 W32 rcp::<F16>;
    VSRcpF16 W32 rcp::<F16>;
    VRcpBf16 W32 rcp::<BF16>;
    VRcpF64 W64 rcp::<F64>;
    VRsqF32 W32 rsq::<F32>;
    VSRsqF32 W32 rsq::<F32>;
    VRsqF16 W32 rsq::<F16>;
    VSRsqF16 W32 rsq::<F16>;
    VRsqBf16 W32 rsq::<BF16>;
    VRsqF64 W64 rsq::<F64>;
    VSqrtF32 W32 sqrt::<F32>;
    VSSqrtF32 W32 sqrt::<F32>;
    VSqrtF16 W32 sqrt::<F16>;
    VSSqrtF16 W32 sqrt::<F16>;
    VSqrtBf16 W32 sqrt::<BF16>;
    VSqrtF64 W64 sqrt::<F64>;
    VExpF32 W32 exp::<F32>;
    VSExpF32 W32 exp::<F32>;
    VExpF16 W32 exp::<F16>;
    VSExpF16 W32 exp::<F16>;
    VExpBf16 W32 exp::<BF16>;
    VLogF32 W32 log::<F32>;
    VSLogF32 W32 log::<F32>;
    VLogF16 W32 log::<F16>;
    VSLogF16 W32 log::<F16>;
    VLogBf16 W32 log::<BF16>;
    VSinF32 W32 sin::<F32>;
    VSinF16 W32 sin::<F16>;
    VSinBf16 W32 sin::<BF16>;
    VCosF32 W32 cos::<F32>;
    VCosF16 W32 cos::<F16>;
    VCosBf16 W32 cos::<BF16>;
    VTanhF32 W32 tanh::<F32>;
    VTanhF16 W32 tanh::<F16>;
    VTanhBf16 W32 tanh::<BF16>;
    VPkAddF16 W32 |m: &Mode, a, b, c| both(add::<F16>, m, [a, b, c]);
    VPkAddBf16 W32 |m: &Mode, a, b, c| both(add::<BF16>, &brain(m), [a, b, c]);
    VPkMulF16 W32 |m: &Mode, a, b, c| both(mul::<F16>, m, [a, b, c]);
    VPkMulBf16 W32 |m: &Mode, a, b, c| both(mul::<BF16>, &brain(m), [a, b, c]);
    VPkFmaF16 W32 |m: &Mode, a, b, c| both(fma::<F16>, m, [a, b, c]);
    VPkFmaBf16 W32 |m: &Mode, a, b, c| both(fma::<BF16>, &brain(m), [a, b, c]);
    VPkFmacF16 W32 |m: &Mode, a, b, c| both(fma::<F16>, m, [a, b, c]);
    VPkMinF16 W32 |m: &Mode, a, b, c| both(minimum_number::<F16>, m, [a, b, c]);
    VPkMinBf16 W32 |m: &Mode, a, b, c| both(minimum_number::<BF16>, &brain(m), [a, b, c]);
    VPkMaxF16 W32 |m: &Mode, a, b, c| both(maximum_number::<F16>, m, [a, b, c]);
    VPkMaxBf16 W32 |m: &Mode, a, b, c| both(maximum_number::<BF16>, &brain(m), [a, b, c]);
    VPkMinimumF16 W32 |m: &Mode, a, b, c| both(minimum::<F16>, m, [a, b, c]);
    VPkMaximumF16 W32 |m: &Mode, a, b, c| both(maximum::<F16>, m, [a, b, c]);
    VPkMin3F16 W32 |m: &Mode, a, b, c| both(min3::<F16>, m, [a, b, c]);
    VPkMax3F16 W32 |m: &Mode, a, b, c| both(max3::<F16>, m, [a, b, c]);
    VPkMinimum3F16 W32 |m: &Mode, a, b, c| both(minimum3::<F16>, m, [a, b, c]);
    VPkMaximum3F16 W32 |m: &Mode, a, b, c| both(maximum3::<F16>, m, [a, b, c]);
    VFrexpExpI32F32 W32 frexp_exp::<F32>;
    VFrexpExpI16F16 W32 frexp_exp_16::<F16>;
    VFrexpExpI32F64 NARROWED frexp_exp::<F64>;
    VLdexpF32 W32 ldexp::<F32>;
    VLdexpF16 W32 ldexp_16::<F16>;
    VLdexpF64 FIRST ldexp::<F64>;
    VTrigPreopF64 FIRST trig_preop;
    VMullitF32 W32 mullit;
    VCubeidF32 W32 cube_id;
    VCubescF32 W32 cube_sc;
    VCubetcF32 W32 cube_tc;
    VCubemaF32 W32 cube_ma;
    VCvtF16F32 W32 cvt::<F32, F16>;
    VCvtF32F16 W32 cvt::<F16, F32>;
    VCvtF32Bf16 W32 |m: &Mode, a, b, c| cvt::<BF16, F32>(&upper_half(m), a, b, c);
    VCvtF64F32 WIDENED cvt::<F32, F64>;
    VCvtF32F64 NARROWED cvt::<F64, F32>;
    VCvtPkF16F32 W32 cvt_pk::<F32, F16>;
    VCvtPkBf16F32 W32 |m: &Mode, a, b, c| cvt_pk::<F32, BF16>(&upper_half(&nearest(m)), a, b, c);
    VCvtPkrtzF16F32 W32 cvt_pkrtz;
    VCvtI32F32 W32 to_signed::<F32, 32>;
    VCvtU32F32 W32 to_unsigned::<F32, 32>;
    VCvtI32F64 NARROWED to_signed::<F64, 32>;
    VCvtU32F64 NARROWED to_unsigned::<F64, 32>;
    VCvtI16F16 W32 to_signed::<F16, 16>;
    VCvtU16F16 W32 to_unsigned::<F16, 16>;
    VCvtFloorI32F32 W32 to_i32_floor;
    VCvtNearestI32F32 W32 to_i32_nearest;
    VCvtF32I32 W32 from_signed::<F32, 32>;
    VCvtF32U32 W32 from_unsigned::<F32, 32>;
    VCvtF64I32 WIDENED from_signed::<F64, 32>;
    VCvtF64U32 WIDENED from_unsigned::<F64, 32>;
    VCvtF16I16 W32 from_signed::<F16, 16>;
    VCvtF16U16 W32 from_unsigned::<F16, 16>;
    VCvtF32Ubyte0 W32 ubyte(0);
    VCvtF32Ubyte1 W32 ubyte(1);
    VCvtF32Ubyte2 W32 ubyte(2);
    VCvtF32Ubyte3 W32 ubyte(3);
    VCvtOffF32I4 W32 off_f32_i4;
    VCvtPkI16F32 W32 pk_i16_f32;
    VCvtPkU16F32 W32 pk_u16_f32;
    VCvtPkU8F32 W32 pk_u8_f32;
    VCvtNormI16F16 W32 norm::<F16, true>;
    VCvtNormU16F16 W32 norm::<F16, false>;
    VCvtPknormI16F16 W32 pk_norm::<F16, true>;
    VCvtPknormU16F16 W32 pk_norm::<F16, false>;
    VCvtPknormI16F32 W32 pk_norm::<F32, true>;
    VCvtPknormU16F32 W32 pk_norm::<F32, false>;
    VCvtF32Fp8 W32 f32_of_small::<false>;
    VCvtF16Fp8 W32 f16_of_small::<false>;
    VCvtPkF32Fp8 WIDENED pk_f32_of_small::<false>;
    VCvtPkF16Fp8 W32 pk_f16_of_small::<false>;
    VCvtPkFp8F32 W32 pk_small_of_f32::<false>;
    VCvtPkFp8F16 W32 pk_small_of_f16::<false>;
    VCvtSrFp8F32 W32 sr_small_of_f32::<false>;
    VCvtSrFp8F16 W32 sr_small_of_f16::<false>;
    VCvtF32Bf8 W32 f32_of_small::<true>;
    VCvtF16Bf8 W32 f16_of_small::<true>;
    VCvtPkF32Bf8 WIDENED pk_f32_of_small::<true>;
    VCvtPkF16Bf8 W32 pk_f16_of_small::<true>;
    VCvtPkBf8F32 W32 pk_small_of_f32::<true>;
    VCvtPkBf8F16 W32 pk_small_of_f16::<true>;
    VCvtSrBf8F32 W32 sr_small_of_f32::<true>;
    VCvtSrBf8F16 W32 sr_small_of_f16::<true>;
    VCvtSrBf16F32 W32 sr_16_of_f32::<BF16>;
    VCvtSrF16F32 W32 sr_16_of_f32::<F16>;
    VCvtSrPkBf16F32 W32 sr_pk_of_f32::<BF16>;
    VCvtSrPkF16F32 W32 sr_pk_of_f32::<F16>;
}
