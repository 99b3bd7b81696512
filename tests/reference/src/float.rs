//! Operations on floats, on exact numbers that are rounded once by MODE.

use hsaco_isa::target::Generation;
use num_bigint::BigUint;

use super::exact::{BF16, Binary, F16, F32, F64, Number, Round};
use super::machine::Machine;
use super::operand::{Instruction, Type};

/// What of the machine and of the instruction decides results.
#[derive(Clone, Copy)]
pub(super) struct Env {
    mode: u32,
    generation: Generation,
    clamp: bool,
    omod: u32,
}

pub(super) type Function = fn(&Env, [u64; 3]) -> u64;
/// Name, result, sources, function.
pub(super) type Row = (&'static str, &'static str, &'static str, Function);

pub(super) fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.0 == name)
}

impl Env {
    pub(super) fn new(machine: &Machine<'_>, instruction: &Instruction) -> Self {
        Self {
            mode: machine.before.mode,
            generation: machine.generation,
            clamp: instruction.is_set("clamp"),
            omod: instruction.number("omod").unwrap_or(0) as u32,
        }
    }

    /// f32 has fields of its own in MODE; f16 and f64 share theirs. What bf16 follows is f32.
    fn is_single(binary: Binary) -> bool {
        binary == F32 || binary == BF16
    }

    fn round(&self, binary: Binary) -> Round {
        Round::from_mode(if Self::is_single(binary) { self.mode } else { self.mode >> 2 })
    }

    fn denormals(&self, binary: Binary) -> u32 {
        if Self::is_single(binary) { self.mode >> 4 & 3 } else { self.mode >> 6 & 3 }
    }

    fn flushes_sources(&self, binary: Binary) -> bool {
        self.denormals(binary) & 1 == 0
    }

    fn flushes_results(&self, binary: Binary) -> bool {
        self.denormals(binary) & 2 == 0
    }

    fn is_gfx12(&self) -> bool {
        self.generation >= Generation::Gfx12
    }

    /// Whether signalling NaNs become quiet.
    fn is_ieee(&self) -> bool {
        self.is_gfx12() || self.mode >> 9 & 1 == 1
    }

    fn clamps_nan(&self) -> bool {
        self.is_gfx12() || self.mode >> 8 & 1 == 1
    }

    /// A source: denormals are zero where MODE says so.
    fn source(&self, binary: Binary, bits: u64) -> u64 {
        if self.flushes_sources(binary) && binary.is_denormal(bits) {
            bits & binary.sign()
        } else {
            bits
        }
    }

    fn quieted(&self, binary: Binary, bits: u64) -> u64 {
        if self.is_ieee() { bits | binary.quiet() } else { bits }
    }

    fn rounded(&self, binary: Binary, number: &Number) -> u64 {
        let bits = number.rounded(binary, self.round(binary), self.flushes_results(binary));
        self.saturated(binary, bits)
    }

    /// MODE.FP16_OVFL: an infinity that came of a number is the largest number.
    fn saturated(&self, binary: Binary, bits: u64) -> u64 {
        let is_narrow = binary == F16 || binary == BF16;
        let overflows = is_narrow && self.mode >> 23 & 1 == 1 && binary.is_infinite(bits);
        if overflows { bits - 1 } else { bits }
    }

    /// Packed operations on bf16 round to nearest even and keep denormals, whatever MODE says.
    fn for_brain(&self) -> Self {
        Self { mode: self.mode & !3 | 0x30, ..*self }
    }

    /// Output modifiers.
    fn finished(&self, binary: Binary, bits: u64) -> u64 {
        let scaled = self.scaled(binary, bits);
        if self.clamp { self.clamped(binary, scaled) } else { scaled }
    }

    fn scaled(&self, binary: Binary, bits: u64) -> u64 {
        // Before gfx12 neither with denormals nor in IEEE mode.
        let keeps = !self.is_gfx12() && (!self.flushes_results(binary) || self.mode >> 9 & 1 == 1);
        if self.omod == 0 || keeps || binary.is_nan(bits) || binary.is_infinite(bits) {
            return bits;
        }
        // Zeros and denormals have no sign afterwards; a half that is denormal keeps its own.
        if binary.is_zero(bits) || binary.is_denormal(bits) {
            return 0;
        }
        let mut number = Number::of(binary, bits);
        number.exponent += [0, 1, 2, -1][(self.omod & 3) as usize];
        self.saturated(binary, number.rounded(binary, self.round(binary), true))
    }

    fn clamped(&self, binary: Binary, bits: u64) -> u64 {
        if binary.is_nan(bits) {
            return if self.clamps_nan() { 0 } else { bits };
        }
        let one = Number::integer(1).rounded(binary, Round::ToZero, false);
        if binary.is_negative(bits) { 0 } else { bits.min(one) }
    }
}

fn invalid(binary: Binary) -> u64 {
    binary.sign() | binary.infinity() | binary.quiet()
}

fn fma(env: &Env, binary: Binary, sources: [u64; 3]) -> u64 {
    env.finished(binary, fused(env, binary, sources))
}

fn fused(env: &Env, binary: Binary, sources: [u64; 3]) -> u64 {
    let [a, b, c] = sources.map(|bits| env.source(binary, bits));
    let is_nan = |bits| binary.is_nan(bits);
    if is_nan(a) || is_nan(b) {
        return env.quieted(binary, if is_nan(a) { a } else { b });
    }
    let is_infinite = |bits| binary.is_infinite(bits);
    if is_infinite(a) && binary.is_zero(b) || is_infinite(b) && binary.is_zero(a) {
        return invalid(binary);
    }
    if is_nan(c) {
        return env.quieted(binary, c);
    }
    let sign = (a ^ b) & binary.sign();
    if is_infinite(a) || is_infinite(b) {
        let opposed = is_infinite(c) && (c & binary.sign()) != sign;
        return if opposed { invalid(binary) } else { binary.infinity() | sign };
    }
    if is_infinite(c) {
        return c;
    }
    let [a, b, c] = [a, b, c].map(|bits| Number::of(binary, bits));
    env.rounded(binary, &a.times(&b).plus(&c, env.round(binary)))
}

fn add(env: &Env, binary: Binary, a: u64, b: u64) -> u64 {
    env.finished(binary, sum(env, binary, a, b))
}

