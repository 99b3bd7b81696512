//! The manifest that `extract` writes and `bundle` reads: all of a container but its contents.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::schema::SCHEMA_VERSION;

/// How the name of a manifest ends.
pub(crate) const SUFFIX: &str = ".hsaco.json";

/// The bundles of a file. Files that it names stand beside it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) schema_version: u32,
    /// The file it describes, as the user spelled it.
    pub(crate) source: String,
    /// What that file is: `bundle`, `elf`, …
    pub(crate) container: String,
    pub(crate) bundles: Vec<BundleRecord>,
    /// What follows the last bundle, in files that are nothing but bundles.
    pub(crate) after: Fill,
}

/// One bundle.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BundleRecord {
    /// Where it begins in the file.
    pub(crate) offset: u64,
    /// How many bytes it has there.
    pub(crate) size: u64,
    /// What it lies in; null in files that are nothing but bundles.
    pub(crate) within: Option<String>,
    /// What lies between it and the bundle before it in the same section.
    pub(crate) before: Fill,
    /// Null if it is plain.
    pub(crate) compressed: Option<Compressed>,
    /// How contents are laid out when their sizes change.
    pub(crate) alignment: u64,
    /// How many bytes it has when it is plain.
    pub(crate) plain_size: u64,
    pub(crate) entries: Vec<EntryRecord>,
    /// Bytes between the contents that are not zero.
    pub(crate) gaps: Vec<Gap>,
}

/// How a bundle was compressed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Compressed {
    pub(crate) version: u16,
    pub(crate) method: String,
    /// The file with the compressed bundle as it was.
    pub(crate) block: String,
}

/// One row of a bundle's table.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct EntryRecord {
    pub(crate) id: String,
    /// The bytes of an id that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) id_bytes: Option<String>,
    /// From the start of the plain bundle.
    pub(crate) offset: u64,
    pub(crate) size: u64,
    /// The file with its content; null if it has none.
    pub(crate) file: Option<String>,
}

/// Bytes at a place of the plain bundle.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Gap {
    pub(crate) offset: u64,
    pub(crate) bytes: String,
}

/// Bytes that belong to no bundle.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Fill {
    pub(crate) size: u64,
    /// What they are; null for zeros.
    pub(crate) bytes: Option<String>,
}

impl Fill {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let is_zero = bytes.iter().all(|&byte| byte == 0);
        let text = (!is_zero).then(|| crate::json::hex(bytes));
        Self { size: bytes.len() as u64, bytes: text }
    }

    /// The bytes, at most `cap` of them.
    pub(crate) fn to_bytes(&self, cap: u64) -> Result<Vec<u8>> {
        let size = usize::try_from(self.size).ok().filter(|_| self.size <= cap);
        let size =
            size.with_context(|| format!("{} bytes of padding, {cap} allowed", self.size))?;
        match &self.bytes {
            None => Ok(vec![0; size]),
            Some(text) => unhex(text),
        }
    }
}

impl EntryRecord {
    pub(crate) fn id_bytes(&self) -> Result<Cow<'_, [u8]>> {
        match &self.id_bytes {
            None => Ok(Cow::Borrowed(self.id.as_bytes())),
            Some(text) => unhex(text).map(Cow::Owned),
        }
    }
}

/// Bytes from hexadecimal digits.
pub(crate) fn unhex(text: &str) -> Result<Vec<u8>> {
    let digit = |c: u8| char::from(c).to_digit(16).and_then(|it| u8::try_from(it).ok());
    let byte = |pair: &[u8]| match pair {
        &[high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(byte).collect();
    bytes.with_context(|| format!("'{text}' is not a row of hexadecimal byte values"))
}

impl Manifest {
    pub(crate) fn parse(text: &[u8]) -> Result<Self> {
        let manifest: Self = serde_json::from_slice(text).context("not a manifest")?;
        let version = manifest.schema_version;
        ensure!(
            version == SCHEMA_VERSION,
            "a manifest of schema version {version}; this hsaco knows {SCHEMA_VERSION}"
        );
        Ok(manifest)
    }
}

/// The one manifest in a directory.
pub(crate) fn find(directory: &Path) -> Result<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(SUFFIX) {
            found.push(path);
        }
    }
    found.sort_unstable();
    match found.as_slice() {
        [only] => Ok(only.clone()),
        [] => bail!("no *{SUFFIX} in it; hsaco extract writes one"),
        [first, second, ..] => bail!(
            "several manifests in it, such as {} and {}: name one of them",
            first.display(),
            second.display()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_round_trips() {
        assert_eq!(unhex(&crate::json::hex(&[0, 15, 255])).unwrap(), [0, 15, 255]);
        for bad in ["0", "0g", "é", "+1"] {
            assert!(unhex(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn fills_remember_what_is_not_zero() {
        for bytes in [b"".as_slice(), b"\0\0", b"\0\x01"] {
            assert_eq!(Fill::new(bytes).to_bytes(10).unwrap(), bytes);
        }
        assert!(Fill { size: 11, bytes: None }.to_bytes(10).is_err());
    }
}
