//! What kernels print into a buffer that the host reads afterwards: OpenCL's printf, and HIP's with
//! `-mprintf-kind=buffered`. Formats are in the metadata.
#![allow(clippy::cast_possible_truncation, reason = "fields are cut to their widths")]

use crate::error::Result;
use crate::hostcall::{Host, Words};
use crate::memory::Memory;
use crate::num::{Env, F16, F64, convert};
use crate::printf::{self, Values};

/// Bytes of a buffer; what does not fit is not printed, as on a device.
const SIZE: u64 = 1 << 20;
/// Two numbers come first: bytes in use behind them, and how many there are.
const HEADER: u64 = 8;

/// The buffer of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PrintBuffer {
    address: u64,
}

impl PrintBuffer {
    pub(crate) fn new(memory: &Memory) -> Result<Self> {
        let it = Self { address: memory.allocate(SIZE)? };
        it.clear(memory)?;
        Ok(it)
    }

    pub(crate) fn address(self) -> u64 {
        self.address
    }

    fn clear(self, memory: &Memory) -> Result<()> {
        let room = (SIZE - HEADER) as u32;
        memory.write(self.address, &[[0; 4], room.to_le_bytes()].concat())
    }

    /// Prints what the kernel has left, and empties the buffer.
    pub(crate) fn print(self, memory: &Memory, formats: &[Format], host: &dyn Host) -> Result<()> {
        let used = memory.read(self.address, 4)?;
        let used = used.first_chunk().map_or(0, |it| u64::from(u32::from_le_bytes(*it)));
        let bytes = memory.read(self.address + HEADER, used.min(SIZE - HEADER) as usize)?;
        self.clear(memory)?;
        let mut rest = &bytes[..];
        while let Some((record, after)) = Record::read(rest, formats) {
            rest = after;
            record.print(host);
        }
        Ok(())
    }
}

/// A format of the metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// OpenCL's, by number, with the size of each value.
    Numbered { id: u32, sizes: Vec<usize>, text: Vec<u8> },
    /// HIP's, by a hash.
    Hashed { hash: u64, text: Vec<u8> },
}

impl Format {
    /// `1:2:4:8:text` or `0:0:hash,text`.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let mut rest = line;
        let mut field = || {
            let at = rest.iter().position(|it| *it == b':')?;
            let (digits, after) = rest.split_at(at);
            rest = after.get(1..)?;
            std::str::from_utf8(digits).ok()?.parse::<u32>().ok()
        };
        let (id, count) = (field()?, field()?);
        let sizes: Option<Vec<_>> = (0..count).map(|_| field().map(|it| it as usize)).collect();
        let sizes = sizes?;
        if id != 0 {
            return Some(Self::Numbered { id, sizes, text: unescape(rest) });
        }
        let comma = rest.iter().position(|it| *it == b',')?;
        let hash = std::str::from_utf8(rest.get(..comma)?).ok()?;
        let hash = u64::from_str_radix(hash, 16).ok()?;
        Some(Self::Hashed { hash, text: rest.get(comma + 1..)?.to_vec() })
    }
}

/// Escapes as clang writes them: letters, and colons as the octal number 72.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'\\' {
            out.push(*first);
            continue;
        }
        if let Some(after) = rest.strip_prefix(b"72") {
            out.push(b':');
            rest = after;
            continue;
        }
        let Some((letter, after)) = rest.split_first() else { break };
        rest = after;
        out.push(match letter {
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            other => *other,
        });
    }
    out
}

/// One call of printf.
enum Record<'r> {
    Numbered { sizes: &'r [usize], text: &'r [u8], bytes: &'r [u8] },
    Hashed { text: Vec<u8>, words: Vec<u64>, is_error: bool },
}

impl<'r> Record<'r> {
    /// The first record, and what is behind it.
    fn read(bytes: &'r [u8], formats: &'r [Format]) -> Option<(Self, &'r [u8])> {
        let (number, rest) = bytes.split_first_chunk::<4>()?;
        let number = u32::from_le_bytes(*number);
        for format in formats {
            if let Format::Numbered { id, sizes, text } = format
                && *id == number
            {
                let (bytes, rest) = rest.split_at_checked(sizes.iter().sum())?;
                return Some((Self::Numbered { sizes, text, bytes }, rest));
            }
        }
        // A stream, whether the format is a constant, and the size of all of it.
        let (is_error, is_constant, size) = (number & 1 == 1, number >> 1 & 1 == 1, number >> 2);
        let (bytes, rest) = rest.split_at_checked((size as usize).checked_sub(4)?)?;
        let mut words = bytes.as_chunks().0.iter().map(|it| u64::from_le_bytes(*it));
        let text = if is_constant {
            let hash = words.next()?;
            formats.iter().find_map(|it| match it {
                Format::Hashed { hash: known, text } if *known == hash => Some(text.clone()),
                _ => None,
            })?
        } else {
            let all: Vec<u64> = words.by_ref().collect();
            let mut values = Words { rest: &all };
            let text = values.string()?;
            let words = values.rest.to_vec();
            return Some((Self::Hashed { text, words, is_error }, rest));
        };
        Some((Self::Hashed { text, words: words.collect(), is_error }, rest))
    }

