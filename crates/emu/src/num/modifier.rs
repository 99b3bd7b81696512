//! What happens to a result on its way out: OMOD, then CLAMP.

use super::arith::is_tiny;
use super::float::{is_infinite, is_nan, overflow};
use super::{Env, Format, Mode};

/// OMOD's values, by their number in the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutputModifier {
    /// As it is.
    None,
    /// Times two.
    Mul2,
    /// Times four.
    Mul4,
    /// Half.
    Div2,
}

impl OutputModifier {
    /// By the number in the encoding.
    pub const fn of_field(field: u32) -> Self {
        match field & 3 {
            0 => Self::None,
            1 => Self::Mul2,
            2 => Self::Mul4,
            _ => Self::Div2,
        }
    }
}

/// Scales a result in its format. Zeros and denormals become +0; a half that is denormal is a zero of its sign.
/// Whether it has any effect is [`Mode::omod_works`].
///
/// ```
/// use hsaco_emu::num::{omod, Env, OutputModifier, F32};
/// assert_eq!(omod::<F32>(0x8000_0000, OutputModifier::Mul2, Env::IEEE), 0);
/// ```
pub fn omod<F: Format>(bits: F::Bits, modifier: OutputModifier, env: Env) -> F::Bits {
    let bits = bits.into();
    let steps: i64 = match modifier {
        OutputModifier::None => return F::narrow(bits),
        OutputModifier::Mul2 => 1,
        OutputModifier::Mul4 => 2,
        OutputModifier::Div2 => -1,
    };
    let (sign, magnitude) = (bits & F::SIGN, bits & !F::SIGN);
    F::narrow(if is_nan::<F>(bits) || is_infinite::<F>(bits) {
        bits
    } else if is_tiny::<F>(bits) {
        0
    } else {
        let exponent = (magnitude >> F::MANTISSA) as i64 + steps;
        if exponent <= 0 {
            sign
        } else if exponent > 2 * i64::from(F::BIAS) {
            overflow::<F>(sign != 0, env)
        } else {
            sign | (exponent as u64) << F::MANTISSA | magnitude & (F::MIN_NORMAL - 1)
        }
    })
}

/// CLAMP: into 0 to 1. A NaN becomes zero where MODE says so, and always from gfx12 on.
///
/// ```
/// use hsaco_emu::num::{clamp, Generation, Mode, F32};
/// let mode = Mode::decode(0, Generation::Gfx12);
/// assert_eq!(clamp::<F32>(7f32.to_bits(), &mode), 1f32.to_bits());
/// assert_eq!(clamp::<F32>(f32::NAN.to_bits(), &mode), 0);
/// ```
pub fn clamp<F: Format>(bits: F::Bits, mode: &Mode) -> F::Bits {
    let bits = bits.into();
    F::narrow(if is_nan::<F>(bits) {
        if mode.dx10_clamp { 0 } else { bits }
    } else if bits & F::SIGN != 0 {
        0
    } else {
        bits.min(F::ONE)
    })
}
