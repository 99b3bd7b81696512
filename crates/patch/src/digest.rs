//! Digests of whole files.

use std::fmt;
use std::str::FromStr;

use hsaco_bytes::hex;
use sha2::{Digest as _, Sha256};

/// The SHA-256 digest of a file, as `sha256sum` prints it.
///
/// ```
/// use hsaco_patch::Digest;
/// let digest = Digest::of(b"abc");
/// let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
/// assert_eq!(digest.to_string(), text);
/// assert_eq!(text.parse(), Ok(digest));
/// assert!("ba78".parse::<Digest>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self::of_parts([bytes])
    }

    /// The digest of bytes that come in parts.
    ///
    /// ```
    /// use hsaco_patch::Digest;
    /// assert_eq!(Digest::of_parts([&b"ab"[..], b"c"]), Digest::of(b"abc"));
    /// ```
    #[must_use]
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut digest = Sha256::new();
        parts.into_iter().for_each(|part| digest.update(part));
        Digest(digest.finalize().into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

impl FromStr for Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no SHA-256 digest of 64 hexadecimal digits");
        let bytes = hex::decode(text).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Digest).ok_or_else(wrong)
    }
}

/// The digests of an original and of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digests {
    /// That of the original.
    pub original: Digest,
    /// That of the result.
    pub result: Digest,
}

impl Digests {
    /// Of two files.
    #[must_use]
    pub fn of(original: &[u8], result: &[u8]) -> Self {
        Digests { original: Digest::of(original), result: Digest::of(result) }
    }

    /// Which of two files are not those that these are the digests of; one sentence for each.
    ///
    /// ```
    /// use hsaco_patch::Digests;
    /// let digests = Digests::of(b"before", b"after");
    /// assert!(digests.differences(b"before", b"after").is_empty());
    /// let said = digests.differences(b"before", b"other");
    /// assert!(said[0].starts_with("the result is not the file that this manifest describes: SHA-256"));
    /// ```
    #[must_use]
    pub fn differences(&self, original: &[u8], result: &[u8]) -> Vec<String> {
        let found = Digests::of(original, result);
        let files =
            [("original", self.original, found.original), ("result", self.result, found.result)];
        let wrong = files.into_iter().filter(|(_, expected, found)| expected != found);
        let sentence = |(file, expected, found)| {
            format!(
                "the {file} is not the file that this manifest describes: SHA-256 {found} instead of {expected}"
            )
        };
        wrong.map(sentence).collect()
    }
}
