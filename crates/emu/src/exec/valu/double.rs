//! Floats of 64 bits, on the host's unit.

use super::wides;
use crate::exec::float::{d, f, frexp64, ldexp64, max64, min64, to_i32, to_u32};

const ALL: [bool; 4] = [true; 4];
/// A narrow result of a wide operand.
const NARROWED: [bool; 4] = [false, true, true, true];
/// A wide result of a narrow operand.
const WIDENED: [bool; 4] = [true, false, false, false];

wides! {
    VAddF64 ALL, |a, b, _| (d(a) + d(b)).to_bits();
    VMulF64 ALL, |a, b, _| (d(a) * d(b)).to_bits();
    VFmaF64 ALL, |a, b, c| d(a).mul_add(d(b), d(c)).to_bits();
    VFmacF64 ALL, |a, b, c| d(a).mul_add(d(b), d(c)).to_bits();
    VMinF64 ALL, |a, b, _| min64(a, b);
    VMaxF64 ALL, |a, b, _| max64(a, b);
    VCeilF64 ALL, |a, _, _| d(a).ceil().to_bits();
    VFloorF64 ALL, |a, _, _| d(a).floor().to_bits();
    VTruncF64 ALL, |a, _, _| d(a).trunc().to_bits();
    VRndneF64 ALL, |a, _, _| d(a).round_ties_even().to_bits();
    VFractF64 ALL, |a, _, _| (d(a) - d(a).floor()).min(d(0x3fef_ffff_ffff_ffff)).to_bits();
    VSqrtF64 ALL, |a, _, _| d(a).sqrt().to_bits();
    VRcpF64 ALL, |a, _, _| (1.0 / d(a)).to_bits();
    VRsqF64 ALL, |a, _, _| (1.0 / d(a).sqrt()).to_bits();
    VFrexpMantF64 ALL, |a, _, _| frexp64(a).0;
    VFrexpExpI32F64 NARROWED, |a, _, _| u64::from(frexp64(a).1.cast_unsigned());
    VLdexpF64 [true, true, false, false], |a, b, _| {
        ldexp64(d(a), (b as u32).cast_signed()).to_bits()
    };
    VCvtF64F32 WIDENED, |a, _, _| f64::from(f(a as u32)).to_bits();
    VCvtF64I32 WIDENED, |a, _, _| f64::from((a as u32).cast_signed()).to_bits();
    VCvtF64U32 WIDENED, |a, _, _| f64::from(a as u32).to_bits();
    VCvtF32F64 NARROWED, |a, _, _| u64::from((d(a) as f32).to_bits());
    VCvtI32F64 NARROWED, |a, _, _| u64::from(to_i32(d(a)));
    VCvtU32F64 NARROWED, |a, _, _| u64::from(to_u32(d(a)));
}
