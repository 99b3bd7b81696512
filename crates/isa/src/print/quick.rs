//! Steps of printing whose text a value of a few bits decides, kept once they were printed.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Printer;
use super::inst::unsigned_offset;
use super::out::Out;
use crate::model::generated::KINDS;
use crate::model::table::{Kind, P, Source, Type};
use crate::model::tag;

/// So many words of text: the last byte is one more than the length, zero for what was not asked for yet,
/// or `NO_TEXT`.
pub(super) type Text<const WORDS: usize> = [u64; WORDS];

/// The texts of operands and modifiers.
pub(super) const SHORT: usize = 2;
/// The texts of numbers of sixteen bits.
pub(super) const LONG: usize = 8;

/// The last byte of what takes more than a look: other fields have a say in it, or it is too long.
const NO_TEXT: u8 = 0xff;

/// The texts of 256 values, each made when it is first needed.
struct Page<const WORDS: usize>(Box<[[AtomicU64; WORDS]; 256]>);

impl<const WORDS: usize> Page<WORDS> {
    #[cold]
    fn new() -> Self {
        Page(Box::new([const { [const { AtomicU64::new(0) }; WORDS] }; 256]))
    }

    /// The text of a value, if there is one.
    #[inline]
    fn get(&self, value: u16) -> Option<Text<WORDS>> {
        let words = &self.0[usize::from(value & 0xff)];
        let mut text = [0; WORDS];
        // The last word is written last: where it is there the others are.
        for (to, from) in text.iter_mut().zip(words).rev() {
            *to = from.load(Ordering::Acquire);
        }
        (text_len(&text) < WORDS * 8).then_some(text)
    }

    /// Whether there is a text, or known to be none.
    fn is_asked_for(&self, value: u16) -> bool {
        self.0[usize::from(value & 0xff)][WORDS - 1].load(Ordering::Relaxed) != 0
    }

    /// Keeps what was printed, if anything that is short enough.
    fn put(&self, value: u16, printed: Option<&[u8]>) {
        let printed = printed.filter(|printed| printed.len() < WORDS * 8);
        let end = printed.map_or(NO_TEXT, |printed| printed.len() as u8 + 1);
        let mut text = [0; WORDS];
        for (to, from) in text.iter_mut().zip(printed.unwrap_or_default().chunks(8)) {
            let mut word = [0; 8];
            word.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
            *to = u64::from_le_bytes(word);
        }
        text[WORDS - 1] |= u64::from(end) << 56;
        for (to, from) in self.0[usize::from(value & 0xff)].iter().zip(text) {
            to.store(from, Ordering::Release);
        }
    }
}

/// The length of a text; more than it could be of what is none.
#[inline]
pub(super) const fn text_len<const WORDS: usize>(text: &Text<WORDS>) -> usize {
    ((text[WORDS - 1] >> 56) as usize).wrapping_sub(1)
}

/// The texts that a decoder has printed, by what is printed and its value.
pub(super) struct Texts {
    short: Vec<OnceLock<Page<SHORT>>>,
    long: Vec<OnceLock<Page<LONG>>>,
}

impl Texts {
    pub(super) fn new() -> Self {
        Texts {
            short: (0..SHELVES * PAGES).map(|_| OnceLock::new()).collect(),
            long: (0..WORDS.len() * 256).map(|_| OnceLock::new()).collect(),
        }
    }
}

/// Values of short texts have ten bits, and `NEGATIVE` and `UPPER`.
const PAGES: usize = 16;

/// What prints a number of sixteen bits that stands at the start of an encoding.
const WORDS: [P; 6] = [P::WaitCnt, P::DelayAlu, P::U16, P::DepCtr, P::HwReg, P::SendMsg];

/// What has short texts whatever the kind of operand.
const VALUES: [P; 11] = [
    P::Text,
    P::Vcc,
    P::VccFirst,
    P::Offset,
    P::OutputModifier,
    P::SdwaDst,
    P::SdwaSrc0,
    P::SdwaSrc1,
    P::SdwaUnused,
    P::DppBoundCtrl,
    P::BitOp3,
];

/// One for each kind of operand, one for each kind of named modifier, and `VALUES`.
const SHELVES: usize = 2 * KINDS.len() + VALUES.len();

/// Where the short texts of a step are.
#[derive(Clone, Copy)]
pub(super) struct Shelf(u16);

/// The bit of a source that is negative, beyond those that say what it is.
pub(super) const NEGATIVE: u16 = 1 << 10;
/// The bit of an operand that is the upper half of a register by its modifiers.
pub(super) const UPPER: u16 = 1 << 11;

impl Shelf {
    /// The only text there is none.
    pub(super) const NOTHING: Shelf = Shelf(2 * KINDS.len() as u16);

