//! MessagePack, written: each value in its shortest form, as LLVM writes it.

use hsaco_bytes::{Error, ErrorKind, Result};

use crate::msgpack::Value;

const CONTEXT: &str = "MessagePack";

/// A value to write.
///
/// ```
/// use hsaco_object::write::NewValue;
/// assert_eq!(NewValue::from(127_u64).to_bytes()?, [0x7f]);
/// assert_eq!(NewValue::from(128_u64).to_bytes()?, [0xcc, 0x80]);
/// assert_eq!(NewValue::from("A0").to_bytes()?, *b"\xa2A0");
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum NewValue {
    /// `nil`.
    Nil,
    /// A boolean.
    Bool(bool),
    /// An integer that is not negative.
    UInt(u64),
    /// An integer.
    Int(i64),
    /// A 32-bit float.
    F32(f32),
    /// A 64-bit float.
    F64(f64),
    /// A string, which need not be UTF-8.
    Str(Vec<u8>),
    /// Bytes.
    Bin(Vec<u8>),
    /// Bytes of an application's own type.
    Ext(i8, Vec<u8>),
    /// An array.
    Array(Vec<Self>),
    /// A map.
    Map(Vec<(Vec<u8>, Self)>),
}

impl From<u64> for NewValue {
    fn from(value: u64) -> Self {
        Self::UInt(value)
    }
}

impl From<bool> for NewValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<&str> for NewValue {
    fn from(value: &str) -> Self {
        Self::Str(value.as_bytes().to_vec())
    }
}

impl NewValue {
    /// A value that was read, all of it.
    ///
    /// # Errors
    /// When something inside it cannot be read.
    pub fn of(value: Value<'_>) -> Result<Self> {
        Ok(match value {
            Value::Nil => Self::Nil,
            Value::Bool(value) => Self::Bool(value),
            Value::Int(value) => Self::Int(value),
            Value::UInt(value) => Self::UInt(value),
            Value::F32(value) => Self::F32(value),
            Value::F64(value) => Self::F64(value),
            Value::Str(text) => Self::Str(text.as_bytes().to_vec()),
            Value::Bin(bytes) => Self::Bin(bytes.to_vec()),
            Value::Ext(kind, bytes) => Self::Ext(kind, bytes.to_vec()),
            Value::Array(array) => {
                let items = array.iter().map(|it| Self::of(it?));
                Self::Array(items.collect::<Result<_>>()?)
            }
            Value::Map(map) => {
                let entries = map.iter().map(|it| {
                    let it = it?;
                    Ok((it.key.as_bytes().to_vec(), Self::of(it.value)?))
                });
                Self::Map(entries.collect::<Result<_>>()?)
            }
        })
    }

    /// The value's bytes.
    ///
    /// # Errors
    /// When something in it is longer than 32 bits can say.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.write(&mut bytes)?;
        Ok(bytes)
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Nil => out.push(0xc0),
            Self::Bool(value) => out.push(0xc2 | u8::from(*value)),
            Self::UInt(value) => write_uint(out, *value),
            Self::Int(value) => write_int(out, *value),
            Self::F32(value) => put(out, 0xca, &value.to_be_bytes()),
            Self::F64(value) => put(out, 0xcb, &value.to_be_bytes()),
            Self::Str(text) => write_str(out, text)?,
            Self::Bin(bytes) => {
                write_length(out, bytes.len(), None, [Some(0xc4), Some(0xc5), Some(0xc6)])?;
                out.extend_from_slice(bytes);
            }
            Self::Ext(kind, bytes) => write_ext(out, *kind, bytes)?,
            Self::Array(items) => {
                write_array_head(out, items.len())?;
                items.iter().try_for_each(|it| it.write(out))?;
            }
            Self::Map(entries) => {
                write_map_head(out, entries.len())?;
                for (key, value) in entries {
                    write_str(out, key)?;
                    value.write(out)?;
                }
            }
        }
        Ok(())
    }
}

fn put(out: &mut Vec<u8>, head: u8, content: &[u8]) {
    out.push(head);
    out.extend_from_slice(content);
}

fn write_uint(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_be_bytes();
    let [.., high, low] = bytes;
    match value {
        0..=0x7f => out.push(low),
        0x80..=0xff => put(out, 0xcc, &[low]),
        0x100..=0xffff => put(out, 0xcd, &[high, low]),
        0x1_0000..=0xffff_ffff => put(out, 0xce, bytes.last_chunk::<4>().unwrap_or(&[0; 4])),
        _ => put(out, 0xcf, &bytes),
    }
}

fn write_int(out: &mut Vec<u8>, value: i64) {
    if let Ok(value) = u64::try_from(value) {
        return write_uint(out, value);
    }
    if let Ok(value) = i8::try_from(value) {
        let [byte] = value.to_be_bytes();
        return if value >= -32 { out.push(byte) } else { put(out, 0xd0, &[byte]) };
    }
    match (i16::try_from(value), i32::try_from(value)) {
        (Ok(value), _) => put(out, 0xd1, &value.to_be_bytes()),
        (_, Ok(value)) => put(out, 0xd2, &value.to_be_bytes()),
        _ => put(out, 0xd3, &value.to_be_bytes()),
    }
}

