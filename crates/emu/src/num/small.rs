//! Formats of 8, 6 and 4 bits, and block scales.

use super::float::{Exact, Kind, is_nan, parts, round, shift_round};
use super::matrix::Class;
use super::{Env, F32, Format, Generation, Round};

/// What the largest codes of a small format stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Special {
    /// Infinity and NaNs, as IEEE has them.
    Ieee,
    /// A NaN where all bits but the sign are ones, no infinity.
    AllOnes,
    /// A NaN in the place of negative zero, no infinity.
    NegativeZero,
    /// Numbers only.
    None,
}

/// A format of at most 8 bits.
///
/// ```
/// use hsaco_emu::num::Small;
/// assert_eq!(Small::FP8_OCP.decode(0x7e), 448f32.to_bits());
/// assert_eq!(Small::FP8_FNUZ.decode(0x7f), 240f32.to_bits());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Small {
    exponent: u32,
    mantissa: u32,
    bias: i32,
    signed: bool,
    special: Special,
}

/// How a number is rounded into a small format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SmallRound {
    /// By a rounding mode.
    Mode(Round),
    /// Stochastically: the seed's upper bits are added below the cut.
    Stochastic(u32),
}

impl Small {
    const fn new(exponent: u32, mantissa: u32, bias: i32, special: Special) -> Self {
        Self { exponent, mantissa, bias, signed: true, special }
    }

    /// E4M3 of OCP.
    pub const FP8_OCP: Self = Self::new(4, 3, 7, Special::AllOnes);
    /// E5M2 of OCP.
    pub const BF8_OCP: Self = Self::new(5, 2, 15, Special::Ieee);
    /// E4M3 of gfx942, without negative zero.
    pub const FP8_FNUZ: Self = Self::new(4, 3, 8, Special::NegativeZero);
    /// E5M2 of gfx942, without negative zero.
    pub const BF8_FNUZ: Self = Self::new(5, 2, 16, Special::NegativeZero);
    /// E2M3.
    pub const FP6: Self = Self::new(2, 3, 1, Special::None);
    /// E3M2.
    pub const BF6: Self = Self::new(3, 2, 3, Special::None);
    /// E2M1.
    pub const FP4: Self = Self::new(2, 1, 1, Special::None);
    /// E5M3 without a sign: a scale of gfx1250.
    pub const E5M3: Self =
        Self { exponent: 5, mantissa: 3, bias: 15, signed: false, special: Special::AllOnes };

    /// The format that instructions call fp8.
    pub const fn fp8(generation: Generation) -> Self {
        if generation.fp8_is_ocp() { Self::FP8_OCP } else { Self::FP8_FNUZ }
    }

    /// The format that instructions call bf8.
    pub const fn bf8(generation: Generation) -> Self {
        if generation.fp8_is_ocp() { Self::BF8_OCP } else { Self::BF8_FNUZ }
    }

    /// Bits of the format.
    pub const fn width(self) -> u32 {
        self.exponent + self.mantissa + self.signed as u32
    }

    /// Bits of the mantissa.
    pub(super) const fn mantissa(self) -> u32 {
        self.mantissa
    }

    /// The magnitude of a code, its sign, and what it is.
    #[inline]
    pub(super) const fn split(self, code: u32) -> (u32, bool, Class) {
        let magnitude = code & self.magnitude_mask();
        let negative = code & self.sign_bit() != 0;
        let class = match self.special {
            Special::NegativeZero if negative && magnitude == 0 => Class::Nan,
            Special::AllOnes if magnitude == self.magnitude_mask() => Class::Nan,
            Special::Ieee if magnitude == self.infinity() => Class::Infinite,
            Special::Ieee if magnitude > self.infinity() => Class::Nan,
            _ => Class::Finite,
        };
        (magnitude, negative, class)
    }

    const fn magnitude_mask(self) -> u32 {
        (1 << (self.exponent + self.mantissa)) - 1
    }

