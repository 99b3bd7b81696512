//! Values that are compared, as both files have them.

use std::collections::BTreeMap;

use hsaco_object::msgpack;

/// A value of a header, a descriptor or metadata.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(untagged))]
pub enum FieldValue {
    /// It is not there.
    #[default]
    None,
    /// True or false.
    Bool(bool),
    /// A number below zero.
    Negative(i64),
    /// Any other whole number.
    Number(u64),
    /// A finite number.
    Float(f64),
    /// Text; bytes are hexadecimal.
    Text(String),
    /// Several.
    List(Vec<FieldValue>),
    /// Several, by name.
    Map(FieldValues),
}

/// Values by name.
pub type FieldValues = BTreeMap<String, FieldValue>;

impl FieldValue {
    pub(crate) fn number(value: impl Into<u64>) -> Self {
        Self::Number(value.into())
    }

    fn float(value: f64) -> Self {
        if value.is_finite() { Self::Float(value) } else { Self::None }
    }
}

impl From<msgpack::Value<'_>> for FieldValue {
    /// What cannot be read is left out.
    fn from(value: msgpack::Value<'_>) -> Self {
        match value {
            msgpack::Value::Nil => Self::None,
            msgpack::Value::Bool(value) => Self::Bool(value),
            msgpack::Value::Int(value) => {
                u64::try_from(value).map_or(Self::Negative(value), Self::Number)
            }
            msgpack::Value::UInt(value) => Self::Number(value),
            msgpack::Value::F32(value) => Self::float(value.into()),
            msgpack::Value::F64(value) => Self::float(value),
            msgpack::Value::Str(text) => Self::Text(text.to_string()),
            msgpack::Value::Bin(bytes) | msgpack::Value::Ext(_, bytes) => {
                Self::Text(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
            }
            msgpack::Value::Array(array) => {
                Self::List(array.iter().flatten().map(Self::from).collect())
            }
            msgpack::Value::Map(map) => {
                let entries = map.iter().flatten();
                Self::Map(entries.map(|it| (it.key.to_string(), it.value.into())).collect())
            }
        }
    }
}
