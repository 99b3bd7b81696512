//! Comparisons and classes.

use std::cmp::Ordering;

use super::float::{is_denormal, is_infinite, is_nan, is_signalling, is_zero, operand};
use super::{Env, Format};

/// The sixteen relations of v_cmp on floats, in the order of their opcodes.
///
/// ```
/// use hsaco_emu::num::{compare, Env, Relation, F32};
/// let nan = f32::NAN.to_bits();
/// assert!(compare::<F32>(Relation::Nlt, nan, nan, Env::IEEE));
/// assert!(!compare::<F32>(Relation::Ge, nan, nan, Env::IEEE));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "names of the instructions")]
pub enum Relation {
    F,
    Lt,
    Eq,
    Le,
    Gt,
    Lg,
    Ge,
    O,
    U,
    Nge,
    Nlg,
    Ngt,
    Nle,
    Neq,
    Nlt,
    T,
}

/// Whether the relation holds.
///
/// ```
/// use hsaco_emu::num::{compare, Env, Relation, F16};
/// assert!(compare::<F16>(Relation::Eq, 0x8000, 0, Env::IEEE));
/// ```
#[inline]
pub fn compare<F: Format>(relation: Relation, a: F::Bits, b: F::Bits, env: Env) -> bool {
    let (a, b) = (operand::<F>(a, env), operand::<F>(b, env));
    let order = (!is_nan::<F>(a) && !is_nan::<F>(b)).then(|| key::<F>(a).cmp(&key::<F>(b)));
    let opcode = relation as u8;
    // The upper eight are the lower eight negated, in reverse.
    let negated = opcode >= 8;
    let base = if negated { 15 - opcode } else { opcode };
    let holds = match order {
        Some(Ordering::Less) => base & 1 != 0,
        Some(Ordering::Equal) => base & 2 != 0,
        Some(Ordering::Greater) => base & 4 != 0,
        None => false,
    };
    holds != negated
}

/// Numbers in their order; both zeros are one.
fn key<F: Format>(bits: u64) -> i64 {
    let magnitude = (bits & !F::SIGN) as i64;
    if bits & F::SIGN != 0 { -magnitude } else { magnitude }
}

/// v_cmp_class: whether the class of `a` is in the mask. Bits: signalling NaN, quiet NaN, negative infinity, normal,
/// denormal, zero, then positive zero, denormal, normal, infinity.
///
/// ```
/// use hsaco_emu::num::{class, F32};
/// assert!(class::<F32>(f32::NEG_INFINITY.to_bits(), 1 << 2));
/// ```
#[inline]
pub fn class<F: Format>(a: F::Bits, mask: u32) -> bool {
    let bits = a.into();
    let bit = if is_signalling::<F>(bits) {
        0
    } else if is_nan::<F>(bits) {
        1
    } else {
        let from_infinity = if is_infinite::<F>(bits) {
            0
        } else if is_zero::<F>(bits) {
            3
        } else if is_denormal::<F>(bits) {
            2
        } else {
            1
        };
        if bits & F::SIGN != 0 { 2 + from_infinity } else { 9 - from_infinity }
    };
    mask >> bit & 1 != 0
}