fn sum(env: &Env, binary: Binary, a: u64, b: u64) -> u64 {
    let [a, b] = [a, b].map(|bits| env.source(binary, bits));
    if binary.is_nan(a) || binary.is_nan(b) {
        return env.quieted(binary, if binary.is_nan(a) { a } else { b });
    }
    match (binary.is_infinite(a), binary.is_infinite(b)) {
        (true, true) if a != b => return invalid(binary),
        (true, _) => return a,
        (_, true) => return b,
        _ => {}
    }
    let [a, b] = [a, b].map(|bits| Number::of(binary, bits));
    env.rounded(binary, &a.plus(&b, env.round(binary)))
}

fn negated(binary: Binary, bits: u64) -> u64 {
    bits ^ binary.sign()
}

fn mul(env: &Env, binary: Binary, a: u64, b: u64) -> u64 {
    env.finished(binary, product(env, binary, a, b))
}

fn product(env: &Env, binary: Binary, a: u64, b: u64) -> u64 {
    let [a, b] = [a, b].map(|bits| env.source(binary, bits));
    if binary.is_nan(a) || binary.is_nan(b) {
        return env.quieted(binary, if binary.is_nan(a) { a } else { b });
    }
    let sign = (a ^ b) & binary.sign();
    match (binary.is_infinite(a), binary.is_infinite(b)) {
        (true, _) if binary.is_zero(b) => return invalid(binary),
        (_, true) if binary.is_zero(a) => return invalid(binary),
        (true, _) | (_, true) => return binary.infinity() | sign,
        _ => {}
    }
    let [a, b] = [a, b].map(|bits| Number::of(binary, bits));
    env.rounded(binary, &a.times(&b))
}

/// A product that is zero where a factor is, whatever the other one is.
fn legacy_product_is_zero(env: &Env, a: u64, b: u64) -> bool {
    F32.is_zero(env.source(F32, a)) || F32.is_zero(env.source(F32, b))
}

fn less(binary: Binary, a: u64, b: u64) -> bool {
    // As integers of sign and magnitude, -0 is below +0.
    let key = |bits: u64| {
        let magnitude = i128::from(binary.magnitude(bits));
        if binary.is_negative(bits) { -magnitude - 1 } else { magnitude }
    };
    key(a) < key(b)
}

/// Whether manuals leave open what an operation does: one that selects a source, where MODE keeps denormal sources and flushes
/// denormal results.
pub(super) fn is_open(env: &Env, name: &str, ty: Type) -> bool {
    let selects = ["min", "max", "med3"].iter().any(|part| name.contains(part));
    selects && env.denormals(Binary::of(ty)) == 1
}

/// Minimum or maximum of numbers; a NaN loses against a number.
fn extreme(env: &Env, binary: Binary, a: u64, b: u64, is_max: bool) -> u64 {
    let flushed = |bits: u64| {
        let flushes = env.flushes_sources(binary) || env.flushes_results(binary);
        if flushes && binary.is_denormal(bits) { bits & binary.sign() } else { bits }
    };
    if env.is_ieee() && !env.is_gfx12() {
        // IEEE 754-2008: a signalling NaN is the result, made quiet.
        if binary.is_signalling(a) {
            return a | binary.quiet();
        }
        if binary.is_signalling(b) {
            return b | binary.quiet();
        }
    }
    match (binary.is_nan(a), binary.is_nan(b)) {
        // The manuals of CDNA and RDNA2 have the second, those of RDNA3 and RDNA4 the first.
        (true, true) if env.generation < Generation::Gfx11 => return b,
        (true, true) => return env.quieted(binary, a),
        (true, false) => return flushed(b),
        (false, true) => return flushed(a),
        _ => {}
    }
    let (a, b) = (flushed(a), flushed(b));
    let takes_first = if is_max { less(binary, b, a) } else { less(binary, a, b) };
    if takes_first { a } else { b }
}

/// Minimum or maximum where a NaN wins.
fn strict_extreme(env: &Env, binary: Binary, a: u64, b: u64, is_max: bool) -> u64 {
    for bits in [a, b] {
        if binary.is_signalling(bits) {
            return bits | binary.quiet();
        }
    }
    for bits in [a, b] {
        if binary.is_nan(bits) {
            return bits;
        }
    }
    extreme(env, binary, a, b, is_max)
}

/// Whether floats compare so.
pub(super) fn compares(env: &Env, relation: &str, ty: Type, a: u64, b: u64) -> Option<bool> {
    let binary = Binary::of(ty);
    if relation == "class" {
        return Some(b >> class(binary, a) & 1 == 1);
    }
    let [a, b] = [a, b].map(|bits| env.source(binary, bits));
    let is_unordered = binary.is_nan(a) || binary.is_nan(b);
    let is_equal = !is_unordered && (a == b || binary.is_zero(a) && binary.is_zero(b));
    let is_less = !is_unordered && !is_equal && less(binary, a, b);
    let is_greater = !is_unordered && !is_equal && !is_less;
    Some(match relation {
        "f" => false,
        "lt" => is_less,
        "eq" => is_equal,
        "le" => is_less || is_equal,
        "gt" => is_greater,
        "lg" => is_less || is_greater,
        "ge" => is_greater || is_equal,
        "o" => !is_unordered,
        "u" => is_unordered,
        "nge" => !(is_greater || is_equal),
        "nlg" => !(is_less || is_greater),
        "ngt" => !is_greater,
        "nle" => !(is_less || is_equal),
        "neq" => !is_equal,
        "nlt" => !is_less,
        "t" | "tru" => true,
        _ => return None,
    })
}

/// The number of its class: signalling NaN, quiet NaN, then from -infinity to +infinity.
fn class(binary: Binary, bits: u64) -> u32 {
    if binary.is_nan(bits) {
        return u32::from(!binary.is_signalling(bits));
    }
    let size = if binary.is_infinite(bits) {
        0
    } else if binary.is_zero(bits) {
        3
    } else if binary.is_denormal(bits) {
        2
    } else {
        1
    };
    if binary.is_negative(bits) { 2 + size } else { 9 - size }
}

