//! What stands behind an instruction: the name of its target, its address and its encoding.

use hsaco_isa::print::Page;

use crate::hex::{Case, byte_digits, push_hex, push_word, word_digits};

/// Where the comment with address and encoding begins, the tab counted as one.
pub(crate) const COMMENT_COLUMN: usize = 60;

pub(crate) fn push_annotation(out: &mut Vec<u8>, name: &[u8], distance: u64) {
    out.extend_from_slice(b" <");
    out.extend_from_slice(name);
    if distance != 0 {
        out.extend_from_slice(b"+0x");
        push_hex(out, Case::Lower, distance, 1);
    }
    out.push(b'>');
}

/// Writes comments at addresses that mostly follow each other.
pub(crate) struct Comments {
    /// The upper bits of the last address, and a comment up to its encoding there.
    upper: u64,
    head: [u8; HEAD],
}

/// A comment up to the encoding.
const HEAD: usize = 16;
/// A word of that, and the blank before it.
const WORD: usize = 9;

impl Comments {
    pub(crate) fn new() -> Self {
        Comments { upper: 0, head: *b"// 000000000000:" }
    }

    /// Blanks, address and encoding, which is so many bytes of the code from here on, and the end of the line.
    #[inline]
    pub(crate) fn push_line(
        &mut self,
        page: &mut Page<'_>,
        blanks: usize,
        (code, size): (&[u8], usize),
        address: u64,
    ) {
        if address >> 16 != self.upper {
            self.go_to(address >> 16);
        }
        let is_usual = address >> 48 == 0 && size.is_multiple_of(4) && size <= 20 && blanks <= 64;
        let pair = code.first_chunk::<8>().filter(|_| is_usual);
        let (Some(pair), Some(room)) = (pair, page.room::<128>()) else {
            let encoding = code.get(..size).unwrap_or_default();
            let mut text = Vec::new();
            push_long_comment(&mut text, blanks, encoding, address);
            text.push(b'\n');
            return page.push(&text);
        };
        room[..64].copy_from_slice(&[b' '; 64]);
        let Some(place) = room.get_mut(blanks..).and_then(<[u8]>::first_chunk_mut::<64>) else {
            return;
        };
        place[..HEAD].copy_from_slice(&self.head);
        let [.., high, low] = address.to_be_bytes();
        place[11..13].copy_from_slice(&byte_digits(high));
        place[13..15].copy_from_slice(&byte_digits(low));
        // Nearly all have one word or two, which is not known before: two are put in any case.
        let [a, b, c, d, e, f, g, h] = *pair;
        let [first, second] = [[a, b, c, d], [e, f, g, h]].map(u32::from_le_bytes);
        place[16] = b' ';
        place[17..25].copy_from_slice(&word_digits(Case::Upper, first));
        place[25] = b' ';
        place[26..34].copy_from_slice(&word_digits(Case::Upper, second));
        if size > 8 {
            let (places, _) = place[34..].as_chunks_mut::<WORD>();
            let (words, _) = code.get(8..size).unwrap_or_default().as_chunks::<4>();
            for (place, word) in places.iter_mut().zip(words) {
                place[0] = b' ';
                place[1..].copy_from_slice(&word_digits(Case::Upper, u32::from_le_bytes(*word)));
            }
        }
        let length = HEAD + WORD * (size / 4);
        if let Some(end) = place.get_mut(length) {
            *end = b'\n';
        }
        page.advance(blanks + length + 1);
    }

    #[cold]
    fn go_to(&mut self, upper: u64) {
        self.upper = upper;
        let [_, _, bytes @ .., _, _] = (upper << 16).to_be_bytes();
        let (places, _) = self.head[3..11].as_chunks_mut::<2>();
        for (place, byte) in places.iter_mut().zip(bytes) {
            *place = byte_digits(byte);
        }
    }
}

/// The same however long they are.
pub(crate) fn push_long_comment(out: &mut Vec<u8>, blanks: usize, encoding: &[u8], address: u64) {
    push_blanks(out, blanks);
    out.extend_from_slice(b"// ");
    push_hex(out, Case::Upper, address, 12);
    out.push(b':');
    let (words, rest) = encoding.as_chunks::<4>();
    for word in words {
        out.push(b' ');
        push_word(out, Case::Upper, u32::from_le_bytes(*word));
    }
    for &byte in rest {
        out.push(b' ');
        push_hex(out, Case::Upper, u64::from(byte), 2);
    }
}

#[inline]
pub(crate) fn push_blanks(out: &mut Vec<u8>, count: usize) {
    const BLANKS: [u8; 64] = [b' '; 64];
    out.extend_from_slice(BLANKS.get(..count).unwrap_or(&BLANKS));
}
