//! Steps that print a number.

use super::out::{Cursor, hex_digits};
use super::script::runs;
use crate::model::Inst;
use crate::model::table::Slot;

/// A number in a field, and how it prints.
pub(super) struct Number {
    /// The text before it, the first character in the lowest byte.
    prefix: u64,
    prefix_len: u8,
    is_high: bool,
    shift: u8,
    mask: u32,
    style: Style,
}

/// How a number prints.
#[derive(Clone, Copy)]
pub(super) enum Style {
    /// Up to a limit.
    Decimal(u32),
    /// ` offset:16`, unless it is zero, with the bit that is its sign.
    Offset(Option<u8>),
    /// `0x10`, with the bit that is its sign.
    Hex(Option<u8>),
}

impl Style {
    const fn prefix(self) -> &'static str {
        match self {
            Style::Decimal(_) => "",
            Style::Offset(_) => " offset:",
            Style::Hex(_) => "0x",
        }
    }
}

impl Number {
    /// Nothing if its bits do not stand together.
    pub(super) fn of(slot: &Slot, style: Style) -> Option<Number> {
        let mut runs = runs(slot);
        let (at, first, width) = runs.next().filter(|_| slot.fixed == 0)?;
        let is_simple = runs.next().is_none() && first == 0;
        let in_one_word = at < 128 && at % 64 + width <= 64 && width <= 24;
        let has_sign = match style {
            Style::Offset(Some(sign)) => sign + 1 == width,
            Style::Offset(None) => width <= 16,
            Style::Decimal(_) | Style::Hex(_) => true,
        };
        (is_simple && in_one_word && has_sign).then(|| Number {
            prefix: 0,
            prefix_len: 0,
            is_high: at >= 64,
            shift: at % 64,
            mask: (1 << width) - 1,
            style,
        })
    }

    /// How much text can stand before it.
    pub(super) const fn most_piece(&self) -> usize {
        8 - self.style.prefix().len()
    }

    /// The same after a text.
    pub(super) fn after(self, text: &[u8]) -> Number {
        let all = [text, self.style.prefix().as_bytes()].concat();
        let mut prefix = [0; 8];
        prefix.iter_mut().zip(&all).for_each(|(to, from)| *to = *from);
        Number { prefix: u64::from_le_bytes(prefix), prefix_len: all.len() as u8, ..self }
    }

    /// False where it takes more than this, or there is no room.
    #[inline]
    pub(super) fn write(&self, inst: &Inst, cursor: &mut Cursor<'_>) -> bool {
        let word = if self.is_high { inst.high } else { inst.low };
        let value = (word >> (self.shift & 63)) as u32 & self.mask;
        let prefix = (self.prefix, self.prefix_len);
        match self.style {
            Style::Offset(_) if value == 0 => true,
            Style::Decimal(most) if value > most => false,
            Style::Decimal(_) => cursor.words(prefix, decimal(value)),
            Style::Offset(sign) if !is_set(value, sign) => cursor.words(prefix, decimal(value)),
            Style::Offset(_) => {
                let (digits, len) = decimal(self.mask + 1 - value);
                cursor.words(prefix, (digits << 8 | u64::from(b'-'), len + 1))
            }
            Style::Hex(sign) if is_set(value, sign) => false,
            Style::Hex(_) => {
                let len = (35 - (value | 1).leading_zeros()) / 4;
                let digits = hex_digits(value).swap_bytes() >> (64 - len * 8);
                cursor.words(prefix, (digits, len as u8))
            }
        }
    }
}

#[inline]
fn is_set(value: u32, bit: Option<u8>) -> bool {
    bit.is_some_and(|bit| value >> bit & 1 == 1)
}

/// The digits of a number below a hundred million, the first in the lowest byte, and how many there are.
#[inline]
const fn decimal(value: u32) -> (u64, u8) {
    const ZEROS: u64 = 0x3030_3030_3030_3030;
    let value = value as u64;
    // Of four digits each, then of two, then each by itself: quotients by multiplication with reciprocals.
    let fours = (value / 10_000) | ((value % 10_000) << 32);
    let hundreds = ((fours * 5243) >> 19) & 0x0000_007f_0000_007f;
    let twos = hundreds | ((fours - hundreds * 100) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    let digits = tens | ((twos - tens * 10) << 8);
    let zeros = if digits == 0 { 7 } else { digits.trailing_zeros() / 8 };
    ((digits | ZEROS) >> (zeros * 8), 8 - zeros as u8)
}

#[cfg(test)]
mod tests {
    use super::decimal;

    #[test]
    fn digits_are_those_of_the_standard_library() {
        let numbers = (0..20_000).chain((0..100_000_000).step_by(9_973)).chain([99_999_999]);
        for number in numbers {
            let (digits, len) = decimal(number);
            let text = &digits.to_le_bytes()[..usize::from(len)];
            assert_eq!(text, number.to_string().as_bytes(), "{number}");
        }
    }
}
