//! Conversions between formats, and between floats and integers.

use super::function::rounding;
use crate::num::{self, Env, F16, F32, Format, Integer, Mode, Round, Small, SmallRound, ToInteger};

/// Into another format. Results are rounded by the field of f16 and f64 if either side is one of them.
pub(super) fn cvt<From: Format, To: Format>(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
    let to = rounding(mode.env::<To>(), mode.round_f16_f64);
    num::convert::<From, To>(From::narrow(a), mode.env::<From>(), to).into()
}

/// Two numbers into two halves of a register.
pub(super) fn cvt_pk<From: Format, To: Format>(mode: &Mode, a: u64, b: u64, _: u64) -> u64 {
    cvt::<From, To>(mode, a, 0, 0) | cvt::<From, To>(mode, b, 0, 0) << 16
}

pub(super) fn cvt_pkrtz(mode: &Mode, a: u64, b: u64, _: u64) -> u64 {
    num::cvt_pkrtz(a as u32, b as u32, mode.env::<F32>(), mode.env::<F16>()).into()
}

fn integer<F: Format>(mode: &Mode, a: u64, to: Integer, how: ToInteger) -> u64 {
    num::to_integer::<F>(F::narrow(a), to, how, mode.env::<F>(), mode.generation())
}

/// To a signed integer of so many bits, cut.
pub(super) fn to_signed<F: Format, const W: u32>(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
    integer::<F>(mode, a, Integer::signed(W), ToInteger::Truncate)
}

pub(super) fn to_unsigned<F: Format, const W: u32>(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
    integer::<F>(mode, a, Integer::unsigned(W), ToInteger::Truncate)
}

pub(super) fn to_i32_floor(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
    integer::<F32>(mode, a, Integer::signed(32), ToInteger::Floor)
}

pub(super) fn to_i32_nearest(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
    integer::<F32>(mode, a, Integer::signed(32), ToInteger::NearestUp)
}

pub(super) fn from_signed<F: Format, const W: u32>(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
    num::from_integer::<F>(a, Integer::signed(W), mode.env::<F>()).into()
}

pub(super) fn from_unsigned<F: Format, const W: u32>(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
    num::from_integer::<F>(a, Integer::unsigned(W), mode.env::<F>()).into()
}

pub(super) fn pk_i16_f32(mode: &Mode, a: u64, b: u64, _: u64) -> u64 {
    to_signed::<F32, 16>(mode, a, 0, 0) | to_signed::<F32, 16>(mode, b, 0, 0) << 16
}

pub(super) fn pk_u16_f32(mode: &Mode, a: u64, b: u64, _: u64) -> u64 {
    to_unsigned::<F32, 16>(mode, a, 0, 0) | to_unsigned::<F32, 16>(mode, b, 0, 0) << 16
}

/// The first operand as the byte of the third that the second names.
pub(super) fn pk_u8_f32(mode: &Mode, a: u64, b: u64, c: u64) -> u64 {
    let shift = (b & 3) * 8;
    c & !(0xff << shift) | to_unsigned::<F32, 8>(mode, a, 0, 0) << shift
}

pub(super) fn norm<F: Format, const SIGNED: bool>(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
    num::cvt_norm::<F>(F::narrow(a), SIGNED, mode.env::<F>()).into()
}

pub(super) fn pk_norm<F: Format, const SIGNED: bool>(mode: &Mode, a: u64, b: u64, _: u64) -> u64 {
    norm::<F, SIGNED>(mode, a, 0, 0) | norm::<F, SIGNED>(mode, b, 0, 0) << 16
}

pub(super) fn off_f32_i4(_: &Mode, a: u64, _: u64, _: u64) -> u64 {
    num::cvt_off_f32_i4(a as u32).into()
}

/// What the device calls fp8 or bf8.
fn small<const BRAIN: bool>(mode: &Mode) -> Small {
    if BRAIN { Small::bf8(mode.generation()) } else { Small::fp8(mode.generation()) }
}

/// The value of the lowest byte.
pub(super) fn f32_of_small<const BRAIN: bool>(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
    small::<BRAIN>(mode).decode(a as u32 & 0xff).into()
}

/// Halves have all values of a byte.
pub(super) fn f16_of_small<const BRAIN: bool>(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
    let value = small::<BRAIN>(mode).decode(a as u32 & 0xff);
    num::convert::<F32, F16>(value, Env::IEEE, Env::IEEE).into()
}

pub(super) fn pk_f32_of_small<const BRAIN: bool>(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
    let value = |bits: u64| f32_of_small::<BRAIN>(mode, bits, 0, 0);
    value(a) | value(a >> 8) << 32
}

pub(super) fn pk_f16_of_small<const BRAIN: bool>(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
    let value = |bits: u64| f16_of_small::<BRAIN>(mode, bits, 0, 0);
    value(a) | value(a >> 8) << 16
}

fn small_of<const BRAIN: bool>(mode: &Mode, value: u32, how: SmallRound) -> u64 {
    small::<BRAIN>(mode).encode(value, how, mode.fp16_ovfl).into()
}

/// Two numbers into two bytes, to nearest even whatever MODE says.
pub(super) fn pk_small_of_f32<const BRAIN: bool>(mode: &Mode, a: u64, b: u64, _: u64) -> u64 {
    let nearest = SmallRound::Mode(Round::NearestEven);
    let byte = |bits: u64| small_of::<BRAIN>(mode, bits as u32, nearest);
    byte(a) | byte(b) << 8
}

/// Both halves into two bytes.
pub(super) fn pk_small_of_f16<const BRAIN: bool>(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
    let [low, high] = [a, a >> 16].map(|bits| u64::from(single(bits)));
    pk_small_of_f32::<BRAIN>(mode, low, high, 0)
}

/// Stochastically, by the seed `b`.
pub(super) fn sr_small_of_f32<const BRAIN: bool>(mode: &Mode, a: u64, b: u64, _: u64) -> u64 {
    small_of::<BRAIN>(mode, a as u32, SmallRound::Stochastic(b as u32))
}

pub(super) fn sr_small_of_f16<const BRAIN: bool>(mode: &Mode, a: u64, b: u64, _: u64) -> u64 {
    sr_small_of_f32::<BRAIN>(mode, single(a).into(), b, 0)
}

/// A half as an f32.
fn single(bits: u64) -> u32 {
    num::convert::<F16, F32>(bits as u16, Env::IEEE, Env::IEEE)
}

pub(super) fn sr_16_of_f32<F: Format>(_: &Mode, a: u64, b: u64, _: u64) -> u64 {
    num::stochastic_16::<F>(a as u32, b as u32).into()
}

/// Two numbers, each by a half of the seed `c`.
pub(super) fn sr_pk_of_f32<F: Format>(mode: &Mode, a: u64, b: u64, c: u64) -> u64 {
    let low = sr_16_of_f32::<F>(mode, a, c << 16, 0);
    low | sr_16_of_f32::<F>(mode, b, c & 0xffff_0000, 0) << 16
}