/// Another format.
fn converted(env: &Env, from: Binary, to: Binary, bits: u64) -> u64 {
    let bits = env.source(from, bits);
    let sign = if from.is_negative(bits) { to.sign() } else { 0 };
    if from.is_nan(bits) {
        let payload = bits & ((1 << from.fraction) - 1);
        let moved = if to.fraction >= from.fraction {
            payload << (to.fraction - from.fraction)
        } else {
            payload >> (from.fraction - to.fraction)
        };
        let kept = sign | to.infinity() | moved;
        let quiet = env.quieted(to, kept);
        // A NaN whose payload is lost stays one.
        return if to.is_nan(quiet) { quiet } else { quiet | 1 };
    }
    if from.is_infinite(bits) {
        return sign | to.infinity();
    }
    env.rounded(to, &Number::of(from, bits))
}

/// An integer of a type, the nearest where there is none; of a NaN zero.
fn to_integer(env: &Env, from: Binary, to: Type, bits: u64, round: Round) -> u64 {
    let bits = env.source(from, bits);
    if from.is_nan(bits) {
        return 0;
    }
    let number = if from.is_infinite(bits) {
        if from.is_negative(bits) { i128::MIN } else { i128::MAX }
    } else {
        let (is_negative, magnitude) = Number::of(from, bits).to_integer(round);
        let magnitude = i128::try_from(magnitude).unwrap_or(i128::MAX);
        if is_negative { -magnitude } else { magnitude }
    };
    to.saturated(number) as u64
}

fn from_integer(env: &Env, to: Binary, number: i128) -> u64 {
    let number = Number::integer(number);
    env.finished(to, env.rounded(to, &number))
}

/// An integer as a float, in a direction.
fn integral(env: &Env, binary: Binary, bits: u64, round: Round) -> u64 {
    let bits = env.source(binary, bits);
    if binary.is_nan(bits) {
        return env.finished(binary, env.quieted(binary, bits));
    }
    if binary.is_infinite(bits) {
        return env.finished(binary, bits);
    }
    let (is_negative, magnitude) = Number::of(binary, bits).to_integer(round);
    let number = Number { is_negative, magnitude, exponent: 0 };
    env.finished(binary, number.rounded(binary, Round::ToZero, false))
}

/// The mantissa in [0.5, 1).
fn mantissa(env: &Env, binary: Binary, bits: u64) -> u64 {
    let bits = env.source(binary, bits);
    if binary.is_nan(bits) {
        return env.finished(binary, env.quieted(binary, bits));
    }
    if binary.is_infinite(bits) || binary.is_zero(bits) {
        return env.finished(binary, bits);
    }
    let mut number = Number::of(binary, bits);
    number.exponent -= number.leading() + 1;
    env.finished(binary, number.rounded(binary, Round::ToZero, false))
}

/// The exponent that belongs to the mantissa; zero where there is none.
fn exponent(env: &Env, binary: Binary, bits: u64) -> u64 {
    let bits = env.source(binary, bits);
    if binary.is_nan(bits) || binary.is_infinite(bits) || binary.is_zero(bits) {
        return 0;
    }
    i64::from(Number::of(binary, bits).leading() + 1) as u64
}

fn ldexp(env: &Env, binary: Binary, bits: u64, by: i32) -> u64 {
    let bits = env.source(binary, bits);
    if binary.is_nan(bits) {
        return env.finished(binary, env.quieted(binary, bits));
    }
    if binary.is_infinite(bits) || binary.is_zero(bits) {
        return env.finished(binary, bits);
    }
    let mut number = Number::of(binary, bits);
    // Beyond this every result is zero or infinite.
    number.exponent += by.clamp(-8192, 8192);
    env.finished(binary, env.rounded(binary, &number))
}

/// The integral part, from 0 to 255.
fn to_byte(env: &Env, bits: u64) -> u64 {
    to_integer(env, F32, Type::U16, bits, Round::ToZero).min(255)
}

fn two(low: u64, high: u64) -> u64 {
    low & 0xffff | (high & 0xffff) << 16
}

fn byte(env: &Env, bits: u64, at: u32) -> u64 {
    from_integer(env, F32, i128::from(bits >> (at * 8) & 0xff))
}

/// A number of sixteenths from -8 to 7.
fn offset(bits: u64) -> u64 {
    let nibble = i128::from(bits & 15);
    let mut number = Number::integer(if nibble > 7 { nibble - 16 } else { nibble });
    number.exponent = -4;
    number.rounded(F32, Round::NearestEven, false)
}

fn mid(env: &Env, binary: Binary, [a, b, c]: [u64; 3]) -> u64 {
    let min = |a, b| extreme(env, binary, a, b, false);
    let max = |a, b| extreme(env, binary, a, b, true);
    if [a, b, c].iter().any(|bits| binary.is_nan(*bits)) {
        return env.finished(binary, min(min(a, b), c));
    }
    if env.is_gfx12() {
        return env.finished(binary, max(min(a, b), min(max(a, b), c)));
    }
    // As older manuals have it, where zeros are equal: what is left of the largest.
    let largest = max(max(a, b), c);
    let zeros = |one, other| binary.is_zero(one) && binary.is_zero(other);
    let flushed = |bits| extreme(env, binary, bits, bits, true);
    let is_largest = |bits| flushed(bits) == largest || zeros(flushed(bits), largest);
    let left = match (is_largest(a), is_largest(b)) {
        (true, _) => max(b, c),
        (_, true) => max(a, c),
        _ => max(a, b),
    };
    env.finished(binary, left)
}

fn extremes(env: &Env, binary: Binary, sources: [u64; 3], max: [bool; 2]) -> u64 {
    let [a, b, c] = sources;
    let first = extreme(env, binary, a, b, max[0]);
    env.finished(binary, extreme(env, binary, first, c, max[1]))
}

fn strict_extremes(env: &Env, binary: Binary, sources: [u64; 3], max: [bool; 2]) -> u64 {
    let [a, b, c] = sources;
    let first = strict_extreme(env, binary, a, b, max[0]);
    env.finished(binary, strict_extreme(env, binary, first, c, max[1]))
}

/// Rounded after the product and after the sum; denormals are zero whatever MODE says (LLVM uses these only where MODE
/// flushes).
fn mad(env: &Env, binary: Binary, [a, b, c]: [u64; 3]) -> u64 {
    let mut flushing = *env;
    flushing.mode &= !0xf0;
    let inner = product(&flushing, binary, a, b);
    // Whether OMOD works is a matter of MODE.
    env.finished(binary, sum(&flushing, binary, inner, c))
}

fn pkrtz(env: &Env, a: u64, b: u64) -> u64 {
    let mut to_zero = *env;
    to_zero.mode |= 0xc;
    two(converted(&to_zero, F32, F16, a), converted(&to_zero, F32, F16, b))
}

