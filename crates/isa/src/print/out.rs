//! Where printed instructions go: bytes, and on request what kind of token each byte belongs to.

use crate::generated::TEXT;

/// What a piece of an instruction's text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Token {
    /// The name of the instruction, with its encoding's suffix.
    Mnemonic,
    /// A register or a range of registers.
    Register,
    /// A number.
    Immediate,
    /// A modifier such as `offset:16`, or a named value such as `vmcnt(0)`.
    Modifier,
    /// The target of a branch.
    Label,
    /// Commas, spaces, brackets and the signs of source modifiers.
    Punctuation,
    /// A remark on an operand that the instruction should not have.
    Comment,
}

/// Learns where each token starts.
pub(crate) trait Marks {
    fn mark(&mut self, token: Token, at: usize);
}

/// Only the text is wanted.
impl Marks for () {
    fn mark(&mut self, _: Token, _: usize) {}
}

impl Marks for &mut Vec<(Token, usize)> {
    fn mark(&mut self, token: Token, at: usize) {
        self.push((token, at));
    }
}

/// A writer of ASCII text.
pub(crate) struct Out<'a, M> {
    pub(crate) bytes: &'a mut Vec<u8>,
    pub(crate) marks: M,
}

impl<M: Marks> Out<'_, M> {
    /// What follows, up to the next call, is one token of this kind.
    #[inline]
    pub(crate) fn token(&mut self, token: Token) {
        self.marks.mark(token, self.bytes.len());
    }

    #[inline]
    pub(crate) fn text(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    #[inline]
    pub(crate) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// A mnemonic out of the text that all names share.
    #[inline]
    pub(crate) fn name(&mut self, start: u32, len: u8) {
        let start = start as usize;
        self.bytes.extend_from_slice(TEXT.get(start..start + usize::from(len)).unwrap_or_default());
    }

    /// A decimal number below ten thousand, such as a register's.
    #[inline]
    pub(crate) fn small(&mut self, value: u32) {
        if value >= 1000 {
            self.byte(b'0' + (value / 1000 % 10) as u8);
        }
        if value >= 100 {
            self.byte(b'0' + (value / 100 % 10) as u8);
        }
        if value >= 10 {
            self.byte(b'0' + (value / 10 % 10) as u8);
        }
        self.byte(b'0' + (value % 10) as u8);
    }

    /// A decimal number.
    pub(crate) fn dec(&mut self, value: u64) {
        let mut digits = [0; 20];
        let mut at = digits.len();
        let mut rest = value;
        loop {
            at -= 1;
            if let Some(digit) = digits.get_mut(at) {
                *digit = b'0' + (rest % 10) as u8;
            }
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.bytes.extend_from_slice(digits.get(at..).unwrap_or_default());
    }

    /// A decimal number that may be negative.
    pub(crate) fn signed(&mut self, value: i64) {
        if value < 0 {
            self.byte(b'-');
        }
        self.dec(value.unsigned_abs());
    }

    /// A hexadecimal number, `0x` before it.
    pub(crate) fn hex(&mut self, value: u64) {
        self.text("0x");
        let digits = (67 - value.leading_zeros()).max(4) / 4;
        for digit in (0..digits).rev() {
            let nibble = (value >> (digit * 4) & 15) as u8;
            self.byte(if nibble < 10 { b'0' + nibble } else { b'a' - 10 + nibble });
        }
    }
}
