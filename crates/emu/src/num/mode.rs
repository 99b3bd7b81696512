//! MODE: rounding, denormals, clamping and NaNs, as each generation reads it.

use super::Format;

/// Devices that compute differently.
///
/// ```
/// use hsaco_emu::num::Generation;
/// assert!(Generation::Gfx12.always_quiets() && !Generation::Gfx11.always_quiets());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generation {
    /// gfx908, CDNA1.
    Gfx908,
    /// gfx90a, CDNA2.
    Gfx90a,
    /// gfx940, gfx941, gfx942, CDNA3.
    Gfx942,
    /// gfx950, CDNA4.
    Gfx950,
    /// gfx10.3, RDNA2.
    Gfx103,
    /// gfx11 and gfx11.5, RDNA3.
    Gfx11,
    /// gfx12, RDNA4.
    Gfx12,
    /// gfx1250, CDNA5.
    Gfx1250,
}

impl Generation {
    /// Whether signalling NaNs are quieted and OMOD works whatever MODE says: MODE has no IEEE and DX10_CLAMP any more.
    pub const fn always_quiets(self) -> bool {
        matches!(self, Self::Gfx12 | Self::Gfx1250)
    }

    /// Whether fp8 and bf8 are OCP's formats, not those without negative zero.
    pub const fn fp8_is_ocp(self) -> bool {
        matches!(self, Self::Gfx950 | Self::Gfx12 | Self::Gfx1250)
    }

    /// Whether the transcendental unit is the one whose captures are public.
    pub const fn has_captured_transcendentals(self) -> bool {
        matches!(self, Self::Gfx11 | Self::Gfx12)
    }
}

/// Rounding modes, in the order of MODE.FP_ROUND.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Round {
    /// To nearest, ties to even.
    NearestEven,
    /// Toward positive infinity.
    Up,
    /// Toward negative infinity.
    Down,
    /// Toward zero.
    Zero,
}

impl Round {
    /// All four, by their number in MODE.FP_ROUND.
    pub const ALL: [Self; 4] = [Self::NearestEven, Self::Up, Self::Down, Self::Zero];

    const fn of_field(field: u32) -> Self {
        match field & 3 {
            0 => Self::NearestEven,
            1 => Self::Up,
            2 => Self::Down,
            _ => Self::Zero,
        }
    }
}

/// What becomes of denormals: kept, or zeros of the same sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Denorm {
    /// Whether denormal operands are kept.
    pub input: bool,
    /// Whether denormal results are kept.
    pub output: bool,
}

impl Denorm {
    /// All denormals are kept.
    pub const KEEP: Self = Self { input: true, output: true };
    /// All denormals become zeros.
    pub const FLUSH: Self = Self { input: false, output: false };

    const fn of_field(field: u32) -> Self {
        Self { input: field & 1 != 0, output: field & 2 != 0 }
    }
}

/// What an operation in one format asks of MODE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Env {
    /// How results are rounded.
    pub round: Round,
    /// What becomes of denormals.
    pub denorm: Denorm,
    /// Whether signalling NaNs become quiet.
    pub quiet: bool,
    /// Whether results too large become the largest finite number, not infinity: MODE.FP16_OVFL.
    pub saturate: bool,
}

impl Env {
    /// As IEEE 754 has it by default.
    pub const IEEE: Self =
        Self { round: Round::NearestEven, denorm: Denorm::KEEP, quiet: true, saturate: false };
}

/// The fields of MODE that numbers depend on.
///
/// ```
/// use hsaco_emu::num::{Generation, Mode, Round, F16, F32};
/// let mode = Mode::decode(0x3c0, Generation::Gfx942);
/// assert_eq!(mode.env::<F32>().round, Round::NearestEven);
/// assert!(!mode.env::<F32>().denorm.input && mode.env::<F16>().denorm.input);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mode {
    /// Rounding of f32.
    pub round_f32: Round,
    /// Rounding of f16, bf16 and f64.
    pub round_f16_f64: Round,
    /// Denormals of f32.
    pub denorm_f32: Denorm,
    /// Denormals of f16, bf16 and f64.
    pub denorm_f16_f64: Denorm,
    /// Clamping turns NaN into zero.
    pub dx10_clamp: bool,
    /// Signalling NaNs become quiet, and OMOD does nothing.
    pub ieee: bool,
    /// Results of f16 that are too large become the largest number.
    pub fp16_ovfl: bool,
    generation: Generation,
}

impl Mode {
    /// Reads the register.
    pub const fn decode(register: u32, generation: Generation) -> Self {
        let always = generation.always_quiets();
        Self {
            round_f32: Round::of_field(register),
            round_f16_f64: Round::of_field(register >> 2),
            denorm_f32: Denorm::of_field(register >> 4),
            denorm_f16_f64: Denorm::of_field(register >> 6),
            dx10_clamp: always || register >> 8 & 1 != 0,
            ieee: always || register >> 9 & 1 != 0,
            fp16_ovfl: register >> 23 & 1 != 0,
            generation,
        }
    }

    /// Whose MODE it is.
    pub const fn generation(&self) -> Generation {
        self.generation
    }

    /// What an operation in the format asks of it.
    pub fn env<F: Format>(&self) -> Env {
        let (round, denorm) = match F::WIDTH {
            32 => (self.round_f32, self.denorm_f32),
            _ => (self.round_f16_f64, self.denorm_f16_f64),
        };
        Env { round, denorm, quiet: self.ieee, saturate: F::WIDTH == 16 && self.fp16_ovfl }
    }

    /// Whether OMOD scales a result of the format: before gfx12 only where denormals are flushed and IEEE is off.
    pub fn omod_works<F: Format>(&self) -> bool {
        self.generation.always_quiets() || !self.ieee && !self.env::<F>().denorm.output
    }
}
