//! Transcendental instructions.
//!
//! RDNA3 and RDNA4 have one unit, whose results were captured over whole ranges: its functions are integer models. For other
//! devices nothing is public; they get the correctly rounded result, up to the last bit of a double.

mod captured;
mod captured_trig;
mod double;
mod exact;
mod table;

use super::float::{is_infinite, is_nan, operand, quieted};
use super::{Denorm, Env, F32, F64, Fidelity, Format, Generation, Round, convert};

/// The functions of the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transcendental {
    /// `1 / x`
    Rcp,
    /// `1 / sqrt(x)`
    Rsq,
    /// The square root.
    Sqrt,
    /// `2^x`
    Exp2,
    /// The logarithm to base 2.
    Log2,
    /// The sine of `2 pi x`.
    Sin,
    /// The cosine of `2 pi x`.
    Cos,
    /// The hyperbolic tangent.
    Tanh,
}

impl Transcendental {
    /// How far results in a format of this width may be trusted.
    ///
    /// ```
    /// use hsaco_emu::num::{Fidelity, Generation, Transcendental};
    /// assert_eq!(Transcendental::Exp2.fidelity(32, Generation::Gfx12), Fidelity::Silicon);
    /// assert_eq!(Transcendental::Exp2.fidelity(32, Generation::Gfx942), Fidelity::Approximate { ulp: 1 });
    /// ```
    pub const fn fidelity(self, width: u32, generation: Generation) -> Fidelity {
        let captured = generation.has_captured_transcendentals() && width != 64;
        match self {
            Self::Exp2 | Self::Log2 | Self::Sqrt if captured => Fidelity::Silicon,
            Self::Sin | Self::Cos => Fidelity::Approximate { ulp: 2 },
            // Manuals promise so many bits of the seeds of double division.
            _ if width == 64 => Fidelity::Approximate { ulp: 1 << 29 },
            _ => Fidelity::Approximate { ulp: 1 },
        }
    }
}

/// The function of an f32. Denormals are zeros on both sides, and MODE's rounding does not matter; only sine and cosine
/// keep denormals where MODE does.
///
/// ```
/// use hsaco_emu::num::{transcendental_f32, Env, Generation, Transcendental};
/// let two = 2f32.to_bits();
/// assert_eq!(transcendental_f32(Transcendental::Exp2, two, Env::IEEE, Generation::Gfx11), 4f32.to_bits());
/// ```
pub fn transcendental_f32(
    function: Transcendental,
    a: u32,
    env: Env,
    generation: Generation,
) -> u32 {
    let trig = matches!(function, Transcendental::Sin | Transcendental::Cos);
    let denorm = if trig { env.denorm } else { Denorm::FLUSH };
    let env = Env { round: Round::NearestEven, denorm, saturate: false, ..env };
    let bits = operand::<F32>(a, env);
    if is_nan::<F32>(bits) {
        return quieted::<F32>(bits, env) as u32;
    }
    if let Some(special) = special(function, bits as u32) {
        return special;
    }
    let bits = bits as u32;
    if trig {
        return captured_trig::evaluate(bits, function == Transcendental::Cos, env);
    }
    let result = if generation.has_captured_transcendentals() {
        captured::evaluate(function, bits)
    } else {
        double::evaluate(function, bits)
    };
    operand::<F32>(result, env) as u32
}

/// Zeros, infinities and what is out of the domain; operands are no denormals and no NaNs.
fn special(function: Transcendental, bits: u32) -> Option<u32> {
    let negative = bits >> 31 != 0;
    let sign = bits & 0x8000_0000;
    let (zero, infinite) = (bits << 1 == 0, is_infinite::<F32>(bits.into()));
    let invalid = F32::INVALID as u32;
    let infinity = F32::INFINITY as u32;
    match function {
        Transcendental::Rcp if zero => Some(sign | infinity),
        Transcendental::Rcp if infinite => Some(sign),
        Transcendental::Rsq if zero => Some(sign | infinity),
        Transcendental::Sqrt if zero => Some(bits),
        Transcendental::Log2 if zero => Some(0x8000_0000 | infinity),
        Transcendental::Rsq | Transcendental::Sqrt | Transcendental::Log2 if negative => {
            Some(invalid)
        }
        Transcendental::Rsq if infinite => Some(0),
        Transcendental::Sqrt | Transcendental::Log2 if infinite => Some(infinity),
        Transcendental::Exp2 if infinite => Some(if negative { 0 } else { infinity }),
        Transcendental::Sin | Transcendental::Cos if infinite => Some(invalid),
        Transcendental::Sin | Transcendental::Tanh if zero => Some(bits),
        Transcendental::Cos if zero => Some(F32::ONE as u32),
        Transcendental::Tanh if infinite => Some(sign | F32::ONE as u32),
        _ => None,
    }
}

/// The function of an f16 or bf16: the f32's, rounded to nearest even once more.
///
/// ```
/// use hsaco_emu::num::{transcendental_16, Env, Generation, Transcendental, F16};
/// let result = transcendental_16::<F16>(Transcendental::Sqrt, 0x4400, Env::IEEE, Generation::Gfx12);
/// assert_eq!(result, 0x4000);
/// ```
pub fn transcendental_16<F: Format>(
    function: Transcendental,
    a: F::Bits,
    env: Env,
    generation: Generation,
) -> F::Bits {
    let promoted = convert::<F, F32>(a, env, env);
    let wide = transcendental_f32(function, promoted, env, generation);
    let nearest = Env { round: Round::NearestEven, saturate: false, ..env };
    let result: u64 = convert::<F32, F>(wide, Env::IEEE, nearest).into();
    // A finite operand saturates, division by zero too.
    let operand_is_finite = promoted & 0x7f80_0000 != 0x7f80_0000;
    let saturates = env.saturate && is_infinite::<F>(result) && operand_is_finite;
    F::narrow(if saturates { result - 1 } else { result })
}

/// v_rcp_f64, v_rsq_f64, v_sqrt_f64: the seeds of double arithmetic, correctly rounded here. Other functions have no such form.
///
/// ```
/// use hsaco_emu::num::{seed_f64, Env, Transcendental};
/// assert_eq!(seed_f64(Transcendental::Rcp, 4f64.to_bits(), Env::IEEE), Some(0.25f64.to_bits()));
/// ```
pub fn seed_f64(function: Transcendental, a: u64, env: Env) -> Option<u64> {
    let env = Env { round: Round::NearestEven, ..env };
    let bits = operand::<F64>(a, env);
    if is_nan::<F64>(bits) {
        return Some(quieted::<F64>(bits, env));
    }
    exact::evaluate::<F64>(function, bits, env)
}
