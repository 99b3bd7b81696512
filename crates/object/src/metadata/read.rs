//! Values, read into places of their type.

use hsaco_bytes::{Error, Result, Str};

use crate::msgpack::{Array, Entry, Reader, Value};

use super::{CONTEXT, ValueKind};

/// How a key is read into a field of its map.
macro_rules! into {
    ($field:ident $read:ident) => {
        |map, entry| $crate::metadata::read::fill(&mut map.$field, &mut map.unknown, entry, $read)
    };
}
pub(super) use into;

/// Fills a field; where a key's other spelling has filled it, the entry is kept as it stands.
pub(super) fn fill<'a, T>(
    field: &mut Option<T>,
    unknown: &mut Vec<Entry<'a>>,
    entry: &Entry<'a>,
    read: fn(&Entry<'a>) -> Result<T>,
) -> Result<()> {
    match field {
        Some(_) => unknown.push(*entry),
        None => *field = Some(read(entry)?),
    }
    Ok(())
}

/// Fills a place once: a key that stands twice is an error.
pub(super) fn put<'a, T>(
    slot: &mut Option<T>,
    entry: &Entry<'a>,
    read: fn(&Entry<'a>) -> Result<T>,
) -> Result<()> {
    match slot.replace(read(entry)?) {
        None => Ok(()),
        Some(_) => Err(twice(entry.key, entry.offset)),
    }
}

/// Reads the value at the cursor into a place that is filled once.
pub(super) fn take<'a, T>(
    slot: &mut Option<T>,
    key: Str<'a>,
    reader: &mut Reader<'a>,
    read: fn(&Entry<'a>) -> Result<T>,
) -> Result<()> {
    let offset = reader.offset();
    put(slot, &Entry { key, offset, value: reader.value()? }, read)
}

pub(super) fn twice(key: Str<'_>, offset: u64) -> Error {
    Error::malformed(CONTEXT, offset, format!("key '{key}' twice"))
}

#[cold]
fn wrong(entry: &Entry<'_>, expected: &str) -> Error {
    let found = match entry.value {
        Value::UInt(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        _ => entry.value.kind_name().to_owned(),
    };
    Error::malformed(CONTEXT, entry.offset, format!("{} is {found}, not {expected}", entry.key))
}

pub(super) fn string<'a>(entry: &Entry<'a>) -> Result<Str<'a>> {
    entry.value.as_str().ok_or_else(|| wrong(entry, "a string"))
}

pub(super) fn strings<'a>(entry: &Entry<'a>) -> Result<Vec<Str<'a>>> {
    let items = array(entry)?;
    items.iter().map(|it| it?.as_str().ok_or_else(|| wrong(entry, "strings"))).collect()
}

pub(super) fn integer(entry: &Entry<'_>) -> Result<u64> {
    entry.value.as_u64().ok_or_else(|| wrong(entry, "a non-negative integer"))
}

pub(super) fn array<'a>(entry: &Entry<'a>) -> Result<Array<'a>> {
    entry.value.as_array().ok_or_else(|| wrong(entry, "an array"))
}

pub(super) fn integers<const N: usize>(entry: &Entry<'_>) -> Result<[u64; N]> {
    let expected = || wrong(entry, &format!("an array of {N} non-negative integers"));
    let items = array(entry)?;
    if items.len() != N {
        let detail = format!("{} is an array of {}, not of {N} integers", entry.key, items.len());
        return Err(Error::malformed(CONTEXT, entry.offset, detail));
    }
    let mut integers = [0; N];
    for (place, item) in integers.iter_mut().zip(items.iter()) {
        *place = item?.as_u64().ok_or_else(expected)?;
    }
    Ok(integers)
}

/// A boolean, or the integer 0 or 1 that LLVM writes for some.
pub(super) fn flag(entry: &Entry<'_>) -> Result<bool> {
    match entry.value {
        Value::Bool(value) => Ok(value),
        Value::UInt(0) | Value::Int(0) => Ok(false),
        Value::UInt(1) | Value::Int(1) => Ok(true),
        _ => Err(wrong(entry, "a boolean, 0 or 1")),
    }
}

pub(super) fn cluster_dims(entry: &Entry<'_>) -> Result<[u64; 3]> {
    let dims = integers(entry)?;
    match dims.iter().all(|dim| (1..=255).contains(dim)) {
        true => Ok(dims),
        false => {
            let detail = format!(".cluster_dims is {dims:?}; each must be 1 to 255");
            Err(Error::malformed(CONTEXT, entry.offset, detail))
        }
    }
}

pub(super) fn kind<'a>(entry: &Entry<'a>) -> Result<ValueKind<Str<'a>>> {
    string(entry).map(ValueKind::from_name)
}
