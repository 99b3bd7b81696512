//! A line of text, read from left to right.

use super::error::{Expected, Miss, Parse};

/// Signs and brackets within one another.
const DEEPEST: u8 = 64;

#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    depth: u8,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut cursor = Cursor { text, at: 0, depth: 0 };
        cursor.skip();
        cursor
    }

    /// Where the next token starts.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The byte at the cursor; zero at the end.
    #[inline]
    pub(super) fn peek(&self) -> u8 {
        self.byte(0)
    }

    /// A byte further on.
    #[inline]
    pub(super) fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    pub(super) fn is_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Goes on behind some bytes and the blanks after them.
    #[inline]
    pub(super) fn advance(&mut self, bytes: usize) {
        self.at += bytes;
        self.skip();
    }

    /// Goes on behind some bytes, blanks count.
    pub(super) fn advance_exactly(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Passes blanks and comments.
    #[inline]
    pub(super) fn skip(&mut self) {
        loop {
            match (self.peek(), self.byte(1)) {
                (b' ' | b'\t', _) => self.at += 1,
                (b'/', b'*') => {
                    let comment = self.text.get(self.at + 2..).and_then(|rest| rest.find("*/"));
                    self.at = comment.map_or(self.text.len(), |length| self.at + length + 4);
                }
                _ => break,
            }
        }
    }

    #[inline]
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == byte;
        if found {
            self.advance(1);
        }
        found
    }

    /// Demands a piece of punctuation.
    pub(super) fn expect(&mut self, text: &'static str) -> Parse<()> {
        if self.starts_with(text) {
            self.advance(text.len());
            return Ok(());
        }
        Err(self.miss(Expected::Text(text)))
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The name at the cursor, empty if there is none.
    #[inline]
    pub(super) fn word(&self) -> &'a str {
        let rest = self.rest();
        if rest.as_bytes().first().is_none_or(u8::is_ascii_digit) {
            return "";
        }
        let length = rest.as_bytes().iter().take_while(|byte| is_inner(**byte)).count();
        rest.get(..length).unwrap_or_default()
    }

    pub(super) fn take_word(&mut self) -> &'a str {
        let word = self.word();
        self.advance(word.len());
        word
    }

    #[inline]
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.starts_with(word) && !is_inner(self.byte(word.len()));
        if found {
            self.advance(word.len());
        }
        found
    }

    #[inline]
    pub(super) fn starts_with(&self, word: &str) -> bool {
        let word = word.as_bytes();
        // Most words differ in the first byte.
        word.first() == Some(&self.peek())
            && self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(word))
    }

    /// `label:`
    #[inline]
    pub(super) fn eat_label(&mut self, label: &str) -> bool {
        let found = self.byte(label.len()) == b':' && self.starts_with(label);
        if found {
            self.advance(label.len() + 1);
        }
        found
    }

    /// `name(`
    pub(super) fn eat_call(&mut self, name: &str) -> bool {
        let mut ahead = *self;
        let found = ahead.eat_word(name) && ahead.eat(b'(');
        if found {
            *self = ahead;
        }
        found
    }

    /// Reads what stands one level deeper, in brackets or behind a sign.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth == DEEPEST {
            return self.wanted("fewer brackets");
        }
        self.depth += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    pub(super) fn miss(&self, what: Expected) -> Miss {
        Miss { at: self.at, what }
    }

    pub(super) fn wanted<T>(&self, what: &'static str) -> Parse<T> {
        Err(self.miss(Expected::What(what)))
    }
}

/// Whether a byte may stand in a name, not only at its start.
#[inline]
pub(super) const fn is_inner(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
