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

/// Blanks, address and encoding, which is so many bytes of the code from here on. Where they have their usual length, they
/// are put over blanks without a look at it.
#[inline]
pub(crate) fn push_comment(
    out: &mut Vec<u8>,
    blanks: usize,
    (code, size): (&[u8], usize),
    address: u64,
) {
    /// Up to the encoding.
    const HEAD: usize = 16;
    /// A word of it, and the blank before that.
    const WORD: usize = 9;
    let is_usual = address >> 48 == 0 && size.is_multiple_of(4) && size <= 20 && blanks <= 64;
    let Some(pair) = code.first_chunk::<8>().filter(|_| is_usual) else {
        return push_long_comment(out, blanks, code.get(..size).unwrap_or_default(), address);
    };
    let start = out.len() + blanks;
    out.extend_from_slice(&[b' '; 128]);
    let place = out.get_mut(start..).and_then(<[u8]>::first_chunk_mut::<64>);
    let Some(place) = place else { return };
    place[..HEAD].copy_from_slice(b"// 000000000000:");
    let [_, _, a, b, c, d, e, f] = address.to_be_bytes();
    if [a, b] != [0, 0] {
        let [_, _, _, _, high @ ..] = word_digits(Case::Upper, u32::from_be_bytes([0, 0, a, b]));
        place[3..7].copy_from_slice(&high);
    }
    place[7..15].copy_from_slice(&word_digits(Case::Upper, u32::from_be_bytes([c, d, e, f])));
    let put = |place: &mut [u8; WORD], word: &[u8; 4]| {
        place[1..].copy_from_slice(&word_digits(Case::Upper, u32::from_le_bytes(*word)));
    };
    let (places, _) = place[HEAD..].as_chunks_mut::<WORD>();
    let [first, second, others @ ..] = places else { return };
    // Nearly all have one word or two, which is not known before: two are put in any case.
    let [w, x, y, z, words @ ..] = *pair;
    put(first, &[w, x, y, z]);
    put(second, &words);
    if size > 8 {
        let (words, _) = code.get(8..size).unwrap_or_default().as_chunks::<4>();
        others.iter_mut().zip(words).for_each(|(to, word)| put(to, word));
    }
    out.truncate(start + HEAD + WORD * (size / 4));
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
