//! Tests of numerics: against arithmetic in big integers, and against what devices answered.

mod conversion;
mod rational;
mod rounding;
mod transcendental;

/// A small generator of numbers: the same on every run.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end
    }

    /// Bits of a format with these many bits of mantissa: special values, neighbours of powers of two, denormals, any.
    pub(super) fn float(&mut self, width: u32, mantissa: u32) -> u64 {
        let mask = u64::MAX >> (64 - width);
        let exponents = 1 << (width - mantissa - 1);
        let any = self.next() & mask;
        let sign = any & 1 << (width - 1);
        let fraction = any & ((1 << mantissa) - 1);
        let middle = exponents / 2 - 1;
        match self.below(8) {
            0 => any,
            1 => sign | self.below(exponents) << mantissa,
            2 => sign | fraction,
            3 => sign | (middle + self.below(4)) << mantissa | fraction,
            4 => {
                sign | ((self.below(exponents) << mantissa)
                    .wrapping_add(self.below(5))
                    .wrapping_sub(2))
                    & (mask >> 1)
            }
            5 => sign | (exponents - 2 - self.below(3)) << mantissa | fraction,
            6 => {
                sign | (middle + self.below(2 * u64::from(mantissa))
                    - self.below(20).min(middle / 2))
                .min(exponents - 2)
                    << mantissa
                    | fraction
            }
            _ => sign | self.below(4) << mantissa | fraction,
        }
    }
}
