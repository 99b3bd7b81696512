//! Dot products within a lane: two, four or eight elements of a register.

use super::{Lane, Map};
use crate::exec::handler;
use crate::generated::Op;
use crate::num::matrix::{
    Accumulator, Element, Factor, Model, dot_integers, dot_into_signed, multiply_doubles,
};
use crate::num::{Generation, Small};
use crate::step::{Handler, Host};

/// Which unit adds.
mod unit {
    pub(super) const GFX11: u8 = 0;
    pub(super) const GFX12: u8 = 1;
    pub(super) const UNKNOWN: u8 = 2;
}

/// Elements of `BITS` bits, with or without sign.
struct Integers<const BITS: u32, const A: bool, const B: bool, const CLAMP: bool>;

impl<const BITS: u32, const A: bool, const B: bool, const CLAMP: bool> Lane
    for Integers<BITS, A, B, CLAMP>
{
    #[inline(always)]
    fn f(a: u32, b: u32, c: u32) -> u32 {
        dot_integers(BITS, (a, A), (b, B), c, CLAMP)
    }
}

/// Elements without a sign, added to a number that has one and is clamped.
struct IntoSigned<const BITS: u32>;

impl<const BITS: u32> Lane for IntoSigned<BITS> {
    #[inline(always)]
    fn f(a: u32, b: u32, c: u32) -> u32 {
        dot_into_signed(BITS, a, b, c)
    }
}

fn half<const BF: bool>(bits: u32, unit: u8) -> Factor {
    if BF {
        let factor = Element::Bf16.factor(bits & 0xffff);
        if unit == unit::GFX11 { factor.flushed() } else { factor }
    } else {
        Element::F16.factor(bits & 0xffff)
    }
}

/// Two halves, and a sum in that format.
fn halves<const BF: bool>(unit: u8, a: u32, b: u32, c: u32, to: Accumulator) -> u32 {
    let split = |word: u32| [half::<BF>(word, unit), half::<BF>(word >> 16, unit)];
    match unit {
        unit::GFX11 => Model::RDNA3.dot(&split(a), &split(b), c, to),
        unit::GFX12 => Model::RDNA4_DOT2.dot(&split(a), &split(b), c, to),
        _ => {
            let element = if BF { Element::Bf16 } else { Element::F16 };
            let split = |word: u32| [word & 0xffff, word >> 16].map(|it| element.double(it));
            let shape = crate::num::matrix::Shape { m: 1, n: 1, k: 2 };
            let mut sum = [c];
            multiply_doubles(2, shape, &split(a), &split(b), &mut sum, to);
            sum[0]
        }
    }
}

/// Halves added to single precision.
struct ToSingle<const BF: bool, const UNIT: u8>;

impl<const BF: bool, const UNIT: u8> Lane for ToSingle<BF, UNIT> {
    fn f(a: u32, b: u32, c: u32) -> u32 {
        halves::<BF>(UNIT, a, b, c, Accumulator::F32)
    }
}

/// Halves added to their own format.
struct ToHalf<const BF: bool, const UNIT: u8, const SATURATE: bool>;

impl<const BF: bool, const UNIT: u8, const SATURATE: bool> Lane for ToHalf<BF, UNIT, SATURATE> {
    fn f(a: u32, b: u32, c: u32) -> u32 {
        let to = if BF { Accumulator::Bf16 } else { Accumulator::F16 { saturate: SATURATE } };
        halves::<BF>(UNIT, a, b, c & 0xffff, to)
    }
}

/// Four elements of eight bits, which are fp8 or bf8.
struct Bytes<const BF_A: bool, const BF_B: bool>;

impl<const BF_A: bool, const BF_B: bool> Lane for Bytes<BF_A, BF_B> {
    fn f(a: u32, b: u32, c: u32) -> u32 {
        let split = |word: u32, is_bf8: bool| {
            let element = Element::Small(if is_bf8 { Small::BF8_OCP } else { Small::FP8_OCP });
            word.to_le_bytes().map(|it| element.factor(it.into()))
        };
        Model::RDNA4_FP8.dot(&split(a, BF_A), &split(b, BF_B), c, Accumulator::F32)
    }
}

/// What decides how a dot product is computed, beside its operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(crate) unit: Generation,
    pub(crate) clamps: bool,
    /// MODE.FP16_OVFL.
    pub(crate) saturates: bool,
    /// Whether the first and the second source have signs, where the instruction says so.
    pub(crate) signed: [bool; 2],
}

