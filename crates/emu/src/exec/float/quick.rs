//! The host's unit, to nearest even, eight lanes at a time; and these eight by `num` where one of them is in
//! doubt. Doubtful are NaNs, of which hosts keep others than devices, and what is rounded to the edge of being flushed.

use std::marker::PhantomData;

use super::exact::*;
use super::host::*;
use super::series::{exponential, logarithm, reciprocal_root};
use super::{Operation, each_of, flushes_singles, has_plain_halves_and_doubles};
use crate::exec::{Body, all_ones_if, blend, handler, value_at};
use crate::generated::Op;
use crate::num::Mode;
use crate::step::{Context, Handler, Host, Step};
use crate::wave::Wave;

/// An operation that the host has too.
pub(super) trait Quick: Operation {
    /// The host's bits, and whether they are in doubt. `Z`: denormals of f32 are zeros.
    fn quick<const Z: bool>(a: u32, b: u32, c: u32) -> (u32, bool);
}

/// The same with operands of two registers; denormals are kept.
trait QuickWide: Operation {
    fn quick(a: u64, b: u64, c: u64) -> (u64, bool);
}

pub(super) struct OnHost<O, const Z: bool>(PhantomData<O>);
struct WideOnHost<O>(PhantomData<O>);

/// Eight lanes, and whether one of those under the mask is in doubt.
#[inline(always)]
fn eight<const Z: bool, O: Quick>(
    x: &[u32; 8],
    y: &[u32; 8],
    z: &[u32; 8],
    mask: &[u32; 8],
) -> ([u32; 8], bool) {
    let (mut result, mut doubts) = ([0; 8], 0);
    for lane in 0..8 {
        let (bits, doubt) = O::quick::<Z>(x[lane], y[lane], z[lane]);
        result[lane] = bits;
        doubts |= all_ones_if(doubt) & mask[lane];
    }
    (result, doubts != 0)
}

// No closures and no iterators below: they would not be sure to be compiled for the host's vectors.
impl<const C: usize, const Z: bool, O: Quick> Body<C> for OnHost<O, Z> {
    #[inline(always)]
    fn run(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
        let (d, a) = (usize::from(step.d), usize::from(step.a));
        let (b, c) = (usize::from(step.b), usize::from(step.c));
        if d.max(a).max(b).max(c) >= wave.v.len() {
            return;
        }
        let (file, mut doubtful) = (wave.v.as_mut_slice(), 0);
        for at in 0..C {
            let mask = if wave.full { &[u32::MAX; 8] } else { &wave.mask.0[at] };
            let (x, y, z) = (&file[a].0[at], &file[b].0[at], &file[c].0[at]);
            let (result, doubt) = eight::<Z, O>(x, y, z, mask);
            if doubt {
                doubtful |= 0xff << (at * 8);
            } else if wave.full {
                file[d].0[at] = result;
            } else {
                blend(&mut file[d].0[at], &result, mask);
            }
        }
        if doubtful != 0 {
            each_of::<C, O>(wave, context, step, wave.active & doubtful);
        }
    }
}

impl<const C: usize, O: QuickWide> Body<C> for WideOnHost<O> {
    #[inline(always)]
    fn run(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
        let (d, a) = (usize::from(step.d), usize::from(step.a));
        let (b, c) = (usize::from(step.b), usize::from(step.c));
        let [wide, wide_a, wide_b, wide_c] = O::WIDE;
        if d.max(a).max(b).max(c) + 1 >= wave.v.len() {
            return;
        }
        let (file, mut doubtful) = (wave.v.as_mut_slice(), 0);
        for at in 0..C {
            let mask = if wave.full { &[u32::MAX; 8] } else { &wave.mask.0[at] };
            let (mut low, mut high, mut doubts) = ([0; 8], [0; 8], 0);
            for lane in 0..8 {
                let x = value_at(file, a, at, lane, wide_a);
                let y = value_at(file, b, at, lane, wide_b);
                let z = value_at(file, c, at, lane, wide_c);
                let (bits, doubt) = O::quick(x, y, z);
                (low[lane], high[lane]) = (bits as u32, (bits >> 32) as u32);
                doubts |= all_ones_if(doubt) & mask[lane];
            }
            if doubts != 0 {
                doubtful |= 0xff << (at * 8);
                continue;
            }
            blend(&mut file[d].0[at], &low, mask);
            if wide {
                blend(&mut file[d + 1].0[at], &high, mask);
            }
        }
        if doubtful != 0 {
            each_of::<C, O>(wave, context, step, wave.active & doubtful);
        }
    }
}

