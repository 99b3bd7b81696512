//! Where printed instructions go: bytes, and on request what kind of token each byte belongs to.

use super::padded::{NUMBERS, Padded};
use super::page::Page;
use super::texts::{Text, text_len};

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
    /// Whether tokens are recorded.
    const WANTED: bool;

    fn mark(&mut self, token: Token, at: usize);
}

/// Only the text is wanted.
impl Marks for () {
    const WANTED: bool = false;

    #[inline]
    fn mark(&mut self, _: Token, _: usize) {}
}

impl Marks for &mut Vec<(Token, usize)> {
    const WANTED: bool = true;

    fn mark(&mut self, token: Token, at: usize) {
        match self.last_mut() {
            // Nothing was written as the token before.
            Some(last) if last.1 == at => last.0 = token,
            _ => self.push((token, at)),
        }
    }
}

/// A writer of ASCII text.
///
/// There is always room for some more, so that short texts are copied in blocks of a fixed size.
pub(crate) struct Out<'a, M> {
    bytes: &'a mut Vec<u8>,
    /// Where the text ends; what follows is room.
    end: usize,
    marks: M,
}

/// A writer of short texts into the room of a line.
pub(super) struct Cursor<'a> {
    room: &'a mut [u8; LINE],
    end: usize,
}

/// Room for all but the strangest instructions.
const LINE: usize = 256;

impl Cursor<'_> {
    /// The beginning of a line.
    #[inline]
    pub(super) fn head(&mut self, head: &Padded) {
        self.room[..32].copy_from_slice(&head.0);
        self.end = head.len();
    }

    /// A text; false if there is no room for it.
    #[inline]
    pub(super) fn text<const WORDS: usize>(&mut self, text: &Text<WORDS>) -> bool {
        if self.end > LINE - WORDS * 8 {
            return false;
        }
        let (room, _) = self.room[self.end..self.end + WORDS * 8].as_chunks_mut::<8>();
        room.iter_mut().zip(text).for_each(|(to, from)| *to = from.to_le_bytes());
        self.end += text_len(text);
        true
    }

    /// Two words of text, and how much of each counts.
    #[inline]
    pub(super) fn words(&mut self, first: (u64, u8), second: (u64, u8)) -> bool {
        let start = usize::from(first.1 & 15).min(8);
        if self.end > LINE - 16 {
            return false;
        }
        let room = &mut self.room[self.end..self.end + 16];
        room[..8].copy_from_slice(&first.0.to_le_bytes());
        room[start..start + 8].copy_from_slice(&second.0.to_le_bytes());
        self.end += start + usize::from(second.1);
        true
    }

    /// How much was written.
    #[inline]
    pub(super) const fn end(&self) -> usize {
        self.end
    }
}

/// Room for most instructions.
const ROOM: usize = 128;

impl<'a, M: Marks> Out<'a, M> {
    /// Appends what `write` writes.
    #[inline]
    pub(crate) fn append(bytes: &'a mut Vec<u8>, marks: M, write: impl FnOnce(&mut Self)) {
        let end = bytes.len();
        bytes.extend_from_slice(&[0; ROOM]);
        let mut out = Out { bytes, end, marks };
        write(&mut out);
        let Out { bytes, end, .. } = out;
        bytes.truncate(end);
    }

    /// Writes on a page.
    #[inline]
    pub(crate) fn on(page: &'a mut Page<'_>, marks: M, write: impl FnOnce(&mut Self)) {
        let mut out = Out { bytes: &mut *page.bytes, end: page.end, marks };
        write(&mut out);
        let end = out.end;
        page.end = end;
    }

    /// What follows, up to the next call, is one token of this kind.
    #[inline]
    pub(crate) fn token(&mut self, token: Token) {
        self.marks.mark(token, self.end);
    }

    /// Copies a block of which the first `len` bytes count.
    #[inline]
    fn block<const N: usize>(&mut self, block: &[u8; N], len: usize) {
        let room = self.bytes.get_mut(self.end..).and_then(<[u8]>::first_chunk_mut);
        match room {
            Some(room) => *room = *block,
            None => self.block_in_more_room(block),
        }
        self.end += len;
    }

    #[cold]
    fn block_in_more_room(&mut self, block: &[u8]) {
        self.bytes.truncate(self.end);
        self.bytes.extend_from_slice(block);
        self.bytes.extend_from_slice(&[0; ROOM]);
    }

