//! Hexadecimal digits, eight at a time.

/// The letters of the digits above nine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    Lower,
    Upper,
}

/// Eight digits.
#[inline]
pub(crate) fn push_word(out: &mut Vec<u8>, case: Case, word: u32) {
    out.extend_from_slice(&word_digits(case, word));
}

/// A number of at least so many digits, sixteen at most.
#[inline]
pub(crate) fn push_hex(out: &mut Vec<u8>, case: Case, value: u64, least: usize) {
    let mut text = [0; 16];
    let (high, low) = text.split_at_mut(8);
    let [.., a, b, c, d] = (value >> 32).to_be_bytes();
    let [.., e, f, g, h] = value.to_be_bytes();
    high.copy_from_slice(&word_digits(case, u32::from_be_bytes([a, b, c, d])));
    low.copy_from_slice(&word_digits(case, u32::from_be_bytes([e, f, g, h])));
    let needed = (67 - value.leading_zeros() as usize) / 4;
    out.extend_from_slice(text.get(16 - needed.max(least)..).unwrap_or_default());
}

/// Spreads the digits over the bytes of a number, and makes all of them characters at once.
#[inline]
pub(crate) fn word_digits(case: Case, word: u32) -> [u8; 8] {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let mut bytes = u64::from(word);
    bytes = (bytes | bytes << 16) & 0x0000_ffff_0000_ffff;
    bytes = (bytes | bytes << 8) & 0x00ff_00ff_00ff_00ff;
    bytes = (bytes | bytes << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    let is_letter = ((bytes + 6 * EACH) >> 4) & EACH;
    let to_letter = u64::from(match case {
        Case::Lower => b'a' - b'9' - 1,
        Case::Upper => b'A' - b'9' - 1,
    });
    (bytes + u64::from(b'0') * EACH + to_letter * is_letter).to_be_bytes()
}

/// The upper case digits of a byte.
#[inline]
#[allow(clippy::indexing_slicing, reason = "there is a text for every byte")]
pub(crate) fn byte_digits(byte: u8) -> [u8; 2] {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    static BYTES: [[u8; 2]; 256] = {
        let mut texts = [[0; 2]; 256];
        let mut byte = 0;
        while byte < 256 {
            texts[byte] = [DIGITS[byte >> 4], DIGITS[byte & 15]];
            byte += 1;
        }
        texts
    };
    BYTES[usize::from(byte)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: u64, least: usize) {
        for (case, expected) in
            [(Case::Lower, format!("{value:0least$x}")), (Case::Upper, format!("{value:0least$X}"))]
        {
            let mut out = Vec::new();
            push_hex(&mut out, case, value, least);
            assert_eq!(String::from_utf8_lossy(&out), expected);
        }
    }

    #[test]
    fn numbers_are_as_the_standard_library_writes_them() {
        for shift in 0..64 {
            for value in [u64::MAX, 0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, 1] {
                for least in [1, 2, 8, 12, 16] {
                    check(value >> shift, least);
                }
            }
        }
        check(0, 1);
    }
}
