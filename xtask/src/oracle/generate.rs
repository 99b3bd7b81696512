//! Encodings for the oracle: noise, and golden encodings with some noise in them.

use anyhow::Result;
use hsaco_tests::golden::{Golden, family};
use hsaco_tests::oracle::Target;
use hsaco_tests::random::Random;

/// No instruction takes more bytes.
pub(crate) const MAX_SIZE: usize = 20;
const WORDS: usize = MAX_SIZE / 4;

/// Words that mean something where a literal is expected, or look like an instruction.
const LITERALS: [u32; 8] =
    [0, 1, 64, 0xffff_ffff, 0x3f80_0000, 0x3c00_3c00, 0x8000_0000, 0xbf80_0000];
/// Operand numbers with rules of their own: literals, DPP, SDWA, constants, null, exec, trap registers.
const OPERANDS: [u32; 20] = [
    0xff, 0xfe, 0xfd, 0xfa, 0xf9, 0xf8, 0xf0, 0xea, 0xe9, 0xd0, 0xc1, 0x80, 0x7f, 0x7e, 0x7d, 0x7c,
    0x7b, 0x6a, 0x66, 0x100,
];

/// Bytes to decode; not all of them need belong to an instruction.
#[derive(Clone, Copy)]
pub(crate) struct Encoding {
    size: u8,
    bytes: [u8; MAX_SIZE],
}

impl Encoding {
    /// The first bytes of these, up to the size of the largest instruction.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut encoding = Self { size: 0, bytes: [0; MAX_SIZE] };
        for (to, from) in encoding.bytes.iter_mut().zip(bytes) {
            *to = *from;
            encoding.size += 1;
        }
        encoding
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.size)).unwrap_or_default()
    }

    /// The size, and all bytes whether they count or not.
    pub(crate) fn record(&self) -> impl Iterator<Item = u8> {
        std::iter::once(self.size).chain(self.bytes)
    }
}

/// Makes encodings for one target.
pub(crate) struct Generator {
    target: Target,
    golden: Vec<Vec<u32>>,
}

impl Generator {
    pub(crate) fn new(target: &Target) -> Result<Self> {
        let golden = Golden::read(family(target.processor))?;
        let golden = golden.rows().map(|row| words(&row.bytes)).collect();
        Ok(Self { target: target.clone(), golden })
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// The encodings of a batch: the same on every machine for the same seed.
    pub(crate) fn batch(&self, seed: u64, batch: usize, size: usize) -> Vec<Encoding> {
        // An odd factor spreads neighbouring numbers over all bits.
        let start = (seed << 32).wrapping_add(batch as u64).wrapping_mul(0xd134_2543_de82_ef95);
        let mut random = Random::new(start);
        (0..size).map(|_| self.encoding(&mut random)).collect()
    }

    fn encoding(&self, random: &mut Random) -> Encoding {
        let mut words = [0; WORDS].map(|_: u32| any_word(random));
        let kind = random.below(16);
        if kind >= 2 {
            self.overlay(&mut words, random, kind);
        }
        let bytes: Vec<u8> = words.iter().flat_map(|it| it.to_le_bytes()).collect();
        // Code may end within an instruction.
        let end = if random.below(32) == 0 { random.below(MAX_SIZE + 1) } else { MAX_SIZE };
        Encoding::new(bytes.get(..end).unwrap_or_default())
    }

    /// Puts what a golden encoding begins with before noise, or noise into the encoding.
    fn overlay(&self, words: &mut [u32; WORDS], random: &mut Random, kind: usize) {
        let Some(golden) = self.golden.get(random.below(self.golden.len())) else { return };
        if kind < 5 {
            if let (Some(word), Some(prefix)) = (words.first_mut(), golden.first()) {
                let noise = u32::MAX >> (5 + random.below(12));
                *word = (*word & noise) | (prefix & !noise);
            }
            return;
        }
        words.iter_mut().zip(golden).for_each(|(to, from)| *to = *from);
        for _ in 0..=random.below(3) {
            let Some(word) = words.get_mut(random.below(golden.len())) else { continue };
            *word =
                if kind < 9 { *word ^ (1 << random.below(32)) } else { with_field(*word, random) };
        }
    }
}

/// Any number, or now and then a special one.
fn any_word(random: &mut Random) -> u32 {
    let special = random.below(4) == 0;
    if special { random.pick(&LITERALS) } else { low_half(random.bits()) }
}

/// The word with another value in some field.
fn with_field(word: u32, random: &mut Random) -> u32 {
    let width = random.pick(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 8]);
    let start = random.below(32);
    let mask = ((1_u32 << width) - 1) << start;
    let special = random.below(2) == 0;
    let value = if special { random.pick(&OPERANDS) } else { low_half(random.bits()) };
    (word & !mask) | ((value << start) & mask)
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

#[allow(clippy::cast_possible_truncation, reason = "the upper half is not wanted")]
fn low_half(bits: u64) -> u32 {
    bits as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_and_a_batch_say_what_comes() {
        let generator = Generator::new(&"gfx942".parse().unwrap()).unwrap();
        let batch = |seed, batch| -> Vec<u8> {
            generator.batch(seed, batch, 100).iter().flat_map(Encoding::record).collect()
        };
        assert_eq!(batch(1, 2), batch(1, 2));
        assert_ne!(batch(1, 2), batch(1, 3));
        assert_ne!(batch(1, 2), batch(2, 2));
    }

    #[test]
    fn fields_may_stand_at_the_end_of_a_word() {
        let mut random = Random::new(0);
        let changed = (0..1000).map(|_| with_field(0, &mut random)).fold(0, |all, it| all | it);
        assert_eq!(changed, u32::MAX);
    }
}