    #[inline]
    pub(crate) fn text(&mut self, text: &str) {
        let end = self.end + text.len();
        match self.bytes.get_mut(self.end..end) {
            Some(room) => room.copy_from_slice(text.as_bytes()),
            None => self.block_in_more_room(text.as_bytes()),
        }
        self.end = end;
    }

    #[inline]
    pub(super) fn padded(&mut self, text: &Padded) {
        self.block(&text.0, text.len());
    }

    #[inline]
    pub(super) fn quick<const WORDS: usize>(&mut self, text: &Text<WORDS>) {
        text.iter().for_each(|word| self.block(&word.to_le_bytes(), 8));
        self.end = self.end + text_len(text) - WORDS * 8;
    }

    /// What was written from there on.
    pub(super) fn written(&self, from: usize) -> &[u8] {
        self.bytes.get(from..self.end).unwrap_or_default()
    }

    /// Where the text ends.
    #[inline]
    pub(super) const fn end(&self) -> usize {
        self.end
    }

    /// The room after the end: always there, but that this cannot be told to the compiler.
    #[inline]
    pub(super) fn cursor(&mut self) -> Option<Cursor<'_>> {
        if self.bytes.len() < self.end + LINE {
            self.make_room();
        }
        let room = self.bytes.get_mut(self.end..)?.first_chunk_mut()?;
        Some(Cursor { room, end: 0 })
    }

    #[cold]
    fn make_room(&mut self) {
        self.bytes.resize(self.end + 2 * LINE, 0);
    }

    /// So much of what a cursor has written counts.
    #[inline]
    pub(super) fn advance(&mut self, count: usize) {
        self.end += count;
    }

    #[inline]
    pub(crate) fn byte(&mut self, byte: u8) {
        self.block(&[byte], 1);
    }

    /// Up to eight characters, the first in the lowest byte.
    #[inline]
    pub(super) fn word(&mut self, text: u64, len: usize) {
        self.block(&text.to_le_bytes(), len);
    }

    /// A decimal number, such as a register's.
    #[inline]
    pub(crate) fn small(&mut self, value: u32) {
        match NUMBERS.get(value as usize) {
            Some(digits) => self.word(*digits, (*digits >> 56) as usize),
            None => self.long_dec(value.into()),
        }
    }

    /// A decimal number.
    #[inline]
    pub(crate) fn dec(&mut self, value: u64) {
        match u32::try_from(value) {
            Ok(value) => self.small(value),
            Err(_) => self.long_dec(value),
        }
    }

    /// The last three digits are those of a number with a thousand more, but for its first.
    fn long_dec(&mut self, value: u64) {
        match usize::try_from(value).ok().and_then(|value| NUMBERS.get(value)) {
            Some(digits) => self.word(*digits, (*digits >> 56) as usize),
            None => {
                self.long_dec(value / 1000);
                self.word(NUMBERS[1000 + (value % 1000) as usize] >> 8, 3);
            }
        }
    }

    /// A decimal number that may be negative.
    #[inline]
    pub(crate) fn signed(&mut self, value: i64) {
        if value < 0 {
            self.byte(b'-');
        }
        self.dec(value.unsigned_abs());
    }

    /// A hexadecimal number, `0x` before it.
    #[inline]
    pub(crate) fn hex(&mut self, value: u64) {
        self.text("0x");
        let digits = (67 - value.leading_zeros()).max(4) / 4;
        let high = (value >> 32) as u32;
        if high != 0 {
            self.hex_word(high, digits - 8);
        }
        self.hex_word(value as u32, digits.min(8));
    }

    /// The last of eight hexadecimal digits.
    #[inline]
    fn hex_word(&mut self, word: u32, digits: u32) {
        let text = hex_digits(word).swap_bytes() >> (64 - digits * 8);
        self.word(text, digits as usize);
    }
}

/// The digits of a word, the first in the highest byte: spread, and made characters all at once.
#[inline]
pub(super) const fn hex_digits(word: u32) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let mut bytes = word as u64;
    bytes = (bytes | bytes << 16) & 0x0000_ffff_0000_ffff;
    bytes = (bytes | bytes << 8) & 0x00ff_00ff_00ff_00ff;
    bytes = (bytes | bytes << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    let is_letter = ((bytes + 6 * EACH) >> 4) & EACH;
    bytes + b'0' as u64 * EACH + (b'a' - b'9' - 1) as u64 * is_letter
}