/// A result of arithmetic. What was rounded up to the smallest normal number may have to be flushed.
#[inline(always)]
fn rounded<const Z: bool>(value: f32) -> (u32, bool) {
    let bits = value.to_bits();
    (flush::<Z>(bits), value.is_nan() | (Z & (bits & !SIGN == MIN_NORMAL)))
}

/// Numbers in their order, -0 below +0.
#[inline(always)]
fn key(bits: u32) -> i32 {
    let bits = bits.cast_signed();
    bits ^ ((bits >> 31).cast_unsigned() >> 1).cast_signed()
}

#[inline(always)]
fn lesser(a: u32, b: u32) -> u32 {
    if key(b) < key(a) { b } else { a }
}

#[inline(always)]
fn greater(a: u32, b: u32) -> u32 {
    if key(b) > key(a) { b } else { a }
}

/// The number in the middle; of two zeros it depends on the device which.
#[inline(always)]
fn median(a: u32, b: u32, c: u32) -> (u32, bool) {
    let is_zero = |bits: u32| u32::from(bits & !SIGN == 0);
    let zeros = is_zero(a) + is_zero(b) + is_zero(c);
    (greater(lesser(a, b), lesser(greater(a, b), c)), zeros > 1)
}

/// The field of the exponent.
#[inline(always)]
pub(super) fn field(bits: u32) -> u32 {
    bits >> 23 & 0xff
}

/// Whether it is that of a number that is neither zero, denormal, infinite nor NaN.
#[inline(always)]
pub(super) fn is_normal(field: u32) -> bool {
    field.wrapping_sub(1) < 254
}

/// A quotient with the sign of its operands, where these are normal numbers and it is none of the smallest; or zero, where
/// the numerator is.
#[inline(always)]
fn fixed_up(quotient: u32, denominator: u32, numerator: u32) -> (u32, bool) {
    let (d, n) = (field(denominator), field(numerator));
    let is_finite = quotient & !SIGN < INFINITY;
    let is_ordinary = is_normal(n) & (n + 150 >= d) & is_finite;
    let is_zero = numerator & !SIGN == 0;
    let magnitude = if is_zero { 0 } else { quotient & !SIGN };
    let is_known = is_normal(d) & (is_ordinary | is_zero);
    ((denominator ^ numerator) & SIGN | magnitude, !is_known)
}

/// Times a power of two, where number and product are normal, or zero or infinite.
#[inline(always)]
fn scaled(bits: u32, power: u32) -> (u32, bool) {
    let (from, by) = (field(bits), power.cast_signed().clamp(-300, 300).cast_unsigned());
    let is_ordinary = is_normal(from) & is_normal(from.wrapping_add(by));
    let is_same = (bits & !SIGN == 0) | (bits & !SIGN == INFINITY);
    let product = bits.wrapping_add(by << 23);
    (if is_same { bits } else { product }, !(is_ordinary | is_same))
}

/// Unfused, with denormals flushed whatever the mode.
#[inline(always)]
fn unfused(a: u32, b: u32, c: u32) -> (u32, bool) {
    let (a, b, c) = (flushed::<true>(a), flushed::<true>(b), flushed::<true>(c));
    let (product, doubt) = rounded::<true>(a * b);
    let (sum, doubt_of_sum) = rounded::<true>(f(product) + c);
    (sum, doubt | doubt_of_sum)
}

/// Arithmetic: `Operation |a, b, c| value` of floats.
macro_rules! arithmetic {
    ($($op:ident |$a:pat_param, $b:pat_param, $c:pat_param| $body:expr;)*) => {$(
        impl Quick for $op {
            #[inline(always)]
            fn quick<const Z: bool>(a: u32, b: u32, c: u32) -> (u32, bool) {
                let ($a, $b, $c) = (flushed::<Z>(a), flushed::<Z>(b), flushed::<Z>(c));
                rounded::<Z>($body)
            }
        }
    )*};
}

/// Choices among numbers: `Operation |a, b, c| bits`; NaNs are in doubt.
macro_rules! choices {
    ($($op:ident |$a:pat_param, $b:pat_param, $c:pat_param| $body:expr;)*) => {$(
        impl Quick for $op {
            #[inline(always)]
            fn quick<const Z: bool>(a: u32, b: u32, c: u32) -> (u32, bool) {
                let nan = is_nan(a) | is_nan(b) | is_nan(c);
                let ($a, $b, $c) = (flush::<Z>(a), flush::<Z>(b), flush::<Z>(c));
                let (bits, doubt) = $body;
                (bits, nan | doubt)
            }
        }
    )*};
}

