//! What stands behind an instruction: the name of its target, its address and its encoding.

use crate::hex::{Case, push_hex, push_word, word_digits};

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

/// Blanks, address and encoding. Where they have their usual length, copies of one size do.
#[inline]
pub(crate) fn push_comment(out: &mut Vec<u8>, blanks: usize, encoding: &[u8], address: u64) {
    let (words, rest) = encoding.as_chunks::<4>();
    let is_usual = address >> 48 == 0 && words.len() <= 5 && rest.is_empty() && blanks <= 64;
    if !is_usual {
        return push_long_comment(out, blanks, encoding, address);
    }
    let mut text = *b"// 000000000000:                                                ";
    let [_, _, a, b, c, d, e, f] = address.to_be_bytes();
    let [_, _, _, _, high @ ..] = word_digits(Case::Upper, u32::from_be_bytes([0, 0, a, b]));
    text[3..7].copy_from_slice(&high);
    text[7..15].copy_from_slice(&word_digits(Case::Upper, u32::from_be_bytes([c, d, e, f])));
    let (places, _) = text[17..].as_chunks_mut::<9>();
    for ([place @ .., _], word) in places.iter_mut().zip(words) {
        *place = word_digits(Case::Upper, u32::from_le_bytes(*word));
    }
    let start = out.len() + blanks;
    out.extend_from_slice(&[b' '; 64]);
    out.truncate(start);
    out.extend_from_slice(&text);
    out.truncate(start + 16 + 9 * words.len());
}

#[cold]
fn push_long_comment(out: &mut Vec<u8>, blanks: usize, encoding: &[u8], address: u64) {
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