/// The handler of a dot product.
pub(crate) fn find<const C: usize>(op: Op, choice: Choice, host: Host) -> Option<Handler<C>> {
    let fixed = |signed: bool| [signed, signed];
    Some(match op {
        Op::VDot2I32I16 => integers::<C, 16>(fixed(true), choice.clamps, host),
        Op::VDot2U32U16 => integers::<C, 16>(fixed(false), choice.clamps, host),
        Op::VDot4I32I8 => integers::<C, 8>(fixed(true), choice.clamps, host),
        Op::VDot4U32U8 => integers::<C, 8>(fixed(false), choice.clamps, host),
        Op::VDot4I32Iu8 => into_signed::<C, 8>(choice.signed, choice.clamps, host),
        Op::VDot8I32I4 => integers::<C, 4>(fixed(true), choice.clamps, host),
        Op::VDot8U32U4 => integers::<C, 4>(fixed(false), choice.clamps, host),
        Op::VDot8I32Iu4 => into_signed::<C, 4>(choice.signed, choice.clamps, host),
        Op::VDot2F32F16 => single::<C, false>(choice.unit, host),
        Op::VDot2F32Bf16 => single::<C, true>(choice.unit, host),
        Op::VDot2F16F16 => narrow::<C, false>(choice, host)?,
        Op::VDot2Bf16Bf16 => narrow::<C, true>(choice, host)?,
        Op::VDot4F32Fp8Fp8 => handler::<C, Map<Bytes<false, false>>>(host),
        Op::VDot4F32Fp8Bf8 => handler::<C, Map<Bytes<false, true>>>(host),
        Op::VDot4F32Bf8Fp8 => handler::<C, Map<Bytes<true, false>>>(host),
        Op::VDot4F32Bf8Bf8 => handler::<C, Map<Bytes<true, true>>>(host),
        _ => return None,
    })
}

/// The sum has a sign whatever elements have.
fn into_signed<const C: usize, const BITS: u32>(
    signed: [bool; 2],
    clamps: bool,
    host: Host,
) -> Handler<C> {
    match (signed, clamps) {
        ([false, false], true) => handler::<C, Map<IntoSigned<BITS>>>(host),
        _ => integers::<C, BITS>(signed, clamps, host),
    }
}

fn integers<const C: usize, const BITS: u32>(
    signed: [bool; 2],
    clamps: bool,
    host: Host,
) -> Handler<C> {
    match (signed, clamps) {
        ([false, false], false) => handler::<C, Map<Integers<BITS, false, false, false>>>(host),
        ([false, true], false) => handler::<C, Map<Integers<BITS, false, true, false>>>(host),
        ([true, false], false) => handler::<C, Map<Integers<BITS, true, false, false>>>(host),
        ([true, true], false) => handler::<C, Map<Integers<BITS, true, true, false>>>(host),
        ([false, false], true) => handler::<C, Map<Integers<BITS, false, false, true>>>(host),
        ([false, true], true) => handler::<C, Map<Integers<BITS, false, true, true>>>(host),
        ([true, false], true) => handler::<C, Map<Integers<BITS, true, false, true>>>(host),
        ([true, true], true) => handler::<C, Map<Integers<BITS, true, true, true>>>(host),
    }
}

fn single<const C: usize, const BF: bool>(unit: Generation, host: Host) -> Handler<C> {
    match unit {
        Generation::Gfx11 => handler::<C, Map<ToSingle<BF, { unit::GFX11 }>>>(host),
        Generation::Gfx12 => handler::<C, Map<ToSingle<BF, { unit::GFX12 }>>>(host),
        _ => handler::<C, Map<ToSingle<BF, { unit::UNKNOWN }>>>(host),
    }
}

fn narrow<const C: usize, const BF: bool>(choice: Choice, host: Host) -> Option<Handler<C>> {
    Some(match (choice.unit, choice.saturates) {
        (Generation::Gfx11, false) => handler::<C, Map<ToHalf<BF, { unit::GFX11 }, false>>>(host),
        (Generation::Gfx11, true) => handler::<C, Map<ToHalf<BF, { unit::GFX11 }, true>>>(host),
        (Generation::Gfx12, false) => handler::<C, Map<ToHalf<BF, { unit::GFX12 }, false>>>(host),
        (Generation::Gfx12, true) => handler::<C, Map<ToHalf<BF, { unit::GFX12 }, true>>>(host),
        _ => return None,
    })
}
