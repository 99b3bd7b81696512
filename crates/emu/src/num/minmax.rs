//! Minimum, maximum and median.

use super::float::{is_nan, is_signalling, is_zero, operand};
use super::{Env, Format, Generation};

/// One of two choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MinMax {
    /// The lesser operand.
    Min,
    /// The greater operand.
    Max,
}

/// v_min and, from gfx12 on, v_min_num: a number is preferred to a NaN; -0 is less than +0.
///
/// ```
/// use hsaco_emu::num::{min, Env, Generation, F32};
/// let (nan, one) = (f32::NAN.to_bits(), 1f32.to_bits());
/// assert_eq!(min::<F32>(nan, one, Env::IEEE, Generation::Gfx11), one);
/// assert_eq!(min::<F32>(nan, nan | 1, Env::IEEE, Generation::Gfx11), nan);
/// assert_eq!(min::<F32>(nan, nan | 1, Env::IEEE, Generation::Gfx103), nan | 1);
/// ```
#[inline]
pub fn min<F: Format>(a: F::Bits, b: F::Bits, env: Env, generation: Generation) -> F::Bits {
    let (a, b) = (operand::<F>(a, env), operand::<F>(b, env));
    F::narrow(number::<F>(MinMax::Min, a, b, env, generation))
}

/// v_max and, from gfx12 on, v_max_num.
///
/// ```
/// use hsaco_emu::num::{max, Env, Generation, F16};
/// assert_eq!(max::<F16>(0x8000, 0, Env::IEEE, Generation::Gfx12), 0);
/// ```
#[inline]
pub fn max<F: Format>(a: F::Bits, b: F::Bits, env: Env, generation: Generation) -> F::Bits {
    let (a, b) = (operand::<F>(a, env), operand::<F>(b, env));
    F::narrow(number::<F>(MinMax::Max, a, b, env, generation))
}

/// v_minimum: a NaN wins, a signalling one before a quiet one, then the first.
///
/// ```
/// use hsaco_emu::num::{minimum, Env, F32};
/// assert_eq!(minimum::<F32>(0x7f80_0001, 0, Env::IEEE), 0x7fc0_0001);
/// assert_eq!(minimum::<F32>(0x7fc0_0002, 0x7f80_0001, Env::IEEE), 0x7fc0_0001);
/// ```
#[inline]
pub fn minimum<F: Format>(a: F::Bits, b: F::Bits, env: Env) -> F::Bits {
    let (a, b) = (operand::<F>(a, env), operand::<F>(b, env));
    F::narrow(propagating::<F>(MinMax::Min, a, b))
}

/// v_maximum.
///
/// ```
/// use hsaco_emu::num::{maximum, Env, F32};
/// assert_eq!(maximum::<F32>(0x8000_0000, 0, Env::IEEE), 0);
/// ```
#[inline]
pub fn maximum<F: Format>(a: F::Bits, b: F::Bits, env: Env) -> F::Bits {
    let (a, b) = (operand::<F>(a, env), operand::<F>(b, env));
    F::narrow(propagating::<F>(MinMax::Max, a, b))
}

/// The three-operand forms, `second(first(a, b), c)`: v_min3, v_max3, v_minmax, v_maxmin, and with `nan_wins` v_minimum3,
/// v_maximum3, v_minimummaximum, v_maximumminimum.
///
/// ```
/// use hsaco_emu::num::{nested, Env, Generation, MinMax, F32};
/// let [one, two, three] = [1f32, 2., 3.].map(f32::to_bits);
/// let clamp = [MinMax::Max, MinMax::Min];
/// assert_eq!(nested::<F32>(clamp, [one, two, three], false, Env::IEEE, Generation::Gfx12), two);
/// ```
pub fn nested<F: Format>(
    [first, second]: [MinMax; 2],
    operands: [F::Bits; 3],
    nan_wins: bool,
    env: Env,
    generation: Generation,
) -> F::Bits {
    let [a, b, c] = operands.map(|bits| operand::<F>(bits, env));
    F::narrow(if nan_wins {
        propagating::<F>(second, propagating::<F>(first, a, b), c)
    } else {
        number::<F>(second, number::<F>(first, a, b, env, generation), c, env, generation)
    })
}

/// v_med3: the operand in the middle, or the least number where one is a NaN.
///
/// ```
/// use hsaco_emu::num::{med3, Env, Generation, F32};
/// let [one, two, three] = [1f32, 2., 3.].map(f32::to_bits);
/// assert_eq!(med3::<F32>([three, one, two], Env::IEEE, Generation::Gfx11), two);
/// ```
pub fn med3<F: Format>(operands: [F::Bits; 3], env: Env, generation: Generation) -> F::Bits {
    let [a, b, c] = operands.map(|bits| operand::<F>(bits, env));
    let lesser = |x, y| number::<F>(MinMax::Min, x, y, env, generation);
    let greater = |x, y| number::<F>(MinMax::Max, x, y, env, generation);
    F::narrow(if [a, b, c].into_iter().any(is_nan::<F>) {
        lesser(lesser(a, b), c)
    } else if generation.always_quiets() {
        greater(lesser(a, b), lesser(greater(a, b), c))
    } else {
        // As the manuals have it: zeros are equal here, so the largest operand may be the other zero.
        let largest = greater(greater(a, b), c);
        let is_largest = |x| x == largest || is_zero::<F>(x) && is_zero::<F>(largest);
        if is_largest(a) {
            greater(b, c)
        } else if is_largest(b) {
            greater(a, c)
        } else {
            greater(a, b)
        }
    })
}

fn number<F: Format>(which: MinMax, a: u64, b: u64, env: Env, generation: Generation) -> u64 {
    if generation.always_quiets() {
        return match (is_nan::<F>(a), is_nan::<F>(b)) {
            (true, true) => a | F::QUIET,
            (true, false) => b,
            (false, true) => a,
            (false, false) => ordered::<F>(which, a, b),
        };
    }
    for operand in [a, b] {
        if env.quiet && is_signalling::<F>(operand) {
            return operand | F::QUIET;
        }
    }
    match (is_nan::<F>(a), is_nan::<F>(b)) {
        // Manuals up to RDNA2 and CDNA4 replace the first operand first, those of RDNA3 the second.
        (true, true) if generation < Generation::Gfx11 => b,
        (true, true) => a,
        (true, false) => b,
        (false, true) => a,
        (false, false) => ordered::<F>(which, a, b),
    }
}

/// A signalling NaN goes before a quiet one, the first operand before the second.
fn propagating<F: Format>(which: MinMax, a: u64, b: u64) -> u64 {
    let found = |test: fn(u64) -> bool| [a, b].into_iter().find(|bits| test(*bits));
    match found(is_signalling::<F>).or_else(|| found(is_nan::<F>)) {
        Some(nan) => nan | F::QUIET,
        None => ordered::<F>(which, a, b),
    }
}

/// The choice between numbers; -0 is less than +0.
fn ordered<F: Format>(which: MinMax, a: u64, b: u64) -> u64 {
    let key = |bits: u64| if bits & F::SIGN != 0 { !bits } else { bits | F::SIGN } & (F::SIGN | (F::SIGN - 1));
    let b_is_less = key(b) < key(a);
    let b_is_greater = key(b) > key(a);
    let take_b = match which {
        MinMax::Min => b_is_less,
        MinMax::Max => b_is_greater,
    };
    if take_b { b } else { a }
}