/// A fixed-point number of 16 bits from -1 or 0 to 1.
fn normalized(env: &Env, from: Binary, bits: u64, is_signed: bool) -> u64 {
    let bits = env.source(from, bits);
    if from.is_nan(bits) {
        return 0;
    }
    let (low, high) = if is_signed { (-0x7fff, 0x7fff) } else { (0, 0xffff) };
    if from.is_infinite(bits) {
        return (if from.is_negative(bits) { low } else { high }) as u64;
    }
    let scaled = Number::of(from, bits).times(&Number::integer(high));
    let (is_negative, magnitude) = scaled.to_integer(Round::NearestEven);
    let magnitude = i128::try_from(magnitude).unwrap_or(i128::MAX);
    (if is_negative { -magnitude } else { magnitude }).clamp(low, high) as u64
}

/// x - floor(x), below one.
fn fract(env: &Env, binary: Binary, bits: u64) -> u64 {
    let bits = env.source(binary, bits);
    if binary.is_nan(bits) {
        return env.finished(binary, env.quieted(binary, bits));
    }
    if binary.is_infinite(bits) {
        return env.finished(binary, invalid(binary));
    }
    let number = Number::of(binary, bits);
    let (is_negative, magnitude) = number.to_integer(Round::Down);
    let floor = Number { is_negative: !is_negative, magnitude, exponent: 0 };
    let rest = number.plus(&floor, Round::NearestEven);
    let rest = Number { is_negative: false, ..rest };
    let below_one = Number::integer(1).rounded(binary, Round::ToZero, false) - 1;
    env.finished(binary, env.rounded(binary, &rest).min(below_one))
}

/// gfx12 turns a NaN into the limit of its sign here, as was seen on gfx1201; others give zero.
fn to_floor(env: &Env, bits: u64) -> u64 {
    if env.is_gfx12() && F32.is_nan(bits) {
        return if F32.is_negative(bits) { 0x8000_0000 } else { 0x7fff_ffff };
    }
    to_integer(env, F32, Type::I32, bits, Round::Down)
}

/// Toward the nearest integer, halves up.
fn half_up(env: &Env, bits: u64) -> u64 {
    let bits = env.source(F32, bits);
    if F32.is_nan(bits) || F32.is_infinite(bits) {
        return to_floor(env, bits);
    }
    let half = Number { is_negative: false, magnitude: BigUint::from(1_u8), exponent: -1 };
    let (is_negative, magnitude) =
        Number::of(F32, bits).plus(&half, Round::NearestEven).to_integer(Round::Down);
    let magnitude = i128::try_from(magnitude).unwrap_or(i128::MAX);
    Type::I32.saturated(if is_negative { -magnitude } else { magnitude }) as u64
}

