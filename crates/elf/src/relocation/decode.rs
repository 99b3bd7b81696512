//! The encodings of relocation tables.

use hsaco_bytes::{Error, Result, read_u32, read_u64};

use super::{CONTEXT, Encoding, RELATIVE64, RelocationType};

/// A relocation as its table has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) offset: u64,
    pub(super) kind: RelocationType,
    pub(super) symbol: u32,
    /// Nothing where the addend stands in the place.
    pub(super) addend: Option<i64>,
}

/// Who is given each relocation.
pub(super) type Take<'t> = dyn FnMut(Row) -> Result<()> + 't;

impl Encoding {
    /// The size of a row, for tables that have rows of one size.
    pub(crate) fn row_size(self) -> Option<u64> {
        match self {
            Self::Rela => Some(24),
            Self::Rel => Some(16),
            Self::Relr | Self::AndroidRelr => Some(8),
            Self::AndroidRela | Self::AndroidRel | Self::Crel => None,
        }
    }
}

/// Reads a table.
pub(super) fn rows(encoding: Encoding, data: &[u8], take: &mut Take<'_>) -> Result<()> {
    match encoding {
        Encoding::Rela => fixed::<24>(data, take),
        Encoding::Rel => fixed::<16>(data, take),
        Encoding::Relr | Encoding::AndroidRelr => relr(data, take),
        Encoding::AndroidRela => android(data, true, take),
        Encoding::AndroidRel => android(data, false, take),
        Encoding::Crel => crel(data, take),
    }
}

fn fixed<const SIZE: usize>(data: &[u8], take: &mut Take<'_>) -> Result<()> {
    for row in data.as_chunks::<SIZE>().0 {
        let long = |at| read_u64(row, at).unwrap_or(0);
        take(Row {
            offset: long(0),
            kind: RelocationType(read_u32(row, 8).unwrap_or(0)),
            symbol: read_u32(row, 12).unwrap_or(0),
            addend: read_u64(row, 16).map(u64::cast_signed),
        })?;
    }
    Ok(())
}

/// An even word is a place; an odd one says which of the 63 words behind the last are places, too.
fn relr(data: &[u8], take: &mut Take<'_>) -> Result<()> {
    const WORD: u64 = 8;
    const IN_BITMAP: u64 = 63;
    let mut next: Option<u64> = None;
    let mut place = |offset| take(Row { offset, kind: RELATIVE64, symbol: 0, addend: None });
    for word in data.as_chunks::<8>().0.iter().map(|it| u64::from_le_bytes(*it)) {
        if word & 1 == 0 {
            place(word)?;
            next = word.checked_add(WORD);
            continue;
        }
        let base = next.ok_or_else(|| malformed("a bitmap without an address before it"))?;
        for bit in (0..IN_BITMAP).filter(|bit| word >> (bit + 1) & 1 != 0) {
            let offset = base.checked_add(bit * WORD);
            place(offset.ok_or_else(|| malformed("a place past all addresses"))?)?;
        }
        next = base.checked_add(IN_BITMAP * WORD);
    }
    Ok(())
}

/// Android's: groups of relocations that share what they have in common, in signed LEB128.
fn android(data: &[u8], has_addends: bool, take: &mut Take<'_>) -> Result<()> {
    const MAGIC: &[u8] = b"APS2";
    const BY_INFO: i64 = 1;
    const BY_OFFSET_DELTA: i64 = 2;
    const BY_ADDEND: i64 = 4;
    const HAS_ADDEND: i64 = 8;
    let packed = data.strip_prefix(MAGIC);
    let mut numbers = Numbers(packed.ok_or_else(|| malformed("it does not begin with APS2"))?);
    let mut left = numbers.signed()?;
    let mut offset = numbers.signed()?.cast_unsigned();
    let mut addend = 0_i64;
    while left > 0 {
        let count = numbers.signed()?;
        if !(0..=left).contains(&count) {
            return Err(malformed(format!("a group of {count} of {left} relocations")));
        }
        left -= count;
        let flags = numbers.signed()?;
        if flags & !(BY_INFO | BY_OFFSET_DELTA | BY_ADDEND | HAS_ADDEND) != 0 {
            return Err(malformed(format!("a group with flags {flags:#x}")));
        }
        let has = |flag| flags & flag != 0;
        if has(HAS_ADDEND) && !has_addends {
            return Err(malformed("addends in a table without"));
        }
        let step = has(BY_OFFSET_DELTA).then(|| numbers.signed()).transpose()?;
        let info = has(BY_INFO).then(|| numbers.signed()).transpose()?;
        if !has(HAS_ADDEND) {
            addend = 0;
        } else if has(BY_ADDEND) {
            addend = addend.wrapping_add(numbers.signed()?);
        }
        for _ in 0..count {
            let step = step.map_or_else(|| numbers.signed(), Ok)?;
            offset = offset.wrapping_add_signed(step);
            let info = info.map_or_else(|| numbers.signed(), Ok)?.cast_unsigned();
            if has(HAS_ADDEND) && !has(BY_ADDEND) {
                addend = addend.wrapping_add(numbers.signed()?);
            }
            take(Row {
                offset,
                kind: RelocationType(low_half(info)),
                symbol: low_half(info >> 32),
                addend: has_addends.then_some(addend),
            })?;
        }
    }
    numbers.end()
}

