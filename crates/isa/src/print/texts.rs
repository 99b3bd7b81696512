//! Texts of operands and modifiers by value, kept once they were printed.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::model::table::P;

/// So many words of text: the last byte is one more than the length, zero for what was not printed yet, or `NO_TEXT`.
pub(super) type Text<const WORDS: usize> = [u64; WORDS];

/// Up to fifteen characters: nearly all operands.
pub(super) const SHORT: usize = 2;
/// Up to sixty-three characters: what has a name for each of its bits.
pub(super) const LONG: usize = 8;

/// The last byte of what has no text: a literal, which other bits hold, or what is too long.
const NO_TEXT: u8 = 0xff;

/// The texts of all values, each put there when it is first printed.
#[derive(Clone)]
pub(super) struct Table<const WORDS: usize>(Arc<[[AtomicU64; WORDS]]>);

impl<const WORDS: usize> Table<WORDS> {
    /// One for so many values.
    fn new(size: usize) -> Self {
        Table((0..size).map(|_| [const { AtomicU64::new(0) }; WORDS]).collect())
    }

    /// The text of a value, if there is one.
    #[inline]
    pub(super) fn get(&self, value: u16) -> Option<Text<WORDS>> {
        let words = self.0.get(usize::from(value))?;
        let mut text = [0; WORDS];
        // The last word is written last: where it is there the others are.
        for (to, from) in text.iter_mut().zip(words).rev() {
            *to = from.load(Ordering::Acquire);
        }
        (text_len(&text) < WORDS * 8).then_some(text)
    }

    /// Keeps what was printed, if it is short enough.
    pub(super) fn put(&self, value: u16, printed: Option<&[u8]>) {
        let printed = printed.filter(|printed| printed.len() < WORDS * 8);
        let end = printed.map_or(NO_TEXT, |printed| printed.len() as u8 + 1);
        let mut text = [0; WORDS];
        for (to, from) in text.iter_mut().zip(printed.unwrap_or_default().chunks(8)) {
            let mut word = [0; 8];
            word.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
            *to = u64::from_le_bytes(word);
        }
        text[WORDS - 1] |= u64::from(end) << 56;
        let Some(words) = self.0.get(usize::from(value)) else { return };
        words.iter().zip(text).for_each(|(to, from)| to.store(from, Ordering::Release));
    }

    /// The same where nothing was printed before.
    pub(super) fn learn(&self, value: u16, printed: Option<&[u8]>) {
        let is_new = |it: &[AtomicU64; WORDS]| it[WORDS - 1].load(Ordering::Relaxed) == 0;
        if self.0.get(usize::from(value)).is_some_and(is_new) {
            self.put(value, printed);
        }
    }
}

/// The length of a text; more than it could be of what is none.
#[inline]
pub(super) const fn text_len<const WORDS: usize>(text: &Text<WORDS>) -> usize {
    ((text[WORDS - 1] >> 56) as usize).wrapping_sub(1)
}

/// Short text before an operand, which its texts begin with.
pub(super) type Piece = ([u8; MOST_PIECE], u8);

pub(super) const MOST_PIECE: usize = 4;

/// All that decides a text, but for the value.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Constant(Vec<u8>),
    /// The same with upper bits of a vector register's number.
    Moved(u8, Box<Key>),
    Values {
        piece: Piece,
        what: P,
        kind: u16,
        /// Bits of the operand that are always set, and those of the value.
        fixed: u16,
        masks: [u16; 2],
        /// The modifiers of a source.
        modifiers: u8,
        /// How many registers it spans, where others decide that.
        dwords: Option<u8>,
        is_dp_alu: bool,
    },
}

/// What prints a number of sixteen bits that stands at the start of an encoding, and has long texts.
const WORDS: [P; 5] = [P::WaitCnt, P::DelayAlu, P::DepCtr, P::HwReg, P::SendMsg];

/// Which of the steps with texts by sixteen bits a step is.
pub(super) fn word_number(what: P) -> Option<u8> {
    WORDS.iter().position(|it| *it == what).map(|number| number as u8)
}

/// The texts that a decoder has printed.
pub(super) struct Texts {
    short: Tables<SHORT>,
    long: Tables<LONG>,
    /// For each of `WORDS` a table by the lower eight bits for each value of the upper ones.
    words: Vec<OnceLock<Table<LONG>>>,
    none: Table<SHORT>,
}

/// Tables by what decides their texts.
struct Tables<const WORDS: usize>(Mutex<HashMap<Key, Table<WORDS>>>);

impl<const WORDS: usize> Tables<WORDS> {
    fn get(&self, key: Key, size: usize) -> Table<WORDS> {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tables.entry(key).or_insert_with(|| Table::new(size)).clone()
    }
}

impl Texts {
    pub(super) fn new() -> Self {
        Texts {
            short: Tables(Mutex::default()),
            long: Tables(Mutex::default()),
            words: (0..WORDS.len() * 256).map(|_| OnceLock::new()).collect(),
            none: Table::new(0),
        }
    }

    /// The table of short texts for so many values.
    pub(super) fn short(&self, key: Key, size: usize) -> Table<SHORT> {
        self.short.get(key, size)
    }

    /// A table without texts.
    pub(super) fn none(&self) -> Table<SHORT> {
        self.none.clone()
    }

    /// The table of long texts for so many values.
    pub(super) fn long(&self, key: Key, size: usize) -> Table<LONG> {
        self.long.get(key, size)
    }

    /// The text of a number of sixteen bits.
    #[inline]
    pub(super) fn word(&self, number: u8, value: u16) -> Option<Text<LONG>> {
        self.words.get(word_page(number, value))?.get()?.get(value & 0xff)
    }

    /// Keeps it.
    pub(super) fn put_word(&self, number: u8, value: u16, printed: Option<&[u8]>) {
        let Some(page) = self.words.get(word_page(number, value)) else { return };
        page.get_or_init(|| Table::new(256)).learn(value & 0xff, printed);
    }
}

#[inline]
fn word_page(number: u8, value: u16) -> usize {
    usize::from(number) << 8 | usize::from(value >> 8)
}
