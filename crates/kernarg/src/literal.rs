//! Values as people write them: `7`, `0x1000`, `1.5`, `[1, 2]`, `{"x": 1}`, `hex:0a0b`, and with a type before them `f16:1.5`.

use std::str::FromStr;

use hsaco_bytes::{TextError, hex, number};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value as Json;

use crate::native::NativeLayout;
use crate::types::{Datum, ValueType};

type Result<T, E = TextError> = std::result::Result<T, E>;

fn wrong<T>(text: impl Into<String>) -> Result<T> {
    Err(TextError::new(text))
}

/// A value without a type.
///
/// ```
/// use hsaco_kernarg::Datum;
/// assert_eq!("-0x10".parse(), Ok(Datum::Integer(-16)));
/// assert_eq!("[1, 2]".parse(), Ok(Datum::List(vec![Datum::Integer(1), Datum::Integer(2)])));
/// assert_eq!("hex:0a0b".parse(), Ok(Datum::Bytes(vec![10, 11])));
/// ```
impl FromStr for Datum {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self> {
        if let Some(value) = plain(text) {
            return Ok(value);
        }
        let json = serde_json::from_str(text);
        let json = json.or_else(|error| wrong(format!("'{text}' is no value: {error}")))?;
        datum(&json)
    }
}

/// What JSON has no spelling for.
fn plain(text: &str) -> Option<Datum> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    if digits.starts_with("0x") || digits.starts_with("0X") {
        let number = i128::try_from(number::parse_wide(digits)?).ok()?;
        return Some(Datum::Integer(sign * number));
    }
    if let Some(digits) = text.strip_prefix("hex:") {
        return spaced_hex(digits).map(Datum::Bytes);
    }
    match text {
        "nan" | "NaN" => Some(Datum::Float(f64::NAN)),
        "inf" | "+inf" => Some(Datum::Float(f64::INFINITY)),
        "-inf" => Some(Datum::Float(f64::NEG_INFINITY)),
        _ => text.parse::<i128>().ok().map(Datum::Integer),
    }
}

/// Bytes of hexadecimal digits, with blanks anywhere between them.
///
/// ```
/// assert_eq!(hsaco_kernarg::spaced_hex("0a 0b"), Some(vec![10, 11]));
/// ```
#[must_use]
pub fn spaced_hex(digits: &str) -> Option<Vec<u8>> {
    hex::decode(&digits.replace(|it: char| it.is_ascii_whitespace(), ""))
}

fn datum(json: &Json) -> Result<Datum> {
    Ok(match json {
        Json::Bool(value) => Datum::Bool(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(value), ..) => Datum::Integer(i128::from(value)),
            (None, Some(value), _) => Datum::Integer(i128::from(value)),
            (None, None, Some(value)) => Datum::Float(value),
            (None, None, None) => {
                return wrong(format!("{number} is no number that an argument could have"));
            }
        },
        Json::String(text) => match plain(text) {
            Some(value) => value,
            None => {
                return wrong(format!(
                    "\"{text}\" is no value; texts are hex:0a0b, 0x10, nan, inf"
                ));
            }
        },
        Json::Array(items) => Datum::List(items.iter().map(datum).collect::<Result<_>>()?),
        Json::Object(members) => {
            let member = |(name, it): (&String, &Json)| Ok((name.clone(), datum(it)?));
            Datum::Record(members.iter().map(member).collect::<Result<_>>()?)
        }
        Json::Null => return wrong("null is no value"),
    })
}

/// What JSON cannot say is text.
impl Serialize for Datum {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Datum::Bool(value) => serializer.serialize_bool(*value),
            Datum::Integer(value) => match (i64::try_from(*value), u64::try_from(*value)) {
                (Ok(value), _) => serializer.serialize_i64(value),
                (Err(_), Ok(value)) => serializer.serialize_u64(value),
                _ => serializer.serialize_str(&value.to_string()),
            },
            Datum::Float(value) if value.is_finite() => serializer.serialize_f64(*value),
            Datum::Float(value) if value.is_nan() => serializer.serialize_str("nan"),
            Datum::Float(value) => {
                serializer.serialize_str(if *value > 0.0 { "inf" } else { "-inf" })
            }
            Datum::List(items) => serializer.collect_seq(items),
            Datum::Record(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                members.iter().try_for_each(|(name, it)| map.serialize_entry(name, it))?;
                map.end()
            }
            other => serializer.serialize_str(&other.to_string()),
        }
    }
}

impl NativeLayout {
    /// An argument by its name, else by its number.
    ///
    /// # Errors
    /// When there is none, or several have the name.
    pub fn position_of(&self, key: &str) -> hsaco_bytes::Result<usize> {
        match (self.position(key), key.parse::<usize>()) {
            (Ok(position), _) => Ok(position),
            (Err(_), Ok(number)) if number < self.parameters().len() => Ok(number),
            (Err(error), _) => Err(error),
        }
    }

    /// The bytes of an argument from a value as people write it, with or without a type before it.
    ///
    /// # Errors
    /// When the text is no value, or none of the argument.
    pub fn encode_text(&self, position: usize, text: &str) -> Result<Vec<u8>> {
        if let Some((word, rest)) = text.split_once(':')
            && let Some(ty) = ValueType::from_word(word)
        {
            let bytes = ty.encode(&rest.parse()?)?;
            return Ok(self.encode(position, &Datum::Bytes(bytes))?);
        }
        Ok(self.encode(position, &text.parse()?)?)
    }

    /// The bytes of arguments, by their positions, from JSON: an object by names, or a list by positions.
    ///
    /// # Errors
    /// When the text is neither, or a value is none of its argument.
    pub fn encode_json(&self, text: &str) -> Result<Vec<(usize, Vec<u8>)>> {
        let json = serde_json::from_str(text);
        let values: Vec<(usize, Datum)> =
            match json.or_else(|error| wrong(format!("no JSON: {error}")))? {
                Json::Array(items) => {
                    let items = items.iter().enumerate();
                    items.map(|(at, it)| Ok((at, datum(it)?))).collect::<Result<_>>()?
                }
                Json::Object(members) => {
                    let member =
                        |(name, it): (&String, &Json)| Ok((self.position_of(name)?, datum(it)?));
                    members.iter().map(member).collect::<Result<_>>()?
                }
                _ => return wrong("neither a list nor an object"),
            };
        values.iter().map(|(at, value)| Ok((*at, self.encode(*at, value)?))).collect()
    }

    /// The bytes of every argument, in their order, from those that are given by their positions.
    ///
    /// # Errors
    /// When one is given twice, or not at all.
    pub fn in_order(&self, given: Vec<(usize, Vec<u8>)>) -> Result<Vec<Vec<u8>>> {
        let mut all: Vec<Option<Vec<u8>>> = vec![None; self.parameters().len()];
        for (position, bytes) in given {
            match all.get_mut(position).map(|place| place.replace(bytes)) {
                Some(None) => {}
                Some(Some(_)) => return wrong(format!("argument {position} is given twice")),
                None => return wrong("an argument that is not there"),
            }
        }
        let named = |(position, parameter): (usize, &crate::ArgumentSlot)| match &parameter.name {
            Some(name) => format!("argument {position} ({name})"),
            None => format!("argument {position}"),
        };
        let parameters = self.parameters().iter().enumerate().zip(&all);
        let missing: Vec<String> =
            parameters.filter(|(_, it)| it.is_none()).map(|(it, _)| named(it)).collect();
        match missing.is_empty() {
            true => Ok(all.into_iter().flatten().collect()),
            false => wrong(format!("no value for {}", missing.join(", "))),
        }
    }
}