/// LLVM's: what differs from the relocation before, as a first byte of flags and LEB128.
fn crel(data: &[u8], take: &mut Take<'_>) -> Result<()> {
    const HAS_ADDENDS: u64 = 4;
    let mut numbers = Numbers(data);
    let header = numbers.unsigned()?;
    let has_addends = header & HAS_ADDENDS != 0;
    let (flag_bits, shift) = (if has_addends { 3 } else { 2 }, header & 3);
    let (mut offset, mut symbol, mut kind, mut addend) = (0_u64, 0_u32, 0_u32, 0_i64);
    for _ in 0..header >> 3 {
        let first = numbers.byte()?;
        offset = offset.wrapping_add(u64::from(first & 0x7f) >> flag_bits);
        if first & 0x80 != 0 {
            offset = offset.wrapping_add(numbers.unsigned()? << (7 - flag_bits));
        }
        if first & 1 != 0 {
            symbol = symbol.wrapping_add(low_half(numbers.signed()?.cast_unsigned()));
        }
        if first & 2 != 0 {
            kind = kind.wrapping_add(low_half(numbers.signed()?.cast_unsigned()));
        }
        if has_addends && first & 4 != 0 {
            addend = addend.wrapping_add(numbers.signed()?);
        }
        take(Row {
            offset: offset << shift,
            kind: RelocationType(kind),
            symbol,
            addend: has_addends.then_some(addend),
        })?;
    }
    numbers.end()
}

fn low_half(value: u64) -> u32 {
    u32::try_from(value & u64::from(u32::MAX)).unwrap_or(0)
}

fn malformed(detail: impl Into<String>) -> Error {
    Error::malformed(CONTEXT, 0, detail)
}

/// A cursor over numbers in LEB128.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn byte(&mut self) -> Result<u8> {
        let (first, rest) = self.0.split_first().ok_or_else(|| malformed("it ends in a number"))?;
        self.0 = rest;
        Ok(*first)
    }

    fn unsigned(&mut self) -> Result<u64> {
        self.number().map(|(value, ..)| value)
    }

    fn signed(&mut self) -> Result<i64> {
        let (value, bits, is_negative) = self.number()?;
        let above = u64::MAX.checked_shl(bits).filter(|_| is_negative).unwrap_or(0);
        Ok((value | above).cast_signed())
    }

    /// The value, how many bits were given, and whether the last of them is set.
    fn number(&mut self) -> Result<(u64, u32, bool)> {
        let (mut value, mut bits) = (0_u64, 0);
        loop {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f)
                .checked_shl(bits)
                .ok_or_else(|| malformed("a number of more than 64 bits"))?;
            bits += 7;
            if byte & 0x80 == 0 {
                return Ok((value, bits, byte & 0x40 != 0));
            }
        }
    }

    /// Linkers fill up with zeros; anything else would be relocations that the count does not know.
    fn end(&self) -> Result<()> {
        match self.0.iter().all(|byte| *byte == 0) {
            true => Ok(()),
            false => Err(malformed(format!("{} bytes behind the last", self.0.len()))),
        }
    }
}
