//! MessagePack, read in place: a cursor that skips, values that borrow, and a check of the whole.
//!
//! Values are lazy: an array or map knows its count and where its elements begin, and reads them
//! when iterated. [`Value::parse`] first checks a whole document: nesting to 64 levels, string keys
//! only, no key twice, no byte left over.
//!
//! ```
//! use hsaco_object::msgpack::Value;
//! let document = Value::parse(b"\x81\xa5.size\xcd\x01\x00").unwrap();
//! let size = document.as_map().unwrap().value(".size").unwrap().unwrap();
//! assert_eq!(size.as_u64(), Some(256));
//! ```

use hsaco_bytes::{Error, ErrorKind, Result, Str};

/// Deepest nesting of arrays and maps.
pub const MAX_DEPTH: usize = 64;

const CONTEXT: &str = "MessagePack";

/// One value; containers are read when iterated.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// `nil`.
    Nil,
    /// A boolean.
    Bool(bool),
    /// A negative integer, or one that was stored signed.
    Int(i64),
    /// An integer that was stored unsigned.
    UInt(u64),
    /// A 32-bit float.
    F32(f32),
    /// A 64-bit float.
    F64(f64),
    /// A string.
    Str(Str<'a>),
    /// Bytes.
    Bin(&'a [u8]),
    /// Bytes of an application's own type.
    Ext(i8, &'a [u8]),
    /// An array.
    Array(Array<'a>),
    /// A map.
    Map(Map<'a>),
}

impl<'a> Value<'a> {
    /// Reads a document and checks all of it.
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        Self::parse_at(data, 0)
    }

    /// As [`parse`](Self::parse), for a document that stands at `offset` of a file.
    pub fn parse_at(data: &'a [u8], offset: u64) -> Result<Self> {
        let value = Self::parse_prefix(data, offset)?;
        let mut reader = Reader::new(data, offset);
        reader.skip()?;
        reader.finish()?;
        Ok(value)
    }

    /// As [`parse_at`](Self::parse_at), for a document that other bytes may follow.
    pub fn parse_prefix(data: &'a [u8], offset: u64) -> Result<Self> {
        let value = Reader::new(data, offset).value()?;
        value.check()?;
        Ok(value)
    }

    /// The integer, if it is one and not negative.
    pub fn as_u64(self) -> Option<u64> {
        match self {
            Self::UInt(value) => Some(value),
            Self::Int(value) => u64::try_from(value).ok(),
            _ => None,
        }
    }

    /// The string, if it is one.
    pub fn as_str(self) -> Option<Str<'a>> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The array, if it is one.
    pub fn as_array(self) -> Option<Array<'a>> {
        match self {
            Self::Array(array) => Some(array),
            _ => None,
        }
    }

    /// The map, if it is one.
    pub fn as_map(self) -> Option<Map<'a>> {
        match self {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    /// What kind of value this is, for messages.
    pub fn kind_name(self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::UInt(_) => "an integer",
            Self::F32(_) | Self::F64(_) => "a float",
            Self::Str(_) => "a string",
            Self::Bin(_) => "binary",
            Self::Ext(..) => "an extension",
            Self::Array(_) => "an array",
            Self::Map(_) => "a map",
        }
    }

    /// Checks what reading lazily does not: keys of every map inside.
    #[inline]
    fn check(self) -> Result<()> {
        match self {
            Self::Array(_) | Self::Map(_) => self.check_inside(),
            _ => Ok(()),
        }
    }

    fn check_inside(self) -> Result<()> {
        match self {
            Self::Array(array) => array.iter().try_for_each(|value| value?.check()),
            Self::Map(map) => {
                map.check_keys()?;
                map.iter().try_for_each(|entry| entry?.value.check())
            }
            _ => Ok(()),
        }
    }
}

/// An array that reads its elements when iterated.
#[derive(Clone, Copy, Debug)]
pub struct Array<'a> {
    count: u32,
    items: Reader<'a>,
}

impl<'a> Array<'a> {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// A cursor at the first element, and how many there are.
    pub(crate) fn items(&self) -> (Reader<'a>, u32) {
        (self.items, self.count)
    }

    /// The elements.
    pub fn iter(&self) -> impl Iterator<Item = Result<Value<'a>>> + use<'a> {
        self.located().map(|item| item.map(|(_, value)| value))
    }

    /// The elements, each with its offset in the file.
    pub fn located(&self) -> impl Iterator<Item = Result<(u64, Value<'a>)>> + use<'a> {
        let mut reader = self.items;
        let mut left = self.count;
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let offset = reader.offset();
            let item = reader.value().map(|value| (offset, value));
            if item.is_err() {
                left = 0;
            }
            Some(item)
        })
    }
}

