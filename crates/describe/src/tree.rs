//! MessagePack values as JSON has them.

use std::collections::BTreeMap;

use hsaco_bytes::hex::encode as hex;
use hsaco_object::msgpack::{Entry, Map, Value};
use serde::Serialize;

/// A value of metadata: every key is kept, bytes are hexadecimal, keys are sorted.
///
/// ```
/// use hsaco_describe::Tree;
/// use hsaco_object::msgpack::Value;
/// let value = Value::parse_at(b"\x93\x01\xc0\xa1x", 0)?;
/// assert_eq!(Tree::of(value), Tree::List(vec![Tree::UInt(1), Tree::Nil, Tree::Text("x".into())]));
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Tree {
    /// No value.
    Nil,
    /// True or false.
    Bool(bool),
    /// A number below zero.
    Int(i64),
    /// A number.
    UInt(u64),
    /// A number with a fraction.
    Float(f64),
    /// Text, or bytes as hexadecimal.
    Text(String),
    /// Several values.
    List(Vec<Tree>),
    /// Values by their keys.
    Map(BTreeMap<String, Tree>),
}

impl Tree {
    /// One value. What cannot be read of it is left out.
    #[must_use]
    pub fn of(value: Value<'_>) -> Self {
        match value {
            Value::Nil => Self::Nil,
            Value::Bool(value) => Self::Bool(value),
            Value::Int(value) => Self::Int(value),
            Value::UInt(value) => Self::UInt(value),
            Value::F32(value) => Self::Float(value.into()),
            Value::F64(value) => Self::Float(value),
            Value::Str(text) => Self::Text(text.to_string()),
            Value::Bin(bytes) | Value::Ext(_, bytes) => Self::Text(hex(bytes)),
            Value::Array(array) => Self::List(array.iter().flatten().map(Self::of).collect()),
            Value::Map(map) => Self::Map(Self::map(&map)),
        }
    }

    /// A map.
    #[must_use]
    pub fn map(map: &Map<'_>) -> BTreeMap<String, Self> {
        map.iter().flatten().map(Self::entry).collect()
    }

    /// The entries of a map.
    #[must_use]
    pub fn entries(entries: &[Entry<'_>]) -> BTreeMap<String, Self> {
        entries.iter().map(|it| Self::entry(*it)).collect()
    }

    fn entry(entry: Entry<'_>) -> (String, Self) {
        (entry.key.to_string(), Self::of(entry.value))
    }
}
