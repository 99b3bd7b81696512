//! Reading DWARF's integers.

use hsaco_bytes::{read_u16, read_u32, read_u64};

/// A position in bytes; `None` past the end.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub(super) data: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(data: &'a [u8], at: u64) -> Option<Self> {
        Some(Self { data, at: usize::try_from(at).ok().filter(|&at| at <= data.len())? })
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.data.len()
    }

    pub(super) fn skip(&mut self, size: u64) -> Option<()> {
        let end = self.at.checked_add(usize::try_from(size).ok()?)?;
        self.at = Some(end).filter(|&end| end <= self.data.len())?;
        Some(())
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        let byte = *self.data.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// An integer of 1, 2, 4 or 8 bytes.
    pub(super) fn word(&mut self, size: u64) -> Option<u64> {
        let value = match size {
            1 => u64::from(*self.data.get(self.at)?),
            2 => u64::from(read_u16(self.data, self.at)?),
            4 => u64::from(read_u32(self.data, self.at)?),
            8 => read_u64(self.data, self.at)?,
            _ => return None,
        };
        self.skip(size)?;
        Some(value)
    }

    /// A length, and how large offsets are behind it.
    pub(super) fn length(&mut self) -> Option<(u64, u64)> {
        match self.word(4)? {
            0xffff_ffff => Some((self.word(8)?, 8)),
            0xffff_fff0.. => None,
            length => Some((length, 4)),
        }
    }

    pub(super) fn uleb(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0_u64, 0);
        loop {
            let byte = self.u8()?;
            if shift < 64 {
                value |= u64::from(byte & 0x7f) << shift;
            }
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
    }

    pub(super) fn sleb(&mut self) -> Option<i64> {
        let (mut value, mut shift) = (0_u64, 0);
        loop {
            let byte = self.u8()?;
            if shift < 64 {
                value |= u64::from(byte & 0x7f) << shift;
            }
            shift += 7;
            if byte & 0x80 == 0 {
                if byte & 0x40 != 0 && shift < 64 {
                    value |= u64::MAX << shift;
                }
                return Some(value.cast_signed());
            }
        }
    }

    /// Moves past a string and its NUL.
    pub(super) fn string(&mut self) -> Option<&'a [u8]> {
        let rest = self.data.get(self.at..)?;
        let text = rest.get(..memchr::memchr(0, rest)?)?;
        self.at += text.len() + 1;
        Some(text)
    }
}

pub(super) fn push_uleb(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let byte = u8::try_from(value & 0x7f).unwrap_or(0);
        value >>= 7;
        if value == 0 {
            return out.push(byte);
        }
        out.push(byte | 0x80);
    }
}

pub(super) fn push_sleb(out: &mut Vec<u8>, mut value: i64) {
    loop {
        let byte = u8::try_from(value & 0x7f).unwrap_or(0);
        value >>= 7;
        let is_last = (value == 0 && byte & 0x40 == 0) || (value == -1 && byte & 0x40 != 0);
        if is_last {
            return out.push(byte);
        }
        out.push(byte | 0x80);
    }
}

/// Writes an integer of so many bytes over another one; one that does not fit is not written.
pub(super) fn put_word(bytes: &mut [u8], at: u64, size: u64, value: u64) {
    let range = usize::try_from(at).ok().zip(usize::try_from(size).ok());
    let place = range.and_then(|(at, size)| bytes.get_mut(at..)?.get_mut(..size));
    if let Some(place) = place {
        for (byte, new) in place.iter_mut().zip(value.to_le_bytes()) {
            *byte = new;
        }
    }
}

/// A length as [`Cursor::length`] reads it.
pub(super) fn push_length(out: &mut Vec<u8>, length: u64, offset_size: u64) {
    if offset_size == 8 {
        out.extend_from_slice(&[0xff; 4]);
        out.extend_from_slice(&length.to_le_bytes());
    } else {
        out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    }
}