/// A map that reads its entries when iterated.
#[derive(Clone, Copy, Debug)]
pub struct Map<'a> {
    count: u32,
    items: Reader<'a>,
}

/// One key and its value.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The key.
    pub key: Str<'a>,
    /// Where the value begins in the file.
    pub offset: u64,
    /// The value.
    pub value: Value<'a>,
}

impl<'a> Map<'a> {
    /// The map of so many entries whose head was just read.
    pub(crate) fn new(count: u32, reader: &Reader<'a>) -> Result<Self> {
        Ok(Self { count, items: reader.inside()? })
    }

    /// A cursor at the first key, and how many there are.
    pub(crate) fn items(&self) -> (Reader<'a>, u32) {
        (self.items, self.count)
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Where the first entry begins in the file.
    pub fn offset(&self) -> u64 {
        self.items.offset()
    }

    /// The entries, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = Result<Entry<'a>>> + use<'a> {
        let mut reader = self.items;
        let mut left = self.count;
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let entry = reader.entry();
            if entry.is_err() {
                left = 0;
            }
            Some(entry)
        })
    }

    /// The value of the first entry with this key.
    pub fn value(&self, key: &str) -> Result<Option<Value<'a>>> {
        for entry in self.iter() {
            let entry = entry?;
            if entry.key == key {
                return Ok(Some(entry.value));
            }
        }
        Ok(None)
    }

    /// Fails when a key stands twice.
    pub fn check_keys(&self) -> Result<()> {
        let keys = self.iter().map(|it| it.map(|it| (it.key, it.offset)));
        check_repeated(keys.collect::<Result<_>>()?, CONTEXT)
    }
}

/// Fails when a key stands twice among these keys and the offsets of their values.
pub(crate) fn check_repeated(mut keys: Vec<(Str<'_>, u64)>, context: &'static str) -> Result<()> {
    keys.sort_unstable();
    for pair in keys.windows(2) {
        if let [(first, _), (second, offset)] = pair
            && first == second
        {
            return Err(Error::malformed(context, *offset, format!("key '{second}' twice")));
        }
    }
    Ok(())
}

/// A cursor over MessagePack bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    data: &'a [u8],
    pos: usize,
    base: u64,
    /// How many containers are around the cursor.
    depth: usize,
}

/// What stands before a value's content.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Head {
    Nil,
    Bool(bool),
    Int(i64),
    UInt(u64),
    F32(f32),
    F64(f64),
    Str(u32),
    Bin(u32),
    Ext(i8, u32),
    Array(u32),
    Map(u32),
}

impl<'a> Reader<'a> {
    pub(crate) fn new(data: &'a [u8], base: u64) -> Self {
        Self { data, pos: 0, base, depth: 0 }
    }

    /// Where the cursor stands in the file.
    pub(crate) fn offset(&self) -> u64 {
        self.base.saturating_add(self.pos as u64)
    }

    /// How many bytes have not been read.
    pub(crate) fn left(&self) -> usize {
        self.data.len().saturating_sub(self.pos)
    }

    /// Moves to a position that an earlier pass has been at.
    pub(crate) fn seek(&mut self, position: usize) {
        self.pos = position;
    }

    /// How many bytes have been read.
    pub(crate) fn position(&self) -> usize {
        self.pos
    }

