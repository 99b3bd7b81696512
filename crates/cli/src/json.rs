//! MessagePack values as JSON: every key kept, bytes as hexadecimal.

pub(crate) use hsaco::bytes::hex::encode as hex;
use hsaco::object::msgpack;
use serde_json::{Map, Value};

/// One value. What cannot be read is left out: it has been reported by whoever indexed it.
pub(crate) fn to_json(value: msgpack::Value<'_>) -> Value {
    match value {
        msgpack::Value::Nil => Value::Null,
        msgpack::Value::Bool(value) => value.into(),
        msgpack::Value::Int(value) => value.into(),
        msgpack::Value::UInt(value) => value.into(),
        msgpack::Value::F32(value) => value.into(),
        msgpack::Value::F64(value) => value.into(),
        msgpack::Value::Str(text) => text.to_string().into(),
        msgpack::Value::Bin(bytes) | msgpack::Value::Ext(_, bytes) => hex(bytes).into(),
        msgpack::Value::Array(array) => array.iter().flatten().map(to_json).collect(),
        msgpack::Value::Map(map) => map_to_json(&map),
    }
}

/// A map.
pub(crate) fn map_to_json(map: &msgpack::Map<'_>) -> Value {
    let entries: Vec<_> = map.iter().flatten().collect();
    entries_to_json(&entries)
}

/// The entries of a map.
pub(crate) fn entries_to_json(entries: &[msgpack::Entry<'_>]) -> Value {
    let entries = entries.iter().map(|it| (it.key.to_string(), to_json(it.value)));
    Value::Object(entries.collect::<Map<_, _>>())
}
