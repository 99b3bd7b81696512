//! A small deterministic generator: the same seed gives the same test on every machine.
//!
//! Tests of crates that this one stands on include the file, so that there is one generator.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "a crate that includes the file need not use all of it"
)]

/// xorshift64* by Marsaglia and Vigna.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator with a seed, of which 0 is as good as any.
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`, 0 when there is none.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.bits() >> 33).unwrap_or(0) % end.max(1)
    }

    /// One of the values.
    ///
    /// # Panics
    /// Panics when there are none.
    #[allow(clippy::indexing_slicing, reason = "below the length")]
    pub fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }
}
