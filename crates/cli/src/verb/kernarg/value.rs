//! Values of the command line: `7`, `0x1000`, `1.5`, `[1, 2]`, `{"x": 1}`, `f16:1.5`, `hex:0a0b`, `@file`.

use anyhow::{Context, Result, bail};
use hsaco::kernarg::{Datum, NativeLayout, ValueType};
use serde_json::Value as Json;

/// What `--arg` says of one argument.
#[derive(Clone, Debug)]
pub(super) struct Assignment {
    key: String,
    value: String,
}

impl std::str::FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').ok_or("expected NAME=VALUE or NUMBER=VALUE")?;
        Ok(Self { key: key.trim().to_owned(), value: value.trim().to_owned() })
    }
}

impl Assignment {
    /// Which argument, and its bytes.
    pub(super) fn bytes(&self, layout: &NativeLayout) -> Result<(usize, Vec<u8>)> {
        let position = position(layout, &self.key)?;
        let bytes =
            self.value_bytes(layout, position).with_context(|| format!("--arg {}", self.key))?;
        Ok((position, bytes))
    }

    fn value_bytes(&self, layout: &NativeLayout, position: usize) -> Result<Vec<u8>> {
        if let Some(file) = self.value.strip_prefix('@') {
            let bytes = std::fs::read(file).with_context(|| file.to_owned())?;
            return Ok(layout.encode(position, &Datum::Bytes(bytes))?);
        }
        if let Some((word, rest)) = self.value.split_once(':')
            && let Some(ty) = ValueType::from_word(word)
        {
            let bytes = ty.encode(&parse(rest)?)?;
            return Ok(layout.encode(position, &Datum::Bytes(bytes))?);
        }
        Ok(layout.encode(position, &parse(&self.value)?)?)
    }
}

/// An argument by its name, else by its number.
fn position(layout: &NativeLayout, key: &str) -> Result<usize> {
    match (layout.position(key), key.parse::<usize>()) {
        (Ok(position), _) => Ok(position),
        (Err(_), Ok(number)) if number < layout.parameters().len() => Ok(number),
        (Err(error), _) => Err(error.into()),
    }
}

/// All arguments at once: an object by names, or a list by positions.
pub(super) fn from_json(layout: &NativeLayout, text: &str) -> Result<Vec<(usize, Vec<u8>)>> {
    let values: Vec<(usize, Datum)> = match serde_json::from_str(text).context("--args")? {
        Json::Array(items) => {
            items.iter().enumerate().map(|(at, it)| Ok((at, datum(it)?))).collect::<Result<_>>()?
        }
        Json::Object(members) => members
            .iter()
            .map(|(name, it)| Ok((position(layout, name)?, datum(it)?)))
            .collect::<Result<_>>()?,
        _ => bail!("--args is neither a list nor an object"),
    };
    values.iter().map(|(at, value)| Ok((*at, layout.encode(*at, value)?))).collect()
}

/// A value as people write it.
fn parse(text: &str) -> Result<Datum> {
    if let Some(value) = plain(text) {
        return Ok(value);
    }
    let json: Json = serde_json::from_str(text).with_context(|| format!("'{text}' is no value"))?;
    datum(&json)
}

/// What JSON has no spelling for.
fn plain(text: &str) -> Option<Datum> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    if let Some(digits) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        let number = i128::from_str_radix(&digits.replace('_', ""), 16).ok()?;
        return Some(Datum::Integer(sign * number));
    }
    if let Some(digits) = text.strip_prefix("hex:") {
        return bytes(digits).map(Datum::Bytes);
    }
    match text {
        "nan" | "NaN" => Some(Datum::Float(f64::NAN)),
        "inf" | "+inf" => Some(Datum::Float(f64::INFINITY)),
        "-inf" => Some(Datum::Float(f64::NEG_INFINITY)),
        _ => text.parse::<i128>().ok().map(Datum::Integer),
    }
}

/// Bytes of hexadecimal digits.
pub(crate) fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = digits.bytes().filter(|it| !it.is_ascii_whitespace()).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let pairs = digits.chunks_exact(2);
    pairs.remainder().is_empty().then(|| pairs.map(byte).collect()).flatten()
}

fn datum(json: &Json) -> Result<Datum> {
    Ok(match json {
        Json::Bool(value) => Datum::Bool(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(value), ..) => Datum::Integer(i128::from(value)),
            (None, Some(value), _) => Datum::Integer(i128::from(value)),
            (None, None, Some(value)) => Datum::Float(value),
            (None, None, None) => bail!("{number} is no number that an argument could have"),
        },
        Json::String(text) => match plain(text) {
            Some(value) => value,
            None => bail!("\"{text}\" is no value; texts are hex:0a0b, 0x10, nan, inf"),
        },
        Json::Array(items) => Datum::List(items.iter().map(datum).collect::<Result<_>>()?),
        Json::Object(members) => {
            let member = |(name, it): (&String, &Json)| Ok((name.clone(), datum(it)?));
            Datum::Record(members.iter().map(member).collect::<Result<_>>()?)
        }
        Json::Null => bail!("null is no value"),
    })
}

/// A value as JSON; what JSON cannot say is text.
pub(super) fn to_json(value: &Datum) -> Json {
    match value {
        Datum::Bool(value) => (*value).into(),
        Datum::Integer(value) => match (i64::try_from(*value), u64::try_from(*value)) {
            (Ok(value), _) => value.into(),
            (Err(_), Ok(value)) => value.into(),
            _ => value.to_string().into(),
        },
        Datum::Float(value) => match serde_json::Number::from_f64(*value) {
            Some(number) => Json::Number(number),
            None => if *value > 0.0 { "inf" } else { "-inf" }.into(),
        },
        Datum::List(items) => items.iter().map(to_json).collect(),
        Datum::Record(members) => {
            let members = members.iter().map(|(name, it)| (name.clone(), to_json(it)));
            Json::Object(members.collect())
        }
        other => other.to_string().into(),
    }
}

/// Up to three numbers: `64`, `64,2`, `64x2x1`.
pub(crate) fn sizes(text: &str) -> Result<Vec<u32>, String> {
    let number = |part: &str| {
        part.trim().parse::<u32>().map_err(|_| format!("'{part}' is no number below 2^32"))
    };
    text.split([',', 'x']).map(number).collect()
}

/// A number, decimal or `0x`.
pub(crate) fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(&digits.replace('_', ""), 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("'{text}' is no number below 2^64"))
}
