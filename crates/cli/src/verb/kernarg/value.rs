//! Values of the command line: `NAME=VALUE`, sizes, numbers.

use anyhow::{Context, Result};
use hsaco::kernarg::{Datum, NativeLayout};

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
    /// Which argument, and its bytes; those of a file are taken as they are.
    pub(super) fn bytes(&self, layout: &NativeLayout) -> Result<(usize, Vec<u8>)> {
        let position = layout.position_of(&self.key)?;
        let bytes = match self.value.strip_prefix('@') {
            Some(file) => std::fs::read(file)
                .with_context(|| file.to_owned())
                .and_then(|bytes| Ok(layout.encode(position, &Datum::Bytes(bytes))?)),
            None => layout.encode_text(position, &self.value).map_err(Into::into),
        };
        Ok((position, bytes.with_context(|| format!("--arg {}", self.key))?))
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
    hsaco::bytes::number::parse(text).ok_or_else(|| format!("'{text}' is no number below 2^64"))
}