    /// The largest finite code.
    const fn max(self) -> u32 {
        match self.special {
            Special::Ieee => self.infinity() - 1,
            Special::AllOnes => self.magnitude_mask() - 1,
            Special::NegativeZero | Special::None => self.magnitude_mask(),
        }
    }

    const fn infinity(self) -> u32 {
        ((1 << self.exponent) - 1) << self.mantissa
    }

    const fn sign_bit(self) -> u32 {
        if self.signed { self.magnitude_mask() + 1 } else { 0 }
    }

    /// The number that a code stands for, as an f32, which holds all of them.
    pub fn decode(self, code: u32) -> u32 {
        self.decode_scaled(code, 0)
    }

    /// The number times `2^scale`, rounded to f32 where it has to be.
    ///
    /// ```
    /// use hsaco_emu::num::Small;
    /// assert_eq!(Small::FP4.decode_scaled(7, 1), 12f32.to_bits());
    /// ```
    pub fn decode_scaled(self, code: u32, scale: i32) -> u32 {
        let magnitude = code & self.magnitude_mask();
        let negative = code & self.sign_bit() != 0;
        let sign = if negative { F32::SIGN as u32 } else { 0 };
        match self.special {
            Special::NegativeZero if negative && magnitude == 0 => return F32::INVALID as u32,
            Special::AllOnes if magnitude == self.magnitude_mask() => return sign | 0x7fc0_0000,
            Special::Ieee if magnitude == self.infinity() => return sign | F32::INFINITY as u32,
            Special::Ieee if magnitude > self.infinity() => return sign | 0x7fc0_0000,
            _ => {}
        }
        let (significand, exponent) = self.number(magnitude);
        let exact = Exact { negative, significand: significand.into(), exponent: exponent + scale };
        round::<F32>(exact, Env::IEEE) as u32
    }

    /// The integer and the power of two that a finite magnitude is made of.
    pub(super) fn number(self, magnitude: u32) -> (u32, i32) {
        let field = magnitude >> self.mantissa;
        let fraction = magnitude & ((1 << self.mantissa) - 1);
        let significand = if field == 0 { fraction } else { fraction | 1 << self.mantissa };
        (significand, field.max(1) as i32 - self.bias - self.mantissa as i32)
    }

    /// The code of an f32. What is too large becomes infinity or a NaN, or the largest number if `saturate` is set
    /// (MODE.FP16_OVFL) or the format has neither.
    ///
    /// ```
    /// use hsaco_emu::num::{Round, Small, SmallRound};
    /// let nearest = SmallRound::Mode(Round::NearestEven);
    /// assert_eq!(Small::FP8_OCP.encode(1e9f32.to_bits(), nearest, true), 0x7e);
    /// assert_eq!(Small::FP8_FNUZ.encode((-0f32).to_bits(), nearest, true), 0);
    /// ```
    pub fn encode(self, value: u32, round: SmallRound, saturate: bool) -> u32 {
        self.encode_scaled(value, 0, round, saturate)
    }

    /// The code of an f32 divided by `2^scale`.
    ///
    /// ```
    /// use hsaco_emu::num::{Round, Small, SmallRound};
    /// let nearest = SmallRound::Mode(Round::NearestEven);
    /// assert_eq!(Small::FP4.encode_scaled(12f32.to_bits(), 1, nearest, true), 7);
    /// ```
    pub fn encode_scaled(self, value: u32, scale: i32, how: SmallRound, saturate: bool) -> u32 {
        let bits = u64::from(value);
        let value = parts::<F32>(bits);
        let sign = if value.negative { self.sign_bit() } else { 0 };
        match value.kind {
            Kind::Nan => self.nan(sign),
            // The nearest number without a sign.
            _ if value.negative && !self.signed => 0,
            Kind::Infinity => self.too_large(sign, saturate),
            Kind::Zero => self.signed_code(sign, 0),
            Kind::Finite(significand, exponent) => {
                let exponent = exponent - scale;
                let code = self.rounded(significand.into(), exponent, value.negative, how);
                match code {
                    Some(code) => self.signed_code(sign, code),
                    None => self.too_large(sign, saturate),
                }
            }
        }
    }