const ROWS: &[Row] = &[
    ("v_add_f32", "f32", "f32 f32", |e, [a, b, _]| add(e, F32, a, b)),
    ("v_add_f16", "f16", "f16 f16", |e, [a, b, _]| add(e, F16, a, b)),
    ("v_add_f64", "f64", "f64 f64", |e, [a, b, _]| add(e, F64, a, b)),
    ("v_sub_f32", "f32", "f32 f32", |e, [a, b, _]| add(e, F32, a, negated(F32, b))),
    ("v_sub_f16", "f16", "f16 f16", |e, [a, b, _]| add(e, F16, a, negated(F16, b))),
    ("v_subrev_f32", "f32", "f32 f32", |e, [a, b, _]| add(e, F32, b, negated(F32, a))),
    ("v_subrev_f16", "f16", "f16 f16", |e, [a, b, _]| add(e, F16, b, negated(F16, a))),
    ("v_mul_f32", "f32", "f32 f32", |e, [a, b, _]| mul(e, F32, a, b)),
    ("v_mul_f16", "f16", "f16 f16", |e, [a, b, _]| mul(e, F16, a, b)),
    ("v_mul_f64", "f64", "f64 f64", |e, [a, b, _]| mul(e, F64, a, b)),
    ("v_mul_legacy_f32", "f32", "f32 f32", |e, [a, b, _]| legacy_mul(e, a, b)),
    ("v_mul_dx9_zero_f32", "f32", "f32 f32", |e, [a, b, _]| legacy_mul(e, a, b)),
    ("v_fma_f32", "f32", "f32 f32 f32", |e, all| fma(e, F32, all)),
    ("v_fma_f16", "f16", "f16 f16 f16", |e, all| fma(e, F16, all)),
    ("v_fma_f64", "f64", "f64 f64 f64", |e, all| fma(e, F64, all)),
    ("v_fma_legacy_f16", "f16", "f16 f16 f16", |e, all| fma(e, F16, all)),
    ("v_fmac_f32", "f32", "f32 f32 f32", |e, all| fma(e, F32, all)),
    ("v_fmac_f16", "f16", "f16 f16 f16", |e, all| fma(e, F16, all)),
    ("v_fmac_f64", "f64", "f64 f64 f64", |e, all| fma(e, F64, all)),
    ("v_fmaak_f32", "f32", "f32 f32 f32", |e, all| fma(e, F32, all)),
    ("v_fmaak_f16", "f16", "f16 f16 f16", |e, all| fma(e, F16, all)),
    ("v_fmaak_f64", "f64", "f64 f64 f64", |e, all| fma(e, F64, all)),
    ("v_fmamk_f32", "f32", "f32 f32 f32", |e, all| fma(e, F32, all)),
    ("v_fmamk_f16", "f16", "f16 f16 f16", |e, all| fma(e, F16, all)),
    ("v_fmamk_f64", "f64", "f64 f64 f64", |e, all| fma(e, F64, all)),
    ("v_fma_legacy_f32", "f32", "f32 f32 f32", |e, all| legacy_fma(e, all)),
    ("v_fma_dx9_zero_f32", "f32", "f32 f32 f32", |e, all| legacy_fma(e, all)),
    ("v_fmac_legacy_f32", "f32", "f32 f32 f32", |e, all| legacy_fma(e, all)),
    ("v_fmac_dx9_zero_f32", "f32", "f32 f32 f32", |e, all| legacy_fma(e, all)),
    ("v_mad_f32", "f32", "f32 f32 f32", |e, all| mad(e, F32, all)),
    ("v_mac_f32", "f32", "f32 f32 f32", |e, all| mad(e, F32, all)),
    ("v_madak_f32", "f32", "f32 f32 f32", |e, all| mad(e, F32, all)),
    ("v_madmk_f32", "f32", "f32 f32 f32", |e, all| mad(e, F32, all)),
    ("v_mad_f16", "f16", "f16 f16 f16", |e, all| mad(e, F16, all)),
    ("v_mac_f16", "f16", "f16 f16 f16", |e, all| mad(e, F16, all)),
    ("v_mad_legacy_f16", "f16", "f16 f16 f16", |e, all| mad(e, F16, all)),
    ("v_madak_f16", "f16", "f16 f16 f16", |e, all| mad(e, F16, all)),
    ("v_madmk_f16", "f16", "f16 f16 f16", |e, all| mad(e, F16, all)),
    ("v_min_f32", "f32", "f32 f32", |e, [a, b, _]| minmax(e, F32, a, b, false)),
    ("v_max_f32", "f32", "f32 f32", |e, [a, b, _]| minmax(e, F32, a, b, true)),
    ("v_min_f16", "f16", "f16 f16", |e, [a, b, _]| minmax(e, F16, a, b, false)),
    ("v_max_f16", "f16", "f16 f16", |e, [a, b, _]| minmax(e, F16, a, b, true)),
    ("v_min_f64", "f64", "f64 f64", |e, [a, b, _]| minmax(e, F64, a, b, false)),
    ("v_max_f64", "f64", "f64 f64", |e, [a, b, _]| minmax(e, F64, a, b, true)),
    ("v_min_num_f32", "f32", "f32 f32", |e, [a, b, _]| minmax(e, F32, a, b, false)),
    ("v_max_num_f32", "f32", "f32 f32", |e, [a, b, _]| minmax(e, F32, a, b, true)),
    ("v_min_num_f16", "f16", "f16 f16", |e, [a, b, _]| minmax(e, F16, a, b, false)),
    ("v_max_num_f16", "f16", "f16 f16", |e, [a, b, _]| minmax(e, F16, a, b, true)),
    ("v_min_num_f64", "f64", "f64 f64", |e, [a, b, _]| minmax(e, F64, a, b, false)),
    ("v_max_num_f64", "f64", "f64 f64", |e, [a, b, _]| minmax(e, F64, a, b, true)),
    ("v_minimum_f32", "f32", "f32 f32", |e, [a, b, _]| strict(e, F32, a, b, false)),
    ("v_maximum_f32", "f32", "f32 f32", |e, [a, b, _]| strict(e, F32, a, b, true)),
    ("v_minimum_f16", "f16", "f16 f16", |e, [a, b, _]| strict(e, F16, a, b, false)),
    ("v_maximum_f16", "f16", "f16 f16", |e, [a, b, _]| strict(e, F16, a, b, true)),
    ("v_minimum_f64", "f64", "f64 f64", |e, [a, b, _]| strict(e, F64, a, b, false)),
    ("v_maximum_f64", "f64", "f64 f64", |e, [a, b, _]| strict(e, F64, a, b, true)),
    ("v_min3_f32", "f32", "f32 f32 f32", |e, all| extremes(e, F32, all, [false; 2])),
    ("v_max3_f32", "f32", "f32 f32 f32", |e, all| extremes(e, F32, all, [true; 2])),
    ("v_min3_f16", "f16", "f16 f16 f16", |e, all| extremes(e, F16, all, [false; 2])),
    ("v_max3_f16", "f16", "f16 f16 f16", |e, all| extremes(e, F16, all, [true; 2])),
    ("v_min3_num_f32", "f32", "f32 f32 f32", |e, all| extremes(e, F32, all, [false; 2])),
    ("v_max3_num_f32", "f32", "f32 f32 f32", |e, all| extremes(e, F32, all, [true; 2])),
    ("v_min3_num_f16", "f16", "f16 f16 f16", |e, all| extremes(e, F16, all, [false; 2])),
    ("v_max3_num_f16", "f16", "f16 f16 f16", |e, all| extremes(e, F16, all, [true; 2])),
    ("v_minmax_f32", "f32", "f32 f32 f32", |e, all| extremes(e, F32, all, [false, true])),
    ("v_maxmin_f32", "f32", "f32 f32 f32", |e, all| extremes(e, F32, all, [true, false])),
    ("v_minmax_f16", "f16", "f16 f16 f16", |e, all| extremes(e, F16, all, [false, true])),
    ("v_maxmin_f16", "f16", "f16 f16 f16", |e, all| extremes(e, F16, all, [true, false])),
    ("v_minmax_num_f32", "f32", "f32 f32 f32", |e, all| extremes(e, F32, all, [false, true])),
    ("v_maxmin_num_f32", "f32", "f32 f32 f32", |e, all| extremes(e, F32, all, [true, false])),
    ("v_minmax_num_f16", "f16", "f16 f16 f16", |e, all| extremes(e, F16, all, [false, true])),
    ("v_maxmin_num_f16", "f16", "f16 f16 f16", |e, all| extremes(e, F16, all, [true, false])),
    ("v_minimum3_f32", "f32", "f32 f32 f32", |e, all| strict_extremes(e, F32, all, [false; 2])),
    ("v_maximum3_f32", "f32", "f32 f32 f32", |e, all| strict_extremes(e, F32, all, [true; 2])),
    ("v_minimum3_f16", "f16", "f16 f16 f16", |e, all| strict_extremes(e, F16, all, [false; 2])),
    ("v_maximum3_f16", "f16", "f16 f16 f16", |e, all| strict_extremes(e, F16, all, [true; 2])),
    ("v_minimummaximum_f32", "f32", "f32 f32 f32", |e, all| {
        strict_extremes(e, F32, all, [false, true])
    }),
    ("v_maximumminimum_f32", "f32", "f32 f32 f32", |e, all| {
        strict_extremes(e, F32, all, [true, false])
    }),
    ("v_minimummaximum_f16", "f16", "f16 f16 f16", |e, all| {
        strict_extremes(e, F16, all, [false, true])
    }),
    ("v_maximumminimum_f16", "f16", "f16 f16 f16", |e, all| {
        strict_extremes(e, F16, all, [true, false])
    }),
    ("v_med3_f32", "f32", "f32 f32 f32", |e, all| mid(e, F32, all)),
    ("v_med3_f16", "f16", "f16 f16 f16", |e, all| mid(e, F16, all)),
    ("v_med3_num_f32", "f32", "f32 f32 f32", |e, all| mid(e, F32, all)),
    ("v_med3_num_f16", "f16", "f16 f16 f16", |e, all| mid(e, F16, all)),
    ("v_cvt_f32_f16", "f32", "f16", |e, [a, ..]| e.finished(F32, converted(e, F16, F32, a))),
    ("v_cvt_f16_f32", "f16", "f32", |e, [a, ..]| e.finished(F16, converted(e, F32, F16, a))),
    ("v_cvt_f32_f64", "f32", "f64", |e, [a, ..]| {
        // By the rounding mode of doubles, as LLVM's mode register pass has it.
        let by_double = Env { mode: e.mode & !3 | e.mode >> 2 & 3, ..*e };
        e.finished(F32, converted(&by_double, F64, F32, a))
    }),
    ("v_cvt_f64_f32", "f64", "f32", |e, [a, ..]| e.finished(F64, converted(e, F32, F64, a))),
    ("v_cvt_pkrtz_f16_f32", "u32", "f32 f32", |e, [a, b, _]| pkrtz(e, a, b)),
    ("v_cvt_pk_rtz_f16_f32", "u32", "f32 f32", |e, [a, b, _]| pkrtz(e, a, b)),
    ("v_cvt_f32_i32", "f32", "i32", |e, [a, ..]| from_integer(e, F32, Type::I32.number(a))),
    ("v_cvt_f32_u32", "f32", "u32", |e, [a, ..]| from_integer(e, F32, Type::U32.number(a))),
    ("v_cvt_f64_i32", "f64", "i32", |e, [a, ..]| from_integer(e, F64, Type::I32.number(a))),
    ("v_cvt_f64_u32", "f64", "u32", |e, [a, ..]| from_integer(e, F64, Type::U32.number(a))),
    ("v_cvt_f16_i16", "f16", "i16", |e, [a, ..]| from_integer(e, F16, Type::I16.number(a))),
    ("v_cvt_f16_u16", "f16", "u16", |e, [a, ..]| from_integer(e, F16, Type::U16.number(a))),
    ("v_cvt_f32_ubyte0", "f32", "u32", |e, [a, ..]| byte(e, a, 0)),
    ("v_cvt_f32_ubyte1", "f32", "u32", |e, [a, ..]| byte(e, a, 1)),
    ("v_cvt_f32_ubyte2", "f32", "u32", |e, [a, ..]| byte(e, a, 2)),
    ("v_cvt_f32_ubyte3", "f32", "u32", |e, [a, ..]| byte(e, a, 3)),
    ("v_cvt_off_f32_i4", "f32", "u32", |e, [a, ..]| e.finished(F32, offset(a))),
    ("v_cvt_i32_f32", "u32", "f32", |e, [a, ..]| to_integer(e, F32, Type::I32, a, Round::ToZero)),
    ("v_cvt_u32_f32", "u32", "f32", |e, [a, ..]| to_integer(e, F32, Type::U32, a, Round::ToZero)),
    ("v_cvt_i32_f64", "u32", "f64", |e, [a, ..]| to_integer(e, F64, Type::I32, a, Round::ToZero)),
    ("v_cvt_u32_f64", "u32", "f64", |e, [a, ..]| to_integer(e, F64, Type::U32, a, Round::ToZero)),
    ("v_cvt_i16_f16", "u16", "f16", |e, [a, ..]| to_integer(e, F16, Type::I16, a, Round::ToZero)),
    ("v_cvt_u16_f16", "u16", "f16", |e, [a, ..]| to_integer(e, F16, Type::U16, a, Round::ToZero)),
    ("v_cvt_flr_i32_f32", "u32", "f32", |e, [a, ..]| to_floor(e, a)),
    ("v_cvt_floor_i32_f32", "u32", "f32", |e, [a, ..]| to_floor(e, a)),
    ("v_cvt_rpi_i32_f32", "u32", "f32", |e, [a, ..]| half_up(e, a)),
    ("v_cvt_nearest_i32_f32", "u32", "f32", |e, [a, ..]| half_up(e, a)),
    ("v_cvt_pk_i16_f32", "u32", "f32 f32", |e, [a, b, _]| {
        let to = |bits| to_integer(e, F32, Type::I16, bits, Round::ToZero);
        two(to(a), to(b))
    }),
    ("v_cvt_pk_u16_f32", "u32", "f32 f32", |e, [a, b, _]| {
        let to = |bits| to_integer(e, F32, Type::U16, bits, Round::ToZero);
        two(to(a), to(b))
    }),
    ("v_cvt_pknorm_i16_f32", "u32", "f32 f32", |e, [a, b, _]| pknorm(e, F32, a, b, true)),
    ("v_cvt_pk_norm_i16_f32", "u32", "f32 f32", |e, [a, b, _]| pknorm(e, F32, a, b, true)),
    ("v_cvt_pknorm_u16_f32", "u32", "f32 f32", |e, [a, b, _]| pknorm(e, F32, a, b, false)),
    ("v_cvt_pk_norm_u16_f32", "u32", "f32 f32", |e, [a, b, _]| pknorm(e, F32, a, b, false)),
    ("v_cvt_pknorm_i16_f16", "u32", "f16 f16", |e, [a, b, _]| pknorm(e, F16, a, b, true)),
    ("v_cvt_pk_norm_i16_f16", "u32", "f16 f16", |e, [a, b, _]| pknorm(e, F16, a, b, true)),
    ("v_cvt_pknorm_u16_f16", "u32", "f16 f16", |e, [a, b, _]| pknorm(e, F16, a, b, false)),
    ("v_cvt_pk_norm_u16_f16", "u32", "f16 f16", |e, [a, b, _]| pknorm(e, F16, a, b, false)),
    ("v_cvt_norm_i16_f16", "u16", "f16", |e, [a, ..]| normalized(e, F16, a, true)),
    ("v_cvt_norm_u16_f16", "u16", "f16", |e, [a, ..]| normalized(e, F16, a, false)),
    ("v_trunc_f32", "f32", "f32", |e, [a, ..]| integral(e, F32, a, Round::ToZero)),
    ("v_ceil_f32", "f32", "f32", |e, [a, ..]| integral(e, F32, a, Round::Up)),
    ("v_floor_f32", "f32", "f32", |e, [a, ..]| integral(e, F32, a, Round::Down)),
    ("v_rndne_f32", "f32", "f32", |e, [a, ..]| integral(e, F32, a, Round::NearestEven)),
    ("v_trunc_f16", "f16", "f16", |e, [a, ..]| integral(e, F16, a, Round::ToZero)),
    ("v_ceil_f16", "f16", "f16", |e, [a, ..]| integral(e, F16, a, Round::Up)),
    ("v_floor_f16", "f16", "f16", |e, [a, ..]| integral(e, F16, a, Round::Down)),
    ("v_rndne_f16", "f16", "f16", |e, [a, ..]| integral(e, F16, a, Round::NearestEven)),
    ("v_trunc_f64", "f64", "f64", |e, [a, ..]| integral(e, F64, a, Round::ToZero)),
    ("v_ceil_f64", "f64", "f64", |e, [a, ..]| integral(e, F64, a, Round::Up)),
    ("v_floor_f64", "f64", "f64", |e, [a, ..]| integral(e, F64, a, Round::Down)),
    ("v_rndne_f64", "f64", "f64", |e, [a, ..]| integral(e, F64, a, Round::NearestEven)),
    ("v_fract_f32", "f32", "f32", |e, [a, ..]| fract(e, F32, a)),
    ("v_fract_f16", "f16", "f16", |e, [a, ..]| fract(e, F16, a)),
    ("v_fract_f64", "f64", "f64", |e, [a, ..]| fract(e, F64, a)),
    ("v_frexp_mant_f32", "f32", "f32", |e, [a, ..]| mantissa(e, F32, a)),
    ("v_frexp_mant_f16", "f16", "f16", |e, [a, ..]| mantissa(e, F16, a)),
    ("v_frexp_mant_f64", "f64", "f64", |e, [a, ..]| mantissa(e, F64, a)),
    ("v_frexp_exp_i32_f32", "u32", "f32", |e, [a, ..]| exponent(e, F32, a)),
    ("v_frexp_exp_i16_f16", "u16", "f16", |e, [a, ..]| exponent(e, F16, a)),
    ("v_frexp_exp_i32_f64", "u32", "f64", |e, [a, ..]| exponent(e, F64, a)),
    ("v_ldexp_f32", "f32", "f32 u32", |e, [a, b, _]| ldexp(e, F32, a, b as i32)),
    ("v_ldexp_f16", "f16", "f16 u16", |e, [a, b, _]| ldexp(e, F16, a, i32::from(b as i16))),
    ("v_ldexp_f64", "f64", "f64 u32", |e, [a, b, _]| ldexp(e, F64, a, b as i32)),
    ("v_pack_b32_f16", "u32", "f16 f16", |_, [a, b, _]| two(a, b)),
    ("v_pk_add_f16", "f16", "f16 f16", |e, [a, b, _]| add(e, F16, a, b)),
    ("v_pk_mul_f16", "f16", "f16 f16", |e, [a, b, _]| mul(e, F16, a, b)),
    ("v_pk_fma_f16", "f16", "f16 f16 f16", |e, all| fma(e, F16, all)),
    ("v_pk_min_f16", "f16", "f16 f16", |e, [a, b, _]| minmax(e, F16, a, b, false)),
    ("v_pk_max_f16", "f16", "f16 f16", |e, [a, b, _]| minmax(e, F16, a, b, true)),
    ("v_pk_min_num_f16", "f16", "f16 f16", |e, [a, b, _]| minmax(e, F16, a, b, false)),
    ("v_pk_max_num_f16", "f16", "f16 f16", |e, [a, b, _]| minmax(e, F16, a, b, true)),
    ("v_pk_minimum_f16", "f16", "f16 f16", |e, [a, b, _]| strict(e, F16, a, b, false)),
    ("v_pk_maximum_f16", "f16", "f16 f16", |e, [a, b, _]| strict(e, F16, a, b, true)),
    ("v_pk_fmac_f16", "f16", "f16 f16 f16", |e, all| fma(e, F16, all)),
    ("v_pk_min3_num_f16", "f16", "f16 f16 f16", |e, all| extremes(e, F16, all, [false; 2])),
    ("v_pk_max3_num_f16", "f16", "f16 f16 f16", |e, all| extremes(e, F16, all, [true; 2])),
    ("v_pk_minimum3_f16", "f16", "f16 f16 f16", |e, all| strict_extremes(e, F16, all, [false; 2])),
    ("v_pk_maximum3_f16", "f16", "f16 f16 f16", |e, all| strict_extremes(e, F16, all, [true; 2])),
    ("v_pk_add_bf16", "bf16", "bf16 bf16", |e, [a, b, _]| add(&e.for_brain(), BF16, a, b)),
    ("v_pk_mul_bf16", "bf16", "bf16 bf16", |e, [a, b, _]| mul(&e.for_brain(), BF16, a, b)),
    ("v_pk_fma_bf16", "bf16", "bf16 bf16 bf16", |e, all| fma(&e.for_brain(), BF16, all)),
    ("v_pk_min_num_bf16", "bf16", "bf16 bf16", |e, [a, b, _]| {
        minmax(&e.for_brain(), BF16, a, b, false)
    }),
    ("v_pk_max_num_bf16", "bf16", "bf16 bf16", |e, [a, b, _]| {
        minmax(&e.for_brain(), BF16, a, b, true)
    }),
    ("v_cvt_f32_bf16", "f32", "bf16", |e, [a, ..]| e.finished(F32, converted(e, BF16, F32, a))),
    ("v_cvt_pk_f16_f32", "u32", "f32 f32", |e, [a, b, _]| {
        two(converted(e, F32, F16, a), converted(e, F32, F16, b))
    }),
    ("v_cvt_pk_bf16_f32", "u32", "f32 f32", |e, [a, b, _]| {
        // To nearest even whatever MODE says.
        let e = &Env { mode: e.mode & !3, ..*e };
        two(converted(e, F32, BF16, a), converted(e, F32, BF16, b))
    }),
    ("v_cvt_pk_u8_f32", "u32", "f32 u32 u32", |e, [a, b, c]| {
        let (byte, at) = (to_byte(e, a), (b & 3) * 8);
        c & !(0xff << at) | byte << at
    }),
    ("v_mad_legacy_f32", "f32", "f32 f32 f32", |e, [a, b, c]| {
        let zero = legacy_product_is_zero(&Env { mode: e.mode & !0xf0, ..*e }, a, b);
        if zero { mad(e, F32, [0, 0, c]) } else { mad(e, F32, [a, b, c]) }
    }),
    ("v_pk_add_f32", "f32", "f32 f32", |e, [a, b, _]| add(e, F32, a, b)),
    ("v_pk_mul_f32", "f32", "f32 f32", |e, [a, b, _]| mul(e, F32, a, b)),
    ("v_pk_fma_f32", "f32", "f32 f32 f32", |e, all| fma(e, F32, all)),
    ("s_add_f32", "f32", "f32 f32", |e, [a, b, _]| add(e, F32, a, b)),
    ("s_sub_f32", "f32", "f32 f32", |e, [a, b, _]| add(e, F32, a, negated(F32, b))),
    ("s_mul_f32", "f32", "f32 f32", |e, [a, b, _]| mul(e, F32, a, b)),
    ("s_add_f16", "f16", "f16 f16", |e, [a, b, _]| add(e, F16, a, b)),
    ("s_sub_f16", "f16", "f16 f16", |e, [a, b, _]| add(e, F16, a, negated(F16, b))),
    ("s_mul_f16", "f16", "f16 f16", |e, [a, b, _]| mul(e, F16, a, b)),
    ("s_fmac_f32", "f32", "f32 f32 f32", |e, all| fma(e, F32, all)),
    ("s_fmac_f16", "f16", "f16 f16 f16", |e, all| fma(e, F16, all)),
    ("s_fmaak_f32", "f32", "f32 f32 f32", |e, all| fma(e, F32, all)),
    ("s_fmamk_f32", "f32", "f32 f32 f32", |e, all| fma(e, F32, all)),
    ("s_min_f32", "f32", "f32 f32", |e, [a, b, _]| minmax(e, F32, a, b, false)),
    ("s_max_f32", "f32", "f32 f32", |e, [a, b, _]| minmax(e, F32, a, b, true)),
    ("s_min_f16", "f16", "f16 f16", |e, [a, b, _]| minmax(e, F16, a, b, false)),
    ("s_max_f16", "f16", "f16 f16", |e, [a, b, _]| minmax(e, F16, a, b, true)),
    ("s_min_num_f32", "f32", "f32 f32", |e, [a, b, _]| minmax(e, F32, a, b, false)),
    ("s_max_num_f32", "f32", "f32 f32", |e, [a, b, _]| minmax(e, F32, a, b, true)),
    ("s_min_num_f16", "f16", "f16 f16", |e, [a, b, _]| minmax(e, F16, a, b, false)),
    ("s_max_num_f16", "f16", "f16 f16", |e, [a, b, _]| minmax(e, F16, a, b, true)),
    ("s_minimum_f32", "f32", "f32 f32", |e, [a, b, _]| strict(e, F32, a, b, false)),
    ("s_maximum_f32", "f32", "f32 f32", |e, [a, b, _]| strict(e, F32, a, b, true)),
    ("s_minimum_f16", "f16", "f16 f16", |e, [a, b, _]| strict(e, F16, a, b, false)),
    ("s_maximum_f16", "f16", "f16 f16", |e, [a, b, _]| strict(e, F16, a, b, true)),
    ("s_trunc_f32", "f32", "f32", |e, [a, ..]| integral(e, F32, a, Round::ToZero)),
    ("s_ceil_f32", "f32", "f32", |e, [a, ..]| integral(e, F32, a, Round::Up)),
    ("s_floor_f32", "f32", "f32", |e, [a, ..]| integral(e, F32, a, Round::Down)),
    ("s_rndne_f32", "f32", "f32", |e, [a, ..]| integral(e, F32, a, Round::NearestEven)),
    ("s_trunc_f16", "f16", "f16", |e, [a, ..]| integral(e, F16, a, Round::ToZero)),
    ("s_ceil_f16", "f16", "f16", |e, [a, ..]| integral(e, F16, a, Round::Up)),
    ("s_floor_f16", "f16", "f16", |e, [a, ..]| integral(e, F16, a, Round::Down)),
    ("s_rndne_f16", "f16", "f16", |e, [a, ..]| integral(e, F16, a, Round::NearestEven)),
    ("s_cvt_f32_i32", "f32", "i32", |e, [a, ..]| from_integer(e, F32, Type::I32.number(a))),
    ("s_cvt_f32_u32", "f32", "u32", |e, [a, ..]| from_integer(e, F32, Type::U32.number(a))),
    ("s_cvt_i32_f32", "u32", "f32", |e, [a, ..]| to_integer(e, F32, Type::I32, a, Round::ToZero)),
    ("s_cvt_u32_f32", "u32", "f32", |e, [a, ..]| to_integer(e, F32, Type::U32, a, Round::ToZero)),
    ("s_cvt_f16_f32", "f16", "f32", |e, [a, ..]| converted(e, F32, F16, a)),
    ("s_cvt_f32_f16", "f32", "f16", |e, [a, ..]| converted(e, F16, F32, a)),
    ("s_cvt_hi_f32_f16", "f32", "u32", |e, [a, ..]| converted(e, F16, F32, a >> 16)),
    ("s_cvt_pk_rtz_f16_f32", "u32", "f32 f32", |e, [a, b, _]| pkrtz(e, a, b)),
];

fn minmax(env: &Env, binary: Binary, a: u64, b: u64, is_max: bool) -> u64 {
    env.finished(binary, extreme(env, binary, a, b, is_max))
}

fn strict(env: &Env, binary: Binary, a: u64, b: u64, is_max: bool) -> u64 {
    env.finished(binary, strict_extreme(env, binary, a, b, is_max))
}

fn legacy_mul(env: &Env, a: u64, b: u64) -> u64 {
    let bits = if legacy_product_is_zero(env, a, b) { 0 } else { product(env, F32, a, b) };
    env.finished(F32, bits)
}

fn legacy_fma(env: &Env, [a, b, c]: [u64; 3]) -> u64 {
    if legacy_product_is_zero(env, a, b) {
        // The product is zero without a sign, and added.
        add(env, F32, 0, c)
    } else {
        fma(env, F32, [a, b, c])
    }
}

fn pknorm(env: &Env, from: Binary, a: u64, b: u64, is_signed: bool) -> u64 {
    two(normalized(env, from, a, is_signed), normalized(env, from, b, is_signed))
}
