//! Directives that put numbers among the instructions: `.long 0xbf800000, 1`.

use std::fmt;

use super::cursor::Cursor;
use super::error::Parse;

/// Numbers of one size that stand among instructions.
///
/// ```
/// use hsaco_isa::assembler::Data;
/// let data = Data::of_bytes(&[0x05, 0x08, 0xcb, 0xd1]);
/// assert_eq!(data.to_string(), ".long 0xd1cb0805");
/// assert_eq!(Data::of_bytes(&[1, 2]).to_string(), ".byte 0x01, 0x02");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Data {
    size: u8,
    values: Vec<i64>,
}

/// The names that llvm-mc 22 has for AMD's GPUs, in any case, and how many bytes a number takes.
const DIRECTIVES: [(&str, u8); 9] = [
    (".long", 4),
    (".byte", 1),
    (".short", 2),
    (".quad", 8),
    (".int", 4),
    (".value", 2),
    (".2byte", 2),
    (".4byte", 4),
    (".8byte", 8),
];

impl Data {
    /// Words of 32 bits where bytes make up whole words, else the bytes.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        match bytes.as_chunks::<4>() {
            (words, []) => {
                let values = words.iter().map(|word| u32::from_le_bytes(*word).into());
                Data { size: 4, values: values.collect() }
            }
            _ => Data { size: 1, values: bytes.iter().map(|byte| (*byte).into()).collect() },
        }
    }

    /// The directive, by the name that llvm-mc prints.
    #[must_use]
    pub fn directive(&self) -> &'static str {
        DIRECTIVES.iter().find(|(_, size)| *size == self.size).map_or("", |(name, _)| name)
    }

    /// The numbers as they were written.
    #[must_use]
    pub fn values(&self) -> &[i64] {
        &self.values
    }

    /// Appends its bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        for value in &self.values {
            out.extend(value.to_le_bytes().iter().take(self.size.into()));
        }
    }

    /// Reads a directive and its numbers, of which there may be none; a comment may follow.
    pub(super) fn parse(cursor: &mut Cursor<'_>) -> Parse<Self> {
        let start = *cursor;
        let rest = cursor.rest();
        let name = rest.get(..1 + word_length(rest)).unwrap_or(rest);
        let found = DIRECTIVES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let Some((_, size)) = found.copied() else {
            return start.wanted("an instruction, or .byte, .short, .long or .quad");
        };
        cursor.advance(name.len());
        let mut values = Vec::new();
        while !is_end(cursor) {
            if !values.is_empty() {
                cursor.expect(",")?;
            }
            values.push(number(cursor, size)?);
        }
        Ok(Data { size, values })
    }
}

/// What a name goes on with behind its dot.
fn word_length(text: &str) -> usize {
    let inner =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | b'@');
    text.bytes().skip(1).take_while(inner).count()
}

fn is_end(cursor: &Cursor<'_>) -> bool {
    cursor.is_end() || cursor.peek() == b';' || cursor.starts_with("//")
}

/// A number that fits, signed or not.
fn number(cursor: &mut Cursor<'_>, size: u8) -> Parse<i64> {
    match size {
        1 => cursor.integer_between("a number", i8::MIN.into(), u8::MAX.into()),
        2 => cursor.integer_between("a number", i16::MIN.into(), u16::MAX.into()),
        4 => cursor.integer_between("a number", i32::MIN.into(), u32::MAX.into()),
        _ => cursor.integer_between("a number", i64::MIN, i64::MAX),
    }
}

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.directive())?;
        let digits = 2 * usize::from(self.size);
        let mask = u64::MAX >> (64 - 8 * u32::from(self.size));
        for (at, value) in self.values.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma} 0x{:0digits$x}", value.cast_unsigned() & mask)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(line: &str) -> Result<Vec<u8>, usize> {
        let mut out = Vec::new();
        let data = Data::parse(&mut Cursor::new(line)).map_err(|miss| miss.at)?;
        data.encode(&mut out);
        Ok(out)
    }

    #[test]
    fn numbers_take_the_bytes_that_their_directive_says() {
        assert_eq!(bytes(".long 0xd1cb0805, 1"), Ok(vec![5, 8, 0xcb, 0xd1, 1, 0, 0, 0]));
        assert_eq!(bytes(".Int -1 // comment, 5"), Ok(vec![0xff; 4]));
        assert_eq!(bytes(".4byte 4294967295;5"), Ok(vec![0xff; 4]));
        assert_eq!(bytes(".short 010, -32768 /* c */"), Ok(vec![8, 0, 0, 0x80]));
        assert_eq!(bytes(".2byte 0b11"), Ok(vec![3, 0]));
        assert_eq!(bytes(".value 65535"), Ok(vec![0xff; 2]));
        assert_eq!(bytes("\t.byte\t255,-128, 2*3"), Ok(vec![255, 128, 6]));
        assert_eq!(bytes(".quad 0xffffffffffffffff"), Ok(vec![0xff; 8]));
        assert_eq!(bytes(".8byte 1"), Ok(vec![1, 0, 0, 0, 0, 0, 0, 0]));
        assert_eq!(bytes(".long"), Ok(Vec::new()));
    }

    #[test]
    fn what_llvm_refuses_is_refused() {
        assert_eq!(bytes(".long 4294967296"), Err(6));
        assert_eq!(bytes(".long -2147483649"), Err(6));
        assert_eq!(bytes(".byte 1, 256"), Err(9));
        assert_eq!(bytes(".short 65536"), Err(7));
        assert_eq!(bytes(".quad 0x1ffffffffffffffff"), Err(6));
        assert_eq!(bytes(".long ,"), Err(6));
        assert_eq!(bytes(".long 1,"), Err(8));
        assert_eq!(bytes(".long 1 2"), Err(8));
        assert_eq!(bytes(".long 1.5"), Err(7));
        assert_eq!(bytes(".long 08"), Err(6));
        assert_eq!(bytes(".long 1/0"), Err(8));
        assert_eq!(bytes(".long5"), Err(0));
        assert_eq!(bytes(".word 1"), Err(0));
        assert_eq!(bytes(".long.x 1"), Err(0));
    }
}
