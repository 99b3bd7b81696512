//! Numbers and expressions of numbers.

use super::cursor::Cursor;
use super::error::{Expected, Parse};

/// A number as written.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Number {
    Integer(i64),
    Float(f64),
}

impl<'a> Cursor<'a> {
    /// Whether a number, or an expression in brackets, starts here.
    pub(super) fn is_number(&self) -> bool {
        match self.peek() {
            b'0'..=b'9' | b'(' => true,
            b'-' | b'+' | b'~' => matches!(self.byte(1), b'0'..=b'9' | b'(' | b'~' | b'-' | b'+'),
            _ => false,
        }
    }

    /// A float, or an expression of integers.
    pub(super) fn number(&mut self) -> Parse<Number> {
        match self.float() {
            Some(float) => Ok(Number::Float(float)),
            None => self.integer().map(Number::Integer),
        }
    }

    /// An expression of integers.
    #[inline]
    pub(super) fn integer(&mut self) -> Parse<i64> {
        let first = self.unary()?;
        if matches!(
            self.peek(),
            b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'&' | b'|' | b'^'
        ) {
            return self.expression(first, 0);
        }
        Ok(first)
    }

    /// An integer without operators after it.
    pub(super) fn primary(&mut self) -> Parse<Number> {
        match self.float() {
            Some(float) => Ok(Number::Float(float)),
            None => self.unary().map(Number::Integer),
        }
    }

    /// An integer in a range.
    pub(super) fn integer_between(
        &mut self,
        what: &'static str,
        first: i64,
        last: i64,
    ) -> Parse<i64> {
        let start = *self;
        let value = self.integer()?;
        if (first..=last).contains(&value) {
            Ok(value)
        } else {
            Err(start.miss(Expected::Between(what, first, last)))
        }
    }

    /// An integer in a range that holds none below zero.
    pub(super) fn number_between(
        &mut self,
        what: &'static str,
        first: u32,
        last: u32,
    ) -> Parse<u32> {
        let value = self.integer_between(what, first.into(), last.into())?;
        Ok(u32::try_from(value).unwrap_or(last))
    }

    /// Sixteen bits, signed or not.
    pub(super) fn half_word(&mut self, what: &'static str) -> Parse<u32> {
        let value = self.integer_between(what, i16::MIN.into(), u16::MAX.into())?;
        Ok(u32::try_from(value & 0xffff).unwrap_or(0))
    }

    fn expression(&mut self, left: i64, least: u8) -> Parse<i64> {
        let mut left = left;
        while let Some((operator, length, rank)) =
            self.operator().filter(|(_, _, rank)| *rank > least)
        {
            self.advance(length);
            let start = *self;
            let mut right = self.unary()?;
            while self.operator().is_some_and(|(_, _, next)| next > rank) {
                right = self.expression(right, rank)?;
            }
            if right == 0 && matches!(operator, b'/' | b'%') {
                return start.wanted("another divisor than zero");
            }
            left = apply(operator, left, right);
        }
        Ok(left)
    }

    /// The binary operator here, its length, and how tightly it binds.
    fn operator(&self) -> Option<(u8, usize, u8)> {
        Some(match (self.peek(), self.byte(1)) {
            // A comment.
            (b'/', b'/') => return None,
            (operator @ (b'<' | b'>'), next) if next == operator => (operator, 2, 3),
            (operator @ (b'*' | b'/' | b'%'), _) => (operator, 1, 3),
            (operator @ (b'|' | b'^' | b'&'), _) => (operator, 1, 2),
            (operator @ (b'+' | b'-'), _) => (operator, 1, 1),
            _ => return None,
        })
    }

    fn unary(&mut self) -> Parse<i64> {
        match self.peek() {
            b'-' => {
                self.advance(1);
                Ok(self.nested(Self::unary)?.wrapping_neg())
            }
            b'+' => {
                self.advance(1);
                self.nested(Self::unary)
            }
            b'~' => {
                self.advance(1);
                Ok(!self.nested(Self::unary)?)
            }
            b'(' => {
                self.advance(1);
                let value = self.nested(Self::integer)?;
                self.expect(")")?;
                Ok(value)
            }
            _ => self.digits(),
        }
    }

