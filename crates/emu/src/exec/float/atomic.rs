//! Atomic operations on floats: to nearest even, NaNs made quiet, and denormals as the unit that does them has it.

use crate::num::{self, Denorm, Env, Format, Generation, Mode, Relation};

/// What does an atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicUnit {
    /// LDS, by a DS instruction.
    Lds,
    /// LDS, by a FLAT instruction.
    LdsByFlat,
    /// The L2 cache.
    Cache,
}

/// The rules of one place.
pub(crate) struct FloatAtomics {
    mode: Mode,
    unit: AtomicUnit,
}

impl FloatAtomics {
    pub(crate) fn new(mode: &Mode, unit: AtomicUnit) -> Self {
        Self { mode: *mode, unit }
    }

    fn is_gfx12(&self) -> bool {
        self.mode.generation() >= Generation::Gfx12
    }

    /// Sums of f64 keep denormals everywhere. Caches flush those of f32 before gfx12.
    fn of_sums<F: Format>(&self) -> Env {
        let denorm = match self.unit {
            _ if F::WIDTH == 64 => Denorm::KEEP,
            AtomicUnit::Lds => self.mode.env::<F>().denorm,
            AtomicUnit::LdsByFlat if !self.is_gfx12() => self.mode.env::<F>().denorm,
            AtomicUnit::Cache if F::WIDTH == 32 && !self.is_gfx12() => Denorm::FLUSH,
            _ => Denorm::KEEP,
        };
        env(denorm)
    }

    /// Comparisons go by MODE in LDS, and in the caches of gfx10 and gfx11: by its bit for operands.
    fn of_comparisons<F: Format>(&self) -> Env {
        let by_mode = match self.unit {
            AtomicUnit::Lds => true,
            AtomicUnit::LdsByFlat => !self.is_gfx12(),
            AtomicUnit::Cache => {
                matches!(self.mode.generation(), Generation::Gfx103 | Generation::Gfx11)
            }
        };
        let keeps = !by_mode || self.mode.env::<F>().denorm.input;
        env(if keeps { Denorm::KEEP } else { Denorm::FLUSH })
    }

    pub(crate) fn add<F: Format>(&self, old: F::Bits, data: F::Bits) -> F::Bits {
        num::add::<F>(old, data, self.of_sums::<F>())
    }

    /// Both halves of a register.
    pub(crate) fn add_both<F: Format<Bits = u16>>(&self, old: u32, data: u32) -> u32 {
        let half = |shift: u32| {
            let sum =
                num::add::<F>((old >> shift) as u16, (data >> shift) as u16, self.of_sums::<F>());
            u32::from(sum) << shift
        };
        half(0) | half(16)
    }

    pub(crate) fn min<F: Format>(&self, old: F::Bits, data: F::Bits) -> F::Bits {
        let env = self.of_comparisons::<F>();
        self.chosen::<F>(num::min::<F>(old, data, env, self.mode.generation()), old, data, env)
    }

    pub(crate) fn max<F: Format>(&self, old: F::Bits, data: F::Bits) -> F::Bits {
        let env = self.of_comparisons::<F>();
        self.chosen::<F>(num::max::<F>(old, data, env, self.mode.generation()), old, data, env)
    }

    /// Before gfx12 the operand itself is the result, even if it was compared as zero.
    fn chosen<F: Format>(&self, result: F::Bits, old: F::Bits, data: F::Bits, env: Env) -> F::Bits {
        let operands = [old, data].into_iter();
        let is_it = |bits: &F::Bits| flushed::<F>(*bits, env) == result;
        if self.is_gfx12() { result } else { operands.clone().find(is_it).unwrap_or(result) }
    }

    /// What is stored: the data where the word equals what it is compared with.
    pub(crate) fn swap<F: Format>(&self, old: F::Bits, data: F::Bits, compare: F::Bits) -> F::Bits {
        let env = self.of_comparisons::<F>();
        let equal = num::compare::<F>(Relation::Eq, old, compare, env);
        flushed::<F>(if equal { data } else { old }, env)
    }
}

/// The bits with a denormal as zero where it is flushed.
fn flushed<F: Format>(bits: F::Bits, env: Env) -> F::Bits {
    let is_zero = num::compare::<F>(Relation::Eq, bits, F::narrow(0), env);
    if is_zero { F::narrow(bits.into() & F::SIGN) } else { bits }
}

fn env(denorm: Denorm) -> Env {
    Env { denorm, ..Env::IEEE }
}
