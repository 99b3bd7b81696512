//! Telling bytes apart without keeping them.

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::FixedState;

/// What is the same for the same bytes, and for others only by a chance of one in 2^128.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint([u64; 2]);

impl Fingerprint {
    /// Of these parts, one after the other.
    #[must_use]
    pub fn of(parts: &[&[u8]]) -> Self {
        const SEEDS: [u64; 2] = [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344];
        Self(SEEDS.map(|seed| {
            let state = FixedState::with_seed(seed);
            let mut hasher = state.build_hasher();
            for part in parts {
                hasher.write_usize(part.len());
                hasher.write(part);
            }
            hasher.finish()
        }))
    }
}
