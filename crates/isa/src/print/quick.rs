//! Operands that print the same wherever they stand, by value.

use std::sync::OnceLock;

use super::out::Out;
use crate::decode::Tables;
use crate::generated::KINDS;
use crate::operand::tag;
use crate::table::{Kind, Source};

/// Up to fifteen characters; the last byte says how many, and is zero for what takes more than a look.
pub(super) type Text = [u8; 16];

type Page = [Text; 256];

/// The texts of the values of ten bits, by kind of operand; each page is made when it is first needed.
pub(crate) struct Texts(Vec<[OnceLock<Box<Page>>; 4]>);

impl Texts {
    pub(crate) fn new() -> Self {
        Texts(KINDS.iter().map(|_| Default::default()).collect())
    }
}

impl Tables {
    /// The text of an operand of that kind, if its value alone decides it.
    #[inline]
    pub(super) fn text(&self, kind: u16, value: u16) -> Option<&Text> {
        let pages = self.texts.0.get(usize::from(kind))?;
        let page = &pages[usize::from(value >> 8 & 3)];
        let page = match page.get() {
            Some(page) => page,
            None => self.make_page(page, kind, value & 0x300),
        };
        let text = &page[usize::from(value & 0xff)];
        (text[15] != 0).then_some(text)
    }

    #[cold]
    fn make_page<'p>(&self, page: &'p OnceLock<Box<Page>>, kind: u16, start: u16) -> &'p Page {
        page.get_or_init(|| self.page(kind, start))
    }

    fn page(&self, kind: u16, start: u16) -> Box<Page> {
        let mut page = Box::new([[0; 16]; 256]);
        let mut bytes = Vec::new();
        for (value, text) in (start..).zip(page.iter_mut()) {
            bytes.clear();
            self.print_value(kind, value, &mut bytes);
            if let Some(place) = text.get_mut(..bytes.len()).filter(|place| place.len() < 16) {
                place.copy_from_slice(&bytes);
                text[15] = bytes.len() as u8;
            }
        }
        page
    }

    /// Nothing where other fields have a say in it.
    fn print_value(&self, number: u16, value: u16, bytes: &mut Vec<u8>) {
        let Some(kind) = KINDS.get(usize::from(number)).filter(|kind| is_register(kind)) else {
            return;
        };
        let code = self.code_of(number, value);
        if !matches!(code.tag(), tag::INVALID | tag::HALF | tag::LITERAL | tag::LITERAL64) {
            Out::append(bytes, (), |out| self.print_code(out, kind, code, kind.dwords));
        }
    }
}

fn is_register(kind: &Kind) -> bool {
    use Source::{Absent, DualDestination, Immediate, Literal, ScalarOffset};
    !matches!(kind.source, Absent | DualDestination | Immediate | Literal | ScalarOffset)
}