/// Anything else: `Operation |a, b, c| (bits, doubt)` of registers.
macro_rules! others {
    ($($op:ident |$a:pat_param, $b:pat_param, $c:pat_param| $body:expr;)*) => {$(
        impl Quick for $op {
            #[inline(always)]
            fn quick<const Z: bool>($a: u32, $b: u32, $c: u32) -> (u32, bool) { $body }
        }
    )*};
}

arithmetic! {
    VAddF32 |a, b, _| a + b;
    VSubF32 |a, b, _| a - b;
    VSubrevF32 |a, b, _| b - a;
    VMulF32 |a, b, _| a * b;
    VFmaF32 |a, b, c| a.mul_add(b, c);
    VFmacF32 |a, b, c| a.mul_add(b, c);
    VMulLegacyF32 |a, b, _| if (a == 0.0) | (b == 0.0) { 0.0 } else { a * b };
    VFmaLegacyF32 |a, b, c| if (a == 0.0) | (b == 0.0) { 0.0 + c } else { a.mul_add(b, c) };
    VFmacLegacyF32 |a, b, c| if (a == 0.0) | (b == 0.0) { 0.0 + c } else { a.mul_add(b, c) };
    VCeilF32 |a, _, _| a.ceil();
    VFloorF32 |a, _, _| a.floor();
    VTruncF32 |a, _, _| a.trunc();
    VRndneF32 |a, _, _| a.round_ties_even();
    VFractF32 |a, _, _| {
        let fraction = a - a.floor();
        if fraction >= 1.0 { f(0x3f7f_ffff) } else { fraction }
    };
}

choices! {
    VMinF32 |a, b, _| (lesser(a, b), false);
    VMaxF32 |a, b, _| (greater(a, b), false);
    VMinimumF32 |a, b, _| (lesser(a, b), false);
    VMaximumF32 |a, b, _| (greater(a, b), false);
    VMin3F32 |a, b, c| (lesser(lesser(a, b), c), false);
    VMax3F32 |a, b, c| (greater(greater(a, b), c), false);
    VMinimum3F32 |a, b, c| (lesser(lesser(a, b), c), false);
    VMaximum3F32 |a, b, c| (greater(greater(a, b), c), false);
    VMinmaxF32 |a, b, c| (greater(lesser(a, b), c), false);
    VMaxminF32 |a, b, c| (lesser(greater(a, b), c), false);
    VMinimummaximumF32 |a, b, c| (greater(lesser(a, b), c), false);
    VMaximumminimumF32 |a, b, c| (lesser(greater(a, b), c), false);
    VMed3F32 |a, b, c| median(a, b, c);
}

others! {
    VMadF32 |a, b, c| unfused(a, b, c);
    VMacF32 |a, b, c| unfused(a, b, c);
    VRcpF32 |a, _, _| rounded::<true>(1.0 / f(flush::<true>(a)));
    VSqrtF32 |a, _, _| rounded::<true>(f(flush::<true>(a)).sqrt());
    VRsqF32 |a, _, _| reciprocal_root(a);
    VExpF32 |a, _, _| exponential(a);
    VDivFixupF32 |a, b, c| fixed_up(a, b, c);
    VLdexpF32 |a, b, _| scaled(a, b);
    VLogF32 |a, _, _| logarithm(a);
    VCvtI32F32 |a, _, _| ((f(a) as i32).cast_unsigned(), false);
    VCvtU32F32 |a, _, _| (f(a) as u32, false);
    VCvtFloorI32F32 |a, _, _| ((f(a).floor() as i32).cast_unsigned(), is_nan(a) | is_denormal(a));
    VCvtF32I32 |a, _, _| ((a.cast_signed() as f32).to_bits(), false);
    VCvtF32U32 |a, _, _| ((a as f32).to_bits(), false);
    VCvtF32Ubyte0 |a, _, _| (((a & 0xff) as f32).to_bits(), false);
    VCvtF32Ubyte1 |a, _, _| (((a >> 8 & 0xff) as f32).to_bits(), false);
    VCvtF32Ubyte2 |a, _, _| (((a >> 16 & 0xff) as f32).to_bits(), false);
    VCvtF32Ubyte3 |a, _, _| (((a >> 24) as f32).to_bits(), false);
}

/// Rounded to the precision of halves, once: adding a power of two and taking it away does that.
#[inline(always)]
fn at_half_precision(value: f64) -> f32 {
    let exponent = (value.to_bits() >> 52 & 0x7ff).max(1023 - 14);
    let unit = f64::from_bits((exponent + 42) << 52);
    let magnitude = (value.abs() + unit) - unit;
    magnitude.copysign(value) as f32
}