    fn print(&self, host: &dyn Host) {
        match self {
            Self::Numbered { sizes, text, bytes } => {
                host.print(&printf::format(text, &mut Sized { sizes, bytes }), false);
            }
            Self::Hashed { text, words, is_error } => {
                host.print(&printf::format(text, &mut Words { rest: words }), *is_error);
            }
        }
    }
}

/// Values of OpenCL's printf: each has the size that the metadata says.
struct Sized<'r> {
    sizes: &'r [usize],
    bytes: &'r [u8],
}

impl<'r> Sized<'r> {
    fn next(&mut self) -> Option<&'r [u8]> {
        let (size, sizes) = self.sizes.split_first()?;
        let (value, bytes) = self.bytes.split_at_checked(*size)?;
        (self.sizes, self.bytes) = (sizes, bytes);
        Some(value)
    }
}

/// A little-endian number of up to eight bytes, with its sign.
fn number(bytes: &[u8]) -> u64 {
    let is_negative = bytes.last().is_some_and(|it| it >> 7 == 1);
    let mut all = if is_negative { [0xff; 8] } else { [0; 8] };
    all.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    u64::from_le_bytes(all)
}

fn float(bytes: &[u8]) -> f64 {
    match bytes.len() {
        2 => f64::from_bits(convert::<F16, F64>(number(bytes) as u16, Env::IEEE, Env::IEEE)),
        4 => f64::from(f32::from_bits(number(bytes) as u32)),
        _ => f64::from_bits(number(bytes)),
    }
}

impl Values for Sized<'_> {
    fn integer(&mut self, _: u8) -> Option<u64> {
        self.next().map(number)
    }

    fn float(&mut self) -> Option<f64> {
        self.next().map(float)
    }

    fn string(&mut self) -> Option<Vec<u8>> {
        let bytes = self.next()?;
        let end = bytes.iter().position(|it| *it == 0).unwrap_or(bytes.len());
        Some(bytes.iter().take(end).copied().collect())
    }

    fn vector(&mut self, count: u8, is_float: bool) -> Option<Vec<u64>> {
        let bytes = self.next()?;
        // Three elements have the room of four.
        let size = bytes.len() / usize::from(count.max(1)).next_power_of_two();
        let bits = |it: &[u8]| if is_float { float(it).to_bits() } else { number(it) };
        Some(bytes.chunks(size.max(1)).take(count.into()).map(bits).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Default)]
    struct Printed(Mutex<Vec<u8>>);

    impl Host for Printed {
        fn print(&self, text: &[u8], _: bool) {
            self.0.lock().unwrap().extend(text);
        }
    }

    fn printed(records: &[u8], formats: &[&str]) -> String {
        let formats: Vec<_> =
            formats.iter().map(|it| Format::parse(it.as_bytes()).unwrap()).collect();
        let memory = Memory::new(SIZE * 2);
        let buffer = PrintBuffer::new(&memory).unwrap();
        memory.write(buffer.address() + HEADER, records).unwrap();
        memory.write(buffer.address(), &(records.len() as u32).to_le_bytes()).unwrap();
        let host = Printed::default();
        buffer.print(&memory, &formats, &host).unwrap();
        assert_eq!(memory.read(buffer.address(), 4).unwrap(), [0; 4]);
        String::from_utf8(host.0.into_inner().unwrap()).unwrap()
    }

    #[test]
    fn records_of_opencl_are_printed_by_number() {
        let formats = ["1:0:hello\\n", "2:4:4:8:16:8:x\\72 %d %s %v3d %v2hlf\\n"];
        let mut records = 2_u32.to_le_bytes().to_vec();
        records.extend((-5_i32).to_le_bytes());
        records.extend(b"text\0\0\0\0");
        records.extend([1_u32, 2, 3, 0].iter().flat_map(|it| it.to_le_bytes()));
        records.extend([0.5_f32, 2.0].iter().flat_map(|it| it.to_le_bytes()));
        records.extend(1_u32.to_le_bytes());
        assert_eq!(printed(&records, &formats), "x: -5 text 1,2,3 0.500000,2.000000\nhello\n");
    }

    #[test]
    fn records_of_hip_are_printed_by_hash() {
        let mut records = (20_u32 << 2 | 2).to_le_bytes().to_vec();
        records.extend(0xa62f_f94f_b4b9_ac0d_u64.to_le_bytes());
        records.extend(7_u64.to_le_bytes());
        assert_eq!(printed(&records, &["0:0:a62ff94fb4b9ac0d,n: %d\n"]), "n: 7\n");
        // A format that is not known, or a size beyond the end, ends the list.
        assert_eq!(printed(&records, &["1:0:x"]), "");
    }
}