    /// The bytes between an earlier position of the cursor and this one.
    pub(crate) fn since(&self, earlier: &Self) -> &'a [u8] {
        self.data.get(earlier.pos..self.pos).unwrap_or_default()
    }

    /// Fails unless every byte was read.
    pub(crate) fn finish(&self) -> Result<()> {
        match self.left() {
            0 => Ok(()),
            left => {
                let detail = format!("{left} bytes after the end of the document");
                Err(Error::malformed(CONTEXT, self.offset(), detail))
            }
        }
    }

    fn truncated(&self, needed: u64) -> Error {
        let available = self.left() as u64;
        Error::truncated(CONTEXT, self.offset(), needed, available)
    }

    fn bytes(&mut self, size: usize) -> Result<&'a [u8]> {
        let end = self.pos.checked_add(size);
        let bytes = end.and_then(|end| self.data.get(self.pos..end));
        let bytes = bytes.ok_or_else(|| self.truncated(size as u64))?;
        self.pos += size;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.bytes(N)?;
        bytes.first_chunk().copied().ok_or_else(|| self.truncated(N as u64))
    }

    fn length<const N: usize>(&mut self) -> Result<u32> {
        let bytes: [u8; N] = self.array()?;
        Ok(bytes.iter().fold(0, |sum, &byte| sum << 8 | u32::from(byte)))
    }

    pub(crate) fn head(&mut self) -> Result<Head> {
        let start = self.offset();
        let [first] = self.array()?;
        Ok(match first {
            0x00..=0x7f => Head::UInt(u64::from(first)),
            0x80..=0x8f => self.counted(u32::from(first & 0xf), Head::Map)?,
            0x90..=0x9f => self.counted(u32::from(first & 0xf), Head::Array)?,
            0xa0..=0xbf => Head::Str(u32::from(first & 0x1f)),
            0xc0 => Head::Nil,
            0xc1 => return Err(Error::malformed(CONTEXT, start, "byte 0xc1 begins no value")),
            0xc2 => Head::Bool(false),
            0xc3 => Head::Bool(true),
            0xc4 => Head::Bin(self.length::<1>()?),
            0xc5 => Head::Bin(self.length::<2>()?),
            0xc6 => Head::Bin(self.length::<4>()?),
            0xc7 => self.extension::<1>()?,
            0xc8 => self.extension::<2>()?,
            0xc9 => self.extension::<4>()?,
            0xca => Head::F32(f32::from_be_bytes(self.array()?)),
            0xcb => Head::F64(f64::from_be_bytes(self.array()?)),
            0xcc => Head::UInt(u64::from(u8::from_be_bytes(self.array()?))),
            0xcd => Head::UInt(u64::from(u16::from_be_bytes(self.array()?))),
            0xce => Head::UInt(u64::from(u32::from_be_bytes(self.array()?))),
            0xcf => Head::UInt(u64::from_be_bytes(self.array()?)),
            0xd0 => Head::Int(i64::from(i8::from_be_bytes(self.array()?))),
            0xd1 => Head::Int(i64::from(i16::from_be_bytes(self.array()?))),
            0xd2 => Head::Int(i64::from(i32::from_be_bytes(self.array()?))),
            0xd3 => Head::Int(i64::from_be_bytes(self.array()?)),
            0xd4..=0xd8 => Head::Ext(i8::from_be_bytes(self.array()?), 1 << (first - 0xd4)),
            0xd9 => Head::Str(self.length::<1>()?),
            0xda => Head::Str(self.length::<2>()?),
            0xdb => Head::Str(self.length::<4>()?),
            0xdc => self.long_counted::<2>(Head::Array)?,
            0xdd => self.long_counted::<4>(Head::Array)?,
            0xde => self.long_counted::<2>(Head::Map)?,
            0xdf => self.long_counted::<4>(Head::Map)?,
            0xe0..=0xff => Head::Int(i64::from(i8::from_be_bytes([first]))),
        })
    }

    fn long_counted<const N: usize>(&mut self, head: fn(u32) -> Head) -> Result<Head> {
        let count = self.length::<N>()?;
        self.counted(count, head)
    }

    /// A container's head, refused when the bytes left cannot hold that many values.
    fn counted(&self, count: u32, head: fn(u32) -> Head) -> Result<Head> {
        let head = head(count);
        let values = u64::from(count) * if matches!(head, Head::Map(_)) { 2 } else { 1 };
        match values > self.left() as u64 {
            true => Err(self.truncated(values)),
            false => Ok(head),
        }
    }

    fn extension<const N: usize>(&mut self) -> Result<Head> {
        let length = self.length::<N>()?;
        Ok(Head::Ext(i8::from_be_bytes(self.array()?), length))
    }

    /// A string of at most 31 bytes, which most strings are; anything else is left where it is.
    #[inline]
    fn short_str(&mut self) -> Option<Str<'a>> {
        let (&first, rest) = self.data.get(self.pos..)?.split_first()?;
        let size = usize::from(first.checked_sub(0xa0).filter(|&size| size < 32)?);
        let text = rest.get(..size)?;
        self.pos += 1 + size;
        Some(Str::new(text))
    }

    /// An integer below 128, which most integers are; anything else is left where it is.
    #[inline]
    fn small_int(&mut self) -> Option<u64> {
        let &first = self.data.get(self.pos).filter(|&&first| first < 0x80)?;
        self.pos += 1;
        Some(u64::from(first))
    }

    /// Reads one value and moves past all of it.
    #[inline]
    pub(crate) fn value(&mut self) -> Result<Value<'a>> {
        if let Some(value) = self.small_int() {
            return Ok(Value::UInt(value));
        }
        match self.short_str() {
            Some(text) => Ok(Value::Str(text)),
            None => self.any_value(),
        }
    }

    /// Reads one value and checks all that is in it.
    #[inline]
    pub(crate) fn checked_value(&mut self) -> Result<Value<'a>> {
        let value = self.value()?;
        value.check()?;
        Ok(value)
    }

    fn any_value(&mut self) -> Result<Value<'a>> {
        Ok(match self.head()? {
            Head::Nil => Value::Nil,
            Head::Bool(value) => Value::Bool(value),
            Head::Int(value) => Value::Int(value),
            Head::UInt(value) => Value::UInt(value),
            Head::F32(value) => Value::F32(value),
            Head::F64(value) => Value::F64(value),
            Head::Str(size) => Value::Str(Str::new(self.bytes(size as usize)?)),
            Head::Bin(size) => Value::Bin(self.bytes(size as usize)?),
            Head::Ext(kind, size) => Value::Ext(kind, self.bytes(size as usize)?),
            Head::Array(count) => {
                let items = self.inside()?;
                self.skip_values(u64::from(count))?;
                Value::Array(Array { count, items })
            }
            Head::Map(count) => {
                let items = self.inside()?;
                self.skip_values(u64::from(count) * 2)?;
                Value::Map(Map { count, items })
            }
        })
    }

    /// Reads one value that is known to end at a position, without passing over its content.
    pub(crate) fn value_until(&mut self, end: usize) -> Result<Value<'a>> {
        let start = *self;
        let value = match self.head()? {
            Head::Array(count) => Value::Array(Array { count, items: self.inside()? }),
            Head::Map(count) => Value::Map(Map { count, items: self.inside()? }),
            _ => {
                *self = start;
                return self.value();
            }
        };
        self.pos = end;
        Ok(value)
    }

    /// A cursor at the first element of a container whose head was just read. Refusing what is too
    /// deep here bounds every walk over values.
    pub(crate) fn inside(&self) -> Result<Self> {
        if self.depth >= MAX_DEPTH {
            let detail = format!("nested deeper than {MAX_DEPTH} levels");
            return Err(Error::new(ErrorKind::LimitExceeded, CONTEXT, detail).at(self.offset()));
        }
        Ok(Self { depth: self.depth + 1, ..*self })
    }

    fn entry(&mut self) -> Result<Entry<'a>> {
        let key = self.key()?;
        let offset = self.offset();
        Ok(Entry { key, offset, value: self.value()? })
    }

    /// Reads a map's key, which must be a string.
    #[inline]
    pub(crate) fn key(&mut self) -> Result<Str<'a>> {
        if let Some(text) = self.short_str() {
            return Ok(text);
        }
        let start = self.offset();
        match self.head()? {
            Head::Str(size) => Ok(Str::new(self.bytes(size as usize)?)),
            _ => Err(Error::malformed(CONTEXT, start, "a map key that is not a string")),
        }
    }

    /// Moves past one value, however deep it is.
    #[inline]
    pub(crate) fn skip(&mut self) -> Result<()> {
        match self.small_int() {
            Some(_) => Ok(()),
            None => self.skip_values(1),
        }
    }

    /// Moves past `count` values. What is inside a container is more values to move past, so no
    /// nesting is followed.
    fn skip_values(&mut self, count: u64) -> Result<()> {
        let mut left = count;
        while left > 0 {
            left -= 1;
            // The kinds that nearly all values are. Branches, which the processor foresees, are
            // faster here than a table, whose every answer it must wait for.
            let width = match self.data.get(self.pos).copied().unwrap_or(0xc1) {
                0x00..=0x7f => 1,
                first @ 0xa0..=0xbf => 1 + usize::from(first & 0x1f),
                first @ 0x80..=0x8f => {
                    self.pos += 1;
                    left += self.skip_plain_entries(usize::from(first & 0xf)) * 2;
                    continue;
                }
                first @ 0x90..=0x9f => {
                    left += u64::from(first & 0xf);
                    1
                }
                0xc2 | 0xc3 => 1,
                0xcd => 3,
                _ => {
                    left += self.skip_head()?;
                    continue;
                }
            };
            self.pos += width;
        }
        match self.pos > self.data.len() {
            true => Err(self.truncated(1)),
            false => Ok(()),
        }
    }

    /// Moves past entries of short keys and small values, as an argument's are, until one is not;
    /// says how many are left. Apart from the general loop, each branch has one thing to foresee.
    #[inline]
    fn skip_plain_entries(&mut self, count: usize) -> u64 {
        for left in (1..=count as u64).rev() {
            let Some(&key @ 0xa0..=0xbf) = self.data.get(self.pos) else { return left };
            let at = self.pos + 1 + usize::from(key & 0x1f);
            let width = match self.data.get(at) {
                Some(0x00..=0x7f) => 1,
                Some(&first @ 0xa0..=0xbf) => 1 + usize::from(first & 0x1f),
                _ => return left,
            };
            self.pos = at + width;
        }
        0
    }

    /// Moves past a scalar, or past a container's head; says how many values are inside.
    fn skip_head(&mut self) -> Result<u64> {
        let size = match self.head()? {
            Head::Array(count) => return Ok(u64::from(count)),
            Head::Map(count) => return Ok(u64::from(count) * 2),
            Head::Str(size) | Head::Bin(size) | Head::Ext(_, size) => size as usize,
            _ => 0,
        };
        self.bytes(size)?;
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(bytes: &[u8]) -> String {
        Value::parse(bytes).unwrap_err().to_string()
    }

    /// The value as the reference crate's, to compare with what that reads.
    fn reference(value: Value<'_>) -> rmpv::Value {
        match value {
            Value::Nil => rmpv::Value::Nil,
            Value::Bool(value) => value.into(),
            Value::Int(value) => value.into(),
            Value::UInt(value) => value.into(),
            Value::F32(value) => value.into(),
            Value::F64(value) => value.into(),
            Value::Str(text) => {
                let bytes = text.as_bytes().to_vec();
                rmpv::decode::read_value(&mut encoded_str(&bytes).as_slice()).unwrap()
            }
            Value::Bin(bytes) => bytes.into(),
            Value::Ext(kind, bytes) => rmpv::Value::Ext(kind, bytes.to_vec()),
            Value::Array(array) => array.iter().map(|it| reference(it.unwrap())).collect(),
            Value::Map(map) => {
                let entry = |it: Result<Entry<'_>>| {
                    let it = it.unwrap();
                    (reference(Value::Str(it.key)), reference(it.value))
                };
                rmpv::Value::Map(map.iter().map(entry).collect())
            }
        }
    }

    fn encoded_str(bytes: &[u8]) -> Vec<u8> {
        let size = u32::try_from(bytes.len()).unwrap().to_be_bytes();
        [&[0xdb], size.as_slice(), bytes].concat()
    }

    #[test]
    fn every_kind_of_value_is_read_as_the_reference_reads_it() {
        let cases: &[&[u8]] = &[
            b"\xc0",
            b"\xc2",
            b"\xc3",
            b"\x00",
            b"\x7f",
            b"\xff",
            b"\xe0",
            b"\xcc\xff",
            b"\xcd\x01\x02",
            b"\xce\x01\x02\x03\x04",
            b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\xd0\x80",
            b"\xd1\x80\x00",
            b"\xd2\x80\x00\x00\x00",
            b"\xd3\x80\x00\x00\x00\x00\x00\x00\x00",
            b"\xca\x3f\x80\x00\x00",
            b"\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00",
            b"\xa0",
            b"\xa3abc",
            b"\xd9\x03abc",
            b"\xda\x00\x03abc",
            b"\xdb\x00\x00\x00\x03abc",
            b"\xc4\x02\x00\xff",
            b"\xc5\x00\x01z",
            b"\xc6\x00\x00\x00\x01z",
            b"\xd4\x05z",
            b"\xd5\x05zz",
            b"\xd6\x05zzzz",
            b"\xd7\x05zzzzzzzz",
            b"\xd8\x05zzzzzzzzzzzzzzzz",
            b"\xc7\x01\x05z",
            b"\xc8\x00\x01\x05z",
            b"\xc9\x00\x00\x00\x01\x05z",
            b"\x90",
            b"\x92\x01\x91\x02",
            b"\xdc\x00\x02\x01\x02",
            b"\xdd\x00\x00\x00\x01\x05",
            b"\x80",
            b"\x82\xa1a\x01\xa1b\x92\x01\x02",
            b"\xde\x00\x01\xa1a\x01",
            b"\xdf\x00\x00\x00\x01\xa1a\x81\xa1b\xc0",
        ];
        for &case in cases {
            let expected = rmpv::decode::read_value(&mut &*case).unwrap();
            assert_eq!(reference(Value::parse(case).unwrap()), expected, "{case:02x?}");
            for end in 0..case.len() {
                let cut = Value::parse(&case[..end]).unwrap_err();
                assert_eq!(cut.kind(), ErrorKind::Truncated, "{case:02x?} cut at {end}");
            }
        }
    }

    #[test]
    fn what_breaks_the_rules_is_named_with_its_place() {
        let nested = |depth: usize| [vec![0x91; depth], vec![0xc0]].concat();
        assert!(Value::parse(&nested(64)).is_ok());
        assert_eq!(
            error(&nested(65)),
            "limit exceeded: MessagePack: nested deeper than 64 levels (at offset 0x41)"
        );
        assert_eq!(
            error(b"\x82\xa1a\x01\xa1a\x02"),
            "malformed: MessagePack: key 'a' twice (at offset 0x6)"
        );
        assert_eq!(
            error(b"\x81\x90\x01"),
            "malformed: MessagePack: a map key that is not a string (at offset 0x1)"
        );
        assert_eq!(
            error(b"\xc0\xc0"),
            "malformed: MessagePack: 1 bytes after the end of the document (at offset 0x1)"
        );
        assert_eq!(
            error(b"\xc1"),
            "malformed: MessagePack: byte 0xc1 begins no value (at offset 0x0)"
        );
        assert_eq!(
            error(b"\xdd\xff\xff\xff\xff"),
            "truncated: MessagePack: 0 bytes of 4294967295 (at offset 0x5)"
        );
    }

    #[test]
    fn skipping_is_not_stopped_by_depth() {
        let deep = [vec![0x91; 1_000_000], vec![0x07, 0x09]].concat();
        let mut reader = Reader::new(&deep, 0);
        reader.skip().unwrap();
        assert!(matches!(reader.value().unwrap(), Value::UInt(9)));
    }
}