/// Arithmetic of halves in f32, which has more than twice as many bits.
#[inline(always)]
fn halves(a: u32, b: u32, function: impl Fn(f32, f32) -> f32) -> (u32, bool) {
    let value = function(half(a), half(b));
    (to_half(value), is_nan_half(a) | is_nan_half(b) | value.is_nan())
}

/// `a * b + c`: f64 holds all that matters of it.
#[inline(always)]
fn fused_halves(a: u32, b: u32, c: u32) -> (u32, bool) {
    let (x, y, z) = (f64::from(half(a)), f64::from(half(b)), f64::from(half(c)));
    let value = x * y + z;
    let nan = is_nan_half(a) | is_nan_half(b) | is_nan_half(c);
    (to_half(at_half_precision(value)), nan | !value.is_finite())
}

#[inline(always)]
fn half_key(bits: u32) -> i32 {
    key(bits << 16)
}

#[inline(always)]
fn lesser_half(a: u32, b: u32) -> (u32, bool) {
    let least = if half_key(b) < half_key(a) { b } else { a };
    (least & 0xffff, is_nan_half(a) | is_nan_half(b))
}

#[inline(always)]
fn greater_half(a: u32, b: u32) -> (u32, bool) {
    let greatest = if half_key(b) > half_key(a) { b } else { a };
    (greatest & 0xffff, is_nan_half(a) | is_nan_half(b))
}

/// Both halves of registers.
#[inline(always)]
fn packed(a: u32, b: u32, c: u32, function: impl Fn(u32, u32, u32) -> (u32, bool)) -> (u32, bool) {
    let (low, doubt) = function(a & 0xffff, b & 0xffff, c & 0xffff);
    let (high, doubt_of_high) = function(a >> 16, b >> 16, c >> 16);
    (low | high << 16, doubt | doubt_of_high)
}

/// The nearest bf16.
#[inline(always)]
fn brain(bits: u32) -> (u32, bool) {
    (bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16, is_nan(bits))
}

// Halves; registers of the lower half may have anything in the upper.
others! {
    VAddF16 |a, b, _| halves(a, b, |a, b| a + b);
    VSubF16 |a, b, _| halves(a, b, |a, b| a - b);
    VSubrevF16 |a, b, _| halves(a, b, |a, b| b - a);
    VMulF16 |a, b, _| halves(a, b, |a, b| a * b);
    VFmaF16 |a, b, c| fused_halves(a, b, c);
    VFmacF16 |a, b, c| fused_halves(a, b, c);
    VMinF16 |a, b, _| lesser_half(a, b);
    VMaxF16 |a, b, _| greater_half(a, b);
    VPkAddF16 |a, b, c| packed(a, b, c, |a, b, _| halves(a, b, |a, b| a + b));
    VPkMulF16 |a, b, c| packed(a, b, c, |a, b, _| halves(a, b, |a, b| a * b));
    VPkFmaF16 |a, b, c| packed(a, b, c, fused_halves);
    VPkFmacF16 |a, b, c| packed(a, b, c, fused_halves);
    VPkMinF16 |a, b, c| packed(a, b, c, |a, b, _| lesser_half(a, b));
    VPkMaxF16 |a, b, c| packed(a, b, c, |a, b, _| greater_half(a, b));
    VCvtF16F32 |a, _, _| (to_half(f(a)), is_nan(a));
    VCvtF32F16 |a, _, _| (half(a).to_bits(), is_nan_half(a));
    VCvtPkF16F32 |a, b, _| (to_half(f(a)) | to_half(f(b)) << 16, is_nan(a) | is_nan(b));
    VCvtPkBf16F32 |a, b, _| {
        let ((low, doubt), (high, doubt_of_high)) = (brain(a), brain(b));
        let denormal = is_denormal(a) | is_denormal(b);
        (low | high << 16, doubt | doubt_of_high | denormal)
    };
}

/// A result of arithmetic on doubles.
#[inline(always)]
fn double(value: f64) -> (u64, bool) {
    (value.to_bits(), value.is_nan())
}

macro_rules! wides {
    ($($op:ident |$a:pat_param, $b:pat_param, $c:pat_param| $body:expr;)*) => {$(
        impl QuickWide for $op {
            #[inline(always)]
            fn quick($a: u64, $b: u64, $c: u64) -> (u64, bool) { $body }
        }
    )*};
}

