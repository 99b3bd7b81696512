//! Reciprocals and roots, correctly rounded by integer division and integer square roots.

use super::Transcendental;
use crate::num::float::{Exact, Kind, parts, round, sign};
use crate::num::{Env, Format};

/// The function of bits that are no NaN; `None` for functions that are not algebraic.
pub(super) fn evaluate<F: Format>(function: Transcendental, bits: u64, env: Env) -> Option<u64> {
    let value = parts::<F>(bits);
    let sign = sign::<F>(value.negative);
    let (significand, exponent) = match (function, value.kind) {
        (Transcendental::Rcp | Transcendental::Rsq, Kind::Zero) => return Some(sign | F::INFINITY),
        (Transcendental::Rcp, Kind::Infinity) => return Some(sign),
        (Transcendental::Sqrt, Kind::Zero) => return Some(bits),
        (Transcendental::Rsq | Transcendental::Sqrt, _) if value.negative => {
            return Some(F::INVALID);
        }
        (Transcendental::Rsq, Kind::Infinity) => return Some(0),
        (Transcendental::Sqrt, Kind::Infinity) => return Some(bits),
        (_, Kind::Finite(significand, exponent)) => (u128::from(significand), exponent),
        _ => return None,
    };
    // An even exponent for roots, and the leading bit at the same place for all.
    let top = significand.leading_zeros() as i32 - 66;
    let odd = (exponent - top) & 1;
    let (wide, exponent) = (significand << (top + odd), exponent - top - odd);
    let (significand, exponent) = match function {
        Transcendental::Rcp => (quotient(1 << 127, wide), -exponent - 128),
        Transcendental::Sqrt => root(wide << 60, exponent - 60),
        Transcendental::Rsq => {
            let (root, exponent) = root(wide << 60, exponent - 60);
            (quotient(1 << 127, root), -exponent - 128)
        }
        _ => return None,
    };
    let negative = value.negative && function == Transcendental::Rcp;
    Some(round::<F>(Exact { negative, significand, exponent }, env))
}

/// The quotient with a lowest bit that says whether anything is left.
fn quotient(numerator: u128, denominator: u128) -> u128 {
    (numerator / denominator) << 1 | u128::from(!numerator.is_multiple_of(denominator))
}

fn root(square: u128, exponent: i32) -> (u128, i32) {
    let root = square.isqrt();
    (root << 1 | u128::from(root * root != square), exponent / 2 - 1)
}