    /// Where the texts of a step are, for operands of that kind.
    pub(super) fn of(what: P, kind: u16) -> Option<Shelf> {
        let number = match what {
            P::Operand => usize::from(kind),
            P::NamedInt | P::NamedBit => KINDS.len() + usize::from(kind),
            _ => 2 * KINDS.len() + VALUES.iter().position(|it| *it == what)?,
        };
        Some(Shelf(number as u16))
    }

    /// The texts of operands of a kind.
    #[inline]
    pub(super) const fn of_operand(kind: u16) -> Shelf {
        Shelf(kind)
    }
}

/// Which of the steps with long texts a step is.
pub(super) fn word_number(what: P) -> Option<u8> {
    WORDS.iter().position(|it| *it == what).map(|number| number as u8)
}

impl Texts {
    /// The text of a step, if it is known and its value alone decides it.
    #[inline]
    pub(super) fn short(&self, shelf: Shelf, value: u16) -> Option<Text<SHORT>> {
        self.short.get(short_page(shelf, value)?)?.get()?.get(value)
    }

    /// The same for one of the steps with long texts.
    #[inline]
    pub(super) fn long(&self, number: u8, value: u16) -> Option<Text<LONG>> {
        self.long.get(long_page(number, value))?.get()?.get(value)
    }
}

#[inline]
fn short_page(shelf: Shelf, value: u16) -> Option<usize> {
    let page = usize::from(value >> 8);
    (page < PAGES).then_some(usize::from(shelf.0) * PAGES + page)
}

#[inline]
fn long_page(number: u8, value: u16) -> usize {
    usize::from(number) << 8 | usize::from(value >> 8)
}

impl Printer {
    /// Keeps the text of a step that had none.
    pub(super) fn learn(&self, shelf: Shelf, value: u16, what: P, kind: u16) {
        let page = short_page(shelf, value).and_then(|page| self.texts.short.get(page));
        page.into_iter().for_each(|page| self.learn_on(page, value, what, kind));
    }

    /// The same for one of the steps with long texts.
    pub(super) fn learn_long(&self, number: u8, value: u16, what: P, kind: u16) {
        let page = self.texts.long.get(long_page(number, value));
        page.into_iter().for_each(|page| self.learn_on(page, value, what, kind));
    }

    fn learn_on<const WORDS: usize>(
        &self,
        page: &OnceLock<Page<WORDS>>,
        value: u16,
        what: P,
        kind: u16,
    ) {
        let page = page.get_or_init(Page::new);
        if page.is_asked_for(value) {
            return;
        }
        let mut bytes = Vec::new();
        let mut is_decided = false;
        Out::append(&mut bytes, (), |out| {
            is_decided = self.print_value(out, what, kind, value).is_some();
        });
        page.put(value, is_decided.then_some(&bytes));
    }

    /// Nothing where other fields have a say in it.
    fn print_value(&self, out: &mut Out<'_, ()>, what: P, number: u16, value: u16) -> Option<()> {
        let kind = KINDS.get(usize::from(number))?;
        match what {
            P::Operand | P::FloatModifiers => {
                self.print_operand_value(out, kind, number, value)?;
            }
            P::Text => {}
            P::Vcc | P::VccFirst => self.vcc(out, what),
            // One that may be negative has more bits than a value.
            P::Offset => unsigned_offset(out, value.into()),
            _ => self.number_step(out, what, kind, value.into()),
        }
        Some(())
    }

    fn print_operand_value(
        &self,
        out: &mut Out<'_, ()>,
        kind: &Kind,
        number: u16,
        value: u16,
    ) -> Option<()> {
        match kind.source {
            Source::Immediate if kind.read == Type::None => {
                self.print_immediate(out, value.into(), kind);
            }
            Source::Absent | Source::Immediate | Source::Literal | Source::ScalarOffset => {
                return None;
            }
            Source::Any if value & NEGATIVE != 0 => {
                let code = self.model.code_of(number, value & !NEGATIVE);
                if matches!(code.tag(), tag::INVALID | tag::LITERAL | tag::LITERAL64) {
                    return None;
                }
                let in_words = code.tag() == tag::INLINE;
                out.text(if in_words { "neg(" } else { "-" });
                self.print_code(out, kind, code, kind.dwords);
                out.text(if in_words { ")" } else { "" });
            }
            _ => {
                let mut code = self.model.code_of(number, value & !UPPER);
                if matches!(code.tag(), tag::INVALID | tag::LITERAL | tag::LITERAL64) {
                    return None;
                }
                if code.tag() == tag::HALF {
                    code = code.half(value & UPPER != 0);
                }
                self.print_code(out, kind, code, kind.dwords);
            }
        }
        Some(())
    }
}