    #[inline]
    fn digits(&mut self) -> Parse<i64> {
        let (skipped, radix) = match (self.peek(), self.byte(1)) {
            (b'0', b'x' | b'X') => (2, 16),
            (b'0', b'b' | b'B') => (2, 2),
            (b'0', b'0'..=b'9') => (1, 8),
            _ => (0, 10),
        };
        let mut value = 0_u64;
        let mut length = skipped;
        while let Some(digit) = char::from(self.byte(length)).to_digit(radix) {
            let longer =
                value.checked_mul(radix.into()).and_then(|value| value.checked_add(digit.into()));
            value = match longer {
                Some(value) => value,
                None => return self.wanted("a number of 64 bits"),
            };
            length += 1;
        }
        if length == skipped
            || self.byte(length).is_ascii_alphanumeric()
            || self.byte(length) == b'_'
        {
            return self.wanted("a number");
        }
        self.advance(length);
        Ok(value as i64)
    }

    /// A number with a point or an exponent, and its sign.
    fn float(&mut self) -> Option<f64> {
        let sign = usize::from(matches!(self.peek(), b'-' | b'+'));
        let digits =
            |from: usize| (from..).take_while(|at| self.byte(*at).is_ascii_digit()).count();
        let whole = digits(sign);
        let mut end = sign + whole;
        if self.byte(end) == b'.' {
            end += 1 + digits(end + 1);
        } else if !matches!(self.byte(end), b'e' | b'E') {
            return None;
        }
        if whole == 0 {
            return None;
        }
        if matches!(self.byte(end), b'e' | b'E') {
            let sign = usize::from(matches!(self.byte(end + 1), b'-' | b'+'));
            end += 1 + sign + digits(end + 1 + sign);
        }
        let value = self.rest().get(..end)?.parse().ok()?;
        self.advance(end);
        Some(value)
    }
}

fn apply(operator: u8, left: i64, right: i64) -> i64 {
    let shift = u32::try_from(right).unwrap_or(64);
    match operator {
        b'+' => left.wrapping_add(right),
        b'-' => left.wrapping_sub(right),
        b'*' => left.wrapping_mul(right),
        b'/' => left.checked_div(right).unwrap_or(0),
        b'%' => left.checked_rem(right).unwrap_or(0),
        b'<' => left.checked_shl(shift).unwrap_or(0),
        b'>' => left.checked_shr(shift).unwrap_or(0),
        b'|' => left | right,
        b'&' => left & right,
        _ => left ^ right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integer(text: &str) -> Option<i64> {
        let mut cursor = Cursor::new(text);
        cursor.integer().ok().filter(|_| cursor.is_end())
    }

    #[test]
    fn expressions_bind_as_in_llvm() {
        assert_eq!(integer("1 + 2 * 3"), Some(7));
        assert_eq!(integer("(1+2)*3 - 1"), Some(8));
        assert_eq!(integer("1<<4|1"), Some(17));
        assert_eq!(integer("-0x10"), Some(-16));
        assert_eq!(integer("0b101"), Some(5));
        assert_eq!(integer("10-3-2"), Some(5));
        assert_eq!(integer("~0"), Some(-1));
        assert_eq!(integer("0xffffffffffffffff"), Some(-1));
        assert_eq!(integer("0x10000000000000000"), None);
        assert_eq!(integer("1x"), None);
        assert_eq!(integer("7/2%2"), Some(1));
        assert_eq!(integer("1/0"), None);
        assert_eq!(integer("1%(2-2)"), None);
    }

    #[test]
    fn floats_have_a_point_or_an_exponent() {
        let number = |text| Cursor::new(text).number().ok();
        assert_eq!(number("1.0"), Some(Number::Float(1.0)));
        assert_eq!(number("-4.0"), Some(Number::Float(-4.0)));
        assert_eq!(number("1e3"), Some(Number::Float(1000.0)));
        assert_eq!(number("17"), Some(Number::Integer(17)));
        assert_eq!(number("0x1e3"), Some(Number::Integer(0x1e3)));
    }
}