    /// The magnitude's code, or `None` beyond the largest number.
    fn rounded(
        self,
        significand: u128,
        exponent: i32,
        negative: bool,
        how: SmallRound,
    ) -> Option<u32> {
        let leading = 127 - significand.leading_zeros() as i32 + exponent;
        let lowest = 1 - self.bias;
        if leading > self.bias + (1 << self.exponent) {
            return None;
        }
        let field = (leading - lowest + 1).max(0);
        let shift = leading.max(lowest) - self.mantissa as i32 - exponent;
        let kept = match how {
            SmallRound::Mode(round) => shift_round(significand, shift, negative, round),
            SmallRound::Stochastic(seed) => shift_stochastic(significand, shift, seed),
        } as u32;
        // The leading one of a normal number is part of its exponent field.
        let code = if field == 0 { kept } else { ((field as u32 - 1) << self.mantissa) + kept };
        (code <= self.max()).then_some(code)
    }

    fn signed_code(self, sign: u32, magnitude: u32) -> u32 {
        if magnitude == 0 && self.special == Special::NegativeZero { 0 } else { sign | magnitude }
    }

    fn nan(self, sign: u32) -> u32 {
        match self.special {
            Special::NegativeZero => self.sign_bit(),
            Special::None => sign | self.max(),
            Special::Ieee | Special::AllOnes => sign | self.magnitude_mask(),
        }
    }

    fn too_large(self, sign: u32, saturate: bool) -> u32 {
        match self.special {
            _ if saturate => sign | self.max(),
            Special::Ieee => sign | self.infinity(),
            _ => self.nan(sign),
        }
    }
}

/// `value >> shift`, one more if the seed's upper bits carry out of what is cut. Beyond the seed's bits nothing is left.
fn shift_stochastic(value: u128, shift: i32, seed: u32) -> u128 {
    match shift {
        ..=0 => value << -shift,
        1..=32 => {
            let cut = value & ((1 << shift) - 1);
            let added = u128::from(seed >> (32 - shift));
            (value >> shift) + ((cut + added) >> shift)
        }
        _ => 0,
    }
}

/// The power of two of a scale in E8M0, as the bits 30 to 23 of a v_cvt_scalef32 operand hold it; `None` is a NaN.
///
/// ```
/// use hsaco_emu::num::e8m0;
/// assert_eq!(e8m0(130), Some(3));
/// ```
pub const fn e8m0(code: u8) -> Option<i32> {
    if code == 0xff { None } else { Some(code as i32 - 127) }
}

/// v_cvt_sr_bf16_f32, v_cvt_sr_f16_f32: rounded stochastically into a format of 16 bits.
///
/// ```
/// use hsaco_emu::num::{stochastic_16, BF16};
/// assert_eq!(stochastic_16::<BF16>(0x3f80_8000, 0), 0x3f80);
/// assert_eq!(stochastic_16::<BF16>(0x3f80_8000, 0x8000_0000), 0x3f81);
/// ```
pub fn stochastic_16<F: Format>(value: u32, seed: u32) -> F::Bits {
    let bits = u64::from(value);
    let cut = F32::MANTISSA - F::MANTISSA;
    if is_nan::<F32>(bits) || bits & !F32::SIGN == F32::INFINITY {
        return super::convert::<F32, F>(value, Env::IEEE, Env::IEEE);
    }
    let parts = parts::<F32>(bits);
    let Kind::Finite(significand, exponent) = parts.kind else {
        return F::narrow(super::float::sign::<F>(parts.negative));
    };
    let lowest = 1 - F::BIAS - F::MANTISSA as i32;
    let shift = (lowest - exponent).max(cut as i32 - significand.leading_zeros() as i32 + 40);
    let kept = shift_stochastic(significand.into(), shift, seed);
    let exact = Exact { negative: parts.negative, significand: kept, exponent: exponent + shift };
    F::narrow(round::<F>(exact, Env::IEEE))
}