/// A string and what stands before it.
pub(super) fn write_str(out: &mut Vec<u8>, text: &[u8]) -> Result<()> {
    write_length(out, text.len(), Some((0xa0, 31)), [Some(0xd9), Some(0xda), Some(0xdb)])?;
    out.extend_from_slice(text);
    Ok(())
}

/// What stands before the elements of an array.
pub(super) fn write_array_head(out: &mut Vec<u8>, count: usize) -> Result<()> {
    write_length(out, count, Some((0x90, 15)), [None, Some(0xdc), Some(0xdd)])
}

/// What stands before the entries of a map.
pub(super) fn write_map_head(out: &mut Vec<u8>, count: usize) -> Result<()> {
    write_length(out, count, Some((0x80, 15)), [None, Some(0xde), Some(0xdf)])
}

fn write_ext(out: &mut Vec<u8>, kind: i8, bytes: &[u8]) -> Result<()> {
    match bytes.len() {
        1 => out.push(0xd4),
        2 => out.push(0xd5),
        4 => out.push(0xd6),
        8 => out.push(0xd7),
        16 => out.push(0xd8),
        size => write_length(out, size, None, [Some(0xc7), Some(0xc8), Some(0xc9)])?,
    }
    put(out, kind.to_be_bytes()[0], bytes);
    Ok(())
}

/// A length in the head itself if it is at most so much, else in one, two or four bytes after it.
fn write_length(
    out: &mut Vec<u8>,
    length: usize,
    short: Option<(u8, u8)>,
    heads: [Option<u8>; 3],
) -> Result<()> {
    let [one, two, four] = heads;
    let byte = u8::try_from(length).ok();
    if let Some((byte, (head, limit))) = byte.zip(short)
        && byte <= limit
    {
        out.push(head | byte);
    } else if let Some((byte, head)) = byte.zip(one) {
        put(out, head, &[byte]);
    } else if let Some((length, head)) = u16::try_from(length).ok().zip(two) {
        put(out, head, &length.to_be_bytes());
    } else if let Some((length, head)) = u32::try_from(length).ok().zip(four) {
        put(out, head, &length.to_be_bytes());
    } else {
        return Err(Error::new(ErrorKind::LimitExceeded, CONTEXT, format!("{length} elements")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the reference crate writes for a value.
    fn reference(value: &NewValue) -> rmpv::Value {
        match value {
            NewValue::Nil => rmpv::Value::Nil,
            NewValue::Bool(value) => (*value).into(),
            NewValue::UInt(value) => (*value).into(),
            NewValue::Int(value) => (*value).into(),
            NewValue::F32(value) => (*value).into(),
            NewValue::F64(value) => (*value).into(),
            NewValue::Str(text) => std::str::from_utf8(text).unwrap().into(),
            NewValue::Bin(bytes) => bytes.as_slice().into(),
            NewValue::Ext(kind, bytes) => rmpv::Value::Ext(*kind, bytes.clone()),
            NewValue::Array(items) => items.iter().map(reference).collect(),
            NewValue::Map(entries) => {
                let key = |key: &[u8]| reference(&NewValue::Str(key.to_vec()));
                rmpv::Value::Map(entries.iter().map(|(k, v)| (key(k), reference(v))).collect())
            }
        }
    }

    #[test]
    fn every_value_is_written_as_the_reference_writes_it_and_reads_back() {
        let edges = [0, 1, 15, 16, 31, 32, 127, 128, 255, 256, 65535, 65536];
        let mut values = vec![NewValue::Nil, true.into(), false.into()];
        for bits in 0..64 {
            for near in [-1, 0, 1] {
                let value = (1_i64 << bits).wrapping_add(near);
                values.push(NewValue::Int(value));
                values.push(NewValue::Int(value.wrapping_neg()));
                values.push(NewValue::UInt(value.cast_unsigned()));
            }
        }
        values.extend([NewValue::F32(1.5), NewValue::F64(-2.25)]);
        for size in edges.into_iter().chain([2, 4, 8]) {
            values.push(NewValue::Str(vec![b'x'; size]));
            values.push(NewValue::Bin(vec![7; size]));
            values.push(NewValue::Ext(-3, vec![7; size]));
            values.push(NewValue::Array(vec![NewValue::Nil; size]));
            let entry = |index: usize| (index.to_string().into_bytes(), true.into());
            values.push(NewValue::Map((0..size).map(entry).collect()));
        }
        for value in &values {
            let bytes = value.to_bytes().unwrap();
            let mut expected = Vec::new();
            rmpv::encode::write_value(&mut expected, &reference(value)).unwrap();
            assert!(bytes == expected, "{:02x?}", &bytes[..bytes.len().min(16)]);
            let again = NewValue::of(Value::parse(&bytes).unwrap()).unwrap();
            assert_eq!(again.to_bytes().unwrap(), bytes);
        }
    }
}
