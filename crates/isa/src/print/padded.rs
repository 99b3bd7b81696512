//! Short texts in blocks of one size: a block is copied whole, and only its beginning counts.

use crate::model::Special;
use crate::model::generated::PIECES;

/// Up to thirty-one characters; the last byte says how many.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(super) struct Padded(pub(super) [u8; 32]);

impl Padded {
    pub(super) const fn new(text: &str) -> Self {
        let text = text.as_bytes();
        assert!(text.len() < 32, "a text that does not fit");
        let mut block = [b' '; 32];
        let mut at = 0;
        while at < text.len() {
            block[at] = text[at];
            at += 1;
        }
        block[31] = text.len() as u8;
        Padded(block)
    }

    /// The first characters of a text.
    pub(super) fn of(text: &[u8]) -> Self {
        let mut padded = Padded::new("");
        let count = text.len().min(31);
        padded.0.iter_mut().zip(text.iter().take(count)).for_each(|(to, from)| *to = *from);
        padded.0[31] = count as u8;
        padded
    }

    #[inline]
    pub(super) const fn len(&self) -> usize {
        self.0[31] as usize
    }
}

/// What stands between operands: nothing, beyond the pieces that there are.
pub(super) static PADDED_PIECES: [Padded; 256] = {
    let mut padded = [Padded::new(""); 256];
    let mut at = 0;
    while at < PIECES.len() {
        padded[at] = Padded::new(PIECES[at]);
        at += 1;
    }
    padded
};

/// The names of special registers, by number.
pub(super) static SPECIAL_NAMES: [Padded; Special::ALL.len()] = {
    let mut padded = [Padded::new(""); Special::ALL.len()];
    let mut at = 0;
    while at < Special::ALL.len() {
        padded[at] = Padded::new(Special::ALL[at].name());
        at += 1;
    }
    padded
};

/// How many numbers `NUMBERS` has: those of all registers.
pub(super) const NUMBER_COUNT: usize = 1 << 11;

/// Decimal digits, the first in the lowest byte; the highest byte says how many.
pub(super) static NUMBERS: [u64; NUMBER_COUNT] = {
    let mut numbers = [0; NUMBER_COUNT];
    let mut number = 0;
    while number < NUMBER_COUNT {
        let (mut digits, mut count, mut rest) = (0, 0, number);
        loop {
            digits = digits << 8 | (b'0' as u64 + rest as u64 % 10);
            count += 1;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        numbers[number] = digits | count << 56;
        number += 1;
    }
    numbers
};