wides! {
    VAddF64 |a, b, _| double(d(a) + d(b));
    VMulF64 |a, b, _| double(d(a) * d(b));
    VFmaF64 |a, b, c| double(d(a).mul_add(d(b), d(c)));
    VFmacF64 |a, b, c| double(d(a).mul_add(d(b), d(c)));
    VCeilF64 |a, _, _| double(d(a).ceil());
    VFloorF64 |a, _, _| double(d(a).floor());
    VTruncF64 |a, _, _| double(d(a).trunc());
    VRndneF64 |a, _, _| double(d(a).round_ties_even());
    VCvtF64I32 |a, _, _| double(f64::from((a as u32).cast_signed()));
    VCvtF64U32 |a, _, _| double(f64::from(a as u32));
    VCvtF64F32 |a, _, _| (f64::from(f(a as u32)).to_bits(), is_nan(a as u32) | is_denormal(a as u32));
    VCvtF32F64 |a, _, _| {
        let bits = (d(a) as f32).to_bits();
        // Near the smallest normal number, what is flushed is for the device to say.
        let tiny = (bits & !SIGN <= MIN_NORMAL) & (bits & !SIGN != 0);
        (bits.into(), is_nan(bits) | tiny)
    };
    VCvtI32F64 |a, _, _| (u64::from((d(a) as i32).cast_unsigned()), false);
    VCvtU32F64 |a, _, _| (u64::from(d(a) as u32), false);
}

/// By what they go: functions that are correctly rounded where nothing of the device is known, f32 that is the same in
/// either way of denormals, f32 that is not, f16 and two registers in the common mode.
macro_rules! find {
    (correctly_rounded: $($seed:ident)*; either: $($either:ident)*; singles: $($single:ident)*; halves: $($half:ident)*; wide: $($wide:ident)*;) => {
        /// The handler on the host's unit, if the host does what the mode says.
        pub(super) fn find<const C: usize>(op: Op, mode: &Mode, host: Host) -> Option<Handler<C>> {
            let (flushes, plain) = (flushes_singles(mode), has_plain_halves_and_doubles(mode));
            let unknown = !mode.generation().has_captured_transcendentals();
            Some(match (op, flushes) {
                $((Op::$seed, _) if unknown => handler::<C, OnHost<$seed, true>>(host),)*
                $((Op::$either, Some(_)) => handler::<C, OnHost<$either, false>>(host),)*
                $(
                    (Op::$single, Some(false)) => handler::<C, OnHost<$single, false>>(host),
                    (Op::$single, Some(true)) => handler::<C, OnHost<$single, true>>(host),
                )*
                $((Op::$half, _) if plain => handler::<C, OnHost<$half, false>>(host),)*
                $((Op::$wide, _) if plain => handler::<C, WideOnHost<$wide>>(host),)*
                _ => return None,
            })
        }

        /// All that the host has.
        #[cfg(test)]
        pub(crate) const OPERATIONS: &[Op] = &[$(Op::$seed,)* $(Op::$either,)* $(Op::$single,)* $(Op::$half,)* $(Op::$wide,)*];
    };
}

find! {
    correctly_rounded: VRcpF32 VSqrtF32 VRsqF32 VExpF32 VLogF32;
    either:
        VMadF32 VMacF32 VDivFixupF32 VLdexpF32 VCvtI32F32 VCvtU32F32 VCvtFloorI32F32 VCvtF32I32 VCvtF32U32
        VCvtF32Ubyte0 VCvtF32Ubyte1 VCvtF32Ubyte2 VCvtF32Ubyte3;
    singles:
        VAddF32 VSubF32 VSubrevF32 VMulF32 VFmaF32 VFmacF32 VMulLegacyF32 VFmaLegacyF32 VFmacLegacyF32
        VCeilF32 VFloorF32 VTruncF32 VRndneF32 VFractF32
        VMinF32 VMaxF32 VMinimumF32 VMaximumF32 VMin3F32 VMax3F32 VMinimum3F32 VMaximum3F32
        VMinmaxF32 VMaxminF32 VMinimummaximumF32 VMaximumminimumF32 VMed3F32;
    halves:
        VAddF16 VSubF16 VSubrevF16 VMulF16 VFmaF16 VFmacF16 VMinF16 VMaxF16
        VPkAddF16 VPkMulF16 VPkFmaF16 VPkFmacF16 VPkMinF16 VPkMaxF16
        VCvtF16F32 VCvtF32F16 VCvtPkF16F32 VCvtPkBf16F32;
    wide:
        VAddF64 VMulF64 VFmaF64 VFmacF64 VCeilF64 VFloorF64 VTruncF64 VRndneF64
        VCvtF64I32 VCvtF64U32 VCvtF64F32 VCvtF32F64 VCvtI32F64 VCvtU32F64;
}
